"""The one config block of CoT2-Meta: every constant and switch by name.

Source: CoT2-Meta § B.1, § I.6; design/cot2_meta.md#decisions (D1 to D14).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, NonNegativeFloat, NonNegativeInt, PositiveInt

from handlers.roles.confidence import Wording
from handlers.roles.thinker import STRATEGIES, Strategy
from schemas.settings import MOST_LANES, PolicySettings

Share = Annotated[float, Field(ge=0, le=1)]


def exact(value: float) -> Fraction:
    """A constant as it is written: thresholds hold at equality."""
    # By its decimal text: the float 0.35 is a little less than 35/100, and nobody means that.
    return Fraction(str(value))


def _sum_to_one(weights: tuple[float, float, float]) -> tuple[float, float, float]:
    if sum(map(exact, weights)) != 1:
        raise ValueError("the three weights must sum to 1")
    return weights


# Thresholds and weights are the paper's in both profiles, for its tables hang on them.
# ``service`` differs where the algorithm as printed loses something for nothing: an answer to a
# worse repair, a flawless step's reward, a second check of what a check has confirmed, or the
# wait for one query before the other.


class Cot2Settings(PolicySettings):
    """Settings of CoT2-Meta."""

    caps: ClassVar[frozenset[str]] = frozenset(
        {"thinker", "oracle", "confidence", "repairer", "fallback"}
    )
    paper: ClassVar[Mapping[str, Any]] = {
        "keep_better": False,
        "show_rejected": False,
        "verify_again": True,
        "judging": "in_turn",
        "reserved_calls": 1,
        "fix_absent": "zero",
        "defaulted": "zero",
        "output_cap": None,
    }

    step_weights: Annotated[tuple[Share, Share, Share], AfterValidator(_sum_to_one)] = (
        0.2,
        0.5,
        0.3,
    )
    """Semantic, Logical, Fix."""
    outcome_share: Share = 0.4
    """λ: how much v_out counts in v."""
    health_threshold: Share = 0.5
    """θ_health: a step below it is repaired."""
    exploration: NonNegativeFloat = 1.25
    """β of the selection score."""
    prune_threshold: Share = 0.35
    """τ_prune."""
    stop_threshold: Share = 0.90
    """τ_stop."""
    abstain_threshold: Share | None = None
    """τ_abs; none: standalone, abstains only without any answer."""
    primary_calls: PositiveInt | None = 16
    """C; none: the episode's limit alone."""
    fallback_samples: Annotated[NonNegativeInt, Field(le=MOST_LANES)] = 16
    """Samples of the vote after an abstention; 0: the answer is withheld."""
    reserved_calls: Annotated[int, Field(ge=1, le=2)] = 2
    """D7: calls kept until there is an answer: for the answer itself, and for the confidence in it."""
    max_depth: PositiveInt = 8
    """Thoughts of a trajectory at most."""

    tree: bool = True
    """Off: greedy chain of thought (table 3, no tree)."""
    evaluator: bool = True
    """Off: no oracle, v = v_out, no repair."""
    pruning: bool = True
    """Off: nothing is pruned."""
    repair: Literal["selective", "all", "none"] = "selective"
    """Where an earliest low step is; every survivor; or nowhere."""

    strategies: tuple[Strategy, ...] = STRATEGIES
    """In the order of their lanes."""
    segment: Literal["call", "marked"] = "call"
    """D1: one reply is one step, or is split at its step marks."""
    reopen: bool = True
    """D2: an expanded node stays open."""
    ties: Literal["address", "hash"] = "address"
    """D2: by lowest address, or by hash."""
    max_repairs: NonNegativeInt = 1
    """D4: repairs of one lineage."""
    keep_better: bool = True
    """D4: if the repaired trajectory scores lower, the old one stays."""
    expose_meta: bool = False
    """D4: generators see the scores of the trajectory."""
    show_rejected: bool = True
    """D4: the repair prompt shows what it replaces, and what the oracle thought of it."""
    verify_again: bool = False
    """D3: whether an answer that a check has confirmed is checked once more."""
    oracle_scope: Literal["all", "newest"] = "all"
    """D5: one call scores all steps, or the newest only."""
    judging: Literal["beside", "in_turn"] = "beside"
    """D5: whether oracle and confidence, neither of which hangs on the other, are asked at once."""
    own_confidence: bool = False
    """D5: a verify thought's own confidence is v_out, and the query is saved."""
    fix_absent: Literal["neutral", "zero"] = "neutral"
    """D6: what a step with nothing to fix loses."""
    defaulted: Literal["unknown", "zero"] = "unknown"
    """D8: invalid fields leave the means, or count as 0."""
    terminal: Literal["v_out", "value"] = "v_out"
    """D8: what is compared with the abstention threshold."""
    confidence_wording: Wording = "A"
    """Which confidence prompt (table 18)."""
    output_cap: PositiveInt | None = 8_192
    """Tokens of the closing call, as of ``greedy``."""
    scratchpad: Literal["whole", "half"] = "whole"
    """D12: perturbation S4 cuts each earlier thought that generators see."""
    shadow_from: str | None = None
    """D11: from this node on nothing is pruned, and C counts anew: a shadow run."""
    audit_leaves: PositiveInt = 3
    """D11: k of the oracle gap."""
    overconfidence_cost: NonNegativeFloat = 0.0
    """D14: κ of the utility, reported only."""

    @property
    def need(self) -> int:
        """Calls of a child or a repair: generation, oracle, confidence."""
        return 2 + self.evaluator

    @property
    def reprompts(self) -> int:
        """Re-prompts that a lane may make."""
        return self.need - 1


VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "full": {},
    "no tree": {"tree": False},
    "no evaluator": {"evaluator": False},
    "no pruning": {"pruning": False},
    "process-only": {"outcome_share": 0.0},
    "outcome-only": {"outcome_share": 1.0},
    "repair-all": {"repair": "all"},
    "no repair": {"repair": "none"},
    "no repair, extra expansions": {"repair": "none", "primary_calls": None},
    "hybrid 0.6": {"abstain_threshold": 0.6},
    "hybrid 0.8": {"abstain_threshold": 0.8},
}
"""Tables 3 and 19 to 21, as settings."""
