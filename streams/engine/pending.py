"""Seats of episodes that wait for a slot: single ones, and members of sets until all of them are there."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field, replace

from schemas.events.episode import ProblemAdmitted
from schemas.identity import set_id
from state.folds.windows import Series
from streams.engine.learner import Learner
from streams.engine.policies import NoPolicy


@dataclass(frozen=True, slots=True)
class PendingEpisode:
    """The data that is kept of an episode without a slot; ``partition`` is where its record lies."""

    scope: str
    series: str | None
    position: int | None
    partition: int = 0
    set_size: int = 0
    """Members of a set episode at most; 0 where each episode is worked on by itself."""
    begun: bool = False
    """Whether it was opened before, by a policy that is not here now."""
    tenant: str | None = None
    priority: int = 0


def seat_of(
    learner: Learner,
    admitted: ProblemAdmitted,
    default_policy: str,
    is_begun: Callable[[], bool],
    *,
    partition: int = 0,
    in_sets: bool = True,
) -> PendingEpisode:
    """The seat of an admitted episode. Where its policy is not here, it waits unless it was begun."""
    problem = admitted.problem
    seat = PendingEpisode(
        *(admitted.scope, problem.series, problem.position, partition),
        tenant=problem.tenant,
        priority=problem.priority or 0,
    )
    try:
        scope = learner.scope_of(admitted, default_policy)
    except NoPolicy:
        # Asked only now: to look into the record takes a query. One that was begun has its
        # turn, which parks it where a person sees it; one that was not just waits until
        # the policy is here.
        return replace(seat, begun=is_begun())
    together = scope.policy.together
    if together is None or not in_sets:
        return seat
    return replace(seat, set_size=together.size(scope.settings))


@dataclass(slots=True)
class Group:
    """A set that is being gathered: its places in the series, and who came and where he sits, by position."""

    places: range
    members: dict[int, tuple[str, PendingEpisode]] = field(
        default_factory=dict[int, "tuple[str, PendingEpisode]"]
    )
    called: bool = False
    """Whether it is complete and has its turn, or had it."""

    def seat(self, voids: Container[int] = ()) -> PendingEpisode:
        """The seat of the set: its first member's, of those that are in it and whose place is not void."""
        # Not of whoever came first: a void place waits for no version. Of one who was cancelled the
        # place may be void before he is taken out.
        first = min(self.members, key=lambda at: (at in voids, at))
        return replace(self.members[first][1], set_size=0)


@dataclass(slots=True)
class Sets:
    """The sets of all series. A set is complete when none of its places is still to be filled."""

    learner: Learner
    groups: dict[str, Group] = field(default_factory=dict[str, Group])
    named: dict[tuple[str, str, int], str] = field(default_factory=dict[tuple[str, str, int], str])
    """The name of each set that anybody came to, by its scope, its series and its number."""

    def take(self, episode: str, seat: PendingEpisode) -> str | None:
        """The set that an episode waits for, where it has a place in an open window of a barrier series."""
        position = seat.position
        if position is None or not seat.set_size:
            return None
        scope = self.learner.scopes.get(seat.scope)
        series = None if scope is None else scope.window.series.get(seat.series or "")
        if series is None:
            return None
        # A late arrival, whose window was closed without it, is worked on by itself.
        if not series.done_positions <= position < series.size or position in series.voids:
            return None
        places, number = set_of(series, position, seat.set_size)
        # Whoever came first was told by what was known then: a scope that announces the series
        # meanwhile must not split the set in two.
        name = self.named.get((seat.scope, series.id, number))
        if name is None:
            # Two scopes of one series each have a set of this number, which only the
            # domain keeps apart.
            shared = [s for s in self.learner.scopes.values() if seat.series in s.window.series]
            told = str(number) if len(shared) == 1 else f"{seat.scope.partition('/')[0]}.{number}"
            name = self.named[seat.scope, series.id, number] = set_id(series.id, told)
        group = self.groups.setdefault(name, Group(places))
        if group.called or position in group.members:
            return None
        group.members[position] = episode, seat
        return name

    def complete(
        self, may_open: Callable[[PendingEpisode], bool], among: Iterable[str] | None = None
    ) -> Iterator[tuple[str, PendingEpisode]]:
        """Sets that may open now, each told once; ``among`` names those that are looked at, else all are."""
        for name in self.groups if among is None else among:
            group = self.groups[name]
            seat = group.seat()
            scope = self.learner.scopes.get(seat.scope)
            if group.called or scope is None:  # nothing begins in a scope that was lost
                continue
            series = scope.window.series[seat.series or ""]
            seat = group.seat(series.voids)
            # A place that was refused, or whose episode is closed already, is not waited for.
            came = (group.members, series.filled, series.voids)
            here = all(any(place in those for those in came) for place in group.places)
            if here and may_open(seat):
                group.called = True
                yield name, seat

    def members(self, name: str) -> list[str] | None:
        """The members of a set that has its turn, by position; none if this is no set."""
        group = self.groups.get(name)
        return None if group is None else [group.members[at][0] for at in sorted(group.members)]

    def waiting(self) -> list[str]:
        """Members of sets that are not complete."""
        groups = (group for group in self.groups.values() if not group.called)
        return [episode for group in groups for episode, _ in group.members.values()]

    def gathered(self, series: str) -> set[int]:
        """The places of a series whose members wait here for the others of their sets."""
        groups = (group for group in self.groups.values() if not group.called)
        return {at for group in groups if group.seat().series == series for at in group.members}

    def gathered_in(self, partition: int) -> list[tuple[str, int]]:
        """Series and places of the members that wait in a partition for the others of their sets."""
        groups = [group for group in self.groups.values() if not group.called]
        here = [group for group in groups if group.seat().partition == partition]
        return [(group.seat().series or "", at) for group in here for at in group.members]

    def without(
        self, episode: str, begun: Container[str]
    ) -> Iterator[tuple[str, PendingEpisode | None]]:
        """Take a member out; the set that it was in, and its seat now: none where nobody is left in it.

        A set that has ``begun`` goes on with all of its members.
        """
        for name, group in list(self.groups.items()):
            at = next((at for at, (each, _) in group.members.items() if each == episode), None)
            if at is None or name in begun:
                continue
            del group.members[at]
            if group.members:
                yield name, group.seat()
            else:
                del self.groups[name]
                yield name, None

    def drop(self, partition: int) -> None:
        """The sets of a partition are no longer ours."""
        kept = ((n, g) for n, g in self.groups.items() if g.seat().partition != partition)
        self.groups = dict(kept)

    def leave(self, name: str) -> None:
        """A set is done with."""
        self.groups.pop(name, None)


def set_of(series: Series, position: int, size: int) -> tuple[range, int]:
    """The places of a position's set, and its number from 1: each window falls into sets of this size."""
    window = series.positions(position // series.window)
    at = (position - window.start) // size
    first = window.start + at * size
    # Counted through the series by places alone: which members came, or when, must not change
    # the name of a set.
    number = (position // series.window) * -(-series.window // size) + at + 1
    return range(first, min(first + size, window.stop)), number
