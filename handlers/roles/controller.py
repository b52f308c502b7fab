"""The Controller: accepts, patches, or restarts; it never solves a problem that it sends back.

Source: MC² eq. (6), figures 21 and 22.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from handlers.roles.form import Unreadable, Values
from handlers.roles.role import Check, Role, choice
from schemas.events.reasoning import Action
from schemas.reply import Field

PROMPT = """\
You control a group of reasoning models. From the problem, one model's trajectory and a monitor's \
report on it you decide how to go on, by one of three actions.
1 ACCEPT: nothing meaningful is wrong. Keep the trajectory and its final answer.
2 PATCH: only minor faults. Mend them yourself: give the corrected reasoning and the final answer.
3 RESTART: major faults. Do not solve the problem yourself. Give one sentence of advice for \
solving it anew from the start: abstract, about what to do, without any expression copied from \
the trajectory.
If a section "Guidance" is given, it is a decision policy for this case: take it in first.
Justify yourself briefly in your own words, then close with the fields below."""

ACTIONS: Mapping[str, Action] = {"1": "accept", "2": "patch", "3": "restart"}
CODES: Mapping[Action, int] = {"accept": 1, "patch": 2, "restart": 3}

CONTROLLER = Role.of(
    "controller",
    PROMPT,
    sections=("Subject?", "Problem", "Candidate?", "Trajectory", "Report", "Guidance?"),
    reply=[
        choice(
            "Action",
            ACTIONS,
            "1 accept: nothing meaningful is wrong, 2 patch: minor faults that you mend yourself, "
            "3 restart: major faults, another attempt is needed",
        ),
        Field("Justification", "text", "why, in a sentence", required=False),
        Field(
            "Corrected_reasoning",
            "text",
            "the mended reasoning",
            when=("Action", ("2",)),
            required=False,
        ),
        Field("Suggestions", "text", "one abstract sentence of advice", when=("Action", ("3",))),
        Field("Final_answer", "answer", "the answer", when=("Action", ("1", "2")), required=False),
    ],
)


@dataclass(frozen=True, slots=True)
class Decision:
    """What the Controller decided: ỹ only with a patch (and an accept), u only with a restart."""

    action: Action
    justification: str | None = None
    reasoning: str | None = None
    answer: str | None = None
    advice: str | None = None


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
        None if advice is None else advice.lstrip("-*• \t\n").strip(),
    )


def needs_answer(candidate: str | None) -> Check:
    """A patch brings its own answer; so does an accept where ŷ cannot be read."""
    return partial(_answered, candidate)


def _answered(candidate: str | None, values: Values, text: str) -> Unreadable | None:
    needed = values["Action"] == "2" or (values["Action"] == "1" and candidate is None)
    return (
        Unreadable("Final_answer", "missing") if needed and "Final_answer" not in values else None
    )


def _text(values: Values, label: str) -> str | None:
    value = values.get(label)
    return value if isinstance(value, str) else None
