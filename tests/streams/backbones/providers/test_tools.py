"""Tool calls in each provider's own form, on loopback: told, made, shown again, and refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from handlers.roles.agent import AGENT
from schemas.events.episode import Completed, EpisodeClosed
from streams.answering.backbones.providers import Options, ProviderBackbone
from tests.endpoint import Answer, Asked, serving
from tests.streams.backbones.asking import QUICK, asking
from tests.streams.backbones.providers.wires import WIRES, Wire, one, said
from tests.streams.backbones.searching import QUERY, solved_by

ARGUMENTS = {"query": QUERY, "topk": 2}
TAGGED = f'<tool_call>{{"name": "search", "arguments": {json.dumps(ARGUMENTS)}}}</tool_call>'
ASKED = asking(tools=AGENT.template.tools)


@pytest.fixture(params=WIRES)
def wire(request: pytest.FixtureRequest) -> Wire:
    return WIRES[request.param]


def calling(wire: Wire, text: str = "I look it up.") -> Answer:
    """A reply that calls the tool, as its provider documents it."""
    body: Any = json.loads(wire.fine(text).raw)
    match wire.kind:
        case "anthropic":
            call = {"type": "tool_use", "id": "toolu_1", "name": "search", "input": ARGUMENTS}
            body["content"].append(call)
            body["stop_reason"] = "tool_use"
        case "gemini":
            call = {"functionCall": {"name": "search", "args": ARGUMENTS}}
            body["candidates"][0]["content"]["parts"].append(call)
        case "bedrock":
            call = {"toolUse": {"toolUseId": "tooluse_1", "name": "search", "input": ARGUMENTS}}
            body["output"]["message"]["content"].append(call)
            body["stopReason"] = "tool_use"
        case _:
            function = {"name": "search", "arguments": json.dumps(ARGUMENTS)}
            choice = body["choices"][0]
            choice["message"]["tool_calls"] = [
                {"id": "call_1", "type": "function", "function": function}
            ]
            choice["finish_reason"] = "tool_calls"
    return said(body)


def agent(wire: Wire, calls: Answer) -> Any:
    """Calls the tool, and answers once it sees what came back."""

    def script(asked: Asked) -> Answer:
        seen = json.dumps(asked.body)
        return wire.fine("<answer>Bern</answer>") if "Bern lies there." in seen else calls

    return script


def test_a_call_is_the_same_text_from_whoever_makes_it(wire: Wire) -> None:
    reply = one(wire, lambda _: calling(wire), ASKED, native_tools=True)
    assert (reply.text, reply.finish) == (f"I look it up.\n{TAGGED}", "stop")
    bare = one(wire, lambda _: calling(wire, ""), ASKED, native_tools=True)
    assert bare.text == TAGGED


TOLD: Mapping[str, Callable[[Any], Any]] = {
    "anthropic": lambda body: body["tools"][0],
    "gemini": lambda body: body["tools"][0]["functionDeclarations"][0],
    "bedrock": lambda body: body["toolConfig"]["tools"][0]["toolSpec"],
    "azure": lambda body: body["tools"][0]["function"],
}
BACK = {
    "anthropic": ("tool_use", "tool_result"),
    "gemini": ("functionCall", "functionResponse"),
    "bedrock": ("toolUse", "toolResult"),
    "azure": ("tool_calls", "tool_call_id"),
}
"""What a provider calls an earlier call, and what came of it."""


def test_an_episode_in_a_provider_s_form_is_told_the_tool_and_shown_its_calls(
    wire: Wire, tmp_path: Path
) -> None:
    options = Options(**QUICK, native_tools=True)
    with serving(agent(wire, calling(wire))) as endpoint:
        found = solved_by(
            tmp_path / "a.db",
            lambda: ProviderBackbone(wire.kind, "m-1", environ=wire.env(endpoint), options=options),
        )
        first, second = [asked.body for asked in endpoint.asked]
    tool = TOLD[wire.kind](first)
    assert (tool["name"], tool["description"]) == ("search", AGENT.template.tools[0].about)
    assert not any(word in json.dumps(first["messages" if "messages" in first else "contents"])
                   for word in BACK[wire.kind])  # fmt: skip
    called, came = BACK[wire.kind]
    turns = json.dumps(second["messages" if "messages" in second else "contents"])
    assert called in turns
    assert came in turns
    assert QUERY in turns
    replies = [event for event in found if isinstance(event, Completed)]
    assert [each.text for each in replies] == [f"I look it up.\n{TAGGED}", "<answer>Bern</answer>"]
    [closed] = [event for event in found if isinstance(event, EpisodeClosed)]
    assert (closed.answer, closed.ended_by) == ("Bern", "answered")


REFUSALS = {
    "anthropic": ("invalid_request_error", "'m-1' does not support tool use."),
    "gemini": ("INVALID_ARGUMENT", "Function calling is not enabled for models/m-1"),
    "bedrock": ("ValidationException", "This model doesn't support tool use."),
    "azure": (
        "unsupported_parameter",
        "Unsupported parameter: 'tools' is not supported with this model.",
    ),
}


def test_a_model_that_has_none_is_asked_in_text(wire: Wire, tmp_path: Path) -> None:
    in_text = agent(wire, wire.fine(TAGGED))
    refusal = wire.refusal(400, *REFUSALS[wire.kind])
    options = Options(**QUICK, native_tools=True)

    def script(asked: Asked) -> Answer:
        told = "tools" in asked.body or "toolConfig" in asked.body
        return refusal if told else in_text(asked)

    with serving(script) as endpoint:
        found = solved_by(
            tmp_path / "a.db",
            lambda: ProviderBackbone(wire.kind, "m-1", environ=wire.env(endpoint), options=options),
        )
        assert len(endpoint.asked) == 3
    replies = [event for event in found if isinstance(event, Completed)]
    assert all("tools" in (each.dropped or ()) for each in replies)
    [closed] = [event for event in found if isinstance(event, EpisodeClosed)]
    assert (closed.answer, closed.ended_by) == ("Bern", "answered")
