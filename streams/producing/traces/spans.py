"""Spans of OTLP/JSON lines: attributes as plain values, and the messages that a span holds, in whichever form.

Sources: OpenTelemetry protocol, file exporter (a line is one export of ``resourceSpans``); its semantic conventions for
generative AI: messages as attributes (``gen_ai.input.messages``), as events (``gen_ai.user.message``,
``gen_ai.choice``), and the older ``gen_ai.prompt.0.content``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from pydantic import BaseModel, ConfigDict, Field

from streams.producing.sources import BadLine, SourceLine, parse_as
from streams.producing.traces.messages import Message, indexed, message_of, messages_of, unfolded

DEPTH: Final = 32
INPUT, OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
EVALUATED: Final = "gen_ai.evaluation.result"
AGENT, TOOL = "invoke_agent", "execute_tool"
_FAILED: Final = (2, "2", "STATUS_CODE_ERROR")
_SPEAKS: Final = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
"""Events of the older form, and who speaks in each."""


class OtlpLine(BaseModel):
    """One export of a trace service."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    spans: list[Any] = Field(alias="resourceSpans")


@dataclass(frozen=True, slots=True)
class Noted:
    """An event of a span."""

    name: str
    at: int
    attributes: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One span as far as cases need it. ``place`` names it in its line."""

    line: SourceLine
    place: str
    trace: str
    id: str
    parent: str
    begun: int
    """Nanoseconds."""
    failed: bool
    service: str | None
    attributes: Mapping[str, Any]
    noted: tuple[Noted, ...] = field(default=())

    @property
    def operation(self) -> str:
        """What it did: ``chat``, ``invoke_agent``, ``execute_tool``; empty where it does not say."""
        return str(self.attributes.get("gen_ai.operation.name", ""))

    def text(self, *names: str) -> str | None:
        """The first of these attributes that is text."""
        found = (self.attributes.get(name) for name in names)
        return next((each for each in found if isinstance(each, str) and each), None)

    def input(self) -> list[Message]:
        """What the model was given. Raises ``BadLine`` that names what cannot be read."""
        # The newest form first, where a tool writes several.
        if INPUT in self.attributes:
            return messages_of(self.attributes[INPUT], self._at(INPUT))
        if older := indexed(self.attributes, "gen_ai.prompt"):
            return messages_of(older, self._at("gen_ai.prompt"))
        for noted in self.noted:
            if INPUT in noted.attributes:
                return messages_of(noted.attributes[INPUT], self._at(INPUT))
        return [
            message_of({"role": role, **noted.attributes}, self._at(noted.name))
            for noted in self.noted
            if (role := _SPEAKS.get(noted.name)) is not None
        ]

    def output(self) -> Message | None:
        """What the model replied: the first of several choices. Raises ``BadLine``."""
        found: list[Message] = []
        # All choices are read before the first is taken: a span that is broken anywhere is refused.
        if OUTPUT in self.attributes:
            found = messages_of(self.attributes[OUTPUT], self._at(OUTPUT))
        elif older := indexed(self.attributes, "gen_ai.completion"):
            spoken = [{"role": "assistant", **each} for each in older]
            found = messages_of(spoken, self._at("gen_ai.completion"))
        else:
            for noted in self.noted:
                if OUTPUT in noted.attributes:
                    found += messages_of(noted.attributes[OUTPUT], self._at(OUTPUT))
                elif noted.name == "gen_ai.choice":
                    said = unfolded(noted.attributes.get("message", noted.attributes))
                    found.append(message_of({"role": "assistant", **said}, self._at(noted.name)))
        return found[0] if found else None

    def _at(self, name: str) -> str:
        return f"{self.place}.{name}"


def spans_of(line: SourceLine) -> list[Span]:
    """The spans on a line, in its order. Raises ``BadLine`` that names what is no span."""
    # Three levels down: by whom (a process), through what (a library), and what happened. The names
    # of the first two say which tool it was.
    found: list[Span] = []
    for place, resource in _each(parse_as(OtlpLine, line.raw).spans, "resourceSpans"):
        whose = _object(resource.get("resource", {}), f"{place}.resource")
        service = _attributes(whose.get("attributes"), place).get("service.name")
        for inner, scope in _each(resource.get("scopeSpans", []), f"{place}.scopeSpans"):
            named = _object(scope.get("scope", {}), f"{inner}.scope").get("name")
            by = next((each for each in (service, named) if isinstance(each, str) and each), None)
            for at, span in _each(scope.get("spans", []), f"{inner}.spans"):
                found.append(_span(line, at, span, by))
    return found


def _span(line: SourceLine, place: str, said: Mapping[str, Any], service: str | None) -> Span:
    # A trace is all that holds spans together. Without its id a span would be a case of its own,
    # with half a story.
    trace = said.get("traceId")
    if not isinstance(trace, str) or not trace:
        raise BadLine(1, f"{place}.traceId", "expected the id of a trace", "input.field")
    status = _object(said.get("status", {}), f"{place}.status")
    noted = (
        Noted(
            str(each.get("name", "")),
            _nanoseconds(each.get("timeUnixNano", 0), f"{at}.timeUnixNano"),
            _attributes(each.get("attributes"), at),
        )
        for at, each in _each(said.get("events", []), f"{place}.events")
    )
    return Span(
        line=line,
        place=place,
        trace=trace,
        id=str(said.get("spanId") or "").lower(),
        parent=str(said.get("parentSpanId") or "").lower(),
        begun=_nanoseconds(said.get("startTimeUnixNano", 0), f"{place}.startTimeUnixNano"),
        failed=status.get("code") in _FAILED,
        service=service,
        attributes=_attributes(said.get("attributes"), place),
        noted=tuple(noted),
    )


def _each(said: Any, place: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The objects of a list, each with its place."""
    if not isinstance(said, list):
        raise BadLine(1, place, "expected a list", "input.field")
    for at, each in enumerate(cast("list[Any]", said)):
        yield f"{place}.{at}", _object(each, f"{place}.{at}")


