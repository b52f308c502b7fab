"""Laws of Monitor–Generate–Verify: over whatever a model says, and with ten thousand cases in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.policies.mgv.feel import feel_knowing
from handlers.policies.mgv.knowledge import knowledge_of, remember
from handlers.policies.mgv.settings import MgvSettings
from schemas.asking import Steps
from schemas.events.episode import Completed
from schemas.events.monitoring import Allocated, ExperienceFelt, SearchSteered, ThresholdsSet
from schemas.memory import Memory
from schemas.vectors import pack
from tests.pace import within
from tests.papers.mgv_says import LATER, Model, acquisition, case, episode, flavell, retrieval
from tests.scripted import Ran, run

SETTINGS = [flavell(), acquisition(), retrieval(), retrieval(first_look="on")]
ANSWERS = st.lists(st.sampled_from(["96", "95", "7", None]), min_size=1, max_size=6)
SURE = st.lists(st.sampled_from([0.0, 0.2, 0.5, 0.7, 0.9, 1.0]), min_size=1, max_size=6)
VERDICTS = st.lists(st.sampled_from(["PASS", "FAIL"]), min_size=1, max_size=4)


def known(at: int, outcome: str, diagnosis: str) -> dict[str, Any]:
    """A case of this number."""
    return case(f"c{at}", outcome, diagnosis=diagnosis)


OUTCOMES, DIAGNOSES = (
    st.sampled_from(["right", "wrong", "unknown"]),
    st.sampled_from(["plain", "complex"]),
)
CASES = st.lists(
    st.builds(known, st.integers(0, 9), OUTCOMES, DIAGNOSES),
    max_size=6,
    unique_by=lambda each: str(each["id"]),
)
MONITORED = ("difficulty", "EOL", "FOK")


@pytest.mark.claim("mgv-order")
@pytest.mark.parametrize("settings", SETTINGS, ids=lambda each: type(each).__name__)
@given(ANSWERS, SURE, VERDICTS, CASES, st.integers(1, 20))
def test_monitoring_precedes_generation(
    settings: MgvSettings,
    answers: list[str | None],
    sure: list[float],
    verdicts: list[str],
    cases: list[dict[str, Any]],
    calls: int,
) -> None:
    """In every round of every episode, whatever is said and known."""
    memory = Memory("s", 1, (), {"cases": cases, "beliefs": {}, "words": {}})
    ran = episode(settings, Model(answers, sure, verdicts), memory=memory, calls=calls)
    monitored: set[int] = set()
    for _, event in ran.events:
        if isinstance(event, ExperienceFelt) and event.experience in MONITORED:
            monitored.add(event.round)
        if event.kind == "generated":
            assert getattr(event, "round") in monitored  # noqa: B009
        if isinstance(event, Completed):
            assert monitored
    assert len(ran.of(Completed)) <= calls


@pytest.mark.claim("mgv-alg2-l12")
@given(ANSWERS, SURE, st.integers(1, 20))
def test_what_is_shared_out_adds_up(
    answers: list[str | None], sure: list[float], calls: int
) -> None:
    ran = episode(acquisition(), Model(answers, sure), calls=calls)
    assert all(sum(c for _, c in event.shares) == event.total for event in ran.of(Allocated))


@pytest.mark.claim("mgv-alg3-l22", "mgv-alg3-l27")
@given(ANSWERS, SURE, CASES, st.sampled_from(["intensive", "stop"]))
def test_omission_only_under_negative_dominance_and_thresholds_fall(
    answers: list[str | None], sure: list[float], cases: list[dict[str, Any]], tie: str
) -> None:
    memory = Memory("s", 1, (), {"cases": cases, "beliefs": {}, "words": {}})
    ran = episode(retrieval(tie=tie), Model(answers, sure), memory=memory)
    last = ran.of(SearchSteered)[-1]
    if ran.result.ended_by == "omission":
        tied = tie == "stop" and abs(last.known - last.unknown) <= 1e-9
        assert last.unknown > last.known or tied
        assert ran.result.answer is None
    first, *_ = thresholds = ran.of(ThresholdsSet)
    assert first.factor == 1, "nothing is lowered before anything was tried"
    confidences = [event.confidence for event in thresholds]
    assert confidences == sorted(confidences, reverse=True)


# ── Ten thousand cases ───────────────────────────────────────────────────────────────────────

MANY, DIMS = 10_000, 256


def crowded() -> Memory:
    rng = np.random.default_rng(7)
    rows = rng.normal(size=(MANY, DIMS)).astype(np.float16).astype(float).tolist()
    cases = [
        case(f"c{at}", "right" if at % 2 else "wrong") | {"vector": pack(row)}
        for at, row in enumerate(rows)
    ]
    return Memory("s", 1, (), {"cases": cases, "beliefs": {}, "words": {}})


def knowing(settings: MgvSettings) -> Steps[None]:
    """What stands before an attempt: cases come to mind, and a feeling of knowing of them."""
    mind = yield from remember(LATER, settings)
    yield from feel_knowing(mind, 0, [])


@pytest.mark.slow
@pytest.mark.claim("mgv-alg3-l06")
def test_knowing_costs_no_call_and_under_five_milliseconds_at_ten_thousand_cases() -> None:
    """Of a desk, in the best of many: what the machine can do, not what else it was doing."""
    memory, settings = crowded(), retrieval()
    query = tuple(np.random.default_rng(8).normal(size=DIMS).tolist())
    assert len(knowledge_of(memory.learned).vectors.nearest(query, 3)) == 3  # the view is made once

    def known() -> Ran[Any]:
        return run(knowing(settings), [], memory=memory, vectors=lambda text: query)

    ran = within(5e-3, known, rounds=20)
    assert ran.requests == []
    assert len(ran.of(ExperienceFelt)) == 1
