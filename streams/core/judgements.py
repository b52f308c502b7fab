"""Which judgements of an episode could be read, as its facts tell: an answer that none of them reached says so."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from schemas.answer import Judgements
from schemas.events.base import Event
from schemas.events.reasoning import ControllerActed, MonitorReported
from schemas.events.search import ConfidenceStated, OracleScored, ThoughtJudged
from schemas.events.strategy import RewardJudged

JUDGEMENTS: Final[frozenset[type[Event]]] = frozenset(
    (MonitorReported, ControllerActed, OracleScored, ConfidenceStated, ThoughtJudged, RewardJudged)
)
"""What a model said of the work, be it a report, a score or a decision."""
UNREAD: Final = frozenset({"unreadable", "fallback", "defaulted"})


def judgements(events: Iterable[Event]) -> Judgements:
    """How many judgements of an episode's record could be read, and how many could not."""
    # Judges whose replies nobody can read leave an answer that nothing was checked. People must see
    # that, for the policy goes on with its defaults and looks as if it had worked.
    # By exact type: every record of every episode passes through here when it closes.
    found = [is_read(each) for each in events if type(each) in JUDGEMENTS]
    return Judgements(read=sum(found), unread=len(found) - sum(found))


def is_read(fact: Event) -> bool:
    """Whether the reply behind a judgement could be read."""
    # A monitor that states no flag has judged nothing, even if the rest of its reply could be read.
    if isinstance(fact, MonitorReported) and fact.flag is None:
        return False
    return getattr(fact, "parse", "ok") not in UNREAD


def words(said: Judgements) -> str:
    """Return what people must know of the judgements; nothing where all could be read."""
    if not said.unread:
        return ""
    if not said.read:
        return "no judgement could be read" + (
            f" ({said.unread} replies)" if said.unread > 1 else ""
        )
    return f"{said.unread} of {said.read + said.unread} judgements could not be read"
