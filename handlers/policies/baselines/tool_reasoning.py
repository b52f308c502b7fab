"""Tool-integrated reasoning: think, search, read, and answer; no memory of its own.

Source: trainable graph memory, eq. (4): a_t ~ π(· | q, h_{1:t-1}); baselines page.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pydantic import PositiveInt

from handlers.policies.base import Conclusion, Policy, Task
from handlers.policies.last_call import answering
from handlers.roles.agent import AGENT, Call, Move, move_of
from schemas.asking import OutOfLimit, Steps
from schemas.events.reasoning import Generated, Parse
from schemas.questions import Sampling, UseTool
from schemas.settings import PolicySettings


class ToolSettings(PolicySettings):
    """Settings of tool-integrated reasoning."""

    paper: ClassVar[Mapping[str, Any]] = {"output_cap": None}

    tool_calls: PositiveInt = 6
    """After so many calls without an answer there is none."""
    output_cap: PositiveInt | None = 8_192


@dataclass(slots=True)
class History:
    """h: calls made and what came back."""

    calls: list[str] = field(default_factory=list[str])
    results: list[str] = field(default_factory=list[str])

    def add(self, call: Call, text: str) -> None:
        """One more call."""
        self.calls.append(
            f"{len(self.calls) + 1}. {call.query or '(unreadable)'}: {call.fault or 'done'}"
        )
        if text:
            self.results.append(f"[{len(self.calls)}]\n{text}")


def solve(task: Task, settings: ToolSettings) -> Steps[Conclusion]:
    """Turns until an answer, the last call, or a limit."""
    return (yield from reason(task, settings.tool_calls, settings.output_cap, ""))


def reason(task: Task, tool_calls: int, output_cap: int | None, guidance: str) -> Steps[Conclusion]:
    """The protocol, with guidance or without: the same questions but for that slot."""
    history = History()
    try:
        for turn in range(tool_calls + 1):
            move = yield from take_turn(task, history, turn, output_cap, guidance)
            if move.answer is not None:
                return Conclusion(answer=move.answer, ended_by="answered")
            if move.call is None or turn == tool_calls:
                break
            yield from call(history, move.call)
    except OutOfLimit as limit:
        return Conclusion(answer=None, ended_by="limit", limit=limit.which)
    return Conclusion(answer=None, ended_by="tool_calls" if history.calls else "unreadable")


def take_turn(
    task: Task, history: History, turn: int, output_cap: int | None, guidance: str
) -> Steps[Move]:
    """One reply and what it does."""
    own = {
        "problem": task.stated,
        "guidance": guidance,
        "earlier_calls": "\n".join(history.calls),
        "search_results": "\n\n".join(history.results),
    }
    said = yield from AGENT.question(own, sampling=Sampling(max_tokens=output_cap), draw=turn)
    move = move_of("" if said.cut else said.text)
    readable = move.call is not None or move.answer is not None
    parse: Parse = "ok" if readable else "unreadable"
    yield Generated(round=turn, answer=move.answer, source=said.address, parse=parse)
    return move


def call(history: History, wanted: Call) -> Steps[None]:
    """One call of the tool; a call that cannot be made comes back as its fault."""
    if wanted.fault is not None:
        history.add(wanted, f"error: {wanted.fault}")
        return
    arguments: tuple[tuple[str, str | int], ...] = (("query", wanted.query), ("topk", wanted.topk))
    found = yield from UseTool(wanted.tool, arguments)
    history.add(wanted, f"error: {found.text}" if found.result == "error" else found.text)


TOOL_REASONING = Policy(
    name="tool_reasoning",
    version="2",
    about="calls a search tool as needed, six times at most, and answers from what it found",
    settings=ToolSettings,
    roles=("reasoner",),
    solve=answering(solve),
)
