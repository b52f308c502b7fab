"""Feedback from a file: each line is checked and published; what is refused is kept as it came."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from schemas.identity import canonical, digest
from schemas.problem import Feedback
from streams.cli.errors import FAILED, OK, CliError, usage
from streams.cli.letters import number_of
from streams.cli.opening import open_log
from streams.cli.output import flush, out, out_json
from streams.cli.producing import say_error
from streams.producing.sources import BadLine, Line, NoSource, built_in, lines_of, parse_as

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

TOPIC = "feedback"
BATCH = 1_000


@dataclass(slots=True)
class Told:
    """What came of the lines."""

    published: int = 0
    known: int = 0
    refused: int = 0
    waiting: list[tuple[str, str, dict[str, Any], bytes]] = field(
        default_factory=list[tuple[str, str, dict[str, Any], bytes]]
    )


def message(feedback: Feedback) -> tuple[str, str, dict[str, Any], bytes]:
    """Feedback as a message, keyed by its content: saying it twice is saying it once."""
    value = feedback.model_dump(mode="json", exclude_none=True)
    return TOPIC, digest(value), {}, canonical(value)


def feedback(source: str, *, log: str | None, json: bool) -> int:
    """Publish a file of judgements, or standard input (``-``); the exit code."""
    if built_in(source):
        raise usage(f"{source}: no such file", field="FILE", error="input.source")
    opened = open_log(log, writes=True)
    told = Told()
    try:
        for line in lines_of(source, None):
            _take(opened, source, line, told)
            if len(told.waiting) >= BATCH:
                _publish(opened, told)
        _publish(opened, told)
    except NoSource as error:
        raise usage(str(error), field="FILE", error="input.source") from error
    finally:
        opened.close()
    figures = {name: getattr(told, name) for name in ("published", "known", "refused")}
    if json:
        out_json(figures)
    else:
        out(" ".join(f"{name} {number}" for name, number in figures.items()))
    flush()
    return FAILED if told.refused else OK


def _take(log: SqliteLog, source: str, line: Line, told: Told) -> None:
    try:
        told.waiting.append(message(parse_as(Feedback, line.raw)))
    except BadLine as error:
        told.refused += 1
        _refuse(log, source, line, error)


def _publish(log: SqliteLog, told: Told) -> None:
    new = log.publish(told.waiting)
    told.published += new
    told.known += len(told.waiting) - new
    told.waiting.clear()


def _refuse(log: SqliteLog, source: str, line: Line, error: BadLine) -> None:
    headers = {
        "__metalogue.errors.topic": TOPIC,
        "__metalogue.errors.source": source,
        "__metalogue.errors.offset": line.number,
        "__metalogue.errors.exception": error.code,
        "__metalogue.errors.message": str(error),
    }
    key = f"{TOPIC}:{source}:{line.number}:{digest(line.raw.hex())}"
    log.publish([("dead-letters", key, headers, line.raw)])
    say_error(
        CliError(
            error.what,
            error=error.code,
            exit=FAILED,
            where=f"{source}:{line.number}:{error.column}",
            field=error.field,
            hint=f"Kept as dead letter {number_of(log, key)}, bytes unchanged. "
            "Mend the line, then give the file again: what is known is skipped.",
        )
    )
