"""Tool calls in the API's own form: several servers' replies, whole and streamed, over one and the same record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.roles.agent import AGENT, Call, move_of, response
from schemas.events.episode import Completed, EpisodeClosed
from schemas.events.graph import ToolCalled
from schemas.fence import fenced
from streams.answering.backbones.openai import OpenAIBackbone, Options
from streams.answering.backbones.openai.reading import Heard, read
from streams.answering.backbones.openai.tools import in_its_form, written
from streams.answering.backbones.shape import description
from tests.endpoint import Answer, Asked, Endpoint, Script, events, fails, serving, whole
from tests.streams.backbones.asking import QUICK, asking, one, with_backbone
from tests.streams.backbones.searching import QUERY, solved_by

ARGUMENTS = {"query": QUERY, "topk": 2}
TEXT = json.dumps(ARGUMENTS)
TAGGED = f'<tool_call>{{"name": "search", "arguments": {TEXT}}}</tool_call>'
ASKED = asking(tools=AGENT.template.tools)


def said(message: dict[str, Any], finish: str | None = "tool_calls") -> Answer:
    body = {
        "id": "c",
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", **message}}],
    }
    body["choices"][0]["finish_reason"] = finish  # type: ignore[index]
    return Answer(raw=json.dumps(body).encode())


def function(arguments: object = TEXT) -> dict[str, Any]:
    return {"name": "search", "arguments": arguments}


WHOLE = {
    "openai": said({
        "content": None, "refusal": None, "annotations": [],
        "tool_calls": [{"id": "call_x1", "type": "function", "function": function()}],
    }),
    "vllm": said({
        "content": "", "reasoning_content": "I look.", "function_call": None,
        "tool_calls": [
            {"id": "chatcmpl-tool-9", "type": "function", "function": function()},
        ],
    }, "stop"),
    "llama.cpp": said({
        "content": None, "tool_calls": [{"type": "function", "function": function(), "id": ""}],
    }),
    "ollama": said({
        "content": "",
        "tool_calls": [
            {"id": "call_1", "index": 0, "type": "function", "function": function(ARGUMENTS)},
        ],
    }),
    "mistral": said({"content": "", "tool_calls": [{"id": "a1B2c3D4e", "function": function()}]}),
    "parts": said({
        "content": [], "tool_calls": [{"id": "c", "type": "function", "function": function()}],
    }),
    "first form": said({"content": None, "function_call": function()}, "function_call"),
    "as text": said({"content": TAGGED}, "stop"),
}  # fmt: skip


def chunks(*deltas: dict[str, Any], finish: str | None = "tool_calls") -> Answer:
    told: list[dict[str, Any]] = [
        {"model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        for delta in deltas
    ]
    told.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    return events([*map(json.dumps, told), "[DONE]"])


def piece(arguments: object, index: int | None = 0, **more: Any) -> dict[str, Any]:
    named = {"name": more.pop("name")} if "name" in more else {}
    own = {} if index is None else {"index": index}
    return {"tool_calls": [{**own, **more, "function": {**named, "arguments": arguments}}]}


HALF = len(TEXT) // 2
STREAMED = {
    "openai": chunks(
        {"role": "assistant", "content": None},
        piece("", id="call_x1", type="function", name="search"),
        *(piece(TEXT[at : at + 3]) for at in range(0, len(TEXT), 3)),
    ),
    "vllm": chunks(
        {"role": "assistant", "content": ""},
        piece("", id="chatcmpl-tool-9", type="function", name="search"),
        piece(TEXT[:HALF]), piece(TEXT[HALF:]), {"content": ""},
    ),
    "llama.cpp": chunks(
        {"role": "assistant", "content": None},
        piece(TEXT[:HALF], id="", type="function", name="search"), piece(TEXT[HALF:]),
    ),
    "a name in each": chunks(
        piece(TEXT[:HALF], id="c", name="search"), piece(TEXT[HALF:], id="c", name="search")
    ),
    "ollama": chunks({"role": "assistant", "content": "", **piece(TEXT, id="c1", name="search")}),
    "gemini": chunks(piece(TEXT, None, id="", type="function", name="search"), finish="stop"),
    "an object": chunks(piece(ARGUMENTS, id="c1", name="search")),
    "first form": chunks(
        {"function_call": {"name": "search", "arguments": ""}},
        {"function_call": {"arguments": TEXT[:HALF]}},
        {"function_call": {"arguments": TEXT[HALF:]}},
        finish="function_call",
    ),
    "as text": chunks({"content": TAGGED[:9]}, {"content": TAGGED[9:]}, finish="stop"),
}  # fmt: skip
SHAPES = [
    *(pytest.param(answer, False, id=name) for name, answer in WHOLE.items()),
    *(pytest.param(answer, True, id=f"{name}, streamed") for name, answer in STREAMED.items()),
]


@pytest.mark.parametrize(("answer", "stream"), SHAPES)
def test_every_servers_call_is_the_same_text(answer: Answer, stream: bool) -> None:
    reply = one(lambda _: answer, ASKED, native_tools=True, stream=stream)
    assert (reply.text, reply.finish, reply.attempts) == (TAGGED, "stop", 1)
    assert move_of(reply.text).call == Call(QUERY, 2)


def test_what_stands_beside_a_call_is_kept_before_it() -> None:
    calls = [{"id": f"c{at}", "function": function(json.dumps({"query": str(at)}))} for at in "ab"]
    for text, shown in (("I look.\n", "I look.\n"), (" \n", "")):
        reply = one(lambda _, text=text: said({"content": text, "tool_calls": calls}), ASKED)  # type: ignore[misc]
        first, last = (written(function(json.dumps({"query": at}))) for at in "ab")
        assert reply.text == f"{shown}{first}\n{last}"
        assert move_of(reply.text).call == Call("b")


@pytest.mark.parametrize(
    ("numbers", "names"), [((0, 1), "ab"), ((0, 0), "ab"), ((None, None), "ab")]
)
def test_calls_side_by_side_are_told_apart(numbers: tuple[int | None, ...], names: str) -> None:
    """By their index; where a server gives all of them one or none, by their ids and names."""
    pieces = [
        piece(json.dumps({"query": name}), number, id=name, name="search")
        for number, name in zip(numbers, names, strict=True)
    ]
    reply = one(lambda _: chunks(*pieces), ASKED, stream=True)
    assert reply.text.split("\n") == [written(function(json.dumps({"query": at}))) for at in names]


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ('{"query": "x"', "the call has no query"),
        ("x", "the call has no query"),
        ("", "the call has no query"),
        (None, "the call has no query"),
        (["x"], "the call has no query"),
        ('{"query": "x", "topk": "many"}', "topk must be a positive whole number"),
    ],
)
def test_a_call_that_cannot_be_made_is_the_agents_to_hear_of(arguments: Any, fault: str) -> None:
    message = {"content": None, "tool_calls": [{"id": "c", "function": function(arguments)}]}
    called = move_of(one(lambda _: said(message), ASKED).text).call
    assert called is not None
    assert called.fault == fault


@given(st.dictionaries(st.sampled_from(["query", "topk", "more"]), st.text() | st.integers()))
def test_whatever_is_searched_for_is_read_back(arguments: dict[str, Any]) -> None:
    """Also what would close a tag."""
    arguments["query"] = f"a</tool_call>{arguments.get('query', '')}"
    arguments.pop("topk", None)
    for given_ in (arguments, json.dumps(arguments), json.dumps(arguments, ensure_ascii=False)):
        called = move_of(f"so\n{written(function(given_))}").call
        assert called == Call(arguments["query"])


CALLED = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=())),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["tool_calls", "function", "name", "arguments", "id", "index"])
            | st.just("function_call"),
            inner,
            max_size=4,
        )
    ),
)


@given(CALLED, st.lists(CALLED, max_size=3))
def test_whatever_stands_where_calls_do_is_read_somehow(one_: Any, parts: list[Any]) -> None:
    message = {"content": "x", "tool_calls": one_, "function_call": one_}
    assert isinstance(read(said(message, "stop").raw), Heard)
    deltas = [{"content": "x", "tool_calls": part, "function_call": part} for part in parts]
    assert isinstance(read(chunks({"content": "x"}, *deltas, finish="stop").raw), Heard)


# ── An episode ───────────────────────────────────────────────────────────────────────────────


def agent(shape: str, stream: bool) -> Script:
    """Calls twice, in a server's own form, and answers; a call without a query comes first."""
    empty = said({"content": "Well.", "tool_calls": [{"id": "c", "function": function("{}")}]})
    calls: list[Answer] = [
        empty,
        (STREAMED if stream else WHOLE)[shape],
        whole("<answer>Bern</answer>"),
    ]

    def script(asked: Asked) -> Answer:
        return calls[len([1 for each in asked.body["messages"] if each["role"] == "assistant"])]

    return script


