"""What a set episode's record holds of one member: its lanes, and the facts that are about it."""

from __future__ import annotations

from collections.abc import Iterator

from handlers.policies.base import Trace
from schemas.events.base import Event
from schemas.events.episode import Forked
from schemas.events.monitoring import Allocated, CasesReached, ExperienceKept, ThresholdsSet


def part(trace: Trace, subject: str) -> Trace:
    """One member's own part of a set's trace, with what the set as a whole decided."""
    return Trace(tuple(_own(trace, subject)))


def _own(trace: Trace, subject: str) -> Iterator[tuple[str, Event]]:
    members = _members(trace)
    lane = ""
    shares: tuple[tuple[str, int], ...] = ()
    waiting: list[tuple[str, Event]] = []  # answers that the next case in mind is made of
    kept = iter(members)
    for address, event in trace.events:
        match event:
            case _ if "." in address:
                own = bool(lane) and address.startswith(lane)
            case Forked():
                names = [name for name, _ in shares]
                lane = f"{address}.{names.index(subject)}." if subject in names else ""
                own = bool(lane)
            case Allocated():
                shares, own = event.shares, True
            case ThresholdsSet():
                own = True
            case ExperienceKept():
                own = next(kept, None) == subject
            case _:
                about = getattr(event, "subject", None)
                own = about is not None and about == subject
                if about is None:
                    waiting.append((address, event))
        if isinstance(event, CasesReached) and "." not in address:
            yield from waiting if own else ()
            waiting.clear()
        if own:
            yield address, event


def _members(trace: Trace) -> list[str]:
    """The members in order, each once: the order in which cases came to mind for them."""
    reached = (event for _, event in trace.events if isinstance(event, CasesReached))
    return list(dict.fromkeys(event.subject for event in reached))
