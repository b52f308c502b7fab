"""Traces of other tools in each form that they write: what was asked, said and done is the same in all of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from schemas.events.traces import Step
from streams.producing.sources import SourceLine
from streams.producing.traces.case import Case, Label
from streams.producing.traces.reading import Reading
from tests.streams.traces.otlp import chat, export, noted, said, span, text

ASKED, REPLIED = "What is 12 * 12?", "12 * 12 is 144. The answer is 144."
USER, ASSISTANT = said("user", text(ASKED)), said("assistant", text(REPLIED))


def read(*lines: bytes | dict[str, Any], evaluation: str | None = None) -> Reading:
    reading = Reading(evaluation)
    raw = (json.dumps(each).encode() if isinstance(each, dict) else each for each in lines)
    reading.take(SourceLine(number, each) for number, each in enumerate(raw, 1))
    return reading


def one(*lines: bytes | dict[str, Any], evaluation: str | None = None) -> Case:
    reading = read(*lines, evaluation=evaluation)
    assert not reading.refused, [str(error) for _, error in reading.refused]
    (case,) = reading.cases
    return case


def refusal(*lines: bytes | dict[str, Any], evaluation: str | None = None) -> str:
    reading = read(*lines, evaluation=evaluation)
    assert not reading.cases
    ((_, error),) = reading.refused
    return f"{error} [{error.code}]"


def messages(*pairs: tuple[str, Any], **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": role, "content": content} for role, content in pairs], **more}


SIMPLE = messages(("system", "Be brief."), ("user", ASKED), ("assistant", REPLIED))
OLDER = {
    "gen_ai.request.model": "gpt-4",
    "gen_ai.prompt.0.role": "system",
    "gen_ai.prompt.0.content": "Be brief.",
    "gen_ai.prompt.1.role": "user",
    "gen_ai.prompt.1.content": ASKED,
    "gen_ai.completion.0.role": "assistant",
    "gen_ai.completion.0.content": REPLIED,
    "gen_ai.completion.0.finish_reason": "stop",
}
DETAILS = noted(
    "gen_ai.client.inference.operation.details", chat([USER], ASSISTANT, structured=True)
)
EVENTS = [
    noted("gen_ai.system.message", {"content": "Be brief."}),
    noted("gen_ai.user.message", {"content": ASKED}),
    noted("gen_ai.choice", {"index": 0, "message": json.dumps({"content": REPLIED})}),
]


@pytest.mark.parametrize(
    "line",
    [
        SIMPLE,
        {**SIMPLE, "model": "gpt-4", "metadata": {"anything": [1]}, "tools": []},
        messages(("user", [{"type": "text", "text": ASKED}]), ("assistant", REPLIED)),
        export(span(chat([USER], ASSISTANT))),
        export(span(chat([USER], ASSISTANT, structured=True))),
        export(span(OLDER)),
        export(span({"gen_ai.operation.name": "chat"}, events=[DETAILS])),
        export(span({"gen_ai.operation.name": "chat"}, events=EVENTS)),
    ],
    ids=["chat", "chat-more", "chat-parts", "json", "structured", "indexed", "details", "events"],
)
def test_each_form_says_the_same(line: bytes | dict[str, Any]) -> None:
    case = one(line)
    assert (case.problem, case.steps) == (ASKED, (Step(by="assistant", text=REPLIED),))
    assert (case.answered, case.label) == ("144", None)


def test_a_choice_that_is_structured_is_read_too() -> None:
    choice = noted("gen_ai.choice", {"message": {"role": "assistant", "content": REPLIED}})
    assert one(export(span({}, events=[EVENTS[1], choice]))).answered == "144"


CALL = {"location": "Paris"}
DONE = (
    Step(by="tool", tool="get_weather", asked=json.dumps(CALL), text="rainy, 57F"),
    Step(by="assistant", text="It rains in Paris."),
)
CALLED = said(
    "assistant", {"type": "tool_call", "id": "c1", "name": "get_weather", "arguments": CALL}
)
WEATHER = said("user", text("Weather in Paris?"))
LAST = said("assistant", text("It rains in Paris."))


@pytest.mark.parametrize("field", ["response", "result"])
def test_calls_of_tools_stand_with_what_they_returned(field: str) -> None:
    came = said("tool", {"type": "tool_call_response", "id": "c1", field: "rainy, 57F"})
    first = span(chat([WEATHER], CALLED), id="a", begun=1)
    second = span(chat([WEATHER, CALLED, came], LAST), id="b", begun=2)
    alone = span(chat([WEATHER, CALLED, came], LAST))
    for lines in ([export(first, second)], [export(second), export(first)], [export(alone)]):
        case = one(*lines)
        assert (case.problem, case.steps) == ("Weather in Paris?", DONE)
    function = {"name": "get_weather", "arguments": json.dumps(CALL)}
    called = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "function": function}],
    }
    spoken = [
        {"role": "user", "content": "Weather in Paris?"},
        called,
        {"role": "tool", "tool_call_id": "c1", "content": "rainy, 57F"},
        {"role": "assistant", "content": "It rains in Paris."},
    ]
    assert one({"messages": spoken}).steps == DONE


def test_calls_that_have_spans_of_their_own_are_told_by_them() -> None:
    tool = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "get_weather",
        "gen_ai.tool.call.arguments": json.dumps(CALL),
        "gen_ai.tool.call.result": "out of order",
    }
    spans = (
        span(chat([WEATHER], CALLED), id="a", begun=1),
        span(tool, id="t", begun=2, failed=True),
        span(chat([WEATHER], LAST), id="b", begun=3),
    )
    failed, reply = one(export(*spans)).steps
    assert (failed.tool, failed.text, failed.failed) == ("get_weather", "out of order", True)
    assert reply == DONE[1]


def test_a_result_that_nobody_told_is_unknown() -> None:
    (call, _) = one(
        export(span(chat([WEATHER], {**CALLED, "parts": [*CALLED["parts"], text("Let me see.")]})))
    ).steps[::-1]
    assert (call.tool, call.text) == ("get_weather", None)


def test_an_agent_s_span_says_what_was_asked_and_answered() -> None:
    agent = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.input.messages": json.dumps([USER]),
        "gen_ai.output.messages": json.dumps([said("assistant", text("144"))]),
    }
    other = said("user", text("Monitor: is 144 right?"))
    spans = (
        span(agent, id="r", begun=1),
        span(chat([USER], ASSISTANT), id="a", parent="r", begun=2),
        span(chat([other], said("assistant", text("Yes."))), id="b", parent="r", begun=3),
    )
    case = one(export(*spans))
    assert (case.problem, case.answered) == (ASKED, "144")
    assert [step.text for step in case.steps] == [REPLIED, "Yes."]
    assert (case.tool, case.model) == ("shop", "gpt-4-0613")
    assert case.trace == "4bf92f3577b34da6a3ce929d0e0e4736"


def test_traces_are_told_apart_and_other_spans_passed_over() -> None:
    request = span({"http.request.method": "GET"}, trace="aa")
    reading = read(
        export(request, span(chat([USER], ASSISTANT), trace="aa")), export(span(OLDER, trace="bb"))
    )
    assert [case.trace for case in reading.cases] == ["aa", "bb"]


def test_a_span_that_a_collector_sent_twice_counts_once() -> None:
    """Ids are compared without regard to case; spans without an id are not taken for one another."""
    first, again = (
        span(chat([USER], ASSISTANT), trace=trace, id=id)
        for trace, id in (("aB", "cD"), ("Ab", "Cd"))
    )
    case = one(export(first), export(again), export(first))
    assert (case.trace, [step.text for step in case.steps]) == ("aB", [REPLIED])
    nameless = span(chat([USER], ASSISTANT), id="")
    null = {**nameless, "spanId": None}
    assert len(one(export(nameless, null), export(nameless, null)).steps) == 4


def evaluated(name: str, **more: Any) -> dict[str, Any]:
    said = {f"gen_ai.evaluation.{key.replace('_', '.')}": each for key, each in more.items()}
    return noted(
        "gen_ai.evaluation.result", {"gen_ai.evaluation.name": name, **said}, more.get("at", 1)
    )


@pytest.mark.parametrize(
    ("events", "named", "label"),
    [
        ([evaluated("exact", score_label="right", score_value=1.0)], None, Label(verdict=True)),
        ([evaluated("exact", score_label="Incorrect")], None, Label(verdict=False)),
        ([evaluated("relevance", score_label="relevant", score_value=0.9)], None, None),
        ([evaluated("relevance", score_value=0.9)], "relevance", Label(score=0.9)),
        (
            [evaluated("a", score_label="right"), evaluated("b", score_label="wrong")],
            "a",
            Label(verdict=True),
        ),
        (
            [evaluated("a", score_label="wrong", at=2), evaluated("b", score_label="right", at=1)],
            None,
            Label(verdict=False),
        ),
        ([evaluated("exact", score_label="unknown")], None, None),
        ([evaluated("exact", score_value=True)], "exact", None),
        ([evaluated("exact", score_value=False)], "exact", None),
        ([evaluated("exact", score_value="0.9")], "exact", Label(score=0.9)),
        ([evaluated("exact", score_value=1)], "exact", Label(score=1.0)),
        ([evaluated("exact", score_value="NaN")], "exact", None),
        ([evaluated("exact", score_value="high")], "exact", None),
        ([evaluated("exact", score_label="true")], "exact", Label(verdict=True)),
        ([evaluated("exact", score_label=False)], "exact", Label(verdict=False)),
        ([evaluated("toxic", score_label="false")], None, None),
        ([evaluated("toxic", score_label=True)], None, None),
    ],
)
def test_a_verdict_is_never_guessed(
    events: list[dict[str, Any]], named: str | None, label: Label | None
) -> None:
    assert (
        one(export(span(chat([USER], ASSISTANT), events=events)), evaluation=named).label == label
    )


def test_what_was_said_of_one_reply_among_others_judges_no_answer() -> None:
    events = [evaluated("monitor", score_label="wrong")]
    first = span(chat([USER], ASSISTANT), id="a", begun=1, events=events)
    second = span(chat([USER], ASSISTANT), id="b", begun=2)
    assert one(export(first, second)).label is None


@pytest.mark.parametrize(
    ("more", "label"),
    [
        ({"label": True}, Label(verdict=True)),
        ({"label": "wrong"}, Label(verdict=False)),
        ({"label": "true"}, Label(verdict=True)),
        ({"label": "False"}, Label(verdict=False)),
        ({"label": 1}, Label(reference=1)),
        ({"label": "144"}, Label(reference="144")),
        ({"label": 144}, Label(reference=144)),
        ({"reference": ["144", "gross"]}, Label(reference=["144", "gross"])),
        ({"verdict": False}, Label(verdict=False)),
        ({"reward": 0}, Label(score=0.0)),
        ({"score": 0.75}, Label(score=0.75)),
        ({"reference": ""}, None),
        ({"label": []}, None),
        ({"label": " "}, None),
        ({"label": "", "verdict": True}, Label(verdict=True)),
        ({}, None),
    ],
)
def test_what_was_said_of_a_chat_s_answer(more: dict[str, Any], label: Label | None) -> None:
    assert one({**SIMPLE, **more}).label == label


def test_a_chat_names_itself() -> None:
    named = {"id": 7, "problem_id": "q1", "domain": "math", "dataset": "own", "tool": "bot"}
    case = one({**SIMPLE, **named, "answer": "a gross", "model": "m"})
    assert (case.trace, case.problem_id, case.domain, case.dataset) == ("7", "q1", "math", "own")
    assert (case.tool, case.model, case.answered) == ("bot", "m", "a gross")


def test_a_further_word_of_the_user_is_a_step() -> None:
    case = one(
        messages(("user", ASKED), ("assistant", "140"), ("user", "Sure?"), ("assistant", "144"))
    )
    assert [(step.by, step.text) for step in case.steps] == [
        ("assistant", "140"),
        ("user", "Sure?"),
        ("assistant", "144"),
    ]
    assert case.answered == "144"


IMAGE = [{"type": "image_url", "image_url": {"url": "x"}}, {"type": "text", "text": "What is it?"}]
BAD_CALL = {"role": "assistant", "tool_calls": [{"id": "c"}]}


REFUSED: list[tuple[Any, str]] = [
        ({"foo": 1}, "holds neither messages (a chat) nor resourceSpans (OTLP) [trace.form]"),
        ({"messages": "hi"}, "messages: Input should be a valid list [input.field]"),
        ({"messages": [1]}, "messages.0: expected a message, found a int [input.field]"),
        ({"messages": [{"content": "x"}]}, "messages.0.role: expected text that says who speaks"),
        ({"messages": [{"role": "user", "content": 1}]}, "messages.0.content: expected text or a list"),
        (messages(("assistant", "hi")), "messages: no message of the user stands before the first"),
        (messages(("user", ASKED)), "messages: no reply in it says anything [trace.replies]"),
        (messages(("user", " "), ("assistant", "hi")), "messages.0: what was asked is blank"),
        (messages(("user", IMAGE), ("assistant", "hi")), "messages.0: what was asked holds more than text"),
        ({"messages": [{"role": "user", "content": "x"}, BAD_CALL]}, "messages.1.tool_calls.0.name:"),
        ({**SIMPLE, "reward": 2}, "reward: must be from 0 to 1, and is 2 [input.field]"),
        ({**SIMPLE, "reward": 1, "label": True}, "reward: stands beside label: give one of them"),
        ({**SIMPLE, "domain": "a b"}, "domain: "),
        ({**SIMPLE, "subject": "ada"}, "subject: what is taken in is of no subject [input.subject]"),
        (b'{"messages": [', "not JSON"),
        ({"resourceSpans": 1}, "resourceSpans: Input should be a valid list [input.field]"),
        ({"resourceSpans": [{"scopeSpans": [{"spans": [{}]}]}]}, "resourceSpans.0.scopeSpans.0.spans.0.traceId"),
        (export(span({"gen_ai.input.messages": "nope"})), "gen_ai.input.messages: not JSON"),
        (export(span(chat([USER], said("assistant", text("\ud800"))))), "gen_ai.output.messages: not JSON: 'utf-8'"),
        (export(span({"gen_ai.operation.name": "chat"})), "holds no texts: its tool has to record"),
        (export(span({"gen_ai.input.messages": json.dumps([USER])})), "no reply in it says anything"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "why"), REFUSED)
def test_a_bad_line_names_its_field(line: bytes | dict[str, Any], why: str) -> None:
    assert why in refusal(line)


def test_a_bad_span_takes_no_other_trace_along() -> None:
    reading = read(
        export(span({"gen_ai.input.messages": "nope"}, trace="aa")), SIMPLE, export(span(OLDER))
    )
    assert [number for line, _ in reading.refused for number in [line.number]] == [1]
    assert [case.line.number for case in reading.cases] == [2, 3]


def test_values_that_nest_for_ever_are_refused() -> None:
    deep: Any = {"stringValue": "x"}
    for _ in range(40):
        deep = {"arrayValue": {"values": [deep]}}
    bad = span({})
    bad["attributes"] = [{"key": "gen_ai.input.messages", "value": deep}]
    assert "nested too deep" in refusal(export(bad))
