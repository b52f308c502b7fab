"""Graph memory: what the Inducer is told, which replies it may give, and what becomes of others."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest

from handlers.roles.form import Unreadable
from handlers.roles.inducer import Analysis, checked, inducer, rated, strength
from schemas.events.graph import PrincipleInduced
from schemas.questions import Complete
from tests.papers.gm_says import (
    BAD,
    GOOD,
    PROBLEM,
    learning,
    member,
    principle,
    remembered,
    remembering,
)
from tests.scripted import Ran, shown

ROLE = inducer(30)


def reply(score: Any = 80, word: str = "high", note: str = "uncertainty_note") -> str:
    meta = {
        "summary": "search first",
        "strategy_principles": [
            {"principle": "search", "confidence": word, "confidence_score": score}
        ],
        "overall_confidence": "medium",
        "evidence_paths": 2,
        note: "two paths only",
    }
    return orjson.dumps(
        {"decision": "create", "reasoning": "r", "meta_cognition": meta, "target_meta_id": None}
    ).decode()


def contrast(*said: str, count: int = 0, **values: Any) -> Ran[None]:
    names = {f"m{at:02}": 1.0 for at in range(count)}
    memory = remembering({PROBLEM: {BAD: "wrong"}}, {GOOD: names})
    return learning(member("right", GOOD), script=said, memory=memory, **values)


@pytest.mark.claim("gm-prompt-c")
@pytest.mark.parametrize(("score", "readable"), [(29, False), (30, True), (85, True), (101, False)])
def test_scores_keep_their_bounds(score: int, readable: bool) -> None:
    values = ROLE.read(reply(score), checked(frozenset()))
    assert isinstance(values, Unreadable) is not readable


@pytest.mark.claim("gm-prompt-c")
def test_words_and_both_spellings_of_the_note() -> None:
    assert isinstance(ROLE.read(reply(word="certain"), checked(frozenset())), Unreadable)
    for note in ("uncertainty_note", "uncertainty-note"):
        values = ROLE.read(reply(note=note), checked(frozenset()))
        assert not isinstance(values, Unreadable)
        assert values["Uncertainty_note"] == "two paths only"
        assert values["Evidence_paths"] == 2
    assert (strength(70), strength(69.9), strength(49.9)) == ("high", "medium", "low")
    assert rated("search (high, 75)", "low") == ("search", "high", 75.0)
    assert rated("search", "low") == ("search", "low", 40.0)


@pytest.mark.claim("gm-prompt-a")
def test_what_the_inducer_is_told() -> None:
    [question] = contrast(principle(), count=2).asks("inducer")
    text = shown(question)
    for part in (GOOD, BAD, "GS (GoalSetting, takes in", "[m00]", "[m01]"):
        assert part in text
    assert dict(question.variables)["how_many_there_are"] == "2"
    assert "[m00]" in dict(question.variables)["principles_so_far"]
    assert PROBLEM not in text
    assert "familiar" in text
    assert "Above 30 principles" in text
    assert "JSON" not in text, "one form is asked for; the paper's object is read all the same"
    assert "Decision: create | update | skip" in text


def test_without_a_principle_nothing_is_said_of_updates() -> None:
    """Offered an update where nothing stood, a small model named a principle that it made up."""
    [question] = contrast(principle()).asks("inducer")
    text = shown(question)
    assert question.template.name == "inducer.contrast.first"
    assert "Decision: create | skip" in text
    assert not any(word in text for word in ("pdate", "Target_meta_id", "Principles so far"))


@pytest.mark.parametrize("analysis", ["speculative", "positive"])
@pytest.mark.parametrize("first", [False, True])
def test_where_no_two_runs_are_held_together_none_is_asked_for_their_difference(
    analysis: Analysis, first: bool
) -> None:
    assert "difference between the runs" not in inducer(30, analysis, first=first).template.text


def test_what_is_said_of_two_sections_is_said_once() -> None:
    paths = {"transitions": "t", "path_that_succeeded": GOOD, "path_that_failed": BAD}
    asked = ROLE.template.user(
        {
            **paths,
            "work_that_succeeded": "a",
            "work_that_failed": "b",
            "principles_so_far": "",
            "how_many_there_are": "1",
        }
    )
    assert asked.count("The work is shown in excerpts") == 1


def test_a_summary_alone_is_a_principle_of_middling_strength() -> None:
    """Half of a small model's principles had no steps under them, or ratings without a step."""
    for steps, score in (("NONE", 60.0), ("\n- (high, 75)\n- (high, 85)", 80.0)):
        said = f"Decision: create\nSummary: Read the question again.\nStrategy_principles: {steps}"
        [fact] = contrast(said).of(PrincipleInduced)
        assert (fact.decision, fact.summary, fact.strategies) == (
            "create",
            "Read the question again.",
            (),
        )
        assert (fact.score, fact.confidence, fact.reason) == (score, "medium", "")


def test_a_skip_needs_no_reasons() -> None:
    for reply in ("Decision: skip", "Decision: skip\nReasoning: NONE\nSummary: NONE"):
        ran = contrast(reply)
        assert len(ran.asks("inducer")) == 1
        [fact] = ran.of(PrincipleInduced)
        assert fact.decision == "skip"


