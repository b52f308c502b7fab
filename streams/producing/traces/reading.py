"""A file of traces, read line by line: each line says by its fields in which form it is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from pydantic import BaseModel, ConfigDict

from streams.producing.sources import BadLine, SourceLine, parse_as
from streams.producing.traces import assembling, chat
from streams.producing.traces.case import Case
from streams.producing.traces.spans import Span, spans_of

Refused: TypeAlias = tuple[SourceLine, BadLine]
PURPOSE = "metalogue.purpose"
"""What a trace of our own was for, where that was no problem."""


class _Form(BaseModel):
    """The fields by which a line is told."""

    model_config = ConfigDict(extra="allow")


@dataclass(slots=True)
class Reading:
    """Cases of a file, in the order in which they begin, and what was refused."""

    evaluation: str | None = None
    refused: list[Refused] = field(default_factory=list[Refused])
    cases: list[Case] = field(default_factory=list[Case])
    traces: dict[str, dict[str, Span]] = field(default_factory=dict[str, dict[str, Span]])
    """Spans by trace and id, in the order of the file."""

    def take(self, lines: Iterable[SourceLine]) -> None:
        """Read every line, then put the spans together by trace."""
        for line in lines:
            try:
                self._line(line)
            except BadLine as error:
                self.refused.append((line, error))
        # Only now: an exporter writes a span when it ends, so a trace's spans are
        # spread over the file.
        for spans in ([*each.values()] for each in self.traces.values()):
            # Our own learning, forks and judging are no attempts at a problem.
            if any(PURPOSE in span.attributes for span in spans):
                continue
            try:
                self.cases.append(assembling.case_of(spans, self.evaluation))
            except BadLine as error:
                self.refused.append((spans[0].line, error))
        self.cases.sort(key=lambda case: case.line.number)
        self.refused.sort(key=lambda each: each[0].number)

    def _line(self, line: SourceLine) -> None:
        said = parse_as(_Form, line.raw).model_extra or {}
        if "resourceSpans" in said:
            for span in spans_of(line):
                # Other spans of an application (requests, queries) are no part of a case.
                names = [*span.attributes]
                for noted in span.noted:
                    names += [noted.name, *noted.attributes]
                if any(name.startswith("gen_ai.") for name in names):
                    # Ids are numbers in hexadecimal, in either case. A collector that tries again
                    # sends a span twice; what bears no id is told by its place.
                    found = self.traces.setdefault(span.trace.lower(), {})
                    found.setdefault(span.id or f"{line.number}:{span.place}", span)
        elif "messages" in said:
            self.cases.append(chat.case_of(line))
        else:
            what = "holds neither messages (a chat) nor resourceSpans (OTLP)"
            raise BadLine(1, "", what, "trace.form")
