"""Whatever other tools write is read or refused by name, and says the same in each of their forms."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from handlers.policies.registry import POLICIES
from handlers.policies.taken import told, trace_of
from schemas.events.codec import as_written, decode
from schemas.events.episode import Completed
from schemas.events.graph import ToolCalled
from schemas.events.reasoning import Generated
from schemas.events.traces import Step, TraceTaken
from schemas.identity import episode_id, is_taken, run_id, taken_id
from streams.producing.sources import BadLine, SourceLine
from streams.producing.traces.reading import Reading
from streams.producing.traces.reflecting import reflection_of
from tests.laws.events import JSON, TEXT
from tests.laws.events import said as any_of
from tests.streams.traces.otlp import attributes, chat, export, noted, said, span
from tests.streams.traces.otlp import text as part

Turn: TypeAlias = tuple[str, ...]
WORDS = st.text(min_size=1, max_size=20).filter(
    lambda text: bool(text.strip()) and "\x00" not in text
)
CALLED = st.tuples(st.just("tool"), WORDS, WORDS, WORDS)
SAID = st.tuples(st.just("assistant"), WORDS)
TURNS = st.lists(CALLED | SAID, max_size=5).map(lambda found: [*found, ("assistant", "It is 7.")])


def steps_of(turns: list[Turn]) -> tuple[Step, ...]:
    """What any reader should find."""
    return tuple(
        Step(by="assistant", text=turn[1])
        if turn[0] == "assistant"
        else Step(by="tool", tool=turn[1], asked=turn[2], text=turn[3])
        for turn in turns
    )


def taken_of(steps: tuple[Step, ...]) -> TraceTaken:
    """A case of these steps."""
    return TraceTaken(
        scope="d/x/main/0",
        policy="mc2",
        profile="service",
        settings={},
        problem_id="q",
        domain="d",
        problem="What is it?",
        series="s",
        position=0,
        labelled=False,
        answer="7",
        steps=steps,
        source="f",
    )


def as_openai(turns: list[Turn]) -> bytes:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "What is it?"}]
    for number, turn in enumerate(turns):
        if turn[0] == "assistant":
            messages.append({"role": "assistant", "content": turn[1]})
            continue
        function = {"name": turn[1], "arguments": turn[2]}
        call = {"id": f"c{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": turn[3]})
    return json.dumps({"messages": messages}).encode()


def as_spans(turns: list[Turn], *, structured: bool) -> list[bytes]:
    """An agent's loop: each call of the model repeats the conversation so far. A line holds one span."""
    known, lines = [said("user", part("What is it?"))], list[bytes]()
    for number, turn in enumerate(turns):
        if turn[0] == "assistant":
            replied = said("assistant", part(turn[1]))
            lines.append(_line(known, replied, number, structured))
            known = [*known, replied]
            continue
        call = {"type": "tool_call", "id": f"c{number}", "name": turn[1], "arguments": turn[2]}
        replied = said("assistant", call)
        lines.append(_line(known, replied, number, structured))
        came = {"type": "tool_call_response", "id": f"c{number}", "response": turn[3]}
        known = [*known, replied, said("tool", came)]
    return lines


def _line(known: list[dict[str, Any]], replied: dict[str, Any], at: int, structured: bool) -> bytes:
    return export(span(chat(known, replied, structured=structured), id=f"s{at}", begun=at + 1))


def read(lines: list[bytes]) -> Reading:
    reading = Reading()
    reading.take(SourceLine(number, raw) for number, raw in enumerate(lines, 1))
    return reading


@given(TURNS)
def test_chats_and_spans_say_the_same(turns: list[Turn]) -> None:
    for lines in (
        [as_openai(turns)],
        as_spans(turns, structured=False),
        as_spans(turns, structured=True),
    ):
        (case,) = read(lines).cases
        assert case.steps == steps_of(turns)
        assert case.problem == "What is it?"


