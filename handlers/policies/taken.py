"""What another tool's trace looks like to a policy that learns from it: as events, and as a text. Pure.

The events are those that an agent of ours would have left: a reply with the answer that it gives, a call of a tool with
what came back. So a table of events reads both alike.
"""

from __future__ import annotations

from handlers.policies.base import Trace
from schemas.events.base import Event
from schemas.events.episode import Completed
from schemas.events.graph import ToolCalled
from schemas.events.reasoning import Generated
from schemas.events.traces import TraceTaken
from schemas.outcome import Found

AGENT = "agent"
ENDED_BY = "taken"
"""What ended such a case, for us."""


def trace_of(taken: TraceTaken) -> Trace:
    """A trace as the events of an agent. A further word of the user is none, nor a call whose result nobody knows."""
    events: list[tuple[str, Event]] = []
    # Tools say one answer for the whole trace: it is what the assistant said last,
    # not at each turn.
    last = max((at for at, step in enumerate(taken.steps) if step.by == "assistant"), default=-1)
    for at, step in enumerate(taken.steps):
        if step.text is None:
            continue
        here = str(len(events))
        if step.by == "assistant":
            asked = f"Complete {AGENT}"
            said = Completed(asked=asked, text=step.text, finish="stop", model="")
            answer = taken.answer if at == last else None
            read = Generated(role=AGENT, answer=answer, source=here)
            events += [(here, said), (str(len(events) + 1), read)]
        elif step.by == "tool":
            result: Found = "error" if step.failed else "found" if step.text.strip() else "empty"
            asked = f"UseTool {step.tool or '-'} {step.asked or '-'}"
            came = ToolCalled(asked=asked, tool=step.tool or "-", result=result, text=step.text)
            events.append((here, came))
    return Trace(events)


def told(taken: TraceTaken) -> str:
    """A trace as a text: what was said, which tools were called with what, and what they returned."""
    parts: list[str] = []
    for step in taken.steps:
        said = (step.text or "").strip()
        if step.by != "tool":
            parts.append(f"[user] {said}" if step.by == "user" else said)
            continue
        called = f"[called {step.tool or 'a tool'}{f' with {step.asked}' if step.asked else ''}]"
        # That a tool returned nothing is known; that its result was not recorded is another matter.
        returned = "its result is unknown" if step.text is None else said or "nothing"
        parts.append(f"{called}\n{'failed: ' if step.failed else ''}{returned}")
    return "\n\n".join(filter(None, parts))
