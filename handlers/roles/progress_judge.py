"""The progress judge: rates the work so far, and the reward that follows from its ratings.

The ratings are its own; what is computed from them is computed here, and a value of its own that
differs is recorded and not used.

Source: Meta-Reasoner § 3.3.1, App. B (form B), App. C, App. F (progress evaluation).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from handlers.roles.form import Unreadable, Values, parse
from handlers.roles.role import FAIR, Check, Role, number
from handlers.roles.values import Value, read_number
from schemas.reply import Field, Reply

Form: TypeAlias = Literal["A", "B", "scalar"]

_TASK = f"""\
You are an impartial judge. Rate how far the work on a problem has come, strictly by the criteria \
below, without a liking for one way of working over another. {FAIR}"""

PROMPTS: Mapping[Form, str] = {
    "A": f"""\
{_TASK}
C_c is correctness, from 0 (nothing, or all of it wrong) to 1 (right and about to arrive): are the \
facts and the logic sound, and does the work come nearer to the goal? C_a is adherence, from 0 \
(ignored) to 1 (kept entirely): does it keep to the conditions and the limits of the task? \
Say briefly why before you rate.""",
    "B": f"""\
{_TASK}
Rate four things from 0 to 1: how completely the objective is met, the quality of the progress \
made, how efficiently it was made, and how well the last step follows the strategy advised.""",
    "scalar": f"""\
{_TASK}
Give one number from 0 (no use) to 1 (right and about to arrive).""",
}


def _rating(label: str, about: str) -> Field:
    return number(label, f"{about}, in [0, 1]", unit=True)


REPLIES: Mapping[Form, tuple[Field, ...]] = {
    "A": (
        Field("Brief_rationale", "text", "one or two sentences, why these ratings", required=False),
        _rating("C_c", "correctness of the work so far"),
        _rating("C_a", "adherence of the work so far"),
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


# They are read so that a difference can be recorded, and never used: the reward must follow from
# the ratings by the same sum on every replay.
DERIVED = tuple(Field(label, "number", "", required=False) for label in ("S_p", "R_u", "R"))
"""What follows from the ratings: the paper's judge states it too, and nobody asks for it here."""


class Judging(Role):
    """A role that rates, and may state what follows from its ratings, or leave its reply half written."""

    __slots__ = ()

    def read(self, text: str, check: Check | None = None) -> Values | Unreadable:
        """Its ratings, or which of them is missing or out of range."""
        values = parse(text, Reply((*self.reply.fields, *DERIVED)))
        if not isinstance(values, Unreadable):
            return values
        # An object that was broken off has its ratings still, wherever their names stand with a
        # number. All of them or none: a rating that is made up would become a reward.
        found: dict[str, Value] = {}
        for field in self.reply.fields:
            if field.kind != "number":
                continue
            places = re.finditer(
                rf"\b{field.label}\b[\"'*_` )$\\]{{0,6}}[:=]([^,;|\n]{{1,40}})", text
            )
            said = next(iter([place[1] for place in places][::-1]), "")
            try:
                found[field.label] = read_number(field, said)
            except ValueError:
                return values
        return found or values


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
    # Rewards are rounded before they are recorded: bandits add them up, and a last bit must not
    # decide between arms.
    return Reward(round(progress, 12), round(resources, 12), round(reward, 12))


def differing(said: Mapping[str, Any], made: Reward) -> tuple[str, ...]:
    """The derived values that the judge computed otherwise than we."""
    ours = {"S_p": made.progress, "R_u": made.resources, "R": made.reward}
    return tuple(
        name for name, value in ours.items() if name in said and abs(said[name] - value) > 1e-6
    )
