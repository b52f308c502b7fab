"""What another tool's trace looks like to a policy that learns from it: as events, and as a text. Pure.

The events are those that an agent of ours would have left: a reply with the answer that it gives, a call of a tool with
what came back. So a table of events reads both alike.
"""

from __future__ import annotations

from collections.abc import Iterator

from handlers.policies.base import Trace
from schemas.events.base import Event
from schemas.events.episode import Completed
from schemas.events.graph import ToolCalled
from schemas.events.reasoning import Generated
from schemas.events.traces import Step, TraceTaken
from schemas.outcome import Found

AGENT = "agent"
ENDED_BY = "taken"
"""What ended such a case, for us."""


def trace_of(taken: TraceTaken) -> Trace:
    """A trace as the events of an agent. A further word of the user is none, nor a call whose result nobody knows."""
    return Trace(_numbered(taken))


def _numbered(taken: TraceTaken) -> Iterator[tuple[str, Event]]:
    last = max((at for at, step in enumerate(taken.steps) if step.by == "assistant"), default=-1)
    number = 0
    for at, step in enumerate(taken.steps):
        for event in _events(step, str(number), taken.answer if at == last else None):
            yield str(number), event
            number += 1


def _events(step: Step, address: str, answer: str | None) -> Iterator[Event]:
    if step.text is None:
        return
    if step.by == "assistant":
        yield Completed(asked=f"Complete {AGENT}", text=step.text, finish="stop", model="")
        yield Generated(role=AGENT, answer=answer, source=address)
    elif step.by == "tool":
        result: Found = "error" if step.failed else "found" if step.text.strip() else "empty"
        asked = f"UseTool {step.tool or '-'} {step.asked or '-'}"
        yield ToolCalled(asked=asked, tool=step.tool or "-", result=result, text=step.text)


def told(taken: TraceTaken) -> str:
    """A trace as a text: what was said, which tools were called with what, and what they returned."""
    return "\n\n".join(filter(None, map(_told, taken.steps)))


def _told(step: Step) -> str:
    if step.by == "assistant":
        return (step.text or "").strip()
    if step.by == "user":
        return f"[user] {(step.text or '').strip()}"
    called = f"[called {step.tool or 'a tool'}{f' with {step.asked}' if step.asked else ''}]"
    returned = "its result is unknown" if step.text is None else step.text.strip() or "nothing"
    return f"{called}\n{'failed: ' if step.failed else ''}{returned}"
