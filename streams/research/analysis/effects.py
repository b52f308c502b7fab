"""The effects of memory items, from the probes on a log: episodes that had an item, run again without it.

No model is asked here: `metalogue effect lesson` made the probes.

Source: design/evaluation.md#metrics.
"""

# The dashboard keeps one `Effects` and lets it read on as the log grows; the command line reads
# once by `measured_on`. An effect is never written down: labels may come later than a probe, so
# each reading judges the probes by what is known then.

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from handlers.answers.grade import References
from schemas.events.episode import EpisodeClosed, EpisodeOpened, ProblemAdmitted
from schemas.problem import Problem
from state.folds.grades import Known
from state.folds.lives import ItemKey
from state.folds.state import State
from streams.replay.differ import paid
from streams.replay.fork import Forked
from streams.research.analysis.cases import (
    RIGHT,
    Labels,
    judged,
    label,
    outcome_of,
    references,
)
from streams.research.analysis.effect import Effect, Pair
from streams.runtime.embedded.queries.episodes import probes_ended
from streams.runtime.embedded.rebuild import fold

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

Measured: TypeAlias = dict[ItemKey, dict[str, Effect]]
"""Effects by item and by who answered its probes: an effect on one model is none on another."""


@dataclass(frozen=True, slots=True)
class Probed:
    """An effect as it is shown: who answered the probes, the effect itself, and its figures."""

    who: str
    effect: Effect
    said: Mapping[str, Any]

    @property
    def as_json(self) -> dict[str, Any]:
        """Its figures, and who answered the probes."""
        return {"by": self.who, **self.said}

    @property
    def line(self) -> str:
        """Its points with their interval, by how many episodes and whose replies."""
        points, interval = self.effect.points, self.effect.interval
        if points is None or interval is None:
            return f"effect unknown: nobody can judge its {len(self.effect.pairs)} probes by {self.who}"
        low, high = interval
        by = f"{len(self.effect.judged)} episodes run again without it by {self.who}"
        return f"effect {points:+.1f} points, 95 % {low:+.1f} to {high:+.1f}, by {by}"


def most_probed(by_whom: Mapping[str, Effect]) -> list[Probed]:
    """An item's effects, first the one with the most probes."""
    found = [Probed(who, effect, effect.said()) for who, effect in by_whom.items()]
    return sorted(found, key=lambda each: (-len(each.effect.pairs), each.who))


@dataclass(frozen=True, slots=True, eq=False)
class Probe:
    """A closed probe of what an item was worth, beside the episode that had the item."""

    ended: Forked
    without: str
    backbones: str
    parent: str
    problem: Problem
    was: EpisodeClosed

    def pair(self, known: Known, reference: References | None) -> Pair:
        """The episode with the item and without it, by what is known of the episode's answer now."""
        # Where nobody can judge the episode itself, nothing
        # is asked of the probe: the pair would be left out.
        right = RIGHT.get(outcome_of(self.problem, self.was.answer, known, reference))
        answer, graded = self.ended.closed.answer, (self.was.answer, known.outcome)
        without = None
        if right is not None:
            without = judged(self.problem, answer, reference, graded)
        return Pair(self.parent, self.ended, right, without, self.was.usage.calls)


class Effects:
    """The probes of a log, read from where the last reading ended."""

    def __init__(self) -> None:
        self.probes: list[Probe] = []
        self.pairs: dict[tuple[Probe, Known, References | None], Pair] = {}
        """Those that were judged, by all that judging hangs on."""
        self.offset = 0

    def read(self, log: SqliteLog, upto: int) -> None:
        """Take in the probes that ended since."""
        # Up to an offset that the caller holds, so that the
        # probes are those of the state they are shown with.
        ended = probes_ended(log, self.offset, upto)
        self.probes += (probe for episode in ended for probe in probes(log, episode))
        self.offset = upto

    def measured(self, log: SqliteLog, state: State, scope: str) -> Measured:
        """What was measured of a scope's items so far."""
        known: Labels = references(log) if self.probes else {}
        found: dict[ItemKey, dict[str, list[Pair]]] = {}
        for probe in self.probes:
            graded = state.outcomes.of(probe.parent)
            reference = label(known, probe.problem, probe.parent)
            for life in state.lives.used_in(probe.parent):
                if (life.scope, life.item.id) != (scope, probe.without):
                    continue
                # A page of the dashboard asks for hundreds of items: each probe is judged once, and
                # again only when something was said of its problem since.
                key = (probe, graded, reference)
                if key not in self.pairs:
                    self.pairs[key] = probe.pair(graded, reference)
                by_whom = found.setdefault(life.key, {})
                by_whom.setdefault(probe.backbones, []).append(self.pairs[key])
        return {
            key: {who: Effect(pairs) for who, pairs in by_whom.items()}
            for key, by_whom in found.items()
        }


def measured_on(log: SqliteLog) -> Measured:
    """What was measured of all items of a log. Only a log with probes is folded for it."""
    effects = Effects()
    effects.read(log, log.end())
    if not effects.probes:
        return {}
    state = fold(log, State())
    by_scope = (effects.measured(log, state, scope) for scope in state.memories)
    return {key: found for measured in by_scope for key, found in measured.items()}


def probes(log: SqliteLog, episode: str) -> Iterator[Probe]:
    """The probe that this episode is, if it is one of an item's effect."""
    journal = log.journal(episode)
    opened, closed = journal["opened"], journal["closed"]
    assert isinstance(opened, EpisodeOpened)
    assert isinstance(closed, EpisodeClosed)
    parent, without = opened.parent, opened.without or ()
    # Other side runs (forks, audits, verdicts) change
    # more than what is known: they measure no item.
    if opened.purpose != "effect" or parent is None:
        return
    admitted, was = log.find(parent, "admitted"), log.find(parent, "closed")
    if isinstance(admitted, ProblemAdmitted) and isinstance(was, EpisodeClosed):
        ended = Forked(episode, closed, 0, paid(journal))
        for item in without:
            yield Probe(ended, item, opened.backbones, parent, admitted.problem, was)
