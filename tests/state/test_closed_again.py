"""A version is closed again for what was forgotten, for outcomes that turned, and for vectors of another embedder."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from schemas.events.base import Event
from schemas.events.episode import Embedded
from schemas.events.graph import PathGrounded
from schemas.events.learning import (
    BatchClosed,
    EmbedderChanged,
    Graded,
    KnowledgeConsolidated,
    LessonDistilled,
    MemoryVersioned,
    ProblemForgotten,
)
from schemas.identity import learning_id
from schemas.memory import Memory
from schemas.vectors import pack
from state.folds.forgetting import Forgetting
from state.folds.memory import MemoryFold, MemoryMismatch
from tests.state.told import SCOPE, Log

NEWS = f"n/{SCOPE}/-"
ASKED = [f"p/d/{name}/r" for name in "xyz"]


def begun() -> Log:
    """Three problems were solved in two batches, each left a lesson, and the first batch a rule of two roles."""
    log = Log()
    for name in "xyz":
        log.ended(name)
        log.graded(name, "right")
    log.learns("x", "y", lessons="xy", retirement="opportunities@1")
    log.learns("z", lessons="z", retirement="opportunities@1")
    return log


def again(log: Log, closed: BatchClosed, *said: Event) -> Memory:
    """A batch is closed again, says this, and has its version."""
    fold = log.state.memory(SCOPE)
    episode = learning_id(SCOPE, closed.batch, closed.revision)
    log.say(episode, "batch", closed)
    for at, event in enumerate(said):
        log.say(episode, str(at), event)
    memory = fold.following(fold.learned(closed), closed.batch, 1, closed)
    log.say(episode, "version", MemoryVersioned(
        scope=SCOPE, number=closed.batch, revision=closed.revision, live_from=1, state=memory.state()
    ))  # fmt: skip
    return fold.versions[closed.batch]


def forget(log: Log, problem: str) -> MemoryFold:
    event = ProblemForgotten(scope=SCOPE, domain="d", problem_id=problem)
    log.say(NEWS, f"forgotten.{len(log.told)}", event)
    return log.state.memory(SCOPE)


def test_what_cites_a_forgotten_problem_goes_version_by_version() -> None:
    log = begun()
    fold = forget(log, "x")
    assert fold.forgetting.owed == [1, 2]
    first = fold.closing_without(1)
    assert (first.members, first.outcomes, first.revision) == (("p/d/y/r",), ("right",), 1)
    assert [item.id for item in fold.kept(1)] == [], "its evidence names both members"
    one = again(log, first)
    assert (one.items, one.revision, one.name) == ((), 1, "1.1")
    assert fold.forgetting.owed == [2]
    assert fold.forgetting.withdrawn == {"x", "y"}
    two = again(log, fold.closing_without(2))
    assert [item.id for item in two.items] == ["z"]
    assert (fold.forgetting.owed, fold.forgetting.withdrawn) == ([], set())
    labels = two.labels
    assert labels is not None
    assert [label.episode for label in labels] == ["p/d/z/r", "p/d/y/r"]
    lives = log.state.lives.known
    assert [lives[SCOPE, name].withdrawn for name in "xyz"] == [True, True, False]
    assert [lives[SCOPE, name].until for name in "xyz"] == [2, 2, None]
    assert [fold.versions.pinned(1, revision).revision for revision in (None, 1)] == [0, 1]
    assert len(fold.versions.pinned(1, None).items) == 2
    assert log.state.digests[SCOPE, 1] == one.state()


@pytest.mark.parametrize("read", [True, False])
@pytest.mark.parametrize("first_said", ["closing", "forgotten"])
def test_a_revision_that_was_overtaken_stands_where_it_adds_up_and_its_batch_is_closed_once_more(
    first_said: str, read: bool
) -> None:
    """Two write one log: who closes a batch again learns only later that a second problem is forgotten."""
    log = begun()
    fold = forget(log, "x")
    closed = fold.closing_without(1)
    unread = fold.following(fold.learned(closed), 1, 1, closed)
    episode = learning_id(SCOPE, 1, 1)
    if first_said == "closing":
        log.say(episode, "batch", closed)
    forget(log, "y")
    if first_said == "forgotten":
        log.say(episode, "batch", closed)
    assert (fold.forgetting.owed, fold.forgetting.overtaken) == ([1, 2], {1})
    known = fold.following(fold.learned(closed), 1, 1, closed)
    assert known.state() != unread.state()
    before, told = fold.versions[1], dict(log.state.digests)
    made = known if read else unread
    version = MemoryVersioned(scope=SCOPE, number=1, revision=1, live_from=1, state=made.state())
    log.say(episode, "version", version)
    assert fold.versions[1].revision == (1 if read else 0)
    assert read or (fold.versions[1] is before and log.state.digests == told)
    assert fold.forgetting.owed == [1, 2], "its members are those of whoever had not read it"
    once_more = fold.closing_without(1)
    assert (once_more.members, once_more.revision) == ((), 2)
    assert again(log, once_more).name == "1.2"
    assert [item.id for item in again(log, fold.closing_without(2)).items] == ["z"]
    assert fold.forgetting == Forgetting(fold.forgetting.subjects)


def test_one_of_a_later_batch_is_overtaken_by_an_earlier_one() -> None:
    log = begun()
    fold = forget(log, "z")
    closed = fold.closing_without(2)
    log.say(learning_id(SCOPE, 2, 1), "batch", closed)
    log.graded("y", "wrong", relearned_from=1)
    assert (fold.forgetting.owed, fold.forgetting.overtaken) == ([1, 2], {2})
    made = fold.following(fold.learned(closed), 2, 1, closed)
    version = MemoryVersioned(scope=SCOPE, number=2, revision=1, live_from=1, state=made.state())
    log.say(learning_id(SCOPE, 2, 1), "version", version)
    assert (fold.forgetting.owed, fold.forgetting.overtaken) == ([1, 2], set())
    forgot = structs.replace(fold.closing_without(2), revision=1)
    assert fold.forgetting.overtakes(forgot), "who had read it would close the first one first"
    assert not fold.forgetting.overtakes(structs.replace(fold.closing_without(1), revision=1))
    again(log, fold.closing_without(1))
    assert again(log, fold.closing_without(2)).name == "2.2"
    assert not fold.forgetting.owed


def ruled(log: Log, lessons: str, cites: tuple[str, ...]) -> MemoryFold:
    """A batch of three problems is learned from: these lessons, and a rule that names those that it cites."""
    fold = log.state.memory(SCOPE)
    for name in "xyz":
        log.ended(name)
        log.graded(name, "right")
    closed = BatchClosed(
        scope=SCOPE, batch=1, members=tuple(ASKED), outcomes=("right",) * 3, previous=0, policy="p",
        policy_version="1", settings="0f", seed=1,
    )  # fmt: skip
    episode = learning_id(SCOPE, 1)
    log.say(episode, "batch", closed)
    for at, name in enumerate(lessons):
        lesson = LessonDistilled(
            id=name, role="a", polarity="do", text=f"text {name}", subject=f"d/{name}",
            evidence=(f"p/d/{name}/r",), source="0",
        )  # fmt: skip
        log.say(episode, str(at), lesson)
    log.say(episode, str(len(lessons)), rule_of("first", *cites))
    memory = fold.following(fold.learned(closed), 1, 1, closed)
    version = MemoryVersioned(scope=SCOPE, number=1, live_from=1, state=memory.state())
    log.say(episode, "version", version)
    return fold


def rule_of(text: str, *cites: str) -> KnowledgeConsolidated:
    return KnowledgeConsolidated(
        role="a", rules=(("R1", text),), result="consolidated", lessons=cites
    )


def test_a_problem_is_forgotten_although_outcomes_were_being_counted_anew() -> None:
    """Nobody is asked then, and nothing is withdrawn: the version that follows still has to withdraw."""
    log = Log()
    fold = ruled(log, "", ())
    log.graded("y", "wrong", by="regrade", relearned_from=1)
    closed = structs.replace(fold.closing_without(1), overturned=())
    assert closed.regraded
    log.say(learning_id(SCOPE, 1, 1), "batch", closed)
    forget(log, "x")
    assert again_at(log, closed).name == "1.1"
    assert (fold.forgetting.owed, fold.forgetting.regraded) == ([1], set())
    assert fold.closing_without(1).regraded is None
    assert again(log, fold.closing_without(1)).items == (), "its rule rests on all of its batch"
    assert not fold.forgetting.owed


def test_rules_of_what_was_forgotten_while_they_were_written_go_with_it() -> None:
    log = Log()
    fold = ruled(log, "xyz", ("x", "y", "z"))
    forget(log, "x")
    closed = fold.closing_without(1)
    episode = learning_id(SCOPE, 1, 1)
    log.say(episode, "batch", closed)
    log.say(episode, "0", rule_of("second", "y", "z"))
    forget(log, "y")
    made = again_at(log, closed)
    assert [item.text for item in made.items] == ["second", "text z"]
    assert fold.forgetting.withdrawn == {"x", "y"}
    assert [item.text for item in again(log, fold.closing_without(1)).items] == ["text z"]
    assert fold.forgetting == Forgetting(fold.forgetting.subjects)


def again_at(log: Log, closed: BatchClosed) -> Memory:
    """The version of a closing that was said before, by whoever has read all that stands now."""
    fold = log.state.memory(SCOPE)
    memory = fold.following(fold.learned(closed), closed.batch, 1, closed)
    version = MemoryVersioned(
        scope=SCOPE, number=closed.batch, revision=closed.revision, live_from=1, state=memory.state()
    )  # fmt: skip
    log.say(learning_id(SCOPE, closed.batch, closed.revision), "version", version)
    return fold.versions[closed.batch]


def test_a_forgotten_answer_that_is_graded_anew_owes_nothing() -> None:
    log = begun()
    fold = forget(log, "x")
    for number in (1, 2):
        again(log, fold.closing_without(number))
    said = Graded(scope=SCOPE, outcome="wrong", grader="g@2", by="regrade", relearned_from=1)
    fold.feed("p/d/x/r", "graded.late", said)
    assert fold.forgetting == Forgetting(fold.forgetting.subjects)
    assert not fold.labelling.graded


def test_a_revision_that_nothing_overtook_has_to_add_up() -> None:
    log = begun()
    closed = forget(log, "x").closing_without(1)
    log.say(learning_id(SCOPE, 1, 1), "batch", closed)
    version = MemoryVersioned(scope=SCOPE, number=1, revision=1, live_from=1, state="0f")
    with pytest.raises(MemoryMismatch):
        log.say(learning_id(SCOPE, 1, 1), "version", version)


def test_forgetting_a_problem_of_a_later_batch_leaves_earlier_versions_alone() -> None:
    log = begun()
    fold = forget(log, "z")
    assert fold.forgetting.owed == [2]
    two = again(log, fold.closing_without(2))
    assert [item.id for item in two.items] == ["x", "y"]
    assert fold.closing(2).revision == 1
    assert fold.closing_without(2).revision == 2
    assert forget(log, "nobody").forgetting.owed == []


def test_an_answer_that_was_graded_anew_has_its_versions_closed_again_and_nothing_withdrawn() -> (
    None
):
    log = begun()
    log.graded("y", "wrong", relearned_from=1)
    fold = log.state.memory(SCOPE)
    assert (fold.forgetting.owed, fold.forgetting.regraded) == ([1, 2], {1, 2})
    first = fold.closing_without(1)
    assert (first.outcomes, first.regraded) == (("right", "right"), True), (
        "by its own grader's word"
    )
    one = again(log, first)
    assert [item.id for item in one.items] == ["x", "y"]
    assert fold.forgetting.owed == [2]
    assert [item.id for item in again(log, fold.closing_without(2)).items] == ["x", "y", "z"]
    assert fold.forgetting.regraded == set()


def test_rules_that_rest_on_what_was_withdrawn_fall_back_until_they_are_written_anew() -> None:
    log = Log()
    for name in "xyz":
        log.ended(name)

    def says(role: str, text: str, *lessons: str) -> KnowledgeConsolidated:
        return KnowledgeConsolidated(
            role=role, rules=((f"R-{role}", text),), result="consolidated", lessons=lessons
        )

    for number, (name, rules) in enumerate((
        ("x", (says("a", "first a", "x"), says("b", "first b", "other"))),
        ("y", (says("a", "second a", "x"), says("b", "second b", "other"))),
    ), 1):  # fmt: skip
        fold = log.state.memory(SCOPE)
        closed = BatchClosed(
            scope=SCOPE, batch=number, members=(f"p/d/{name}/r",), outcomes=("unknown",),
            previous=number - 1, policy="p", policy_version="1", settings="0f", seed=1,
        )  # fmt: skip
        log.say(learning_id(SCOPE, number), "batch", closed)
        for at, rule in enumerate(rules):
            log.say(learning_id(SCOPE, number), str(at), rule)
        memory = fold.following(fold.learned(closed), number, 1, closed)
        version = MemoryVersioned(scope=SCOPE, number=number, live_from=1, state=memory.state())
        log.say(learning_id(SCOPE, number), "version", version)
    fold = forget(log, "x")
    fold.forgetting.withdrawn = {"x"}
    assert fold.touched(fold.closing_without(1)) == ({"x"}, {"a"})
    assert fold.touched(fold.closing_without(2)) == ({"x"}, {"a"})
    one = again(log, fold.closing_without(1))
    assert [item.text for item in one.items] == ["first b"]
    two = again(log, fold.closing_without(2), says("a", "written anew", "y"))
    assert [item.text for item in two.items] == ["written anew", "second b"]


def test_what_is_stated_anew_is_folded_anew_and_what_stays_once() -> None:
    log = Log()
    for name in "xy":
        log.ended(name)

    def grounded(name: str, path: str) -> PathGrounded:
        return PathGrounded(
            case=name, subject=f"d/{name}", path=path, outcome="right", source=f"p/d/{name}/r"
        )

    rule: dict[str, Any] = {"initial_weight": 0.5, "step_size": 0.1}
    closed = BatchClosed(
        scope=SCOPE, batch=1, members=("p/d/x/r", "p/d/y/r"), outcomes=("right", "right"), previous=0,
        policy="p", policy_version="1", settings="0f", seed=1, rule="graph@2", constants=rule,
    )  # fmt: skip
    fold = log.state.memory(SCOPE)
    log.say(learning_id(SCOPE, 1), "batch", closed)
    for at, fact in enumerate((grounded("x", "a"), grounded("y", "b"))):
        log.say(learning_id(SCOPE, 1), str(at), fact)
    memory = fold.following(fold.learned(closed), 1, 1, closed)
    version = MemoryVersioned(scope=SCOPE, number=1, live_from=1, state=memory.state())
    log.say(learning_id(SCOPE, 1), "version", version)
    assert set(fold.latest.learned["cases"]) == {"x", "y"}
    forget(log, "x")
    one = again(log, fold.closing_without(1), grounded("y", "c"))
    assert set(one.learned["cases"]) == {"y"}
    assert set(one.learned["paths"]) == {"b", "c"}
    assert one.learned["cases"]["y"]["paths"]["b"]["runs"] == 1
    log.graded("y", "wrong", relearned_from=1)
    two = again(log, fold.closing_without(1))
    assert two.name == "1.2"
    assert two.learned == one.learned, "nobody is asked, and what was said stays"


def test_what_was_measured_of_an_answer_follows_its_outcome_and_comes_back_with_it() -> None:
    log = Log()
    for name in "xy":
        log.ended(name)
    rule: dict[str, Any] = {"initial_weight": 0.5, "step_size": 0.1}
    closed = BatchClosed(
        scope=SCOPE, batch=1, members=("p/d/x/r", "p/d/y/r"), outcomes=("right", "right"), previous=0,
        policy="p", policy_version="1", settings="0f", seed=1, rule="graph@2", constants=rule,
    )  # fmt: skip
    fold = log.state.memory(SCOPE)
    log.say(learning_id(SCOPE, 1), "batch", closed)
    for at, (name, source) in enumerate((("x", "p/d/x/r"), ("y", "p/d/y/r"), ("y", "0.1"))):
        fact = PathGrounded(
            case=name, subject=f"d/{name}", path="a", outcome="right", source=source
        )
        log.say(learning_id(SCOPE, 1), str(at), fact)
    first = fold.following(fold.learned(closed), 1, 1, closed)
    version = MemoryVersioned(scope=SCOPE, number=1, live_from=1, state=first.state())
    log.say(learning_id(SCOPE, 1), "version", version)

    def sides(memory: Memory) -> dict[str, tuple[int, int]]:
        cases = memory.learned["cases"]
        edges = {name: cases[name]["paths"]["a"] for name in cases}
        return {name: (edge["right"], edge["wrong"]) for name, edge in edges.items()}

    log.graded("y", "wrong", by="regrade", relearned_from=1)
    one = again(log, fold.closing_without(1))
    assert fold.closing(1).retold
    assert sides(one) == {"x": (1, 0), "y": (1, 1)}, "its other run was graded when it was made"
    forget(log, "x")
    assert sides(again(log, fold.closing_without(1))) == {"y": (1, 1)}, "whatever comes later"
    log.graded("y", "right", by="regrade", relearned_from=1)
    assert sides(again(log, fold.closing_without(1))) == {"y": (2, 0)}


def test_another_embedder_gives_the_newest_version_other_vectors_and_ends_no_batch() -> None:
    log = begun()
    fold = log.state.memory(SCOPE)
    log.ended("v")
    closed = BatchClosed(
        scope=SCOPE, batch=3, members=("p/d/v/r",), outcomes=("unknown",), previous=2, policy="p",
        policy_version="1", settings="0f", seed=1,
    )  # fmt: skip
    log.say(learning_id(SCOPE, 3), "batch", closed)
    log.say(
        learning_id(SCOPE, 3), "0", Embedded(asked="q", embedder="old", dimensions=2, vectors=())
    )
    memory = fold.following(fold.learned(closed), 3, 1, closed)
    log.say(learning_id(SCOPE, 3), "version", MemoryVersioned(
        scope=SCOPE, number=3, live_from=1, state=memory.state()
    ))  # fmt: skip
    assert fold.latest.embedder == "old"
    log.say(NEWS, "embedder.0", EmbedderChanged(scope=SCOPE, embedder="old"))
    assert [fold.changing] == [None], "it is the one that it has"
    log.say(NEWS, "embedder.1", EmbedderChanged(scope=SCOPE, embedder="new"))
    assert [fold.changing] == ["new"]
    wanted = fold.closed_anew()
    assert (wanted.batch, wanted.revision, wanted.embedder, wanted.measured) == (3, 1, "new", None)
    vectors = tuple(pack((float(at), 0.0, 0.0)) for at in range(3))
    log.say(learning_id(SCOPE, 3, 1), "batch", wanted)
    assert fold.begun_anew == wanted
    assert fold.closed_anew().revision == 2, "one that was begun already is passed over"
    log.say(NEWS, "embedder.2", EmbedderChanged(scope=SCOPE, embedder="old"))
    assert [fold.changing] == ["old"], "another one is under way"
    log.say(NEWS, "embedder.3", EmbedderChanged(scope=SCOPE, embedder="new"))
    made = Embedded(asked="q", embedder="new", dimensions=3, vectors=vectors)
    log.say(learning_id(SCOPE, 3, 1), "0", made)
    assert log.state.dimensions == 3
    anew = fold.following(fold.learned(wanted), 3, 1, wanted)
    log.say(learning_id(SCOPE, 3, 1), "version", MemoryVersioned(
        scope=SCOPE, number=3, revision=1, live_from=1, state=anew.state()
    ))  # fmt: skip
    assert [item.vector for item in fold.latest.items] == [*vectors]
    assert (fold.latest.name, fold.latest.embedder) == ("3.1", "new")
    assert [fold.changing, fold.begun_anew] == [None, None]
    assert fold.forgetting.owed == []
    known = fold.latest
    log.say(learning_id(SCOPE, 3, 1), "version", MemoryVersioned(
        scope=SCOPE, number=3, revision=1, live_from=1, state=anew.state()
    ))  # fmt: skip
    assert fold.latest is known, "a second record of one version changes nothing"
    assert log.state.strays.count == 1