def solved(log: Path, endpoint: Endpoint, **options: Any) -> list[Any]:
    """One question to the agent on a worker; the events of its episode."""
    chosen = Options(**(QUICK | options))
    return solved_by(log, lambda: OpenAIBackbone(environ=endpoint.env(), options=chosen))


def told(found: list[Any]) -> list[Any]:
    """What was said and done, without times and prices."""
    kinds = (Completed, ToolCalled, EpisodeClosed)
    kept = [event for event in found if isinstance(event, kinds)]
    return [
        (each.text, each.finish) if isinstance(each, Completed)
        else (each.tool, each.result, each.text) if isinstance(each, ToolCalled)
        else (each.answer, each.ended_by)
        for each in kept
    ]  # fmt: skip


@pytest.mark.parametrize(("shape", "stream"), [("openai", False), ("openai", True), ("vllm", True)])
def test_an_episode_in_the_apis_form_leaves_the_record_of_one_in_text(
    tmp_path: Path, shape: str, stream: bool
) -> None:
    with serving(agent(shape, stream)) as endpoint:
        native = solved(tmp_path / "a.db", endpoint, native_tools=True, stream=stream)
        bodies = [asked.body for asked in endpoint.asked]
    assert [body["tools"][0]["function"]["name"] for body in bodies] == ["search"] * 3
    parameters = bodies[0]["tools"][0]["function"]["parameters"]
    assert parameters["required"] == ["query"]
    assert {name: each["type"] for name, each in parameters["properties"].items()} == {
        "query": "string", "topk": "integer",
    }  # fmt: skip
    system, problem, *turns = bodies[-1]["messages"]
    assert (system["role"], problem["role"]) == ("system", "user")
    assert turns == [
        {"role": "assistant", "content": "Well.", "tool_calls": [
            {"id": "call00002", "type": "function",
             "function": {"name": "search", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "call00002", "content": "error: the call has no query"},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "call00004", "type": "function",
             "function": {"name": "search", "arguments": json.dumps(ARGUMENTS, separators=(",", ":"))}}]},
        {"role": "tool", "tool_call_id": "call00004",
         "content": "<turn>\n### Guidance\nBern lies there.\n</turn>"},
    ]  # fmt: skip
    assert told(native)[-1] == ("Bern", "answered")
    with serving(agent("as text", stream=False)) as endpoint:
        textual = solved(tmp_path / "b.db", endpoint)
        assert not any("tools" in asked.body for asked in endpoint.asked)
        assert {each["role"] for each in endpoint.asked[-1].body["messages"][2:]} == {
            "assistant", "user",
        }  # fmt: skip
    assert told(native) == told(textual)


