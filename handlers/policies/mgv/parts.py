"""What a set episode's record holds of one member: its lanes, and the facts that are about it."""

from __future__ import annotations

from handlers.policies.base import Trace
from schemas.events.base import Event
from schemas.events.episode import Forked
from schemas.events.monitoring import Allocated, CasesReached, ExperienceKept, ThresholdsSet

# Members share one record but each is reflected by itself, by the code that reflects an episode of
# one problem. Lanes are told apart by their place in the shares, which are stated just before the
# fork; facts outside of lanes name their subject; answers outside of lanes do not, and belong to
# whom the next cases are reached for.


def part(trace: Trace, subject: str) -> Trace:
    """One member's own part of a set's trace, with what the set as a whole decided."""
    found: list[tuple[str, Event]] = []
    lane = ""
    shares: tuple[tuple[str, int], ...] = ()
    waiting: list[tuple[str, Event]] = []  # answers that the next case in mind is made of
    # What is kept is stated once a member, in the members' order, which is that in which
    # cases came to mind.
    reached = (event for _, event in trace.events if isinstance(event, CasesReached))
    kept = iter(dict.fromkeys(event.subject for event in reached))
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
            found += waiting if own else ()
            waiting.clear()
        if own:
            found.append((address, event))
    return Trace(found)
