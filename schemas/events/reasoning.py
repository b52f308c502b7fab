"""Facts of reasoning: what a policy made of the replies it got. A fact holds a text's address, never the text."""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

from pydantic import NonNegativeInt, PositiveInt

from schemas.events.base import Act, Event

Parse: TypeAlias = Literal["ok", "reparsed", "fallback", "unreadable"]
Action: TypeAlias = Literal["accept", "patch", "restart"]
Flag: TypeAlias = Literal["YES", "NO"]


class Generated(Event, frozen=True):
    """A generator role produced a trajectory with, if it can be read, an answer."""

    act: ClassVar[Act] = "generated"
    kind: Literal["generated"] = "generated"
    round: NonNegativeInt = 0
    role: str = "reasoner"
    answer: str | None = None
    source: str
    """Address of the reply whose text is the trajectory."""
    parse: Parse = "ok"


class ReplyReparsed(Event, frozen=True):
    """A reply could not be read, so its role was asked once more."""

    act: ClassVar[Act] = "generated"
    kind: Literal["reply.reparsed"] = "reply.reparsed"
    role: str
    source: str
    reason: str


class MonitorReported(Event, frozen=True):
    """The Monitor audited a trajectory (MC² eq. 5). An unknown flag is absent."""

    act: ClassVar[Act] = "assessed"
    kind: Literal["monitor.reported"] = "monitor.reported"
    round: NonNegativeInt
    flag: Flag | None = None
    step: str | None = None
    source: str
    parse: Parse = "ok"


class ControllerActed(Event, frozen=True):
    """The Controller accepted, patched or restarted (MC² eq. 6)."""

    act: ClassVar[Act] = "decided"
    kind: Literal["controller.acted"] = "controller.acted"
    round: NonNegativeInt
    action: Action
    answer: str | None = None
    """The accepted or patched answer; none after a restart."""
    source: str
    parse: Parse = "ok"


class KnowledgeReached(Event, frozen=True):
    """Guidance was composed for a role from rules and lessons (MC² eq. 13), or the previous kept."""

    act: ClassVar[Act] = "recalled"
    kind: Literal["knowledge.reached"] = "knowledge.reached"
    round: NonNegativeInt
    role: str
    source: str
    """Address of the composer's last reply."""
    result: Literal["composed", "regenerated", "fallback"]
    bullets: NonNegativeInt
    cut: NonNegativeInt = 0
    """Bullets or words beyond what the composer was allowed, left out."""
    items: tuple[str, ...]
    """Ids of the memory items that the composer saw."""


class Voted(Event, frozen=True):
    """Samples were put to the vote."""

    act: ClassVar[Act] = "decided"
    kind: Literal["voted"] = "voted"
    answer: str | None = None
    votes: NonNegativeInt
    of: PositiveInt
    unreadable: NonNegativeInt = 0
