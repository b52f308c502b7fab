"""Settings of the three MGV algorithms; the first option of each is the default.

Source: MGV § 3, App. A and B; design/mgv.md#decisions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field as Bounded
from pydantic import NonNegativeFloat, NonNegativeInt, PositiveInt

from handlers.policies.mgv.strategies import SOLVED_BY
from handlers.policies.unread import Unread
from schemas.settings import Lanes, PolicySettings

Share = Annotated[float, Bounded(ge=0, le=1)]


# The theories say what is felt and decided, and give hardly a number. Thresholds, floors
# and counts below are ours, in both profiles; ``paper`` differs only where the text
# commits itself: what cannot be read counts as 0, what stops withholds its answer, and
# every case counts, however unlike.


class MgvSettings(PolicySettings):
    """What all three have in common."""

    caps: ClassVar[frozenset[str]] = frozenset({"monitor", "confidence"})
    paper: ClassVar[Mapping[str, Any]] = {
        "on_stop": "withhold",
        "unread": "zero",
        "relevance_floor": None,
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
    """Whether beliefs go by labels or by the verdicts of the policy's own checks."""
    recall_k: PositiveInt = 3
    """So many of the most similar cases come to mind, and are shown where cases are shown."""
    calibrate_k: PositiveInt = 15
    """So many of them say what a problem is, and where thresholds start: a figure needs more than are shown."""
    relevance_floor: Literal["embedder"] | Annotated[float, Bounded(ge=-1, le=1)] | None = (
        "embedder"
    )
    """From which cosine on a case is near enough; ``embedder``: from where on its cosines mean something."""
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
    """The level of difficulty above which a problem is complex as long as nothing else is known of it."""
    confidence_threshold: Share = 0.7
    """λ_conf⁰ while history has none."""
    repeat_gain: NonNegativeFloat = 0.1
    """What each earlier equal answer adds to a judgement of learning."""
    retire_trials: PositiveInt = 5
    """So many trials before a belief may be retired."""
    retire_below: Share = 0.2
    """A belief whose rate is lower than this is retired."""
    on_stop: Literal["best", "withhold"] = "best"
    """What a limit, giving up or stopping the search leaves: the answer of highest confidence, or none."""
    unread: Unread = "unknown"
    """What a confidence is that the reply does not tell: unknown, or 0."""
    output_cap: PositiveInt | None = 8_192
    """Tokens that an attempt may take."""
    batch_size: PositiveInt = 10
    """Problems that are learned from together."""


class FlavellSettings(MgvSettings):
    """Settings of Flavell's regulation (Algorithm 1)."""

    paper: ClassVar[Mapping[str, Any]] = {
        "on_stop": "withhold",
        "unread": "zero",
        "relevance_floor": None,
        "abandon": "off",
        "check": "always",
        "expects": "always",
        "output_cap": None,
    }

    goal: Literal["accuracy", "speed"] = "accuracy"
    """Accuracy: an answer of the right type that was checked and is sure enough; speed: one of the right type."""
    imposed: Literal["self", "external"] = "self"
    """Whether the check is told that the goal was set from outside."""
    max_rounds: PositiveInt = 4
    """T."""
    check: Literal["needed", "always"] = "needed"
    """Whether an attempt is judged where nothing hangs on it: one without an answer has failed anyhow,
    and with ``goal: speed`` an answer of the right type ends the work."""
    expects: Literal["history", "always"] = "history"
    """Whether an attempt can be unexpected before there are cases that let anything be expected."""
    abandon: Literal["on", "off"] = "on"
    """Whether work is given up by the four criteria below."""
    fail_run: PositiveInt = 3
    """Checks in a row that were not passed."""
    effort_factor: NonNegativeFloat = 2.0
    """Effort as a multiple of what a solved problem usually takes."""
    gap: Share = 0.5
    """The share of criteria unmet from which on the work is off its goal."""
    gap_run: PositiveInt = 3
    """Rounds over which that share does not fall."""


class AcquisitionSettings(MgvSettings):
    """Settings of acquisition (Algorithm 2)."""

    norm: Annotated[float, Bounded(gt=0)] = 0.9
    """ρ*."""
    goal: Literal["understanding", "verbatim"] = "understanding"
    """What is to be mastered; word for word takes more over-learning."""
    delay: NonNegativeInt = 1
    """τ_delay in batches to the test."""
    max_retention: NonNegativeFloat = 0.3
    """Most that the norm is raised for what will be forgotten."""
    max_rounds: PositiveInt = 3
    """T_learn."""
    overlearning: Literal["confirm", "cap"] = "confirm"
    """Whether equal answers may lift a judgement above 1, or the norm is capped at 1."""
    shares: Literal["open", "all"] = "open"
    """Whether calls are shared among the members that are still open, or finished ones keep theirs unspent."""
    set_size: Lanes = 10
    """Members of a set at most."""
    member_calls: PositiveInt = 12
    """A member's calls where no limit is set."""
    samples: Lanes = 5
    """At most so many samples of one attempt."""


class RetrievalSettings(MgvSettings):
    """Settings of retrieval (Algorithm 3)."""

    paper: ClassVar[Mapping[str, Any]] = {
        "on_stop": "withhold",
        "unread": "zero",
        "relevance_floor": None,
        "search": "automatic",
        "first_look": "off",
        "cases": "all",
        "output_cap": None,
    }
    later: ClassVar[frozenset[str]] = frozenset({"cases"})

    max_rounds: PositiveInt = 6
    """T_search."""
    fok_threshold: NonNegativeFloat = 2.0
    """λ_FOK⁰ while history has none."""
    burden: NonNegativeFloat = 0.1
    """α."""
    lambda_base: Literal["initial", "running"] = "initial"
    """What burden lowers: the first thresholds, or those of the round before."""
    tie: Literal["intensive", "stop"] = "intensive"
    """What as much evidence for as against leads to."""
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
    cases: Literal["right", "all"] = "right"
    """Whether a cue shows those that went right alone: a wrong answer to another problem helps nobody to solve this."""


# All other settings change what is felt or tried, hence what cases say: they keep scopes apart.
NOT_LEARNING = {"parameters", "output_cap", "on_stop", "batch_size", "unread", "cases"}
for _model in (MgvSettings, FlavellSettings, AcquisitionSettings, RetrievalSettings):
    _model.learning = frozenset(_model.model_fields) - NOT_LEARNING


def rule_constants(settings: MgvSettings) -> dict[str, Any]:
    """What the fold of beliefs needs to know."""
    return {
        "learn_from": settings.learn_from,
        "retire_trials": settings.retire_trials,
        "retire_below": settings.retire_below,
        "solved_by": dict(SOLVED_BY),
    }
