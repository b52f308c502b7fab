"""Settings of the cascade: what may be tried after a few cheap chains, and what a right answer is worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt

from handlers.learning.cascade import EXPECTED_BY
from handlers.policies.base import Around
from schemas.problem import Profile
from schemas.questions import Sampling
from schemas.settings import Lanes, PolicySettings

Share = Annotated[float, Field(ge=0.0, le=1.0)]
ArmName: TypeAlias = Literal["more", "check", "guided", "search", "strong"]
Price: TypeAlias = Literal["calls", "tokens", "money"]
STRONG: Final = "strong"
"""The role, and the arm, of the stronger model."""


# The numbers of ``MEANS`` only have to be good enough to begin with: each arm's regression learns by
# how much they are off, so a wrong one costs some pulls and not the policy. What further chains add is
# worked out from the votes (``handlers.learning.votes``). On problems of a training set a check put 13
# of 90 wrong first answers right; on those of a test set a chain with lessons was right as often as
# one without (deploy/docs/evidence.md). The other numbers are judgements.


@dataclass(frozen=True, slots=True)
class Means:
    """A way to do more about an answer: when, how, and what is expected of it before anything is learned.

    ``as_chains`` is what it adds to the leading answer's chance, as a share of what further chains would. Of what does
    more than begin afresh, ``rescues`` is the chance that it puts a wrong answer right, and ``hurts`` that it spoils a
    right one. ``trust`` is how often its own answer is right where it is asked.
    """

    when: str
    text: str
    as_chains: float = 0.0
    rescues: float = 0.0
    hurts: float = 0.0
    trust: float = 0.0


MEANS: Final[Mapping[ArmName, Means]] = {
    "more": Means(
        "The chains do not agree yet.",
        "Draw as many chains of thought more as can change the vote.",
        as_chains=1.0,
    ),
    "check": Means(
        "One mistake would be seen by going through the steps.",
        "Check the leading trajectory step by step, and begin afresh with what was found.",
        rescues=0.15,
        hurts=0.05,
        trust=0.6,
    ),
    "guided": Means(
        "Problems like this one taught something.",
        "Draw a chain that is given the lessons of similar problems.",
        as_chains=1.0,
        trust=0.55,
    ),
    "search": Means(
        "No way through is in sight.",
        "Search a small tree of thoughts under an oracle.",
        as_chains=1.4,
        trust=0.6,
    ),
    "strong": Means(
        "The cheap model does not know.",
        "Ask the stronger model once.",
        rescues=0.60,
        hurts=0.05,
        trust=0.8,
    ),
}
"""By how much these numbers are off is what the scope's bandit learns."""


