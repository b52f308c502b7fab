"""MC² § C.5: exactly six rules of a role, or none that are new.

Source: design/mc2.md D8.
"""

from __future__ import annotations

import pytest

from handlers.roles.controller import in_words
from schemas.events.learning import KnowledgeConsolidated
from tests.papers.mc2_says import (
    LESSONS,
    batch,
    item,
    knowing,
    learn,
    rules,
    setting,
)
from tests.scripted import Ran

GOOD = rules("R")
REFUSED = {
    "five": "\n".join(GOOD.splitlines()[:5]),
    "seven": f"{GOOD}\nR7: Check the parts again before the whole.",
    "doubled": GOOD.replace("R6", "R5"),
    "doubled beside six": f"{GOOD}\nR2: Check the parts again before the whole.",
    "digit": GOOD.replace("twice", "2 times"),
    "two sentences": GOOD.replace("whole.", "whole. Then stop."),
    "same twice": GOOD.replace("twice", "often"),
    "other role": GOOD.replace("R", "M"),
}


def _consolidate(*said: str, known: bool = True, strict: bool = False) -> Ran[None]:
    """Six old rules of the Reasoner, one live lesson, and these replies."""
    old = (
        [item(f"R{k}", "reasoner", f"Old rule {w}.", kind="rule") for k, w in _NAMED]
        if known
        else []
    )
    memory = knowing(*old, item("L1.R1", "reasoner", LESSONS["reasoner"]))
    settings = setting(new_rules="strict" if strict else "soft")
    return learn(batch([], 2, memory), {"consolidator": said}, settings)


_NAMED = tuple(enumerate(("one", "two", "three", "four", "five", "six"), 1))


def _reasoners(ran: Ran[None]) -> KnowledgeConsolidated:
    return next(one for one in ran.of(KnowledgeConsolidated) if one.role == "reasoner")


@pytest.mark.claim("mc2-c3", "mc2-c5")
@pytest.mark.parametrize("said", REFUSED.values(), ids=REFUSED)
def test_what_are_not_six_rules_is_refused(said: str) -> None:
    twice = _reasoners(_consolidate(said, said))
    assert (twice.result, twice.new) == ("fallback", 0)
    assert twice.rules == tuple((f"R{k}", f"Old rule {w}.") for k, w in _NAMED)
    mended = _reasoners(_consolidate(said, GOOD))
    assert (mended.result, mended.new, len(mended.rules)) == ("consolidated", 6, 6)


@pytest.mark.claim("mc2-c3", "mc2-c5")
def test_actions_are_called_by_name() -> None:
    said = GOOD.replace("the whole", "you take Action 3 (restart)")
    fact = _reasoners(_consolidate(said))
    assert fact.rules[0][1] == "Check the parts early before you take RESTART."


@pytest.mark.parametrize(
    ("said", "means"),
    [
        ("Take Action 1.", "Take ACCEPT."),
        ("then accept (Action 1) it", "then ACCEPT it"),
        ("choose **Action** 2 (revise)", "choose **PATCH"),
        ("Action 12 and action 3", "Action 12 and RESTART"),
        ("Transaction 1 stays", "Transaction 1 stays"),
    ],
)
def test_numbered_actions_have_the_names_that_the_controller_knows(said: str, means: str) -> None:
    assert in_words(said) == means


@pytest.mark.claim("mc2-c3", "mc2-c5")
def test_new_rules() -> None:
    """D8: soft records, strict refuses more than two; from nothing all six may be new."""
    kept = [f"R{k}: Old rule {w}." for k, w in _NAMED]
    two = "\n".join((*kept[:4], *GOOD.splitlines()[4:]))
    three = "\n".join((*kept[:3], *GOOD.splitlines()[3:]))
    assert _reasoners(_consolidate(three)).new == 3
    assert _reasoners(_consolidate(three, two, strict=True)).new == 2
    assert _reasoners(_consolidate(three, three, strict=True)).result == "fallback"
    assert _reasoners(_consolidate(GOOD, known=False, strict=True)).new == 6
