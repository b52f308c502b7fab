"""Calibrators as a fold over grades: fitted whenever a memory version closes, pinned with it.

A calibrator belongs to one domain, policy with its settings, model and confidence source. It sees the
labels of all closed batches of its scope that count by then; null while they are too few.

Source: vocabulary page (Confidence); architecture page (calibrators have no window of their own).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from handlers.learning.calibrate import Calibrator, fit
from schemas.events.base import Event
from schemas.events.episode import EpisodeOpened
from schemas.events.learning import BatchClosed, Graded, MemoryVersioned, Reflected
from state.folds.grades import GradesFold


class Key(NamedTuple):
    """Whose confidence: it means nothing for anybody else's."""

    domain: str
    policy: str
    """``name@version`` and the digest of its resolved settings."""
    model: str
    source: str


@dataclass(frozen=True, slots=True)
class Said:
    """A stated confidence, by whom, under which memory version."""

    key: Key
    scope: str
    version: int
    confidence: float


@dataclass(slots=True)
class CalibrationFold:
    """Feed it the log in its order; ``EpisodeOpened`` from events, the rest from learning."""

    grades: GradesFold = field(default_factory=GradesFold)
    opened: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    said: dict[str, Said] = field(default_factory=dict[str, Said])
    members: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Episodes of the closed batches of a scope, in order."""
    fitted: dict[tuple[str, int], dict[Key, Calibrator | None]] = field(
        default_factory=dict[tuple[str, int], dict[Key, Calibrator | None]]
    )

    def feed(self, episode: str, event: Event) -> None:
        """Take one record."""
        match event:
            case EpisodeOpened():
                self.opened[episode] = (event.settings, event.backbones)
            case Graded():
                self.grades.feed(episode, event)
            case Reflected():
                self._reflected(episode, event)
            case BatchClosed():
                self.members.setdefault(event.scope, []).extend(event.members)
            case MemoryVersioned():
                self.fitted.setdefault((event.scope, event.number), self._fit(event.scope))
            case _:
                pass

    def _reflected(self, episode: str, event: Reflected) -> None:
        if event.confidence is None or event.confidence_source is None:
            return
        settings, model = self.opened.get(episode, ("", ""))
        key = Key(event.domain, f"{event.policy}/{settings}", model, event.confidence_source)
        self.said[episode] = Said(key, event.scope, event.memory_version, event.confidence)

    def labels(self, scope: str) -> dict[Key, list[tuple[float, bool]]]:
        """Confidences of closed batches with what is known of their answers by now."""
        found: dict[Key, list[tuple[float, bool]]] = {}
        for episode in self.members.get(scope, ()):
            said, outcome = self.said.get(episode), self.grades.outcome(episode)
            if said is not None and outcome in ("right", "wrong"):
                found.setdefault(said.key, []).append((said.confidence, outcome == "right"))
        return found

    def _fit(self, scope: str) -> dict[Key, Calibrator | None]:
        return {key: fit(pairs) for key, pairs in self.labels(scope).items()}

    def calibrated(self, episode: str) -> float | None:
        """An episode's confidence by the calibrator of the memory version that it pinned; null until then."""
        said = self.said.get(episode)
        if said is None:
            return None
        calibrator = self.fitted.get((said.scope, said.version), {}).get(said.key)
        return None if calibrator is None else calibrator(said.confidence)
