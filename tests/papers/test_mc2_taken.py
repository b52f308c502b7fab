"""MC² on other tools' traces: what one leaves, which of them teach, and what the distiller is told of them.

Source: design/mc2.md D14.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from handlers.policies.base import Member
from handlers.policies.mc2 import MC2
from handlers.policies.mc2.distil import chosen
from handlers.policies.mc2.settings import Mc2Settings
from handlers.policies.taken import told
from schemas.events.learning import LessonDistilled
from schemas.identity import taken_id
from tests.handlers.policies.test_taken import TAKEN
from tests.papers.mc2_says import batch, best, learn, learned, member, worst
from tests.scripted import shown

SERVICE = Mc2Settings.resolve("service", {})


def left(settings: Mc2Settings = SERVICE, **said: Any) -> dict[str, Any]:
    """What a trace leaves."""
    assert MC2.takes is not None
    return MC2.takes(structs.replace(TAKEN, **said), settings)


def case(name: str, outcome: str = "unknown") -> Member:
    """A taken trace, as a learner sees it."""
    return replace(member(name, left(), outcome), episode=taken_id("game24", name, "x"))


def test_a_trace_is_one_attempt_that_nobody_reported_on_or_decided() -> None:
    assert left() == {
        "ended_by": "taken",
        "rounds": 1,
        "flags": [],
        "actions": [],
        "grade": "A",
        "ratings": {"reasoner": "ok", "monitor": "ok", "controller": "ok"},
        "tags": ["R_ok", "M_ok", "C_ok"],
        "polarity": None,
        "trajectories": {"reasoner": ["96"], "monitor": [], "controller": []},
        "excerpts": {"trajectory": told(TAKEN), "report": "", "decision": ""},
        "rejected": None,
        "asked": [],
    }
    assert json.loads(json.dumps(left())) == left()


def test_a_trace_without_an_answer_is_graded_as_such_and_a_long_one_is_cut() -> None:
    silent = left(answer=None)
    assert (silent["grade"], silent["trajectories"]["reasoner"]) == ("C", [None])
    short = left(Mc2Settings.resolve("service", {"excerpt_chars": 200}))["excerpts"]["trajectory"]
    assert len(short) <= 200 < len(told(TAKEN))
    assert short.startswith("I look it up.")
    assert short.endswith("Thanks.")


def test_only_what_somebody_judged_teaches_by_its_verdict_and_not_by_its_end() -> None:
    members = [case("a", "right"), case("b", "wrong"), case("c"), case("d", "withheld"), best("e")]
    assert [(one.subject, one.polarity, one.side, one.taken) for one in chosen(members)] == [
        ("game24/a", "do", "taken_do", True),
        ("game24/b", "avoid", "taken_avoid", True),
        ("game24/e", "do", "do", False),
    ]
    judged = worst("f", "right")
    assert chosen([judged])[0].polarity == "avoid", "an episode of ours teaches by its end"


@pytest.mark.parametrize(("outcome", "side"), [("right", "DO"), ("wrong", "AVOID")])
def test_the_reasoner_alone_is_taught_and_told_that_it_was_another_assistants(
    outcome: str, side: str
) -> None:
    """No Monitor and no Controller looked at it, so there is no course to tell of either."""
    ran = learn(batch([case("a", outcome)]), learned, SERVICE)
    [question] = ran.asks("distiller")
    assert question.template.name == "distiller.reasoner"
    seen = dict(question.variables)
    assert seen["polarity"].startswith(f"{side}: this attempt of another assistant was judged")
    assert (seen["trajectory"], seen["report"], seen["decision"]) == (told(TAKEN), "", "")
    assert "### Course" not in shown(question)
    [lesson] = ran.of(LessonDistilled)
    assert (lesson.role, lesson.polarity) == ("reasoner", side.lower())
    assert lesson.evidence == (taken_id("game24", "a", "x"),)
