"""Algorithm 2: the norm of study, ease and knowing, shares of one limit, judgements of learning."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.policies.base import Conclusion, Task
from handlers.policies.mgv.acquisition import acquire, norm_of_study, retention
from handlers.policies.mgv.allocate import Claim, allocate, weights
from handlers.policies.mgv.knowledge import Knowledge
from handlers.policies.mgv.parts import part
from handlers.policies.mgv.reflect import reflect
from handlers.policies.mgv.settings import AcquisitionSettings
from handlers.policies.mgv.signals import Knowing, ease, hardness, judgement_of_learning
from schemas.events.episode import Completed
from schemas.events.monitoring import Allocated, ExperienceFelt, ExperienceKept, ThresholdsSet
from tests.papers.mgv_says import (
    TASK,
    Model,
    acquisition,
    case,
    episode,
    felt,
    remembering,
)
from tests.scripted import Ran, Script, run

EMPTY = Knowledge({})


def learned(*cases: dict[str, Any]) -> Knowledge:
    return Knowledge({"cases": list(cases)})


def together(
    script: Script, limits: list[int], settings: AcquisitionSettings
) -> Ran[tuple[Conclusion, ...]]:
    """A set episode: one member for each limit, one ledger for all."""
    tasks = [
        Task(f"m{at}", f"Problem {at} of the set: add {at} and {limit}.", "stories", seed=at)
        for at, limit in enumerate(limits)
    ]
    members = list(zip(tasks, limits, strict=True))
    return run(acquire(members, settings), script, calls=sum(limits))


@pytest.mark.claim("mgv-alg2-l02")
def test_the_norm_of_study() -> None:
    assert norm_of_study(EMPTY, acquisition()).confidence == pytest.approx(0.99, abs=1e-12)
    verbatim = norm_of_study(EMPTY, acquisition(goal="verbatim"))
    assert verbatim.confidence == pytest.approx(1.08, abs=1e-12)
    assert norm_of_study(EMPTY, acquisition(goal="verbatim", overlearning="cap")).confidence == 1.0
    assert retention(EMPTY, acquisition(delay=0)) == 0.0


@pytest.mark.claim("mgv-alg2-l02")
def test_retention_is_learned_from_labels() -> None:
    def answered(right: int, of: int, q: float = 0.8) -> Knowledge:
        return learned(
            *(case(f"c{at}", "right" if at < right else "wrong", confidence=q) for at in range(of))
        )

    assert retention(answered(7, 10), acquisition()) == pytest.approx(8 / 7 - 1)
    assert retention(answered(10, 10), acquisition()) == 0.0
    assert retention(answered(1, 10), acquisition()) == 0.3
    assert retention(answered(0, 5), acquisition()) == 0.3
    assert retention(answered(1, 4), acquisition()) == 0.1


@pytest.mark.claim("mgv-alg2-l08")
def test_ease_first_then_knowing() -> None:
    ran = episode(acquisition(), Model(["1", "2", "3"], [0.4]), calls=6)
    kinds = [e.experience for e in ran.of(ExperienceFelt) if e.experience in ("EOL", "FOK")]
    assert kinds == ["EOL", "FOK", "FOK"]
    assert Knowing(0.9, 0.6).p == pytest.approx(1.9 / 3.5)
    assert ease([(0.9, True), (0.6, False)], 0.9, 0.05, "xor").value == pytest.approx(1.9 / 3.5)
    assert ease([], 0.9, 0.05, "xor").value == pytest.approx(0.1)
    assert ease([], 1.0, 0.05, "xor").value == 0.05


@pytest.mark.claim("mgv-alg2-l08")
def test_ease_as_a_feeling_goes_by_percentiles() -> None:
    history = [[float(at) for at in range(10)]] * 3
    assert hardness((9, 9, 9), history, 10) == pytest.approx(0.95)
    assert hardness((9, 9, 9), [[1.0] * 9] * 3, 10) == 0.5
    assert hardness((9, 9, 9), [], 10) == 0.5


# ── Shares ───────────────────────────────────────────────────────────────────────────────────


def claims(eases: list[float], own: list[int] | None = None) -> list[Claim]:
    limits = own or [10**6] * len(eases)
    return [Claim(f"m{at}", e, o) for at, (e, o) in enumerate(zip(eases, limits, strict=True))]


@pytest.mark.claim("mgv-alg2-l12")
@pytest.mark.parametrize(("eases", "own", "total", "shares"), [
    ([0.5, 0.25, 0.25], None, 10, [2, 4, 4]),
    ([0.5, 0.25, 0.25], [8, 3, 8], 10, [2, 3, 5]),
    ([1.0, 0.5, 0.5], None, 6, [1, 3, 2]),
    ([1.0, 0.05], None, 3, [1, 2]),
    ([1.0, 0.05], None, 1, [0, 1]),
    ([0.0, 1.0], None, 21, [20, 1]),
])  # fmt: skip
def test_shares_are_inverse_to_ease(
    eases: list[float], own: list[int] | None, total: int, shares: list[int]
) -> None:
    assert allocate(total, claims(eases, own)) == shares


@pytest.mark.parametrize(("members", "total", "shares"), [
    ([("b", 0.0, 3), ("a", 0.0, 1)], 1, [0, 1]),
    ([("d", 1.0, 1), ("a", 0.1, 2), ("c", 0.5, 4)], 2, [0, 1, 1]),
    ([("b", 1.0, 1), ("a", 0.1, 4)], 2, [1, 1]),
    ([("d", 0.3, 4), ("b", 0.0, 4), ("a", 0.05, 3)], 4, [1, 2, 1]),
    ([("a", 0.0, 6), ("c", 0.0, 4), ("d", 0.3, 1)], 4, [2, 1, 1]),
    ([("b", 0.25, 2), ("a", 0.05, 0)], 2, [2, 0]),
    ([("a", 0.25, 1), ("d", 0.5, 2), ("b", 0.1, 3), ("c", 0.0, 4)], 8, [1, 1, 2, 4]),
])  # fmt: skip
def test_what_rounding_leaves_goes_by_name_and_whoever_may_work_gets_one_from_the_largest(
    members: list[tuple[str, float, int]], total: int, shares: list[int]
) -> None:
    assert allocate(total, [Claim(*each) for each in members]) == shares


def test_weights_are_exact_to_the_ninth_digit() -> None:
    assert weights([0.123456789, 0.1, 0.001]) == [
        Fraction(10**9, 123456789),
        Fraction(10),
        1 / Fraction(0.05),
    ]


EASES = st.lists(st.floats(0.05, 1), min_size=1, max_size=7)


@pytest.mark.claim("mgv-alg2-l12")
@given(EASES, st.integers(1, 60), st.data())
def test_shares_sum_to_the_total_and_keep_to_own_limits(
    eases: list[float], total: int, data: st.DataObject
) -> None:
    own = data.draw(st.lists(st.integers(1, 20), min_size=len(eases), max_size=len(eases)))
    shares = allocate(total, claims(eases, own))
    assert sum(shares) == min(total, sum(own))
    assert all(0 <= share <= limit for share, limit in zip(shares, own, strict=True))
    if total >= len(eases):
        assert min(shares) >= 1


@pytest.mark.claim("mgv-alg2-l12")
@given(EASES, st.integers(1, 60), st.floats(0.05, 1))
def test_a_share_does_not_rise_with_ease(eases: list[float], total: int, easier: float) -> None:
    before = allocate(total, claims(eases))
    after = allocate(total, claims([max(easier, eases[0]), *eases[1:]]))
    assert after[0] <= before[0]


@pytest.mark.claim("mgv-alg2-l12")
def test_what_was_shared_out_is_recorded_and_kept_to() -> None:
    ran = together(Model(["1", "2", "3"], [0.4]), [9, 9, 9], acquisition(max_rounds=1))
    [given_out] = ran.of(Allocated)
    assert given_out.total == 27
    assert sum(calls for _, calls in given_out.shares) == 27
    assert len(ran.of(Completed)) <= 27


# ── Judgements of learning ───────────────────────────────────────────────────────────────────


@pytest.mark.claim("mgv-alg2-l18")
def test_equal_answers_lift_the_judgement() -> None:
    assert judgement_of_learning(0.9, 0, 0.1) == pytest.approx(0.9)
    assert judgement_of_learning(0.9, 1, 0.1) >= 0.99 - 1e-9
    assert judgement_of_learning(0.9, 2, 0.1) >= 1.08 - 1e-9
    ran = episode(acquisition(), Model(["96"], [0.9]), calls=6)
    assert [e.value for e in felt(ran, "JOL")] == pytest.approx([0.9, 0.99])
    assert (ran.result.ended_by, ran.result.answer) == ("mastered", "96")
    capped = episode(acquisition(overlearning="cap"), Model(["96"], [0.9]), calls=6)
    assert [e.value for e in felt(capped, "JOL")] == pytest.approx([0.9, 0.9, 0.9])


@pytest.mark.claim("mgv-alg2-l22")
def test_members_that_meet_the_norm_drop_out_and_none_left_ends_it() -> None:
    def model(question: Any) -> str:
        mastered = "Problem 0" in dict(question.variables)["problem"]
        return Model(["96"], [1.0 if mastered else 0.2])(question)

    settings = acquisition(confidence="verbal")
    ran = together(model, [6, 6], settings)
    open_members = [[name for name, _ in event.shares] for event in ran.of(Allocated)]
    assert open_members == [["stories/m0", "stories/m1"], ["stories/m1"], ["stories/m1"]]
    assert [c.ended_by for c in ran.result] == ["mastered", "max_rounds"]
    both = together(Model(["96"], [1.0]), [6, 6], settings)
    assert len(both.of(Allocated)) == 1
    exact = together(Model(["96"], [0.99]), [6], settings)
    assert [c.ended_by for c in exact.result] == ["mastered"]


@pytest.mark.claim("mgv-alg2-l12")
@pytest.mark.parametrize(("shares", "granted"), [("open", [3, 5]), ("all", [2, 3])])
def test_who_has_finished_keeps_a_share_unspent_where_all_share(
    shares: str, granted: list[int]
) -> None:
    def model(question: Any) -> str:
        mastered = "Problem 0" in dict(question.variables)["problem"]
        return Model(["96"], [1.0 if mastered else 0.2])(question)

    ran = together(model, [9, 9], acquisition(confidence="verbal", shares=shares))
    _, *later = ran.of(Allocated)
    assert [each.shares for each in later] == [(("stories/m1", calls),) for calls in granted]


@pytest.mark.claim("mgv-set")
@given(st.lists(st.integers(1, 9), min_size=1, max_size=5), st.floats(0, 1))
def test_a_set_has_one_answer_a_member_and_none_over_its_limit(limits: list[int], q: float) -> None:
    ran = together(Model(["96", None, "7"], [q]), limits, acquisition())
    assert len(ran.result) == len(limits)
    spent = dict.fromkeys(range(len(limits)), 0)
    for question in ran.requests:
        spent[int(dict(question.variables)["problem"].split()[1])] += 1
    assert all(spent[at] <= limit for at, limit in enumerate(limits))


@pytest.mark.claim("mgv-set")
def test_without_a_series_a_set_of_one() -> None:
    ran = episode(acquisition(), Model(["96"], [1.0]))
    assert [event.shares for event in ran.of(Allocated)] == [((TASK.subject, 4),)]
    assert episode(acquisition(), Model(["1", "2", "3"]), calls=7).result.answer is not None


@pytest.mark.claim("mgv-alg2-l24")
def test_consolidation_is_once_and_last() -> None:
    ran = episode(acquisition(), Model(["96"], [0.9]), calls=6)
    assert [kind for kind in ran.facts if kind == "experience.kept"] == ["experience.kept"]
    assert ran.facts[-1] == "experience.kept"
    assert ran.of(ExperienceKept)[0].rounds == (1, 2)
    assert ran.of(ThresholdsSet)[0].confidence == pytest.approx(0.99)


@pytest.mark.claim("mgv-alg2-l08")
def test_harder_members_get_more() -> None:
    hard, easy = case("a", "wrong"), case("b", "right", problem="Paint 3 walls.")
    memory = remembering(hard, easy)
    settings = acquisition(max_rounds=1, recall_k=1)
    tasks = [
        (Task("m0", hard["problem"], "stories", 1, 1), 9),
        (Task("m1", "Paint 3 walls.", "stories", 1, 1), 9),
    ]
    ran = run(acquire(tasks, settings), Model(["96"], [0.5]), memory=memory, calls=18)
    shares = dict(ran.of(Allocated)[0].shares)
    assert shares["stories/m0"] == 9
    assert shares["stories/m1"] == 9
    tight = [(task, 5) for task, _ in tasks]
    ran = run(
        acquire(tight, acquisition(recall_k=1)), Model(["96"], [0.5]), memory=memory, calls=10
    )
    first = dict(ran.of(Allocated)[0].shares)
    assert first["stories/m0"] > first["stories/m1"]
    given_out: dict[str, list[int]] = {}
    for monitor in ("on", "off"):
        own = acquisition(recall_k=1, max_rounds=2, monitor=monitor)
        wide = [(task, 12) for task, _ in tasks]
        ran = run(acquire(wide, own), Model(["96"], [0.5]), memory=memory, calls=24)
        given_out[monitor] = [calls for _, calls in ran.of(Allocated)[0].shares]
    assert given_out == {"on": [8, 4], "off": [6, 6]}


@pytest.mark.claim("mgv-set")
@given(st.lists(st.integers(1, 9), min_size=1, max_size=5), st.floats(0, 1))
def test_the_parts_of_a_set_hold_each_of_its_calls_once(limits: list[int], q: float) -> None:
    """And what a member leaves to be known is what it would leave of a set of one."""
    settings = acquisition()
    ran = together(Model(["96", None, "7"], [q]), limits, settings)
    names = [f"stories/m{at}" for at in range(len(limits))]
    parts = [part(ran.trace, name) for name in names]
    calls = [at for own in parts for at, event in own.events if isinstance(event, Completed)]
    assert sorted(calls) == sorted(at for at, e in ran.events if isinstance(e, Completed))
    for name, own, conclusion in zip(names, parts, ran.result, strict=True):
        about = {e.subject for _, e in own.events if isinstance(e, ExperienceFelt)}
        assert about == {name}
        left = reflect(own, conclusion, settings)
        assert (left["class"], left["ended_by"]) == ("stories", conclusion.ended_by)
        assert left["vector"] is not None
        assert len([e for _, e in own.events if isinstance(e, ExperienceKept)]) == 1
