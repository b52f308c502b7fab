"""How long clients wait for a broker that takes connections and says nothing."""

from __future__ import annotations

import asyncio
import socket
import time

import pytest

from streams.runtime.kafka import aio, deadlines
from streams.runtime.kafka.deadlines import ANSWER_S, FETCH_S, LAST_S, PROMPT_S, limit_s
from streams.runtime.kafka.group import settings_of
from streams.runtime.kafka.place import KafkaAddress
from tests.pace import soon

PRODUCE, FETCH, METADATA, JOIN, HEARTBEAT, LEAVE, SYNC = 0, 1, 3, 11, 12, 13, 14


def test_only_joining_a_group_is_waited_for_longer_than_a_cluster_needs_to_replace_a_broker() -> (
    None
):
    whole_s = settings_of(KafkaAddress.of("kafka://here:1"), 20)["broker_request_timeout"]
    assert [limit_s(each, whole_s) for each in (JOIN, SYNC)] == [whole_s, whole_s]
    assert [limit_s(each, whole_s) for each in (PRODUCE, FETCH)] == [ANSWER_S, FETCH_S]
    assert [limit_s(each, whole_s) for each in (METADATA, HEARTBEAT)] == [PROMPT_S, PROMPT_S]
    assert limit_s(LEAVE, whole_s) == LAST_S
    assert max(ANSWER_S, PROMPT_S) <= 10
    assert limit_s(PRODUCE, 1.0) == 1.0


def test_who_listens_and_never_answers_is_given_up_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadlines, "PROMPT_S", 0.2)

    async def run(place: KafkaAddress) -> float:
        limit_s, began = soon(5), time.monotonic()
        admin = aio.admin(place)
        with pytest.raises(aio.kafka_error()):
            await admin.start()
        await admin.close()
        return (time.monotonic() - began) / limit_s

    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert asyncio.run(run(KafkaAddress.of(f"kafka://127.0.0.1:{silent.getsockname()[1]}"))) < 1