@pytest.mark.claim("gm-prompt-c")
def test_an_unreadable_reply_is_asked_for_once_more_and_then_skipped() -> None:
    mended = contrast("{broken", principle())
    assert [event.decision for event in mended.of(PrincipleInduced)] == ["create"]
    lost = contrast("{broken", "{still")
    [fact] = lost.of(PrincipleInduced)
    assert (fact.decision, fact.principle) == ("skip", None)
    assert fact.reason.startswith("unreadable: Decision")
    assert [isinstance(each, Complete) for each in lost.requests] == [True, True]
    told = contrast('{"decision": "skip", "reasoning": "nothing new"}')
    assert [(e.decision, e.reason) for e in told.of(PrincipleInduced)] == [("skip", "nothing new")]


@pytest.mark.claim("gm-prompt-a")
@pytest.mark.parametrize(("count", "cap", "made"), [
    (29, "hard", True), (30, "hard", False), (31, "hard", False), (31, "prompt", True),
])  # fmt: skip
def test_the_rule_of_quantity(count: int, cap: str, made: bool) -> None:
    """Up to thirty are created; above, the prompt discourages it, or the cap refuses it."""
    ran = contrast(principle("entirely distinct"), count=count, cap=cap, match_above=1.0)
    [fact] = ran.of(PrincipleInduced)
    assert (fact.decision == "create") is made
    assert made or f"{count} principles" in fact.reason


@pytest.mark.claim("gm-prompt-a")
@pytest.mark.parametrize(("limit", "made"), [(2, False), (3, True)])
def test_the_limit_of_principles_is_the_one_that_is_set(limit: int, made: bool) -> None:
    ran = contrast(principle("entirely distinct"), count=2, cap="hard", principle_limit=limit)
    [fact] = ran.of(PrincipleInduced)
    assert (fact.decision == "create") is made
    assert str(limit) in shown(ran.asks("inducer")[0]), "and it is told"


@pytest.mark.parametrize(("said", "principle", "word", "score"), [
    ("search (High, 75)", "search", "high", 75.0),
    ("search (confidence: high, 75)", "search", "high", 75.0),
    ("search **(medium, 55)**", "search", "medium", 55.0),
    ("search (high, 90)", "search", "high", 85.0),
    ("search (high, 86)", "search", "high", 85.0),
    ("search (high, 0.8)", "search", "high", 80.0),
    ("search (when unsure)", "search (when unsure)", "low", 40.0),
    ("look at f(x) (step 2)", "look at f(x) (step 2)", "low", 40.0),
])  # fmt: skip
def test_natural_ways_to_rate_a_principle_become_one(
    said: str, principle: str, word: str, score: float
) -> None:
    """They were refused, lost their number in silence, or left marks behind in every later prompt."""
    labelled = (
        f"Decision: Create\nReasoning: r\nSummary: s\nStrategy_principles:\n- {said}\n"
        "Overall_confidence: Low"
    )
    ran = contrast(labelled)
    assert len(ran.asks("inducer")) == 1
    [fact] = ran.of(PrincipleInduced)
    assert (fact.decision, fact.strategies) == ("create", ((principle, word, score),))


@pytest.mark.parametrize("target", ["[m00]", "m00", "`m00`", "[m00]."])
def test_a_target_is_named_as_the_list_shows_it(target: str) -> None:
    named = json.loads(reply())
    labelled = (
        f"Decision: update\nTarget_meta_id: {target}\nReasoning: r\nSummary: search twice\n"
        "Strategy_principles:\n- search (high, 80)\nOverall_confidence: medium"
    )
    as_json = json.dumps({**named, "decision": "update", "target_meta_id": target})
    for said in (labelled, as_json):
        ran = contrast(said, count=2)
        [fact] = ran.of(PrincipleInduced)
        assert (fact.decision, fact.principle) == ("update", "m00")
        assert len(ran.asks("inducer")) == 1


def test_of_too_many_principles_the_first_six_stand() -> None:
    named = json.loads(reply())
    many = [
        {"principle": f"p{at}", "confidence": "high", "confidence_score": 75} for at in range(8)
    ]
    named["meta_cognition"]["strategy_principles"] = many
    [fact] = contrast(json.dumps(named)).of(PrincipleInduced)
    assert [principle for principle, _, _ in fact.strategies] == [f"p{at}" for at in range(6)]


def test_labelled_fields_say_the_same() -> None:
    """The simulator, and models that prefer labels to JSON."""
    labelled = (
        "Decision: create\nReasoning: r\nSummary: search first\nStrategy_principles:\n"
        "- search (high, 80)\n- read twice\nOverall_confidence: medium\nUncertainty_note: few"
    )
    ran = contrast(labelled)
    [fact] = ran.of(PrincipleInduced)
    assert fact.strategies == (("search", "high", 80.0), ("read twice", "medium", 60.0))
    assert fact.score == 70
    memory = remembering({PROBLEM: {BAD: "wrong"}}, {})
    assert remembered(ran, memory).of("principle", "rule")


def test_an_object_is_read_though_prose_with_braces_and_a_comma_too_many_stand_around_it() -> None:
    """By the reader of objects that all roles share: the first brace of a reply need not open it."""
    said = json.loads(principle("search first"))
    loose = json.dumps(said)[:-1] + ",}"
    ran = contrast(f"The set {{GS, IR}} differs.\n```json\n{loose}\n```\nThat {{is}} all.")
    [fact] = ran.of(PrincipleInduced)
    assert fact.decision == "create"
    assert len(ran.asks("inducer")) == 1
