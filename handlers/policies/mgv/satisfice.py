"""Thresholds of a search: where they start, how they fall with burden, and what they decide.

Source: MGV Algorithm 3 lines 2, 8 to 13, 20 to 27; App. B.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal, TypeAlias

from handlers.learning.elementary import exp
from handlers.policies.mgv.knowledge import Knowledge
from handlers.policies.mgv.settings import RetrievalSettings
from handlers.policies.mgv.signals import CLOSE, Knowing
from schemas.events.monitoring import Intensity

# All pure, and comparisons that decide allow for ``CLOSE``: thresholds are products of rounded
# numbers, and what meets one in exact arithmetic must not fail it by a bit.

Decision: TypeAlias = Literal["output", "continue", "omission"]
Rung: TypeAlias = Literal["recalled", "domain", "default"]
Cases: TypeAlias = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Thresholds:
    """λ_conf and λ_FOK."""

    confidence: float
    knowing: float


@dataclass(frozen=True, slots=True)
class Entry:
    """One search of Ω: what was felt, the cue's width, the answer or null, how sure, and λ_conf then."""

    knowing: Knowing
    cue: str
    answer: str | None
    confidence: float | None
    threshold: float

    @property
    def failed(self) -> bool:
        """Null, or known to be below its own round's threshold."""
        unsure = self.confidence is not None and self.confidence < self.threshold
        return self.answer is None or unsure


def first_thresholds(
    recalled: Cases, knowledge: Knowledge, settings: RetrievalSettings
) -> tuple[Thresholds, tuple[Rung, Rung]]:
    """λ⁰: medians over working memory, else over the domain, else defaults; a rung needs enough labels."""
    domain = knowledge.cases
    confident, confident_from = _rung(
        [confidences(recalled), confidences(domain)],
        settings.confidence_threshold,
        settings.min_labels,
    )
    norms, norms_from = _rung(
        [successes(recalled, settings), successes(domain, settings)],
        settings.fok_threshold,
        settings.min_labels,
    )
    return Thresholds(confident, norms), (confident_from, norms_from)


def _rung(history: Sequence[Sequence[float]], default: float, least: int) -> tuple[float, Rung]:
    rungs: tuple[Rung, ...] = ("recalled", "domain")
    for name, values in zip(rungs, history, strict=True):
        if len(values) >= least:
            return float(median(values)), name
    return default, "default"


def confidences(cases: Cases) -> list[float]:
    """Confidence of outputs that were right."""
    right = [case["confidence"] for case in cases if case["outcome"] == "right"]
    return [each for each in right if each is not None]


def successes(cases: Cases, settings: RetrievalSettings) -> list[float]:
    """‖FOK_0‖ of successful retrievals: FOK_0 predicted the outcome, or an answer was given.

    As much for as against predicts nothing.
    """
    found: list[float] = []
    for case in cases:
        if not case["knowing"]:
            continue
        knowing = Knowing(*case["knowing"])
        tied = abs(knowing.known - knowing.unknown) <= CLOSE
        predicted = knowing.known > knowing.unknown
        if settings.success == "answered":
            success = case["answer"] is not None
        else:
            right = case["outcome"] == "right"
            success = not tied and case["outcome"] in ("right", "wrong") and predicted == right
        if success:
            found.append(knowing.norm)
    return found


def intensity(knowing: Knowing, threshold: float, tie: Literal["intensive", "stop"]) -> Intensity:
    """Too little evidence: look wider; more for than against: as usual; else stop."""
    if knowing.norm < threshold - CLOSE:
        return "intensive"
    if abs(knowing.known - knowing.unknown) <= CLOSE:
        return tie
    return "standard" if knowing.known > knowing.unknown else "stop"


def decide(
    answer: str | None, confidence: float | None, threshold: float, knowing: Knowing
) -> Decision:
    """Output what is sure enough; give up on null only where evidence against prevails."""
    if answer is not None:
        sure = confidence is not None and confidence >= threshold - CLOSE
        return "output" if sure else "continue"
    return "omission" if knowing.unknown > knowing.known + CLOSE else "continue"


def burden(round: int, entries: Sequence[Entry]) -> int:
    """τ + failures: persistence and what came to nothing."""
    return round + sum(entry.failed for entry in entries)


def lowered(
    first: Thresholds,
    now: Thresholds,
    round: int,
    entries: Sequence[Entry],
    settings: RetrievalSettings,
) -> tuple[Thresholds, float]:
    """λ^(τ+1) = λ⁰ β_τ (or λ^(τ) β_τ), and β_τ = exp(-α (τ + failures))."""
    factor = exp(-settings.burden * burden(round, entries))
    # The text lowers the first thresholds; lowering those of the round before multiplies burdens
    # up, and they fall much faster (design/mgv.md D14).
    base = first if settings.lambda_base == "initial" else now
    return Thresholds(base.confidence * factor, base.knowing * factor), factor
