"""Facts of reasoning: what a policy made of the replies it got. A fact holds a text's address, never the text."""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

from schemas.events.base import Act, Event
from schemas.struct import NonNegativeInt, PositiveInt, always

Parse: TypeAlias = Literal["ok", "reparsed", "fallback", "unreadable"]
Action: TypeAlias = Literal["accept", "patch", "restart"]
Flag: TypeAlias = Literal["YES", "NO"]


class Generated(Event, tag="generated"):
    """A generator role produced a trajectory with, if it can be read, an answer."""

    act: ClassVar[Act] = "generated"
    round: NonNegativeInt = always(0)
    role: str = always("reasoner")
    answer: str | None = None
    source: str
    """Address of the reply whose text is the trajectory."""
    parse: Parse = always("ok")


class ReplyReparsed(Event, tag="reply.reparsed"):
    """A reply could not be read, so its role was asked once more."""

    act: ClassVar[Act] = "generated"
    role: str
    source: str
    reason: str


class MonitorReported(Event, tag="monitor.reported"):
    """The Monitor audited a trajectory (MC² eq. 5). An unknown flag is absent."""

    act: ClassVar[Act] = "assessed"
    round: NonNegativeInt
    flag: Flag | None = None
    step: str | None = None
    source: str
    parse: Parse = always("ok")


class ControllerActed(Event, tag="controller.acted"):
    """The Controller accepted, patched or restarted (MC² eq. 6)."""

    act: ClassVar[Act] = "decided"
    round: NonNegativeInt
    action: Action
    answer: str | None = None
    """The accepted or patched answer; none after a restart."""
    source: str
    """Address of the Controller's reply; of the Monitor's, where its clean report accepted by itself."""
    parse: Parse = always("ok")


class KnowledgeReached(Event, tag="knowledge.reached"):
    """Guidance was composed for a role from rules and lessons (MC² eq. 13), or the previous kept."""

    act: ClassVar[Act] = "recalled"
    round: NonNegativeInt
    role: str
    source: str
    """Address of the composer's last reply."""
    result: Literal["composed", "regenerated", "fallback"]
    bullets: NonNegativeInt
    cut: NonNegativeInt = always(0)
    """Bullets or words beyond what the composer was allowed, left out."""
    items: tuple[str, ...]
    """Ids of the memory items that the composer saw."""


class KnowledgeOmitted(Event, tag="knowledge.omitted"):
    """A role did without some of its rules, drawn by hash, so that what each is worth becomes known."""

    act: ClassVar[Act] = "recalled"
    role: str
    items: tuple[str, ...]
    """Ids of the rules that its composer would have seen."""


class Voted(Event, tag="voted"):
    """Samples were put to the vote."""

    act: ClassVar[Act] = "decided"
    answer: str | None = None
    votes: NonNegativeInt
    of: PositiveInt
    unreadable: NonNegativeInt = always(0)
