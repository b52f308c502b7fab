"""What every log keeps, whoever writes it: one suite for records, texts and messages.

Kafka is a broker in memory here; on a real one the suite runs in ``tests/live/test_kafka_contract.py``.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing, contextmanager

import pytest
from hypothesis import given, settings

from schemas.events.base import Event
from state.journal import MemoryRecorder
from streams.runtime.embedded.log import SqliteLog
from tests.contracts.kafka_case import kafka_log
from tests.contracts.log_suite import (
    SENT,
    STATED,
    TEXTS,
    Case,
    Kept,
    a_message_is_sent_once_by_its_key,
    a_text_is_kept_once_under_its_digest,
    the_first_record_of_an_address_wins,
)
from tests.memory_kafka.fixture import in_memory


@contextmanager
def memory_case() -> Generator[Kept]:
    log = MemoryRecorder()
    yield Kept(log, log.journal, log.texts.get, lambda topic, key: log.messages.get((topic, key)))


@contextmanager
def sqlite_case() -> Generator[Kept]:
    log = SqliteLog(":memory:", create=True)

    def message(topic: str, key: str) -> bytes | None:
        return next((value for _, name, _, value in log.messages(topic) if name == key), None)

    with closing(log):
        yield Kept(log.claim("contract"), log.journal, log.text, message)


@contextmanager
def kafka_case() -> Generator[Kept]:
    with in_memory(1) as (place, _), kafka_log(place) as kept:
        yield kept


EVERY = pytest.mark.parametrize("case", [memory_case, sqlite_case, kafka_case])


@EVERY
@given(STATED)
@settings(max_examples=40)
def test_the_first_record_of_an_address_wins_in_one_commit_and_across(
    case: Case, stated: list[tuple[str, str, Event, bool]]
) -> None:
    the_first_record_of_an_address_wins(case, stated)


@EVERY
@given(SENT)
@settings(max_examples=25)
def test_a_message_is_sent_once_by_its_key(case: Case, sent: list[tuple[str, bytes]]) -> None:
    a_message_is_sent_once_by_its_key(case, sent)


@EVERY
@given(TEXTS)
@settings(max_examples=25)
def test_a_text_is_kept_once_under_its_digest(case: Case, texts: list[str]) -> None:
    a_text_is_kept_once_under_its_digest(case, texts)
