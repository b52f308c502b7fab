"""Exports of OTLP/JSON as other tools write them, for tests."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

Attributes = Mapping[str, Any]


def value(said: Any) -> dict[str, Any]:
    """A plain value as OTLP types it."""
    match said:
        case bool():
            return {"boolValue": said}
        case int():
            return {"intValue": str(said)}
        case float():
            return {"doubleValue": said}
        case str():
            return {"stringValue": said}
        case list():
            return {"arrayValue": {"values": [value(each) for each in said]}}  # pyright: ignore[reportUnknownVariableType]
        case _:
            return {"kvlistValue": {"values": attributes(said)}}


def attributes(said: Attributes) -> list[dict[str, Any]]:
    return [{"key": name, "value": value(each)} for name, each in said.items()]


def noted(name: str, said: Attributes, at: int = 0) -> dict[str, Any]:
    return {"name": name, "timeUnixNano": str(at), "attributes": attributes(said)}


def span(
    said: Attributes,
    *,
    trace: str = "4bf92f3577b34da6a3ce929d0e0e4736",
    id: str = "a",
    parent: str = "",
    begun: int = 1,
    events: Sequence[dict[str, Any]] = (),
    failed: bool = False,
) -> dict[str, Any]:
    return {
        "traceId": trace,
        "spanId": id,
        "parentSpanId": parent,
        "name": "a span",
        "startTimeUnixNano": str(begun),
        "attributes": attributes(said),
        "events": list(events),
        "status": {"code": 2} if failed else {},
    }


def export(*spans: dict[str, Any], service: str | None = "shop") -> bytes:
    """A line with spans."""
    resource = {} if service is None else {"attributes": attributes({"service.name": service})}
    scoped = [{"scope": {"name": "instrumentation"}, "spans": list(spans)}]
    said = {"resourceSpans": [{"resource": resource, "scopeSpans": scoped}]}
    return json.dumps(said).encode()


def text(content: str) -> dict[str, str]:
    return {"type": "text", "content": content}


def said(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


def chat(
    asked: list[dict[str, Any]], replied: dict[str, Any], *, structured: bool = False
) -> dict[str, Any]:
    """A chat's attributes; messages as JSON text, as most exporters write them, or structured."""
    said = [{**replied, "finish_reason": "stop"}]
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gpt-4",
        "gen_ai.response.model": "gpt-4-0613",
        "gen_ai.input.messages": asked if structured else json.dumps(asked),
        "gen_ai.output.messages": said if structured else json.dumps(said),
    }
