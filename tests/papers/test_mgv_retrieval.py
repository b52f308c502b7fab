"""Algorithm 3: thresholds from history, two counters, intensity, automatic search, satisficing."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.policies.mgv.knowledge import Knowledge
from handlers.policies.mgv.satisfice import (
    Entry,
    Thresholds,
    burden,
    decide,
    first_thresholds,
    intensity,
    lowered,
)
from handlers.policies.mgv.signals import Knowing, feeling_of_knowing
from schemas.events.episode import Completed
from schemas.events.monitoring import ExperienceKept, SearchSteered, ThresholdsSet
from schemas.events.reasoning import Generated
from tests.papers.mgv_says import Model, case, episode, felt, remembering, retrieval

NONE = Knowing()


def history(*cases: dict[str, Any]) -> Knowledge:
    return Knowledge({"cases": list(cases)})


@pytest.mark.claim("mgv-alg3-l02")
def test_thresholds_are_medians_of_what_went_well() -> None:
    few = retrieval(min_labels=2)
    three = [case(f"c{at}", confidence=q) for at, q in enumerate((0.5, 0.9, 0.7))]
    assert first_thresholds(three, history(*three), few)[0].confidence == pytest.approx(0.7)
    two = [case(f"c{at}", confidence=q) for at, q in enumerate((0.6, 0.8))]
    assert first_thresholds(two, history(*two), few)[0].confidence == pytest.approx(0.7)


@pytest.mark.claim("mgv-alg3-l02")
def test_a_rung_of_history_needs_five_labels() -> None:
    five = [case(f"c{at}", confidence=0.9, knowing=(3.0, 0.0)) for at in range(5)]
    four = five[:4]
    settings = retrieval()
    assert first_thresholds(five, history(*five), settings) == (
        Thresholds(0.9, 3.0),
        ("recalled", "recalled"),
    )
    assert first_thresholds(four, history(*five), settings)[1] == ("domain", "domain")
    assert first_thresholds(four, history(*four), settings) == (
        Thresholds(0.7, 2.0),
        ("default", "default"),
    )


@pytest.mark.claim("mgv-alg3-l02")
def test_a_successful_retrieval_is_one_that_was_foreseen() -> None:
    foreseen = [case(f"f{at}", "right", knowing=(3.0, 1.0)) for at in range(3)]
    foreseen += [case(f"w{at}", "wrong", knowing=(1.0, 3.0)) for at in range(2)]
    surprised = [case(f"s{at}", "wrong", knowing=(9.0, 1.0)) for at in range(9)]
    found, _ = first_thresholds([], history(*foreseen, *surprised), retrieval())
    assert found.knowing == 4.0
    answered, _ = first_thresholds(
        [], history(*foreseen, *surprised), retrieval(success="answered")
    )
    assert answered.knowing == 10.0


@pytest.mark.claim("mgv-alg3-l06")
def test_two_counters() -> None:
    known, source = feeling_of_knowing([(0.9, True), (0.6, False)], 0.4, [0.3], "xor")
    assert (known.known, known.unknown) == pytest.approx((1.2, 1.3))
    assert source == "assess"
    felt_only, source = feeling_of_knowing([], 0.4, [], "xor")
    assert (felt_only, source) == (Knowing(0.4, 0.0), "feel")
    assert feeling_of_knowing([(-0.5, True)], 0.4, [], "xor")[0] == NONE


@pytest.mark.claim("mgv-alg3-l06")
def test_unreached_cases_do_not_count_and_no_model_is_asked() -> None:
    memory = remembering(case("a"), case("b", "wrong"))
    reached = episode(retrieval(), Model(["96"], [0.9]), memory=memory)
    first = dict(felt(reached, "FOK")[0].inputs)
    assert (first["known"], first["unknown"]) == pytest.approx((1, 1))
    unreached = episode(retrieval(reach=0.0), Model(["96"], [0.9]), memory=memory)
    assert dict(felt(unreached, "FOK")[0].inputs) == {"known": 0.0, "unknown": 0.0}
    for ran in (reached, unreached):
        before = [e for _, e in ran.events[: ran.events.index(_first_felt(ran))]]
        assert not [event for event in before if isinstance(event, Completed)]


def _first_felt(ran: Any) -> Any:
    return next(pair for pair in ran.events if pair[1].kind == "experience.felt")


CASES = [
    ([1, 0.9], "intensive"),
    ([1.5, 0.5], "standard"),
    ([0.5, 1.5], "stop"),
    ([2, 0], "standard"),
    ([0, 2], "stop"),
]


@pytest.mark.claim("mgv-alg3-l08", "mgv-alg3-l10", "mgv-alg3-l12")
@pytest.mark.parametrize(("counters", "expected"), CASES)
def test_intensity(counters: Sequence[float], expected: str) -> None:
    assert intensity(Knowing(*counters), 2.0, "intensive") == expected
    assert intensity(Knowing(*counters), 2.0, "stop") == expected


@pytest.mark.claim("mgv-alg3-l12")
def test_equal_counters_are_a_tie() -> None:
    assert intensity(Knowing(1, 1), 2.0, "intensive") == "intensive"
    assert intensity(Knowing(1, 1), 2.0, "stop") == "stop"
    assert intensity(Knowing(1, 1 + 1e-12), 2.0, "stop") == "stop"
    memory = remembering(*(case(f"c{at}", "wrong") for at in range(3)))
    stopped = episode(retrieval(), Model(), memory=memory)
    assert (stopped.result.answer, stopped.result.ended_by) == (None, "omission")
    assert stopped.requests == []
    looked = episode(retrieval(first_look="on"), Model(["96"], [0.9]), memory=memory)
    assert (looked.result.answer, len(looked.asks("reasoner"))) == ("96", 1)


@pytest.mark.claim("mgv-alg3-l08")
def test_an_intensive_cue_is_wider_and_is_no_other_strategy() -> None:
    cases = [case(f"c{at}") for at in range(2)]
    memory = remembering(*cases, case("c8", problem="Paint 3 walls."))
    narrow = episode(retrieval(recall_k=1), Model(["96"], [0.9]), memory=memory)
    [question] = narrow.asks("reasoner")
    assert question.template.name == "attempt.restate"
    standard = remembering(*(case(f"c{at}") for at in range(4)))
    wide = episode(retrieval(), Model(["96"], [0.9]), memory=standard)
    assert wide.of(SearchSteered)[0].intensity == "standard"
    [direct] = wide.asks("reasoner")
    assert direct.template.name == "attempt.direct"
    assert dict(direct.variables)["similar_cases"].count("Answer given") == 3


@pytest.mark.claim("mgv-alg3-l17")
def test_an_equal_cue_gives_the_recorded_answer_without_a_call() -> None:
    ran = episode(retrieval(), Model(["96"], [0.5]))
    assert len(ran.asks("reasoner")) == len(ran.of(Generated)) == 1
    assert len(ran.asks("confidence")) == 1
    assert len(ran.of(SearchSteered)) > 2
    assert {e.inputs for e in felt(ran, "FOK")[1:]} == {(("known", 0.5), ("unknown", 0.5))}
    assert ran.result.answer == "96"
    sampled = episode(retrieval(search="sampled"), Model(["96"], [0.5]))
    assert [q.draw for q in sampled.asks("reasoner")] == [0, 1, 2, 3]


FOR, AGAINST = Knowing(1, 0.5), Knowing(0.5, 1)


@pytest.mark.claim("mgv-alg3-l20", "mgv-alg3-l22")
@pytest.mark.parametrize(("answer", "confidence", "knowing", "decision"), [
    ("96", 0.8, FOR, "output"),
    ("96", 0.8, AGAINST, "output"),
    ("96", 0.7, AGAINST, "output"),
    ("96", 0.6, FOR, "continue"),
    ("96", 0.6, AGAINST, "continue"),
    (None, 0.0, FOR, "continue"),
    (None, 0.0, AGAINST, "omission"),
    (None, 0.0, Knowing(1, 1), "continue"),
])  # fmt: skip
def test_decisions(answer: str | None, confidence: float, knowing: Knowing, decision: str) -> None:
    assert decide(answer, confidence, 0.7, knowing) == decision


# ── Burden ───────────────────────────────────────────────────────────────────────────────────


def failures(count: int) -> list[Entry]:
    return [Entry(NONE, "cue", None, 0.0, 0.7) for _ in range(count)]


@pytest.mark.claim("mgv-alg3-l26")
def test_burden_grows_with_rounds_and_failures() -> None:
    assert [burden(at, failures(at + 1)) for at in range(3)] == [1, 3, 5]
    good = Entry(NONE, "cue", "96", 0.8, 0.7)
    low = Entry(NONE, "cue", "96", 0.6, 0.7)
    assert burden(0, [good]) == 0
    assert burden(0, [low]) == 1


@pytest.mark.claim("mgv-alg3-l26", "mgv-alg3-l27")
def test_thresholds_fall_with_burden() -> None:
    first = Thresholds(0.8, 2.0)

    def falling(**values: Any) -> list[float]:
        now, found = first, list[float]()
        for at in range(3):
            now, _ = lowered(first, now, at, failures(at + 1), retrieval(**values))
            found.append(now.confidence)
        return found

    assert falling() == pytest.approx([0.7239, 0.5927, 0.4852], abs=5e-5)
    running = falling(lambda_base="running")
    assert running == pytest.approx([0.7239, 0.5363, 0.3253], abs=5e-5)
    assert running == pytest.approx([0.8 * exp(-0.1 * n * n) for n in (1, 2, 3)])
    assert falling(burden=0.0) == [0.8, 0.8, 0.8]


@pytest.mark.claim("mgv-alg3-l27")
@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_both_thresholds_fall_together_and_never_rise(confidences: list[float]) -> None:
    ran = episode(retrieval(search="sampled"), Model(["1", "2", "3", "4", "5", "6"], confidences))
    told = ran.of(ThresholdsSet)
    pairs = [(each.confidence, each.knowing or 0.0) for each in told]
    assert pairs == sorted(pairs, reverse=True)
    for each in told[1:]:
        assert each.confidence == pytest.approx(0.7 * each.factor)
        assert each.knowing == pytest.approx(2.0 * each.factor)


@pytest.mark.claim("mgv-trace")
@pytest.mark.parametrize(("confidence", "values", "ended_by", "rounds"), [
    (0.5, {}, "output", 4),
    (0.5, {"lambda_base": "running"}, "output", 3),
    (0.5, {"tie": "stop"}, "omission", 3),
    (0.3, {}, "omission", 3),
    (None, {}, "omission", 2),
])  # fmt: skip
def test_the_loop_over_an_empty_memory(
    confidence: float | None, values: dict[str, Any], ended_by: str, rounds: int
) -> None:
    said = Model([None]) if confidence is None else Model(["96"], [confidence])
    ran = episode(retrieval(search="sampled", **values), said)
    assert (ran.result.ended_by, len(ran.of(SearchSteered))) == (ended_by, rounds)


@pytest.mark.claim("mgv-risk")
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.floats(0, 1), st.floats(0, 1))
def test_a_higher_threshold_answers_a_part_of_what_a_lower_one_does(
    record: list[float], one: float, other: float
) -> None:
    """Commission falls as omission rises: over a fixed record the answered set only shrinks."""

    def answered(threshold: float) -> set[int]:
        settings = retrieval(confidence_threshold=threshold, max_rounds=1)
        runs = [episode(settings, Model(["96"], [round(q, 3)])) for q in record]
        return {at for at, ran in enumerate(runs) if ran.result.answer is not None}

    assert answered(max(one, other)) <= answered(min(one, other))


@pytest.mark.claim("mgv-alg3-l30")
def test_consolidation_is_once_and_last() -> None:
    ran = episode(retrieval(search="sampled"), Model(["96"], [0.5]))
    assert ran.facts.count("experience.kept") == 1
    assert ran.facts[-1] == "experience.kept"
    assert ran.of(ExperienceKept)[0].rounds == (0, 1, 2, 3)


@pytest.mark.claim("mgv-alg3-l20")
def test_an_earlier_answer_may_pass_the_fallen_threshold() -> None:
    said = Model(["96", "5"], [0.65, 0.1])
    on = episode(retrieval(search="sampled"), said)
    assert (on.result.answer, len(on.asks("reasoner"))) == ("96", 2)
    off = episode(retrieval(search="sampled", reconsider="off"), Model(["96", "5"], [0.65, 0.1]))
    assert off.result.answer != "96"
    limited = episode(retrieval(search="sampled", on_stop="best"), Model(["96"], [0.6]), calls=2)
    assert (limited.result.limit, limited.result.answer) == ("calls", "96")
    withheld = episode(retrieval(search="sampled"), Model(["96"], [0.6]), calls=2)
    assert withheld.result.answer is None
