"""Settings of the three MGV algorithms; the first option of each is the default.

Source: MGV § 3, App. A and B; *Where the paper is silent* of our page.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field as Bounded
from pydantic import NonNegativeFloat, NonNegativeInt, PositiveInt

from handlers.policies.unread import Unread
from schemas.settings import PolicySettings

Share = Annotated[float, Bounded(ge=0, le=1)]


class MgvSettings(PolicySettings):
    """What all three have in common."""

    caps: ClassVar[frozenset[str]] = frozenset({"monitor", "confidence"})
    paper: ClassVar[Mapping[str, Any]] = {
        "on_stop": "withhold",
        "unread": "zero",
        "output_cap": None,
    }
    learning: ClassVar[frozenset[str]]

    monitor: Literal["on", "off"] = "on"
    """``off`` is Generate–Verify: no decision hangs on monitoring."""
    signal: Literal["xor", "feel", "assess", "blend"] = "xor"
    """⊕: assess where there is knowledge for it, else feel; always one of them; or their mean."""
    confidence: Literal["implicit", "agreement", "verbal"] = "implicit"
    """The first source that is tried; what cannot be had gives way to the next."""
    assess: Literal["learned", "verbal"] = "learned"
    """Whether a model is asked for the difficulty and its source once cases are known."""
    monitor_view: Literal["full", "features"] = "full"
    """What that question shows: all of the problem, or features of it."""
    learn_from: Literal["label", "verdict"] = "label"
    recall_k: PositiveInt = 3
    reach: Share = 1.0
    """θ: the chance that a case which is near enough is reached."""
    keep: Share = 1.0
    """ψ: the chance that a tuple is kept."""
    consolidation: Literal["end", "verify"] = "end"
    """When tuples are kept: once at the end, or after each VERIFY."""
    eol_floor: Annotated[float, Bounded(gt=0, le=1)] = 0.05
    """ε."""
    min_labels: PositiveInt = 5
    """So many labelled cases before a figure is taken from them."""
    min_cases: PositiveInt = 10
    """So many cases before a percentile is taken among them."""
    complex_above: Share = 0.6
    confidence_threshold: Share = 0.7
    """λ_conf⁰ while history has none."""
    repeat_gain: NonNegativeFloat = 0.1
    """What each earlier equal answer adds to a judgement of learning."""
    retire_trials: PositiveInt = 5
    retire_below: Share = 0.2
    on_stop: Literal["best", "withhold"] = "best"
    """What a limit, giving up or stopping the search leaves: the answer of highest confidence, or none."""
    unread: Unread = "unknown"
    """What a confidence is that the reply does not tell: unknown, or 0."""
    output_cap: PositiveInt | None = 8_192
    batch_size: PositiveInt = 10


class FlavellSettings(MgvSettings):
    """Settings of Flavell's regulation (Algorithm 1)."""

    paper: ClassVar[Mapping[str, Any]] = {
        "on_stop": "withhold",
        "unread": "zero",
        "abandon": "off",
        "output_cap": None,
    }

    goal: Literal["accuracy", "speed"] = "accuracy"
    imposed: Literal["self", "external"] = "self"
    max_rounds: PositiveInt = 4
    """T."""
    abandon: Literal["on", "off"] = "on"
    fail_run: PositiveInt = 3
    effort_factor: NonNegativeFloat = 2.0
    gap: Share = 0.5
    gap_run: PositiveInt = 3


class AcquisitionSettings(MgvSettings):
    """Settings of acquisition (Algorithm 2)."""

    norm: Annotated[float, Bounded(gt=0)] = 0.9
    """ρ*."""
    goal: Literal["understanding", "verbatim"] = "understanding"
    delay: NonNegativeInt = 1
    """τ_delay in batches to the test."""
    max_retention: NonNegativeFloat = 0.3
    max_rounds: PositiveInt = 3
    """T_learn."""
    overlearning: Literal["confirm", "cap"] = "confirm"
    """Whether equal answers may lift a judgement above 1, or the norm is capped at 1."""
    shares: Literal["open", "all"] = "open"
    set_size: PositiveInt = 10
    member_calls: PositiveInt = 12
    """A member's calls where no limit is set."""
    samples: PositiveInt = 5
    """At most so many samples of one attempt."""


class RetrievalSettings(MgvSettings):
    """Settings of retrieval (Algorithm 3)."""

    paper: ClassVar[Mapping[str, Any]] = {
        "on_stop": "withhold",
        "unread": "zero",
        "search": "automatic",
        "first_look": "off",
        "output_cap": None,
    }

    max_rounds: PositiveInt = 6
    """T_search."""
    fok_threshold: NonNegativeFloat = 2.0
    """λ_FOK⁰ while history has none."""
    burden: NonNegativeFloat = 0.1
    """α."""
    lambda_base: Literal["initial", "running"] = "initial"
    tie: Literal["intensive", "stop"] = "intensive"
    success: Literal["predicted", "answered"] = "predicted"
    """Which retrievals count as successful."""
    search: Literal["sampled", "automatic"] = "sampled"
    """What an equal cue leads to: the next draw, or the recorded answer without a call."""
    first_look: Literal["on", "off"] = "on"
    """Whether at least one search is run, however little memory lets hope for."""
    reconsider: Literal["on", "off"] = "on"
    """Whether an earlier answer may pass a threshold that has fallen."""
    intensive_factor: PositiveInt = 3
    """After an intensive round so many times ``recall_k`` cases are looked for."""


NOT_LEARNING = {"parameters", "output_cap", "on_stop", "batch_size", "unread"}
for _model in (MgvSettings, FlavellSettings, AcquisitionSettings, RetrievalSettings):
    _model.learning = frozenset(_model.model_fields) - NOT_LEARNING


def rule_constants(settings: MgvSettings) -> dict[str, Any]:
    """What the fold of beliefs needs to know."""
    return {
        "learn_from": settings.learn_from,
        "retire_trials": settings.retire_trials,
        "retire_below": settings.retire_below,
    }