def _object(said: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(said, dict):
        raise BadLine(1, place, "expected an object", "input.field")
    return cast("dict[str, Any]", said)


def _nanoseconds(said: Any, place: str) -> int:
    """A time, which JSON of 64-bit numbers spells as text."""
    if isinstance(said, str) and said.isascii() and said.isdecimal() and len(said) <= 20:
        return int(said)
    if isinstance(said, int) and not isinstance(said, bool):
        return said
    raise BadLine(1, place, "expected nanoseconds", "input.field")


def _attributes(said: Any, place: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for at, each in _each([] if said is None else said, f"{place}.attributes"):
        key = each.get("key")
        if not isinstance(key, str):
            raise BadLine(1, f"{at}.key", "expected text", "input.field")
        found[key] = _value(each.get("value"), f"{at}.value", DEPTH)
    return found


def _value(said: Any, place: str, depth: int) -> Any:
    """A typed value as a plain one."""
    # Python's own limit would strike at a depth that differs between machines.
    if depth == 0:
        raise BadLine(1, place, "nested too deep", "input.value")
    given = _object({} if said is None else said, place)
    for name in ("stringValue", "boolValue", "doubleValue", "bytesValue"):
        if name in given:
            return given[name]
    # JSON has no 64-bit numbers, so exporters spell them as text.
    if "intValue" in given:
        return _whole(given["intValue"], place)
    if "arrayValue" in given:
        inner = _object(given["arrayValue"], place).get("values", [])
        return [_value(each, at, depth - 1) for at, each in _each(inner, f"{place}.arrayValue")]
    if "kvlistValue" in given:
        inner = _object(given["kvlistValue"], place).get("values", [])
        pairs = _each(inner, f"{place}.kvlistValue")
        return {
            str(each.get("key")): _value(each.get("value"), at, depth - 1) for at, each in pairs
        }
    return None


def _whole(said: Any, place: str) -> int:
    if isinstance(said, int) and not isinstance(said, bool):
        return said
    if isinstance(said, str) and said.removeprefix("-").isdecimal() and len(said) <= 20:
        return int(said)
    raise BadLine(1, f"{place}.intValue", "expected a whole number", "input.field")


def in_time(spans: Sequence[Span]) -> list[Span]:
    """Spans by when they began; those that began at once as they were written."""
    # A file has them in the order in which they ended.
    return sorted(spans, key=lambda span: span.begun)
