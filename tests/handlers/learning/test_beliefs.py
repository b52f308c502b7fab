"""Cases and beliefs: what one batch of episodes leaves of each, figure by figure."""

from __future__ import annotations

from typing import Any

import pytest

from handlers.learning.beliefs import (
    Evidence,
    after,
    anew,
    band_of,
    borne_out,
    evidence_of,
    key_of,
    measured_anew,
    rate,
    solved_by,
    update,
)
from handlers.learning.measured import Measured

BY_LABEL = {"learn_from": "label", "retire_trials": 3, "retire_below": 0.4}
BY_VERDICT = BY_LABEL | {"learn_from": "verdict"}


@pytest.mark.parametrize(
    ("confidence", "band"),
    [(None, "low"), (0.0, "low"), (0.49, "low"), (0.5, "middle"), (0.79, "middle"), (0.8, "high"),
     (1.0, "high")],
)  # fmt: skip
def test_confidence_comes_in_three_bands(confidence: float | None, band: str) -> None:
    assert band_of(confidence) == band


def test_one_success_and_one_failure_are_assumed_in_advance() -> None:
    assert [rate(0, 0), rate(1, 1), rate(3, 4), rate(0, 4)] == [1 / 2, 2 / 3, 4 / 6, 1 / 6]
    assert key_of("agent", "c", "d", "s", "low") == "agent|c|d|s|low"


def test_a_belief_adds_up_its_trials_and_is_retired_while_it_keeps_failing() -> None:
    beliefs: dict[str, Any] = {"other": {}}
    for solved, effort, error in ((False, 2, 0.25), (False, 1, None), (False, 4, 0.5)):
        before = beliefs
        beliefs = update(beliefs, Evidence("k", solved, effort, error), BY_LABEL)
        assert "k" not in before or before["k"] is not beliefs["k"]
    assert beliefs["k"] == {
        "solved": 0, "trials": 3, "effort": 7, "error": 0.75, "errors": 2, "retired": True,
    }  # fmt: skip
    assert beliefs["other"] == {}
    beliefs = update(beliefs, Evidence("k", True, 1, 0.0), BY_LABEL)
    assert beliefs["k"] == {
        "solved": 1, "trials": 4, "effort": 8, "error": 0.75, "errors": 3, "retired": True,
    }  # fmt: skip
    beliefs = update(beliefs, Evidence("k", True, 1), BY_LABEL)
    assert not beliefs["k"]["retired"], "3 of 7 is no longer below two fifths"
    at_the_bar = update({}, Evidence("k", False, 1), {"retire_trials": 1, "retire_below": 1 / 3})
    assert not at_the_bar["k"]["retired"]
    too_few = update({}, Evidence("k", False, 1), {"retire_trials": 2, "retire_below": 1.0})
    assert not too_few["k"]["retired"]


def tried(strategy: str, **more: Any) -> dict[str, Any]:
    return {"strategy": strategy, "diagnosis": "algebra", "answer": "4", "verdict": "PASS", **more}


def member(outcome: str = "right", *tuples: dict[str, Any], **more: Any) -> Measured:
    summary = {"class": "c", "tuples": list(tuples), "confidence": 0.9, "diagnosis": "algebra"}
    return Measured(
        "p/d/x/r", outcome, summary | more, "Add two numbers, and then one more.", "4", 7
    )


@pytest.mark.parametrize(
    ("outcome", "answer", "solved"),
    [
        ("right", "4", True),
        ("right", "4.0", True),
        ("right", "5", False),
        ("right", None, False),
        ("wrong", "4", False),
        ("wrong", "5", None),
        ("wrong", None, False),
        ("unknown", "4", None),
        ("withheld", "4", None),
    ],
)
def test_a_label_tells_of_attempts_with_the_answer_that_was_given(
    outcome: str, answer: str | None, solved: bool | None
) -> None:
    assert solved_by(member(outcome), tried("s", answer=answer), BY_LABEL) == solved


def test_without_an_answer_a_label_tells_of_no_attempt_and_a_verdict_of_its_own() -> None:
    nothing = Measured("e", "wrong", {}, answer=None)
    assert solved_by(nothing, tried("s"), BY_LABEL) is None
    for verdict, solved in (("PASS", True), ("FAIL", False), (None, None)):
        assert solved_by(member("wrong"), tried("s", verdict=verdict), BY_VERDICT) == solved


