"""A learner that is fed a few records by hand: what it closes, whom it loses, and what it passes over."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs

from handlers.learning.calibrate import RULE
from schemas.events.episode import Completed
from schemas.events.learning import (
    BatchClosed,
    MemoryVersioned,
    ProblemForgotten,
    Reflected,
    SeriesOpened,
)
from schemas.identity import learning_id, seed_of, text_digest
from schemas.outcome import Outcome
from schemas.problem import Limits
from state.folds.windows import Due
from streams.engine.learner import Learner
from streams.engine.policies import NoPolicy, find
from streams.engine.scopes import Scope
from tests.laws.series import graded, opened, reflected
from tests.stand_ins import always

SCOPE = "d/mc2/main/0"
LIMITS = Limits(calls=9)


def ended(scope: str = SCOPE, policy: str = "mc2@10", **more: Any) -> Reflected:
    plain = structs.replace(reflected(None, None, labelled=False), scope=scope, policy=policy)
    return structs.replace(plain, **{"profile": "service", **more})


def announced(scope: str = SCOPE, policy: str = "mc2", **more: Any) -> SeriesOpened:
    return structs.replace(opened("a", 1, 1), **{"scope": scope, "policy": policy, **more})


def grade(outcome: Outcome, by: str = "feedback", scope: str = SCOPE) -> Any:
    return structs.replace(graded(by), scope=scope, outcome=outcome)


def full(count: int = 10, **more: Any) -> Learner:
    """A learner whose scope has so many members."""
    made = Learner(find)
    for at in range(count):
        assert made.feed(f"p/d/x{at}/r", "reflected", ended(problem_id=f"x{at}", **more))
    return made


def due_in(learner: Learner) -> list[tuple[Scope, Due]]:
    """Batches that can be closed now, by scope."""
    found = ((scope, scope.window.due()) for scope in learner.scopes.values())
    return [(scope, due) for scope, due in found if due is not None]


def close(learner: Learner) -> BatchClosed:
    """The one batch that is due, closed and fed."""
    [(scope, due)] = due_in(learner)
    closed = learner.batch_closed(scope, due, LIMITS)
    assert learner.feed(learning_id(closed.scope, closed.batch), "batch", closed)
    return closed


# ── A batch ──────────────────────────────────────────────────────────────────────────────────


def test_a_batch_is_closed_with_everything_that_learning_hangs_on() -> None:
    learner = full()
    learner.feed("p/d/x3/r", "graded.feedback.0", grade("right"))
    learner.feed("p/d/x4/r", "graded.feedback.0", grade("wrong"))
    scope = learner.scopes[SCOPE]
    closed = close(learner)
    unknown: Outcome = "unknown"
    outcomes: list[Outcome] = [unknown] * 10
    outcomes[3:5] = "right", "wrong"
    assert closed == BatchClosed(
        scope=SCOPE, batch=1, series=None, members=tuple(f"p/d/x{at}/r" for at in range(10)),
        outcomes=tuple(outcomes), previous=0, policy="mc2", policy_version=scope.policy.version,
        settings=text_digest(scope.settings_text), limits=LIMITS, retirement=scope.policy.retirement,
        calibration=RULE, seed=seed_of("learn", SCOPE, 1),
    )  # fmt: skip
    assert closed.retirement is not None
    assert due_in(learner) == [], "its version is waited for"
    learner.feed("p/d/x5/r", "graded.feedback.0", grade("right"))
    batch = learner.batch(scope, closed)
    assert [(member.episode, member.outcome) for member in batch.members] == list(
        zip(closed.members, closed.outcomes, strict=True)
    ), "a grade that comes later changes the next batch"
    assert batch.members[3].reflected.problem_id == "x3"
    assert (batch.scope, batch.number, batch.seed, batch.revision) == (SCOPE, 1, closed.seed, 0)
    assert (batch.memory.number, batch.kept, batch.facts) == (0, (), ())


def test_in_the_paper_s_profile_nothing_is_retired_and_a_rule_s_constants_are_stated() -> None:
    paper = full(profile="paper")
    assert close(paper).retirement is None
    learner = Learner(find)
    made = learner.scope("s", "meta_reasoner", "service", {})
    members = made.window.stream_window
    for at in range(members):
        told = ended("s", "meta_reasoner@1", problem_id=f"y{at}", summary={"pulls": []})
        learner.feed(f"p/d/y{at}/r", "reflected", told)
    closed = close(learner)
    assert closed.rule == made.policy.rule != None  # noqa: E711
    assert closed.constants == made.constants != {}


def test_a_version_follows_from_a_batch_and_opens_the_next_one() -> None:
    learner = full(20)
    scope, closed = learner.scopes[SCOPE], close(learner)
    before = learner.state_hash()
    version = learner.version(scope, closed)
    memory = learner.next_memory(scope, closed)
    assert version == MemoryVersioned(
        scope=SCOPE, number=1, live_from=scope.live_from(1), state=memory.state()
    )
    assert learner.feed(learning_id(SCOPE, 1), "version", version)
    assert scope.memory.latest.number == 1
    assert learner.state_hash() != before
    [(_, due)] = due_in(learner)
    assert (due.batch, due.members[0]) == (2, "p/d/x10/r")
    assert not learner.feed(learning_id(SCOPE, 1), "version", version), "it was closed"
    assert learner.strays.count == 1


def test_a_batch_is_closed_again_as_it_was_closed_but_by_the_policy_of_today() -> None:
    learner = full()
    scope, closed = learner.scopes[SCOPE], close(learner)
    again = structs.replace(
        closed, revision=1, embedder="e", policy="old", policy_version="0", limits=Limits(calls=3)
    )
    found = learner.batch_closed(scope, Due(1, None, closed.members, again), LIMITS)
    today = {"policy": "mc2", "policy_version": scope.policy.version}
    assert found == structs.replace(again, **today)


@pytest.mark.parametrize(
    ("closing", "does"),
    [
        ({}, ["learn batch settings"]),
        ({"revision": 1}, ["relearn batch settings"]),
        ({"revision": 1, "regraded": True}, []),
        ({"revision": 1, "embedder": "e"}, []),
    ],
)
def test_what_is_learned_from_a_batch_is_as_it_was_closed(
    monkeypatch: pytest.MonkeyPatch, closing: dict[str, Any], does: list[str]
) -> None:
    """Anew where it lost a problem; where outcomes or vectors alone changed nobody is asked."""
    done: list[str] = []

    def doing(name: str) -> Any:
        def learns(batch: str, settings: str) -> Any:
            done.append(f"{name} {batch} {settings}")
            yield from ()

        return learns

    learner = full()
    closed = structs.replace(close(learner), **closing)
    policy = SimpleNamespace(learn=doing("learn"), relearn=doing("relearn"), found_by=always(None))
    memory = learner.scopes[SCOPE].memory
    versions = {1: memory.versions[0]}
    scope: Any = SimpleNamespace(
        policy=policy, settings="settings", texts={}, memory=SimpleNamespace(versions=versions)
    )
    monkeypatch.setattr(Learner, "batch", always("batch"))
    for _ in learner.steps(scope, closed):
        pytest.fail("nothing is held that could be embedded")
    assert done == does


def test_a_state_s_hash_is_of_memories_and_of_outcomes() -> None:
    learner, other = full(1), full(1)
    assert learner.state_hash() == other.state_hash()
    learner.feed("p/d/x0/r", "graded.feedback.0", grade("right"))
    assert learner.state_hash() != other.state_hash()
    other.feed("p/d/x0/r", "graded.feedback.0", grade("right"))
    assert learner.state_hash() == other.state_hash()
    assert Learner(find).state_hash() == Learner(find).state_hash() != other.state_hash()


# ── Scopes ───────────────────────────────────────────────────────────────────────────────────


def test_a_scope_is_met_with_the_policy_and_the_settings_that_a_record_names() -> None:
    learner = Learner(find)
    learner.feed(f"n/{SCOPE}/a", "series", announced(profile="paper", settings={"batch_size": 4}))
    scope = learner.scopes[SCOPE]
    assert (scope.policy.name, scope.profile, scope.id) == ("mc2", "paper", SCOPE)
    assert scope.window.stream_window == 4
    assert SCOPE in learner
    assert "other" not in learner
    learner.feed("p/d/a/r", "reflected", ended("t", "graph_memory@1"))
    assert learner.scopes["t"].policy.name == "graph_memory"
    learner.feed("p/d/b/r", "graded.feedback.0", grade("right", scope="u"))
    assert "u" not in learner, "a grade names no policy"
    assert learner.early == {}
    assert learner.grades.outcome("p/d/b/r") == "right", "and is kept"
    assert learner.known("t") is learner.scope("t", "cot", "service", {})
    assert learner.memory("t") is learner.scopes["t"].memory
    assert learner.memory("never").latest.number == 0


def test_a_scope_whose_policy_is_not_here_is_lost_and_its_memory_goes_on() -> None:
    lost: list[tuple[str, str]] = []
    learner = Learner(find, told=lambda scope, why: lost.append((scope, why)))
    assert learner.feed("p/d/a/r", "reflected", ended("t", "nobody@1"))
    assert [scope for scope, _ in lost] == ["t"]
    assert "nobody" in lost[0][1]
    assert "t" in learner
    assert learner.lost["t"].why == lost[0][1]
    with pytest.raises(NoPolicy) as error:
        learner.known("t")
    assert str(error.value) == lost[0][1]
    with pytest.raises(NoPolicy):
        learner.scope("t", "mc2", "service", {})  # it stays lost while this fold lives
    assert len(lost) == 1
    memory = learner.memory("t")
    assert memory is learner.lost["t"].memory
    assert learner.feed("p/d/b/r", "reflected", ended("t", "nobody@1", problem_id="b"))
    assert set(memory.reflected) >= {"p/d/b/r"}
    assert due_in(learner) == []
    bad = Learner(find)
    bad.feed("p/d/a/r", "reflected", ended(learning={"batch_size": "many"}))
    assert "batch_size" in bad.lost[SCOPE].why


FORGOTTEN = ProblemForgotten(scope=SCOPE, domain="d", problem_id="x1")


def test_what_a_scope_was_told_to_forget_before_it_was_seen_is_forgotten() -> None:
    learner = Learner(find)
    at = f"n/{SCOPE}/-", "forgotten.1", FORGOTTEN
    assert learner.feed(*at)
    assert learner.early == {SCOPE: [at]}
    for name in ("x1", "x2"):
        learner.feed(f"p/d/{name}/r", "reflected", ended(problem_id=name))
    assert learner.early == {}
    assert list(learner.scopes[SCOPE].window.stream) == ["p/d/x2/r"]
    later = full(2)
    later.feed(*at)
    assert list(later.scopes[SCOPE].window.stream) == ["p/d/x0/r"]
    assert later.early == {}


def test_whoever_learns_for_months_does_not_keep_all_who_ever_came() -> None:
    learner = full(10)
    window = learner.scopes[SCOPE].window
    assert len(window.awaited) == 10
    close(learner)
    assert not window.awaited


# ── Strays ───────────────────────────────────────────────────────────────────────────────────


def reply() -> Completed:
    return Completed(asked="Complete a x", text="t", finish="stop", model="m")


def test_what_does_not_stand_where_it_belongs_may_not_count() -> None:
    learner = full(10)
    closed = close(learner)
    scope = learner.scopes[SCOPE]
    version = learner.version(scope, closed)
    wrong: list[tuple[str, str, Any]] = [
        ("p/d/y/r", "graded", ended()),
        (learning_id(SCOPE, 1), "closed", closed),
        (learning_id(SCOPE, 2), "version", structs.replace(version, number=2)),
        (learning_id("other", 1), "version", structs.replace(version, scope="other")),
    ]
    for count, (episode, address, event) in enumerate(wrong, 1):
        assert not learner.feed(episode, address, event)
        assert learner.strays.count == count
    assert "p/d/y/r" not in scope.window.stream
    for address in ("3", "closed"):
        assert learner.feed(learning_id(SCOPE, 1), address, reply()), "what it does not hear"
    assert learner.strays.count == len(wrong)
    assert learner.feed(learning_id(SCOPE, 1), "version", version)


def test_only_a_warm_start_states_a_version_0() -> None:
    learner = Learner(find)
    scope = learner.scope(SCOPE, "mc2", "service", {})
    zero = MemoryVersioned(scope=SCOPE, number=0, live_from=1, state=scope.memory.latest.state())
    before = scope.warmed
    assert learner.feed(learning_id(SCOPE, 0), "version", zero)
    assert (before, scope.warmed) == (False, True)
    other = full(10)
    closed = close(other)
    other.feed(learning_id(SCOPE, 1), "version", other.version(other.scopes[SCOPE], closed))
    assert not other.scopes[SCOPE].warmed
