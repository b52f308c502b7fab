"""Feelings as numbers: pure functions of the text, of cases reached, and of attempts run so far.

``feel`` uses no knowledge, ``assess`` retrieved or learned knowledge; ⊕ takes one of them.

Source: MGV App. A (⊕, evaluative experiences), App. B.1 (EOL, FOK, JOL), App. B.2 (two counters).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from schemas.events.monitoring import Origin

# The theories leave "feelings" open. Each is a number here, so that it can be held
# against what came of it and be calibrated. No function here asks a model or knows an
# outcome of the present problem.

Mode: TypeAlias = Literal["xor", "feel", "assess", "blend"]
CLOSE = 1e-9
NO_HISTORY = 0.5
EVALUATIONS = ("fragmented", "doubtful", "unexpected", "uncertain progress")


@dataclass(frozen=True, slots=True)
class Knowing:
    """FOK: evidence that an answer can be found, and that it cannot (two counters)."""

    known: float = 0.0
    unknown: float = 0.0

    @property
    def norm(self) -> float:
        """‖FOK‖, all evidence together."""
        return self.known + self.unknown

    @property
    def p(self) -> float:
        """The two counters as one number."""
        return (self.known + 1) / (self.norm + 2)

    def plus(self, other: Knowing) -> Knowing:
        """Both kinds of evidence added."""
        return Knowing(self.known + other.known, self.unknown + other.unknown)


@dataclass(frozen=True, slots=True)
class Felt:
    """A number and whether knowledge stands behind it."""

    value: float
    source: Origin


def exclusive(feel: float, assess: float, informed: bool, mode: Mode) -> Felt:
    """⊕: assess if its knowledge is there, else feel. Other modes force one, or take the mean."""
    match mode:
        case "blend":
            return Felt((feel + assess) / 2, "blend")
        case "xor":
            return Felt(assess, "assess") if informed else Felt(feel, "feel")
        case _:
            return Felt(assess if mode == "assess" else feel, mode)


# ── Before the first attempt ─────────────────────────────────────────────────────────────────


def percentile(value: float, among: Sequence[float]) -> float:
    """Where a value stands among sorted ones, ties in the middle."""
    return (bisect_left(among, value) + bisect_right(among, value)) / (2 * len(among))


def hardness(own: Sequence[float], history: Sequence[Sequence[float]], min_cases: int) -> float:
    """h: mean percentile of a problem's features in its domain; 0.5 while there are few cases.

    ``history`` holds the sorted values of each feature.
    """
    if not history or len(history[0]) < min_cases:
        return NO_HISTORY
    places = [percentile(value, among) for value, among in zip(own, history, strict=True)]
    return sum(places) / len(places)


def recalled(labelled: Sequence[tuple[float, bool]]) -> Knowing:
    """Evidence of cases reached: their similarity, for or against, as they turned out."""
    known = sum(max(0.0, similarity) for similarity, right in labelled if right)
    return Knowing(known, sum(max(0.0, similarity) for similarity, right in labelled if not right))


def tried(confidences: Sequence[float]) -> Knowing:
    """Evidence of attempts run: confidence for, the rest against."""
    return Knowing(float(sum(confidences)), float(sum(1 - each for each in confidences)))


def feeling_of_knowing(
    labelled: Sequence[tuple[float, bool]],
    familiar: float,
    confidences: Sequence[float],
    mode: Mode,
) -> tuple[Knowing, Origin]:
    """FOK. ``familiar`` is the share of content words that the domain knows; novelty counts nowhere."""
    # That nothing is familiar is no evidence against: a problem in new words may be an easy one.
    feel, assess = Knowing(familiar), recalled(labelled)
    known = exclusive(feel.known, assess.known, bool(labelled), mode)
    unknown = exclusive(feel.unknown, assess.unknown, bool(labelled), mode)
    return Knowing(known.value, unknown.value).plus(tried(confidences)), known.source


def ease(labelled: Sequence[tuple[float, bool]], h: float, floor: float, mode: Mode) -> Felt:
    """EOL in [floor, 1]: how easily the problem should come."""
    felt = exclusive(1 - h, recalled(labelled).p, bool(labelled), mode)
    return Felt(min(1.0, max(floor, felt.value)), felt.source)


def level_after(
    labelled: Sequence[tuple[float, bool]], h: float, confidences: Sequence[float], mode: Mode
) -> Felt:
    """Difficulty once attempts were run: 1 - p; as a feeling the mean of h and the last doubt."""
    # The last doubt alone, and not the mean of all: a feeling is about how the work stands now.
    assess = 1 - recalled(labelled).plus(tried(confidences)).p
    return exclusive((h + 1 - confidences[-1]) / 2, assess, bool(labelled), mode)


# ── After an attempt ─────────────────────────────────────────────────────────────────────────


def judgement_of_learning(q: float, equal: int, gain: float) -> float:
    """JOL = q (1 + gain · c), c earlier rounds with an equal answer. May pass 1: over-learning."""
    return q * (1 + gain * equal)


@dataclass(frozen=True, slots=True)
class Result:
    """What the meta level sees of an attempt. ``unmet`` is d, the share of criteria not met."""

    answer: str | None
    q: float | None
    goals: int = 0
    results: int = 0
    cut: bool = False
    repeats: bool = False
    other_type: bool = False
    unmet: float = 0.0


def evaluative(result: Result, level: float | None) -> tuple[float, float, float, float]:
    """Fragmented, doubtful, unexpected, uncertain progress: four scores in [0, 1].

    A confidence that nobody could read raises no doubt, and where no ``level`` of difficulty was to be expected
    no confidence is unexpected.
    """
    # A reply that was cut off, or never came to an answer, is fragmented whatever it declared.
    fragmented = max(0, result.goals - result.results) / result.goals if result.goals else 0.0
    if result.cut or result.answer is None:
        fragmented = 1.0
    q = result.q
    surprise = 0.0 if q is None or level is None else abs(1 - level - q)
    unexpected = 1.0 if result.other_type else surprise
    return (
        fragmented,
        0.0 if q is None else 1 - q,
        unexpected,
        1.0 if result.repeats else result.unmet,
    )
