"""Tool-integrated reasoning: think, search, read, and answer; no memory of its own.

Source: trainable graph memory, eq. (4): a_t ~ π(· | q, h_{1:t-1}); design/baselines.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, ClassVar

from msgspec import structs
from pydantic import PositiveInt

from handlers.policies.base import Conclusion, Policy, Task
from handlers.policies.last_call import answering
from handlers.roles.agent import AGENT, NEITHER, Call, Move, move_of, response
from schemas.asking import OutOfLimit, Steps
from schemas.events.reasoning import Generated, Parse
from schemas.prompt import Message
from schemas.questions import Sampling, UseTool
from schemas.settings import PolicySettings

# The agent that memories are built around. With guidance or without, its questions differ in one
# slot alone, so that what a memory is worth can be told by holding both against each other.


class ToolSettings(PolicySettings):
    """Settings of tool-integrated reasoning."""

    paper: ClassVar[Mapping[str, Any]] = {"output_cap": None}

    tool_calls: PositiveInt = 6
    """After so many calls without an answer there is none."""
    output_cap: PositiveInt | None = 8_192
    """Tokens that a reply may take."""


@dataclass(slots=True)
class History:
    """h: the agent's own replies, reasoning and all, and what came back, as one conversation."""

    turns: list[Message] = field(default_factory=list[Message])
    calls: int = 0
    unread: bool = False
    """Whether the last reply held neither a call nor an answer."""

    def called(self, said: str, came: str) -> None:
        """One more call, and what came of it."""
        self.calls, self.unread = self.calls + 1, False
        self._turn(said, response(came))

    def ask_again(self, said: str) -> None:
        """A reply that holds neither: the agent is told so, once in a row."""
        self.unread = True
        self._turn(said, NEITHER)

    def _turn(self, said: str, then: str) -> None:
        self.turns += [("assistant", said.strip() or "(no reply)"), ("user", then)]


def solve(task: Task, settings: ToolSettings) -> Steps[Conclusion]:
    """Turns until an answer, the last call, or a limit."""
    return (yield from reason(task, settings.tool_calls, settings.output_cap, ""))


def reason(task: Task, tool_calls: int, output_cap: int | None, guidance: str) -> Steps[Conclusion]:
    """The protocol, with guidance or without: the same questions but for that slot."""
    history = History()
    try:
        for turn in count():
            said, move = yield from take_turn(task, history, turn, output_cap, guidance)
            if move.answer is not None:
                return Conclusion(answer=move.answer, ended_by="answered")
            # Told once that it did neither, an agent that does neither again would go
            # on so for ever.
            if move.call is None and history.unread:
                break
            if move.call is None:
                history.ask_again(said)
            elif history.calls == tool_calls:
                return Conclusion(answer=None, ended_by="tool_calls")
            else:
                history.called(said, (yield from call(move.call)))
    except OutOfLimit as limit:
        return Conclusion(answer=None, ended_by="limit", limit=limit.which)
    return Conclusion(answer=None, ended_by="unreadable")


def take_turn(
    task: Task, history: History, turn: int, output_cap: int | None, guidance: str
) -> Steps[tuple[str, Move]]:
    """One reply in the conversation so far, and what it does."""
    own = {"problem": task.stated, "guidance": guidance}
    question = AGENT.question(own, sampling=Sampling(max_tokens=output_cap), draw=turn)
    said = yield from structs.replace(question, history=tuple(history.turns))
    # A reply that was cut off may hold half a call, or name an answer that it was about to reject.
    move = move_of("" if said.cut else said.text)
    readable = move.call is not None or move.answer is not None
    parse: Parse = "ok" if readable else "unreadable"
    yield Generated(round=turn, answer=move.answer, source=said.address, parse=parse)
    return said.text, move


def call(wanted: Call) -> Steps[str]:
    """What came of one call of the tool; one that cannot be made comes back as its fault."""
    if wanted.fault is not None:
        return f"error: {wanted.fault}"
    arguments: tuple[tuple[str, str | int], ...] = (("query", wanted.query), ("topk", wanted.topk))
    found = yield from UseTool(wanted.tool, arguments)
    return f"error: {found.text}" if found.result == "error" else found.text or "(nothing found)"


TOOL_REASONING = Policy(
    name="tool_reasoning",
    version="3",
    about="calls a search tool as needed, six times at most, and answers from what it found",
    settings=ToolSettings,
    roles=("reasoner",),
    solve=answering(solve),
)
