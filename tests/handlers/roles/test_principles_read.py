"""Principles as an inducer rates them: words, scores and brackets, and the paper's object as one of ours."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handlers.roles.form import Unreadable, Values
from handlers.roles.inducer import Made, as_fields, checked, inducer, made_of, rated, strength
from handlers.roles.role import RoleReply

ALONE = ("medium", 60.0)


@pytest.mark.parametrize(
    ("item", "principle", "word", "score"),
    [
        ("Count twice (high, 75)", "Count twice", "high", 75.0),
        ("Count twice (HIGH)", "Count twice", "high", 75.0),
        ("Count twice (low)", "Count twice", "low", 40.0),
        ("Count twice (high, 0.8)", "Count twice", "high", 80.0),
        ("Count twice (high, 99)", "Count twice", "high", 85.0),
        ("Count twice (, 70)", "Count twice", "medium", 70.0),
        ("Count twice (.7)", "Count twice", "medium", 70.0),
        ("Count twice (step 2)", "Count twice (step 2)", *ALONE),
        ("Count twice (if so, twice)", "Count twice (if so, twice)", *ALONE),
        ("Count twice (low, 30)", "Count twice", "low", 30.0),
        ("Count (a) twice (medium, 60).", "Count (a) twice", "medium", 60.0),
        ("Count twice (confidence: high, 75)", "Count twice", "high", 75.0),
        ("Count twice (High; 75)", "Count twice", "high", 75.0),
        ("Count twice (high – 75 %)", "Count twice", "high", 75.0),
        ("Count twice (high, 75/100)", "Count twice", "high", 75.0),
        ("Count twice (high (80))", "Count twice", "high", 80.0),
        ("Count twice (confidence: high (80))", "Count twice", "high", 80.0),
        ("Count twice – confidence: high (80%)", "Count twice", "high", 80.0),
        ("Count twice. Confidence: low (40)", "Count twice.", "low", 40.0),
        ("Count high (80) numbers", "Count high (80) numbers", *ALONE),
        ("Count twice (low: see step 2)", "Count twice (low: see step 2)", *ALONE),
        ("Count twice", "Count twice", *ALONE),
        ("Count twice (when unsure)", "Count twice (when unsure)", *ALONE),
        ("Count twice [high, 75]", "Count twice [high, 75]", *ALONE),
        ("(high, 75) Count twice", "(high, 75) Count twice", *ALONE),
    ],
)
def test_a_principle_and_how_sure_it_is(item: str, principle: str, word: str, score: float) -> None:
    assert rated(item, "medium") == (principle, word, score)


def test_without_a_confidence_it_has_that_of_all() -> None:
    assert rated("Count twice", "high") == ("Count twice", "high", 75.0)
    assert rated("Count twice (when unsure)", "low")[1:] == ("low", 40.0)


@pytest.mark.parametrize(
    ("item", "wrong"),
    [
        ("Count twice (very, 70)", "confidence must be one of high, medium, low"),
        ("Count twice (high, x)", "a confidence score must be a number"),
        ("Count twice (high, 29)", "a confidence score must lie from 30 to 85"),
        ("Count twice (high, 101)", "a confidence score must lie from 30 to 85"),
        ("Count twice (high, 0)", "a confidence score must lie from 30 to 85"),
    ],
)
def test_a_rating_that_cannot_be_used_is_refused(item: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        rated(item, "medium")
    reply = f"Decision: create\nReasoning: so\nSummary: s\nStrategy_principles:\n- {item}"
    found = inducer(4).read(f"{reply}\nOverall_confidence: high", checked(frozenset()))
    assert found == Unreadable("Strategy_principles", wrong)


def test_an_update_names_a_principle_that_is_there() -> None:
    reply = "Decision: update\nTarget_meta_id: [`M1.1`].\nReasoning: so\nSummary: s"
    said = f"{reply}\nStrategy_principles:\n- p (high, 75)\nOverall_confidence: high"
    known = inducer(4).read(said, checked(frozenset({"M1.1"})))
    assert not isinstance(known, Unreadable)
    assert known["Target_meta_id"] == "M1.1"
    other = inducer(4).read(said, checked(frozenset({"M1"})))
    assert other == Unreadable("Target_meta_id", "names none of the present principles")


def test_the_paper_s_object_is_one_of_our_labels() -> None:
    inner: dict[str, Any] = {
        "summary": "s",
        "uncertainty-note": "u",
        "evidence_paths": ["a", "b"],
        "strategy_principles": [
            {"principle": "p", "confidence": "high", "confidence_score": 80},
            {"principle": "r"},
            "q (low)",
        ],
    }
    said = {"decision": "create", "reasoning": "so", "meta_cognition": inner}
    assert json.loads(as_fields(f"Thus: {json.dumps(said)}")) == {
        "decision": "create",
        "reasoning": "so",
        "summary": "s",
        "uncertainty_note": "u",
        "evidence_paths": 2,
        "strategy_principles": ["p (high, 80)", "r (, )", "q (low)"],
    }
    told = {"decision": "skip", "meta_cognition": {"uncertainty_note": "ours", "evidence_paths": 3}}
    assert json.loads(as_fields(json.dumps(told))) == {
        "decision": "skip",
        "uncertainty_note": "ours",
        "evidence_paths": 3,
    }
    for reply in ('{"x": 1}', "Decision: skip"):
        assert as_fields(reply) == reply


def test_the_word_for_a_strength() -> None:
    assert [strength(score) for score in (70, 69.9, 50, 49.9)] == [
        "high",
        "medium",
        "medium",
        "low",
    ]


def test_a_principle_is_as_strong_as_its_parts_are_on_average() -> None:
    values: Values = {
        "Decision": "create",
        "Summary": "Count first.",
        "Strategy_principles": ("Count twice (high, 80)", "Add once"),
        "Overall_confidence": "low",
        "Evidence_paths": 3.0,
        "Uncertainty_note": "few paths",
    }
    made = made_of(RoleReply(values, (), "ok"))
    parts = (("Count twice", "high", 80.0), ("Add once", "low", 40.0))
    assert made == Made("Count first.", parts, "low", 60.0, "few paths", 3.0)
    assert made.text == "Count first.\n- Count twice\n- Add once"
    bare = made_of(RoleReply({"Strategy_principles": ("Count",)}, (), "ok"))
    assert bare == Made("", (("Count", "medium", 60.0),), "medium", 60.0, "", None)
