"""Series as they were announced, compared with the problems that were admitted into them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from schemas.asking import Diverged
from schemas.events.base import Event
from schemas.events.episode import EpisodeOpened, ProblemAdmitted
from schemas.events.learning import PositionVoided, SeriesOpened
from schemas.events.traces import TraceTaken
from schemas.identity import digest, episode_id
from streams.runtime.embedded.intake import episode_of

Named = tuple[str, str]
"""Scope and series."""


@dataclass(slots=True)
class Announced:
    """Every series of a log, and the places in it that were filled or given up."""

    series: dict[Named, SeriesOpened] = field(default_factory=dict[Named, SeriesOpened])
    places: defaultdict[Named, set[int]] = field(
        default_factory=lambda: defaultdict[Named, set[int]](set)
    )

    def heard(self, event: Event) -> None:
        """Take one record of ``learning``."""
        if isinstance(event, SeriesOpened):
            self.series[event.scope, event.series] = event
        elif isinstance(event, PositionVoided | TraceTaken):
            self.places[event.scope, event.series].add(event.position)

    def admitted(self, episode: str, journal: dict[str, Event]) -> None:
        """Raises ``Diverged`` where an admission is not what its episode is named by, or not of its series."""
        admitted, opened = journal.get("admitted"), journal.get("opened")
        if not isinstance(admitted, ProblemAdmitted):
            return
        problem = admitted.problem
        # An admission may name another problem than its episode does only if somebody changed it.
        if problem.policy is not None and episode_of(problem, "") != episode:
            raise Diverged(episode, "admitted", "problem", episode_of(problem, ""), episode)
        if isinstance(opened, EpisodeOpened) and opened.purpose in (None, "solve"):
            of = f"{problem.domain}/{opened.policy}/{problem.memory}/"
            if not admitted.scope.startswith(of):
                raise Diverged(episode, "admitted", "scope", admitted.scope, f"{of}…")
        if problem.series is None or problem.position is None:
            return
        named = (admitted.scope, problem.series)
        self.places[named].add(problem.position)
        series = self.series.get(named)
        if series is None:
            return
        said: dict[str, object] = {"profile": problem.profile, "walk": problem.walk}
        if problem.policy is not None:  # else the worker chose it, and the series cannot know
            said["policy"] = problem.policy
        for name, wanted in said.items():
            recorded = getattr(series, name)
            if recorded != wanted:
                where = f"n/{admitted.scope}/{problem.series}"
                now = f"{wanted} of its members"
                raise Diverged(where, "series", f"series.opened.{name}", str(recorded), now)

    def taken(self, episode: str, taken: TraceTaken) -> Iterator[Diverged]:
        """Where a case is not of the problem, the policy and the scope that it says."""
        prefix = episode_id(taken.domain, taken.problem_id, "")
        if not episode.startswith(prefix):
            yield Diverged(episode, "taken", "trace.taken.problem_id", taken.problem_id, episode)
        of = f"{taken.domain}/{taken.policy}/"
        if not taken.scope.startswith(of):
            yield Diverged(episode, "taken", "trace.taken.scope", taken.scope, f"{of}…")

    def misstated(self, *, settled: bool) -> Iterator[Diverged]:
        """Series whose scope or size is not what their members add up to.

        ``settled`` says that every problem on the topic was admitted, so that no place is still to be filled.
        """
        for named, series in self.series.items():
            scope, name = named
            whose, _, learning = scope.rpartition("/")
            if learning != digest(dict(series.settings)):
                told = str(series.settings)
                yield Diverged(f"n/{scope}/{name}", "series", "series.opened.settings", told, scope)
            if not whose.partition("/")[2].startswith(f"{series.policy}/"):
                yield Diverged(
                    f"n/{scope}/{name}", "series", "series.opened.policy", series.policy, scope
                )
            places = self.places[named]
            # A series may be announced larger than what came of it so far, and never smaller.
            least = max(places, default=-1) + 1
            if series.size < least or (settled and places and series.size != least):
                said, found = str(series.size), f"{least} places"
                yield Diverged(f"n/{scope}/{name}", "series", "series.opened.size", said, found)
