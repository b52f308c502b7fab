"""Facts of monitoring: what the meta level felt, chose, granted and decided about the object level.

Source: *Monitor-Generate-Verify*, Algorithms 1 to 3. ``subject`` is the problem (``domain/id``) where an
episode holds several.
"""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

from schemas.events.base import Act, Event
from schemas.struct import NonNegativeFloat, NonNegativeInt, always

Experience: TypeAlias = Literal["difficulty", "evaluative", "EOL", "FOK", "JOL", "confidence"]
Origin: TypeAlias = Literal["feel", "assess", "blend"]
"""Whether an experience used no knowledge, used some, or is the mean of both (the paper's ⊕)."""
Intensity: TypeAlias = Literal["standard", "intensive", "stop"]


class CasesReached(Event, tag="cases.reached"):
    """Past cases entered the working memory of an episode (Algorithms 1 to 3: retrieve)."""

    act: ClassVar[Act] = "recalled"
    round: NonNegativeInt
    subject: str = always("")
    items: tuple[tuple[str, float], ...]
    """Episode of each case that was reached now, with its similarity."""
    near: NonNegativeInt
    """Cases that were near enough, reached or not."""
    held: NonNegativeInt
    """Cases in the working memory after this."""


class ExperienceFelt(Event, tag="experience.felt"):
    """A metacognitive experience: one number about the work, and what it was made of."""

    act: ClassVar[Act] = "assessed"
    experience: Experience
    source: Origin
    value: float | None = None
    inputs: tuple[tuple[str, float], ...] = always(())
    """The parts that the number was made of, by name."""
    round: NonNegativeInt
    subject: str = always("")


class StrategyMatched(Event, tag="strategy.matched"):
    """A strategy was chosen in two phases: experience to diagnosis, diagnosis to strategy.

    ``level`` says whether it works on the problem (the paper's CS) or checks the work (MS).
    """

    act: ClassVar[Act] = "decided"
    level: Literal["cognitive", "metacognitive"]
    strategy: str
    diagnosis: str
    rates: tuple[tuple[str, float], ...] = always(())
    """The candidates in the order in which they were preferred, with their believed rates."""
    round: NonNegativeInt
    subject: str = always("")


class Allocated(Event, tag="allocated"):
    """A shared limit was shared out (Algorithm 2 line 12)."""

    act: ClassVar[Act] = "decided"
    round: NonNegativeInt
    total: NonNegativeInt
    shares: tuple[tuple[str, NonNegativeInt], ...]
    """Each open member's subject and calls."""


class ThresholdsSet(Event, tag="thresholds.set"):
    """What counts as enough from here on (norm of study; thresholds of feeling and confidence)."""

    act: ClassVar[Act] = "decided"
    round: NonNegativeInt
    confidence: NonNegativeFloat
    """λ_conf, or the norm of study N_s."""
    knowing: NonNegativeFloat | None = None
    """λ_FOK."""
    factor: NonNegativeFloat = always(1.0)
    """β, or 1 + δ for a norm of study."""
    history: tuple[Literal["recalled", "domain", "default"], ...] = always(())
    """Where each number comes from: confidence, then knowing."""


class SearchSteered(Event, tag="search.steered"):
    """How intensely to search on was decided from feelings of knowing (Algorithm 3 lines 8 to 13)."""

    act: ClassVar[Act] = "decided"
    round: NonNegativeInt
    intensity: Intensity
    known: NonNegativeFloat
    unknown: NonNegativeFloat
    threshold: NonNegativeFloat


class EpisodeAbandoned(Event, tag="episode.abandoned"):
    """The work was given up (criteria 1 to 4 of § 3.1.2)."""

    act: ClassVar[Act] = "decided"
    round: NonNegativeInt
    criterion: Literal["failures", "effort", "displacement", "discrepancy"]


class ExperienceKept(Event, tag="experience.kept"):
    """What is taken over into lasting knowledge, drawn at the encoding rate (consolidate)."""

    act: ClassVar[Act] = "decided"
    rounds: tuple[NonNegativeInt, ...]
    of: NonNegativeInt
