"""Messages that a client reads from a log: answers, and reasons why no answer comes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import orjson

from schemas.answer import Answer, as_answer
from schemas.events.episode import EpisodeAdopted, EpisodeParked
from schemas.identity import digest
from schemas.letters import ERRORS
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.queries import messages

Marks: TypeAlias = frozenset[tuple[str, str]]
"""Headers, all of which a message is to bear."""
WORD = f"{ERRORS}message"
"""Header of a dead letter that says why it is one."""


def answer_of(log: SqliteLog, episode: str) -> Answer | None:
    """The answer of an episode, if it is there."""
    value = messages.value_of(log, "answers", episode)
    return None if value is None else as_answer(value)


def answers_after(
    log: SqliteLog, offset: int
) -> Iterator[tuple[int, str, Answer, Mapping[str, Any]]]:
    """Answers in order, with their offsets, episodes and headers."""
    for at, key, headers, value in log.messages("answers", offset):
        answer = as_answer(value)
        if answer is not None:
            yield at, key, answer, headers


def met(headers: Mapping[str, Any], awaited: Iterable[Marks]) -> list[Marks]:
    """Which of what is awaited a message bears."""
    # Most messages bear none, and what is awaited may be long.
    if not headers:
        return []
    return [marks for marks in awaited if all(headers.get(n) == v for n, v in marks)]


def stopped_after(log: SqliteLog, offset: int) -> Iterator[tuple[int, str, str | None]]:
    """Episodes that were left to a person, with their offsets and the reasons; without one: taken out for good."""
    for record in log.records(kinds=("episode.parked", "episode.adopted"), after=offset):
        # An adopted episode that goes on is no news for who waits: it was waited for all the time.
        if isinstance(record.event, EpisodeParked):
            yield record.offset, record.episode, record.event.reason
        elif isinstance(record.event, EpisodeAdopted) and record.event.void:
            yield record.offset, record.episode, None


def refused_after(
    log: SqliteLog, offset: int, waiting: Iterable[str]
) -> Iterator[tuple[int, str | None, Mapping[str, Any]]]:
    """Problems that a worker refused: their offsets, which of those that wait it was, and their headers."""
    # On SQLite the key of a dead letter ends in a digest of what was refused, and that is all it says of it. On
    # Kafka it says where that lay; the headers that came with it name the episode.
    by_digest = {digest(episode): episode for episode in waiting}
    awaited = {*by_digest.values()}
    for at, key, headers, _ in log.messages("dead-letters", offset):
        told = headers.get("ce_subject")
        known = told if told in awaited else by_digest.get(key.rpartition("/")[2])
        yield at, known, headers


def why(letter: Mapping[str, Any]) -> str:
    """Why a record was refused, by the headers of its dead letter."""
    return str(letter.get(WORD, "refused"))


def line_of(id: str, problem: str, answer: Any) -> bytes:
    """A problem as a line of a source."""
    said = {"id": id, "problem": problem}
    return orjson.dumps(said if answer is None else said | {"answer": answer})
