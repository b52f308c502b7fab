"""Tool calls as the chat API has them, and as they are recorded: as text, between tags. Pure; never raises.

Policies, the record and exports know a call by ``<tool_call>{"name": …, "arguments": …}</tool_call>`` and
what came of it by ``<tool_response>``, whoever was asked. An endpoint that has calls of its own is told the
tools and shown earlier calls in its form, and what it calls is written between tags. One that has none
is asked as ever: the prompt names the tags too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

import orjson

from handlers.roles.agent import CALL, RESPONSE
from handlers.roles.objects import loads
from schemas.fence import fenced
from schemas.prompt import Tool

Json: TypeAlias = dict[str, Any]
OPEN, CLOSE = "<tool_call>", "</tool_call>"
_FENCE = re.compile(r"<(turn(?:-\d{1,9})?)>\n")


def declared(tools: Sequence[Tool]) -> list[Json]:
    """The tools as a request names them."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.about,
                "parameters": {
                    "type": "object",
                    "properties": {
                        each.name: {"type": each.kind, "description": each.about}
                        for each in tool.arguments
                    },
                    "required": [each.name for each in tool.arguments if each.required],
                },
            },
        }
        for tool in tools
    ]


# ── What is sent ─────────────────────────────────────────────────────────────────────────────


def in_its_form(body: Json) -> Json:
    """The body with earlier calls and responses as the API has them, where it tells of tools at all.

    A call and its response become a pair, named alike. Other texts stay as they are.
    """
    if "tools" not in body:
        return body
    messages: Sequence[Json] = body["messages"]
    turns: list[Json] = []
    paired = False
    for at, message in enumerate(messages):
        if paired:
            paired = False
            continue
        # A call that was never answered stays a text: endpoints refuse a call without its response.
        came = response_in(messages[at + 1]) if at + 1 < len(messages) else None
        called = None if came is None or message["role"] != "assistant" else call_in(message)
        if called is None:
            turns.append(message)
            continue
        # Nine letters and digits: one provider takes no other name.
        name, paired = f"call{at:05d}"[:9], True
        said, function = called
        call = {"id": name, "type": "function", "function": function}
        turns.append({"role": "assistant", "content": said or None, "tool_calls": [call]})
        turns.append({"role": "tool", "tool_call_id": name, "content": came})
    return body | {"messages": turns}


def call_in(message: Json) -> tuple[str, Json] | None:
    """What a turn of the agent's says around its last call, and that call; none where it makes none."""
    text = str(message["content"])
    # An agent may write of calls before it makes one: the last one is what was answered.
    last = list(CALL.each(text))[-1:]
    if not last:
        return None
    start, inner = last[0]
    called = loads(inner.strip())
    if called is None or not isinstance(called.get("name"), str):
        return None
    around = (text[:start], text[start + len(OPEN) + len(inner) + len(CLOSE) :])
    said = "\n".join(part for each in around if (part := each.strip()))
    arguments = called.get("arguments")
    told = arguments if isinstance(arguments, str) else orjson.dumps(arguments or {}).decode()
    return said, {"name": called["name"], "arguments": told}


def response_in(message: Json) -> str | None:
    """What a tool returned, if a turn is that; fenced anew, for without its tags other lines may clash."""
    text = str(message.get("content") or "")
    # Turns of a conversation are fenced in prompts, so that nothing a tool returns can pass for a
    # turn of its own.
    if (fence := _FENCE.match(text)) is not None and text.endswith(f"\n</{fence[1]}>"):
        text = text[fence.end() : -len(fence[1]) - 4]
    begins, ends = RESPONSE
    whole = text.startswith(begins) and text.endswith(ends)
    if message.get("role") != "user" or not whole:
        return None
    return fenced("turn", text[len(begins) : -len(ends)])


# ── What comes back ──────────────────────────────────────────────────────────────────────────


def with_calls(text: str | None, message: Json) -> str | None:
    """A reply's text with its calls behind it, each between tags; none where it has neither."""
    calls: object = message.get("tool_calls")
    listed = cast("list[object]", calls) if isinstance(calls, list) else []
    functions = [cast("Json", call).get("function") for call in listed if isinstance(call, dict)]
    # The API's first form had one function, without a list; some servers still send it.
    called = [
        written(cast("Json", function))
        for function in (*functions, message.get("function_call"))
        if isinstance(function, dict) and isinstance(cast("Json", function).get("name"), str)
    ]
    if not called:
        return text
    return "\n".join((*((text.strip(),) if text and text.strip() else ()), *called))


def written(function: Json) -> str:
    """A call between tags. Arguments come as text or, from some servers, as the object that it would hold."""
    said = function.get("arguments")
    arguments = "{}"
    if isinstance(said, dict):
        arguments = _shown(cast("Json", said))
    elif isinstance(said, str) and said.strip():
        # Text that is no object stays visible as the text that it is: the policy shall see what came.
        try:
            value: object = json.loads(said)
        except (ValueError, RecursionError):
            value = None
        arguments = said.strip() if isinstance(value, dict) else _shown(said)
    # What an argument says must not close the tag; in JSON a backslash may stand before a stroke.
    inside = f'{{"name": {_shown(function["name"])}, "arguments": {arguments}}}'
    return OPEN + inside.replace("</", "<\\/") + CLOSE


def _shown(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        return "{}"


@dataclass(slots=True)
class Call:
    """One call as its pieces come."""

    id: object = None
    name: str | None = None
    pieces: list[str] = field(default_factory=list[str])
    whole: Json | None = None


@dataclass(slots=True)
class Calls:
    """The calls of a streamed reply.

    Pieces belong together by ``index``; another ``id`` under one index is another call, as some servers
    number them all 0. A piece without an index goes on with the last call, unless it names a function.
    """

    going: dict[object, Call] = field(default_factory=dict[object, Call])
    every: list[Call] = field(default_factory=list[Call])

    def take(self, delta: Json) -> None:
        """What one chunk adds."""
        calls: object = delta.get("tool_calls")
        for each in cast("list[object]", calls) if isinstance(calls, list) else []:
            if isinstance(each, dict):
                self._piece(cast("Json", each))
        if isinstance(delta.get("function_call"), dict):
            self._piece({"index": "-", "function": delta["function_call"]})

    def _piece(self, piece: Json) -> None:
        found: object = piece.get("function")
        function = cast("Json", found) if isinstance(found, dict) else {}
        name, arguments = function.get("name"), function.get("arguments")
        at, named = piece.get("index"), piece.get("id") or None
        if not isinstance(at, (int, str)):
            at = -1
            if name:
                self.going.pop(at, None)
        call = self.going.get(at)
        if call is None or (named is not None and call.id is not None and named != call.id):
            call = self.going[at] = Call()
            self.every.append(call)
        call.id = call.id or named
        if isinstance(name, str) and name and call.name is None:
            call.name = name
        if isinstance(arguments, str):
            call.pieces.append(arguments)
        elif isinstance(arguments, dict):
            call.whole = cast("Json", arguments)

    def whole(self) -> list[Json] | None:
        """The calls as a reply that is not streamed has them; none where there were none."""
        return [
            {
                "function": {
                    "name": call.name,
                    "arguments": "".join(call.pieces) if call.whole is None else call.whole,
                }
            }
            for call in self.every
        ] or None