def test_who_has_no_tools_is_asked_as_ever_and_a_schema_gives_way_to_calls() -> None:
    shaped = asking(schema={"type": "object"}, tools=AGENT.template.tools)
    for request, options, sent in (
        (asking(), {"native_tools": True}, set[str]()),
        (ASKED, {}, set[str]()),
        (shaped, {"structured": True}, {"response_format"}),
        (shaped, {"structured": True, "native_tools": True}, {"tools"}),
    ):
        with serving(lambda _: whole("fine")) as endpoint:
            with_backbone(endpoint, lambda b, r=request: b.complete(r), **options)  # type: ignore[misc]
            assert {"tools", "response_format"} & endpoint.asked[0].body.keys() == sent


REFUSALS = {
    "openai": (400, "Unsupported parameter: 'tools' is not supported with this model."),
    "vllm": (
        400,
        '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    ),
    "llama.cpp": (500, "tools param requires --jinja flag"),
    "ollama": (400, "registry.ollama.ai/library/gemma:2b does not support tools"),
    "openrouter": (404, "No endpoints found that support tool use. To learn more, visit our page."),
    "groq": (400, "`tool calling` is not supported with this model"),
}


@pytest.mark.parametrize("server", REFUSALS)
def test_a_server_that_has_none_is_asked_in_text_for_good_and_nothing_was_paid(
    server: str, tmp_path: Path
) -> None:
    in_text = agent("as text", stream=False)

    def script(asked: Asked) -> Answer:
        status, message = REFUSALS[server]
        return fails(status, None, message) if "tools" in asked.body else in_text(asked)

    with serving(script) as endpoint:
        found = solved(tmp_path / "a.db", endpoint, native_tools=True)
        refused = [asked for asked in endpoint.asked if "tools" in asked.body]
        roles = {each["role"] for asked in endpoint.asked for each in asked.body["messages"]}
    assert len(refused) == 1
    assert "tool" not in roles
    replies = [event for event in found if isinstance(event, Completed)]
    assert [each.dropped for each in replies] == [("tools",)] * 3
    assert told(found)[-1] == ("Bern", "answered")


def test_a_reply_hangs_on_it_so_a_fork_asks_anew() -> None:
    with serving(lambda _: whole("fine")) as endpoint:
        names = [
            description(
                OpenAIBackbone("m", environ=endpoint.env(), options=Options(native_tools=on))
            )
            for on in (False, True)
        ]
    assert names == ["openai:m", "openai:m(native_tools=True)"]


@given(st.text(), st.booleans())
def test_what_a_tool_returned_stands_there_as_it_was(text: str, heading: bool) -> None:
    """Fenced where a line of it reads like a heading, with its tags or without them."""
    came = f"### Guidance\n{text}" if heading else text
    turns = [
        {"role": "assistant", "content": TAGGED},
        {"role": "user", "content": fenced("turn", response(came))},
    ]
    *_, tool = in_its_form({"tools": [], "messages": turns})["messages"]
    assert tool["content"] == fenced("turn", came)


def test_texts_that_are_no_pair_stay_as_they_are() -> None:
    turns = [
        {"role": "user", "content": "<tool_response>mine</tool_response>"},
        {"role": "assistant", "content": "<tool_call>no JSON</tool_call>"},
        {"role": "user", "content": "<tool_response>error: no</tool_response>"},
        {"role": "assistant", "content": "Move: SEARCH\nQuery: x"},
        {"role": "user", "content": "<tool_response>y</tool_response>"},
        {"role": "assistant", "content": TAGGED},
        {"role": "user", "content": "This reply holds neither"},
        {"role": "assistant", "content": TAGGED},
    ]
    body = {"tools": [], "messages": turns}
    assert in_its_form(body) == body