class CascadeSettings(PolicySettings):
    """Settings of the cascade."""

    learning: ClassVar[frozenset[str]]
    later: ClassVar[frozenset[str]] = frozenset({"warm_start"})

    first: Lanes = 2
    """Chains that are drawn at once, whatever the problem."""
    most_samples: Lanes = 8
    """Chains that are drawn at most."""
    arms: tuple[ArmName, ...] = ("more", "check", "guided", "search")
    """What may be tried besides: more chains, a check with a fresh attempt, guidance, a small search."""
    strong: bool = False
    """Whether a stronger backbone stands behind the role ``strong``, so that it may be asked too."""
    strong_price: PositiveFloat = 4.0
    """What a token of the stronger model costs in those of the cheap one."""
    price: Price = "money"
    """What is paid for: calls, tokens, or tokens at the price of their model."""
    call_tokens: PositiveInt = 500
    """So many tokens count as one call of the cheap model; also where nobody said how many a reply took."""
    worth: PositiveFloat = 16.0
    """What a right answer is worth, in calls of the cheap model: more is tried while its expected gain is higher."""
    wrong_costs: NonNegativeFloat = 0.0
    """What a wrong answer costs, as a share of that worth: an answer that is expected to cost more is withheld."""
    audit: Share = 0.05
    """The share of problems on which something is tried although nothing speaks for it, so that what is learned is
    not of doubtful ones alone."""
    search_calls: PositiveInt = 6
    """Calls that a small search may spend."""
    exploration: NonNegativeFloat = 0.02
    """How much an arm that was rarely tried is given in advance, as a share of the worth."""
    ridge: PositiveFloat = 1.0
    """lambda of each arm's regression."""
    prior_weight: PositiveFloat = 4.0
    """So many graded problems what was expected beforehand counts like."""
    recall_k: PositiveInt = 8
    """Similar problems by which difficulty is felt."""
    min_cases: PositiveInt = 20
    """Cases below which the features of a problem say nothing."""
    cases_kept: PositiveInt = 1_000
    """The newest problems are kept as cases, as many as this."""
    lessons: Literal["on", "off"] = "on"
    """Whether problems whose first answer was put right are distilled into lessons."""
    lessons_shown: PositiveInt = 3
    """Lessons that a guided chain is given."""
    excerpt_chars: PositiveInt = 1_500
    """How much of an attempt a distiller is shown."""
    warm_start: str | None = None
    """The scope whose rules, or else strongest principles, are version 0 of this one, and stay beside its lessons."""
    unlabelled: Literal["agreement", "nothing"] = "agreement"
    """What stands for a label where there is none: what an independent opinion confirmed, or nothing."""
    updates: Literal["on", "frozen"] = "on"
    """Frozen: what was learned is used as it is, and nothing is learned."""
    batch_size: PositiveInt = 10
    """Problems of a batch: so often what they taught is taken up."""
    output_cap: PositiveInt | None = 8_192
    """Tokens that one reply may take; none: the endpoint's own limit."""

    @property
    def sampling(self) -> Sampling:
        """How chains are drawn."""
        return Sampling(max_tokens=self.output_cap)

    @property
    def means(self) -> tuple[ArmName, ...]:
        """The arms that there are."""
        own: list[ArmName] = [arm for arm in self.arms if arm != "strong"]
        return (*own, "strong") if self.strong else tuple(own)

    def calls(self, arm: ArmName) -> int | None:
        """Calls that an arm makes as a rule; of further chains as many as it takes."""
        return {"more": None, "check": 2, "search": self.search_calls}.get(arm, 1)


# Scopes are kept apart by what changes what is learned. Whether anything is learned, what a wrong
# answer costs and which part is audited changes only how the same knowledge is used.
CascadeSettings.learning = frozenset(CascadeSettings.model_fields) - {
    *("updates", "wrong_costs", "parameters", "audit"),
}


def usual(profile: Profile, around: Around) -> dict[str, Any]:
    """Whoever gives the role ``strong`` a model wants it asked, at the price that is known of both.

    A token of the strong model costs as many of the cheap one as two of its tokens, one read and one said, cost of
    those. Where a price is unknown, or either is nothing, that stays as it usually is.
    """
    if STRONG not in around.roles:
        return {}
    strong, cheap = around.prices.get(STRONG), around.prices.get("*")
    if strong is None or cheap is None:
        return {"strong": True}
    paid, saved = strong.prompt + strong.completion, cheap.prompt + cheap.completion
    return (
        {"strong": True, "strong_price": round(paid / saved, 6)}
        if paid and saved
        else {"strong": True}
    )


def constants(settings: CascadeSettings) -> dict[str, Any]:
    """What the learning rule hangs on."""
    means: Mapping[ArmName, Means] = {arm: MEANS[arm] for arm in settings.means}
    # Calls of the cheap model that each arm costs, if its replies are as long as a chain.
    dear = settings.strong_price if settings.price == "money" else 1.0
    calls = {arm: dear if arm == STRONG else settings.calls(arm) for arm in means}
    return {
        EXPECTED_BY: "votes",
        "worth": settings.worth,
        "ridge": settings.ridge,
        "exploration": settings.exploration,
        "feature_dims": None,
        "cases_kept": settings.cases_kept,
        "start": [
            {"name": arm, "when": each.when, "text": each.text} for arm, each in means.items()
        ],
        "expected": {
            arm: [calls[arm], each.rescues, each.hurts, each.as_chains]
            for arm, each in means.items()
        },
    }