@given(TURNS, st.randoms(use_true_random=False))
def test_the_order_of_lines_changes_nothing(turns: list[Turn], chance: Any) -> None:
    lines = as_spans(turns, structured=False)
    shuffled = chance.sample(lines, len(lines))
    (one,), (other,) = read(lines).cases, read(shuffled).cases
    assert (one.steps, one.problem, one.answered) == (other.steps, other.problem, other.answered)


MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "system"]) | JSON},
    optional=dict.fromkeys(("content", "parts", "tool_calls", "tool_call_id"), JSON),
)
LINE = st.fixed_dictionaries(
    {},
    optional={
        "messages": st.lists(MESSAGE, max_size=4) | JSON,
        "resourceSpans": JSON,
        **dict.fromkeys(("id", "label", "reward", "reference", "problem_id", "answer"), JSON),
    },
)


@given(LINE | JSON)
def test_any_line_is_a_case_or_refused_by_name(line: Any) -> None:
    reading = read([json.dumps(line).encode()])
    assert len(reading.cases) + len(reading.refused) <= 1 or not reading.cases
    assert all(isinstance(error, BadLine) and error.what for _, error in reading.refused)


@given(
    st.dictionaries(
        st.sampled_from(["gen_ai.input.messages", "gen_ai.prompt.0.content", "x"]), JSON
    ),
    JSON,
)
def test_any_attributes_are_a_case_or_refused_by_name(values: dict[str, Any], more: Any) -> None:
    events = [noted("gen_ai.choice", {"message": more if isinstance(more, str) else "x"})]
    made = span({}, events=events)
    made["attributes"] = [{"key": name, "value": value} for name, value in values.items()]
    reading = read([export(made)])
    assert len(reading.cases) + len(reading.refused) <= 1
    made["attributes"] = attributes({name: json.dumps(value) for name, value in values.items()})
    assert len(read([export(made)]).cases) <= 1


@given(any_of(TraceTaken))
def test_a_record_of_a_trace_comes_back(taken: TraceTaken) -> None:
    written = as_written(taken)
    assert decode(written.kind, written.to_json()) == written


@given(TURNS, st.sampled_from(["mc2", "graph_memory"]))
def test_what_a_case_leaves_follows_from_its_record_and_holds_no_verdict(
    turns: list[Turn], name: str
) -> None:
    settings = {} if name == "mc2" else {"base": "cot"}
    case = structs.replace(taken_of(steps_of(turns)), policy=name, settings=settings)
    made = [as_written(structs.replace(case, labelled=labelled)) for labelled in (False, True)]
    one, other = (reflection_of(POLICIES[name], taken) for taken in made)
    assert one.summary == other.summary
    assert (one.usage.calls, one.usage.tokens, one.confidence) == (0, None, None)
    events = [event for _, event in trace_of(made[0]).events]
    assert sum(isinstance(event, Completed) for event in events) == sum(
        t[0] != "tool" for t in turns
    )
    assert sum(isinstance(event, ToolCalled) for event in events) == sum(
        t[0] == "tool" for t in turns
    )
    assert all(turn[-1].strip() in told(made[0]) for turn in turns)


@given(TEXT, TEXT, JSON)
def test_no_run_of_ours_bears_the_name_of_a_case(domain: str, id: str, value: Any) -> None:
    name = domain.replace("/", "") or "d"
    assert is_taken(taken_id(name, id, value))
    run = run_id("mc2", "service", {"x": value}, 0, 1, None)
    assert not is_taken(episode_id(name, f"taken-{id}", run))
    assert not is_taken(f"q/{taken_id(name, id, value)}/0/probe/0")


def test_a_call_whose_result_nobody_knows_is_left_out_and_the_rest_is_not() -> None:
    steps = (
        Step(by="assistant", text="I look it up."),
        Step(by="tool", tool="search", asked="{}"),
        Step(by="assistant", text="It is 7."),
    )
    taken = structs.replace(taken_of(steps), answer="7")
    said = [event for _, event in trace_of(taken).events]
    assert [each.text for each in said if isinstance(each, Completed)] == [
        "I look it up.",
        "It is 7.",
    ]
    assert [each.answer for each in said if isinstance(each, Generated)] == [None, "7"]
