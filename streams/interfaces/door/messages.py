"""Messages that a client reads from a log: answers, and reasons why no answer comes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import orjson
from msgspec import ValidationError
from msgspec.json import decode

from schemas.answer import Answer
from schemas.events.episode import EpisodeAdopted, EpisodeParked
from schemas.identity import digest
from streams.runtime.embedded.log import SqliteLog

LATEST = "select value from messages where topic = 'answers' and key = ? order by offset limit 1"
TAKEN = "select key from messages where topic = 'problems' and key >= ? and key < ? limit 2"
BEARING = """
select headers, value from messages m where topic = ? and not exists (
  select 1 from json_each(?) w where not exists (
    select 1 from json_each(m.headers) h where h.key = w.key and h.value = w.value)) order by offset limit 1
"""
Marks: TypeAlias = frozenset[tuple[str, str]]
"""Headers, all of which a message is to bear."""
WORD = "__metalogue.errors.message"
"""Header of a dead letter that says why it is one."""


def as_answer(value: bytes) -> Answer | None:
    """An answer as it lies on its topic; none where another build wrote what is not one here."""
    try:
        return decode(value, type=Answer)
    except ValidationError:
        return None


def answer_of(log: SqliteLog, episode: str) -> Answer | None:
    """The answer of an episode, if it is there."""
    row = log.db.execute(LATEST, (episode,)).fetchone()
    return None if row is None else as_answer(_bytes(row[0]))


def answers_after(
    log: SqliteLog, offset: int
) -> Iterator[tuple[int, str, Answer, Mapping[str, Any]]]:
    """Answers in order, with their offsets, episodes and headers."""
    for at, key, headers, value in log.messages("answers", offset):
        answer = as_answer(value)
        if answer is not None:
            yield at, key, answer, headers


def bearing(log: SqliteLog, topic: str, marks: Marks) -> tuple[dict[str, Any], bytes] | None:
    """Headers and value of the first message of a topic that bears all of these headers."""
    row = log.db.execute(BEARING, (topic, orjson.dumps(dict(marks)).decode())).fetchone()
    return None if row is None else (orjson.loads(row[0]), _bytes(row[1]))


def met(headers: Mapping[str, Any], awaited: Iterable[Marks]) -> list[Marks]:
    """Which of what is awaited a message bears."""
    if not headers:
        return []
    return [marks for marks in awaited if all(headers.get(n) == v for n, v in marks)]


def stopped_after(log: SqliteLog, offset: int) -> Iterator[tuple[int, str, str | None]]:
    """Episodes that were left to a person, with their offsets and the reasons; without one: taken out for good."""
    for record in log.records(kinds=("episode.parked", "episode.adopted"), after=offset):
        if isinstance(record.event, EpisodeParked):
            yield record.offset, record.episode, record.event.reason
        elif isinstance(record.event, EpisodeAdopted) and record.event.void:
            yield record.offset, record.episode, None


def refused_after(
    log: SqliteLog, offset: int, waiting: Iterable[str]
) -> Iterator[tuple[int, str | None, Mapping[str, Any]]]:
    """Problems that a worker refused: their offsets, which of those that wait it was, and their headers."""
    by_digest = {digest(episode): episode for episode in waiting}
    for at, key, headers, _ in log.messages("dead-letters", offset):
        yield at, by_digest.get(key.rpartition("/")[2]), headers


def why(letter: Mapping[str, Any]) -> str:
    """Why a record was refused, by the headers of its dead letter."""
    return str(letter.get(WORD, "refused"))


def runs_of_problem(log: SqliteLog, episode: str) -> list[str]:
    """Episodes on the topic of the same problem as this one's, itself among them; two at most."""
    prefix = episode.rpartition("/")[0]
    return [str(key) for (key,) in log.db.execute(TAKEN, (prefix + "/", prefix + "0"))]


def line_of(id: str, problem: str, answer: Any) -> bytes:
    """A problem as a line of a source."""
    said = {"id": id, "problem": problem}
    return orjson.dumps(said if answer is None else said | {"answer": answer})


def _bytes(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode()
