"""Traces of other tools, as the events of an agent of ours and as the text that a model is shown."""

from __future__ import annotations

from handlers.policies.taken import told, trace_of
from schemas.events.episode import Completed
from schemas.events.graph import ToolCalled
from schemas.events.reasoning import Generated
from schemas.events.traces import Step, TraceTaken
from tests.papers.told import lines

STEPS = (
    Step(by="assistant", text="I look it up."),
    Step(by="tool", text="four of them", tool="search", asked='{"query": "trays"}'),
    Step(by="assistant"),
    Step(by="tool", text=" ", tool="search"),
    Step(by="tool", tool="search", asked='{"query": "rolls"}'),
    Step(by="user", text="Go on. "),
    Step(by="tool", text="no such page", failed=True),
    Step(by="assistant", text="So it is 96."),
    Step(by="user", text="Thanks."),
)
TAKEN = TraceTaken(
    scope="s",
    policy="graph@1",
    profile="service",
    settings={},
    problem_id="q1",
    domain="stories",
    problem="12 trays of 8 rolls?",
    series="",
    position=0,
    labelled=False,
    answer="96",
    steps=STEPS,
    source="traces.jsonl",
)


def test_a_trace_is_the_events_of_an_agent() -> None:
    """Its answer is what was said last; what nobody knows the text of, and what the user said, is no event."""
    agent, searched = "Complete agent", 'UseTool search {"query": "trays"}'
    answered = Completed(asked=agent, text="So it is 96.", finish="stop", model="")
    assert trace_of(TAKEN).events == (
        ("0", Completed(asked=agent, text="I look it up.", finish="stop", model="")),
        ("1", Generated(role="agent", source="0")),
        ("2", ToolCalled(asked=searched, tool="search", result="found", text="four of them")),
        ("3", ToolCalled(asked="UseTool search -", tool="search", result="empty", text=" ")),
        ("4", ToolCalled(asked="UseTool - -", tool="-", result="error", text="no such page")),
        ("5", answered),
        ("6", Generated(role="agent", answer="96", source="5")),
    )


def test_a_trace_is_told_with_every_call_and_what_came_of_it() -> None:
    assert told(TAKEN) == lines("""
    I look it up.

    [called search with {"query": "trays"}]
    four of them

    [called search]
    nothing

    [called search with {"query": "rolls"}]
    its result is unknown

    [user] Go on.

    [called a tool]
    failed: no such page

    So it is 96.

    [user] Thanks.
    """)
