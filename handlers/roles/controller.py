"""The Controller: accepts, patches, or restarts; it never solves a problem that it sends back.

Source: MC² eq. (6), figures 21 and 22.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from handlers.roles.form import Unreadable, Values
from handlers.roles.role import FAIR, Check, Role, choice
from schemas.events.reasoning import Action
from schemas.reply import Field

PROMPT = f"""\
You control a group of reasoning models. From the problem, one model's trajectory and a monitor's \
report on it you decide how to go on, by one of three actions.
- ACCEPT: nothing meaningful is wrong. Keep the trajectory and its final answer.
- PATCH: local slips that you can correct with certainty. Mend them yourself: give the corrected \
reasoning and the final answer.
- RESTART: the approach, a premise or the reading of the problem is wrong. Do not solve the problem \
yourself. Tell whoever begins anew in one sentence what to do otherwise; name no number and no formula.
{FAIR} Justify yourself briefly, then decide."""

ACTIONS: Mapping[str, Action] = {"ACCEPT": "accept", "PATCH": "patch", "RESTART": "restart"}
# Lessons that were learned under the paper's names come back in prompts, and models answer in the
# words they read.
NUMBERED = {"1": "ACCEPT", "2": "PATCH", "3": "RESTART", "REVISE": "PATCH"}

CODES: Mapping[Action, int] = {"accept": 1, "patch": 2, "restart": 3}
_CALLED = r"(?:accept|patch|revise|restart)"
_BY_NUMBER = re.compile(
    rf"\b{_CALLED}\s{{0,2}}\([ \t]{{0,2}}action[\s*_`]{{0,3}}([123])[ \t]{{0,2}}\)"
    rf"|\baction[\s*_`]{{0,3}}([123])\b(?:\s{{0,2}}\({_CALLED}\))?",
    re.IGNORECASE,
)


def in_words(said: str) -> str:
    """A text with actions called by name: ``Action 1``, ``Action 3 (restart)``, ``accept (Action 1)``."""
    return _BY_NUMBER.sub(lambda found: NUMBERED[found[1] or found[2]], said)


CONTROLLER = Role.of(
    "controller",
    PROMPT,
    sections=("Problem", "Candidate?", "Trajectory", "Report", "Guidance?"),
    reply=[
        Field("Justification", "text", "why, in a sentence or two", required=False),
        choice(
            "Action",
            ACTIONS,
            "ACCEPT keeps the answer, PATCH mends slips, RESTART asks for another attempt",
            NUMBERED,
        ),
        Field(
            "Corrected_reasoning",
            "text",
            "the mended reasoning",
            when=("Action", ("PATCH",)),
            required=False,
        ),
        Field(
            "Suggestions",
            "text",
            "what the next attempt is to do otherwise, in one sentence",
            when=("Action", ("RESTART",)),
            # Whoever decides so and gives no advice has decided all the same.
            required=False,
        ),
        Field(
            "Final_answer",
            "answer",
            "the answer, written as it is in the trajectory",
            when=("Action", ("ACCEPT", "PATCH")),
            required=False,
        ),
    ],
    notes={
        "Guidance": """\
Section "Guidance" is a decision policy for this case: use what fits and ignore the rest."""
    },
    running=True,
    closing="""\
Decide on this trajectory now: Justification in a sentence or two, then Action, one of the three words. Below RESTART \
write Suggestions, below PATCH Corrected_reasoning and Final_answer, below ACCEPT Final_answer. Copy nothing else.""",
)


@dataclass(frozen=True, slots=True)
class Decision:
    """What the Controller decided: ỹ only with a patch (and an accept), u only with a restart."""

    action: Action
    justification: str | None = None
    reasoning: str | None = None
    answer: str | None = None
    advice: str | None = None


# A decision that cannot be read restarts without advice. Accepting would let an unchecked answer
# through, and a patch has to bring an answer of its own.
FALLBACK = Decision("restart")


def decision_of(text: str, check: Check | None = None) -> Decision:
    """The decision that a reply holds; a restart without advice if it cannot be read."""
    values = CONTROLLER.read(text, check)
    if isinstance(values, Unreadable):
        return FALLBACK
    advice = _text(values, "Suggestions")
    return Decision(
        ACTIONS[str(values["Action"])],
        _text(values, "Justification"),
        _text(values, "Corrected_reasoning"),
        _text(values, "Final_answer"),
        # Advice becomes one line of the next prompt; the bullet that a model puts before it would
        # make a list of it.
        None if advice is None else advice.lstrip("-*• \t\n").strip(),
    )


def needs_answer(candidate: str | None) -> Check:
    """A patch brings its own answer; so does an accept where ŷ cannot be read."""
    return partial(_answered, candidate)


def _answered(candidate: str | None, values: Values, text: str) -> Unreadable | None:
    needed = values["Action"] == "PATCH" or (values["Action"] == "ACCEPT" and candidate is None)
    return (
        Unreadable("Final_answer", "missing") if needed and "Final_answer" not in values else None
    )


def _text(values: Values, label: str) -> str | None:
    value = values.get(label)
    return value if isinstance(value, str) else None
