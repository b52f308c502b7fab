"""The progress judge: rates the work so far, and the reward that follows from its ratings.

The ratings are its own; what is computed from them is computed here, and a value of its own that
differs is recorded and not used.

Source: Meta-Reasoner § 3.3.1, App. B (form B), App. C, App. F (progress evaluation).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

import orjson

from handlers.roles.form import Unreadable, Values, parse
from handlers.roles.role import Check, Role, number
from schemas.reply import Field

Form: TypeAlias = Literal["A", "B", "scalar"]

_TASK = """\
You are an impartial judge. Rate how far the work on a problem has come, strictly by the criteria \
below, without a liking for one way of working over another."""
_JSON = """\
Put the fields below into one JSON object, their labels as its keys, and write nothing besides it."""

PROMPTS: Mapping[Form, str] = {
    "A": f"""\
{_TASK}
C_c is correctness, from 0 (nothing, or all of it wrong) to 1 (right and about to arrive): are the \
facts and the logic sound, and does the work come nearer to the goal? C_a is adherence, from 0 \
(ignored) to 1 (kept entirely): does it keep to the conditions, the form and the limits of the task?
You may also state what follows from them with the weights that are given: S_p = w1 C_c + w2 C_a, \
R_u = -alpha N_s, R = beta S_p + (1 - beta) R_u. Close with a rationale for C_c and C_a alone.
{_JSON}""",
    "B": f"""\
{_TASK}
Rate four things from 0 to 1: how completely the objective is met, the quality of the progress \
made, how efficiently it was made, and how well the last step follows the strategy advised.
{_JSON}""",
    "scalar": f"""\
{_TASK}
Give one number from 0 (no use) to 1 (right and about to arrive). Write it and nothing else.""",
}


def _rating(label: str, about: str) -> Field:
    return number(label, f"{about}, in [0, 1]", unit=True)


def _derived(label: str, about: str) -> Field:
    return Field(label, "number", about, required=False)


REPLIES: Mapping[Form, tuple[Field, ...]] = {
    "A": (
        _rating("C_c", "correctness of the work so far"),
        _rating("C_a", "adherence of the work so far"),
        _derived("S_p", "w1 C_c + w2 C_a"),
        _derived("R_u", "-alpha N_s"),
        _derived("R", "beta S_p + (1 - beta) R_u"),
        Field("Brief_rationale", "text", "one or two sentences, why these ratings", required=False),
    ),
    "B": (
        _rating("Completion", "how completely the objective is met by the work so far"),
        _rating("Quality", "quality of the progress in the work so far"),
        _rating("Efficiency", "how little of the work so far was wasted"),
        _rating("Alignment", "how well the work so far follows the strategy"),
    ),
    "scalar": (_rating("Value", "the work so far"),),
}
SHARES: Mapping[str, float] = {
    "Completion": 0.40,
    "Quality": 0.30,
    "Efficiency": 0.15,
    "Alignment": 0.15,
}
"""Form B. Source: App. B."""


class Judging(Role):
    """A role whose reply is one JSON object, wherever it stands in the text."""

    __slots__ = ()

    def read(self, text: str, check: Check | None = None) -> Values | Unreadable:
        """Its ratings, or which of them is missing or out of range."""
        found = object_in(text)
        values = found if found is not None else parse(text, self.reply)
        values = _alone(text, self) if isinstance(values, Unreadable) else values
        return values if isinstance(values, Unreadable) else self._bounded(values)

    def _bounded(self, values: Mapping[str, Any]) -> Values | Unreadable:
        """Ratings in [0, 1]; what follows from them only where it is a number."""
        known = {key.casefold(): value for key, value in values.items()}
        kept: dict[str, Any] = {}
        for field in self.reply.fields:
            value: Any = known.get(field.label.casefold())
            if field.kind == "number" and _fits(value, field.required):
                kept[field.label] = float(value)
            elif field.kind == "text" and isinstance(value, str):
                kept[field.label] = value
            elif field.required:
                return Unreadable(field.label, "must be a number in [0, 1]")
        return kept


def _fits(value: object, rating: bool) -> bool:
    """Whether this is a number, and of a rating one in [0, 1]."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return not rating or 0 <= value <= 1


def object_in(text: str) -> dict[str, Any] | None:
    """The last JSON object of a text; ``NaN`` is no JSON."""
    for found in reversed(list(re.finditer(r"\{[^{}]{0,20000}\}", text))[-8:]):
        try:
            value: Any = orjson.loads(found[0])
        except ValueError:
            continue
        return cast("dict[str, Any]", value)
    return None


def _alone(text: str, role: Role) -> Values | Unreadable:
    """A single rating may come without its label, and nothing else beside it."""
    fields = list(role.reply.fields)
    found = re.fullmatch(r"\s*([01](?:\.\d*)?|\.\d+)\s*", text)
    if len(fields) > 1 or found is None:
        return Unreadable(fields[0].label, "is not there")
    return {fields[0].label: float(found[1])}


JUDGES: Mapping[Form, Judging] = {
    form: Judging.of(
        "judge",
        PROMPTS[form],
        sections=("Problem", "Trajectory", "Strategy?", "Steps made", "Weights?"),
        reply=REPLIES[form],
        template=f"judge.{form}",
    )
    for form in PROMPTS
}


@dataclass(frozen=True, slots=True)
class Weights:
    """How ratings become a reward: w1, w2, alpha, beta. Source: App. C."""

    correctness: float = 0.5
    adherence: float = 0.5
    step_cost: float = 0.1
    progress_share: float = 0.8
    clip: bool = False

    def shown(self) -> str:
        """As the judge is told them."""
        return (
            f"w1 = {self.correctness:g}, w2 = {self.adherence:g}, "
            f"alpha = {self.step_cost:g}, beta = {self.progress_share:g}"
        )


@dataclass(frozen=True, slots=True)
class Reward:
    """S_p and R of one judgement."""

    progress: float
    resources: float
    reward: float


def reward_of(form: Form, ratings: Mapping[str, float], steps: int, weights: Weights) -> Reward:
    """The reward of these ratings after so many steps. Source: § 3.3.1 (A), App. B (B)."""
    if form == "A":
        progress = weights.correctness * ratings["C_c"] + weights.adherence * ratings["C_a"]
        resources = -weights.step_cost * steps
        share = weights.progress_share
        reward = share * progress + (1 - share) * resources
    else:
        shares = SHARES if form == "B" else {"Value": 1.0}
        progress = reward = sum(share * ratings[name] for name, share in shares.items())
        resources = 0.0
    reward = min(1.0, max(0.0, reward)) if weights.clip else reward
    return Reward(round(progress, 12), round(resources, 12), round(reward, 12))


def differing(said: Mapping[str, Any], made: Reward) -> tuple[str, ...]:
    """The derived values that the judge computed otherwise than we."""
    ours = {"S_p": made.progress, "R_u": made.resources, "R": made.reward}
    return tuple(
        name for name, value in ours.items() if name in said and abs(said[name] - value) > 1e-6
    )
