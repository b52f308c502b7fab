"""Where a record of each kind may stand: on which topic, in which episode, at which address.

Policies, workers and commands put records nowhere else. A record that stands elsewhere was written by
somebody else: folds pass it over, and ``verify`` names it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from schemas.events import episode, learning, traces
from schemas.events.base import Event
from schemas.events.union import ANSWERS, FACTS
from schemas.identity import is_numbered, learning_id
from schemas.subjects import ERASURES

EVENTS: Final = "events"
LEARNING: Final = "learning"
NUMBERED: Final = "#"
"""The address of what a policy yields."""


@dataclass(frozen=True, slots=True)
class Place:
    """One place: ``*`` at its end stands for any rest, braces for a field of the event."""

    topic: str
    episode: str | Callable[[Any], str]
    address: str

    def holds(self, name: str, address: str, event: Event) -> bool:
        """Whether a record of this event may stand there, whatever its topic."""
        wanted = self.episode if isinstance(self.episode, str) else self.episode(event)
        if not _fits(wanted, name, event):
            return False
        return (
            is_numbered(address)
            if self.address is NUMBERED
            else _fits(self.address, address, event)
        )


# Templates name fields of the event, and so a record about one scope cannot stand among another's.
def _fits(wanted: str, said: str, event: Event) -> bool:
    if wanted.endswith("*"):
        return said.startswith(wanted[:-1])
    return said == (wanted.format(event=event) if "{" in wanted else wanted)


# The two names that hang on a revision, which a template cannot leave out where there is none.
def _closed_in(event: learning.BatchClosed) -> str:
    return learning_id(event.scope, event.batch, event.revision)


def _versioned_in(event: learning.MemoryVersioned) -> str:
    return learning_id(event.scope, event.number, event.revision)


# What a policy yields stands at numbered addresses and nowhere else: no policy can write a
# closing, a grade or a memory version.
_STATED = (
    Place(EVENTS, "p/*", NUMBERED),
    Place(EVENTS, "s/*", NUMBERED),
    Place(EVENTS, "q/*", NUMBERED),
    Place(LEARNING, "b/*", NUMBERED),
)
_BEGUN = tuple(Place(EVENTS, f"{sort}/*", "opened") for sort in "psq")
_ENDED = (
    *(Place(EVENTS, f"{sort}/*", "closed") for sort in "psq"),
    Place(LEARNING, "b/*", "closed"),
)
_ANNOUNCED = "n/{event.scope}/{event.series}"
_OF_A_SCOPE = "n/{event.scope}/-"

PLACES: Final[Mapping[type[Event], tuple[Place, ...]]] = {
    **dict.fromkeys((*ANSWERS, *FACTS), _STATED),
    episode.ProblemAdmitted: (Place(EVENTS, "p/*", "admitted"),),
    episode.EpisodeOpened: _BEGUN,
    episode.ReviewAsked: (Place(EVENTS, "p/*", "asked.{event.address}"),),
    episode.EpisodeParked: (Place(EVENTS, "p/*", "parked.*"),),
    episode.EpisodeAdopted: tuple(Place(topic, "p/*", "adopted.*") for topic in (EVENTS, LEARNING)),
    episode.EpisodeClosed: _ENDED,
    episode.PartitionClaimed: tuple(
        Place(topic, "w/*", "claimed.*") for topic in (EVENTS, LEARNING)
    ),
    episode.TextKept: tuple(Place(topic, "t/*", "text") for topic in (EVENTS, LEARNING)),
    learning.SeriesOpened: (Place(LEARNING, _ANNOUNCED, "series"),),
    learning.PositionVoided: (Place(LEARNING, _ANNOUNCED, "void.{event.position}"),),
    learning.TickPassed: (Place(LEARNING, _OF_A_SCOPE, "tick.{event.batch}"),),
    learning.KnowledgeRevised: (Place(LEARNING, _OF_A_SCOPE, "revised.*"),),
    learning.EmbedderChanged: (Place(LEARNING, _OF_A_SCOPE, "embedder.*"),),
    learning.ProblemForgotten: (Place(LEARNING, _OF_A_SCOPE, "forgotten.*"),),
    traces.TraceTaken: (Place(LEARNING, "p/*", "taken"),),
    learning.SubjectErased: (Place(LEARNING, f"{ERASURES}{{event.subject}}", "erased"),),
    learning.Reflected: (Place(LEARNING, "p/*", "reflected"),),
    learning.Graded: (Place(LEARNING, "p/*", "graded.*"),),
    learning.GradeProposed: (Place(LEARNING, "p/*", "proposed.graded.{event.grade}"),),
    learning.BatchClosed: (Place(LEARNING, _closed_in, "batch"),),
    learning.MemoryVersioned: (Place(LEARNING, _versioned_in, "version"),),
}


def stands(name: str, address: str, event: Event, topic: str | None = None) -> bool:
    """Whether a record may stand in the episode of this name at this address, on any topic or on one.

    Of a kind that this build does not know nothing is said: it may stand anywhere.
    """
    # An event of a later build is kept as it came, and passed over by whoever does not know it.
    places = _near(type(event), name[:2])
    return places is None or any(
        (topic is None or topic == place.topic) and place.holds(name, address, event)
        for place in places
    )


# Asked for each record of what is learned; most of a kind's places are of other sorts of episodes.
@lru_cache(maxsize=1_024)
def _near(kind: type[Event], sort: str) -> tuple[Place, ...] | None:
    """The places of a kind in episodes whose names begin with these two characters; none of an unknown kind."""
    places = PLACES.get(kind)
    return places and tuple(
        place
        for place in places
        if not isinstance(place.episode, str) or place.episode.startswith(sort)
    )