def test_a_problem_turned_out_to_be_what_the_strategy_that_solved_it_is_for() -> None:
    constants = BY_LABEL | {"solved_by": {"draw": "geometry", "count": "numbers"}}
    attempts = (tried("draw", answer="5"), tried("solve"), tried("count"))
    assert borne_out(member("right", *attempts), constants) == "numbers"
    assert borne_out(member("right", *attempts[:2]), constants) is None
    assert borne_out(member("right", *attempts), BY_LABEL) is None
    assert borne_out(member("unknown", *attempts), constants) is None


def test_what_a_member_says_of_strategies_checks_the_task_and_the_agent() -> None:
    first = tried("draw", confidence=0.6, effort=3, check="recount", answer="5")
    last = tried("count", verdict="FAIL", check="recount")
    constants = BY_LABEL | {"solved_by": {"count": "numbers"}}
    found = [*evidence_of(member("right", first, last), constants)]
    assert found == [
        Evidence("strategy|c|numbers|draw|middle", False, 3, 0.6),
        Evidence("strategy|c||recount|", False, 1),
        Evidence("strategy|c|numbers|count|low", True, 1),
        Evidence("strategy|c||recount|", False, 1),
        Evidence("agent|c|||high", True, 7, abs(0.9 - 1)),
        Evidence("task|c|numbers||", True, 7),
    ]
    assert [*evidence_of(member("unknown", first), BY_LABEL)] == []
    unsure = member("wrong", diagnosis=None, confidence=None)
    assert [*evidence_of(unsure, BY_LABEL)] == [
        Evidence("agent|c|||low", False, 7, None),
        Evidence("task|c|||", False, 7),
    ]


def test_by_verdict_the_policys_own_word_counts_and_no_label() -> None:
    passed = member("wrong", tried("draw", verdict=None), tried("count", check="c1"), passed=True)
    assert [*evidence_of(passed, BY_VERDICT)] == [
        Evidence("strategy|c|algebra|count|low", True, 1),
        Evidence("strategy|c||c1|", True, 1),
        Evidence("agent|c|||high", True, 7, abs(0.9 - 1)),
        Evidence("task|c|algebra||", True, 7),
    ]
    assert [*evidence_of(member("right"), BY_VERDICT)] == []
    unchecked = member("right", tried("count", check="c1", verdict=None))
    assert [each.key for each in evidence_of(unchecked, BY_LABEL)] == [
        "strategy|c|algebra|count|low", "agent|c|||high", "task|c|algebra||",
    ]  # fmt: skip


def test_a_batch_leaves_a_case_its_words_and_its_beliefs_once() -> None:
    one = member("right", vector="AAA=", signals=[1])
    silent = Measured("p/d/y/r", "right", {}, "Nothing was kept of this.")
    state = after({}, [one, silent, one], BY_LABEL)
    assert state["cases"] == [
        {
            "id": "p/d/x/r", "problem": one.problem, "outcome": "right", "features": [7, 0, 5],
            "answer": "4", "calls": 7, "class": "c", "vector": "AAA=", "diagnosis": "algebra",
            "confidence": 0.9, "signals": [1], "knowing": None, "tuples": [],
        }
    ]  # fmt: skip
    assert state["words"] == {"add": 1, "more": 1}
    assert {key: each["trials"] for key, each in state["beliefs"].items()} == {
        "agent|c|||high": 1, "task|c|algebra||": 1,
    }  # fmt: skip
    assert after(state, [one], BY_LABEL) == state
    other = Measured("p/d/z/r", "wrong", one.summary, "Add", "4", 1)
    more = after(state, [other], BY_LABEL)
    assert [case["id"] for case in more["cases"]] == ["p/d/x/r", "p/d/z/r"]
    assert more["words"] == {"add": 2, "more": 1}
    assert more["beliefs"]["task|c|algebra||"]["trials"] == 2


def test_cases_are_given_vectors_by_another_embedder_where_they_had_one() -> None:
    def vector_of(text: str | None) -> str | None:
        return None if text is None else f"of {text}"

    state = {"cases": [{"problem": "x", "vector": "old"}, {"problem": "y", "vector": None}], "n": 1}
    assert anew(state, vector_of) == {
        "cases": [{"problem": "x", "vector": "of x"}, {"problem": "y", "vector": None}], "n": 1,
    }  # fmt: skip
    assert anew({"n": 1}, vector_of) == {"n": 1}
    one = member(vector="old")
    assert measured_anew(one, vector_of).summary["vector"] == f"of {one.problem}"
    assert measured_anew(one, vector_of).summary["class"] == "c"
    bare = member()
    assert measured_anew(bare, vector_of) is bare
