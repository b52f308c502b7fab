"""A log as text and back, and the digest of what a log means."""

from __future__ import annotations

import io
from contextlib import closing, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from schemas.events.base import Event
from schemas.events.codec import encode
from streams.interfaces.cli.logs import cat
from streams.replay.digest import log_digest
from streams.runtime.embedded.imported import BadLine, import_jsonl
from streams.runtime.embedded.log import SqliteLog
from tests.contracts.log_suite import (
    ADDRESSES,
    NAMES,
    STATED,
)
from tests.laws.events import EVENTS


def written(log_path: Path, path: Path) -> None:
    out = io.StringIO()
    with redirect_stdout(out):
        cat(f"sqlite:{log_path}", topic=None, episode=None)
    path.write_text(out.getvalue(), encoding="utf-8")


@given(STATED, st.lists(st.binary(max_size=5), max_size=3))
@settings(max_examples=25)
def test_what_log_cat_writes_is_read_back_as_the_same_log(
    stated: list[tuple[str, str, Event, bool]], sent: list[bytes]
) -> None:
    with TemporaryDirectory() as folder:
        path, lines = Path(folder, "m.db"), Path(folder, "m.jsonl")
        with closing(SqliteLog(path, create=True)) as log:
            log.db.execute("pragma synchronous=off")
            writer = log.claim("w")
            for episode, address, event, _ in stated:
                writer.state("events", episode, address, event)
            for number, value in enumerate(sent):
                writer.send("answers", str(number), value, {"n": number})
            writer.flush()
            written(path, lines)
            with closing(import_jsonl(str(lines))) as again:
                assert log_digest(again) == log_digest(log)
                assert [_bytes(r) for r in again.records()] == [_bytes(r) for r in log.records()]
                assert list(again.messages("answers")) == list(log.messages("answers"))


def _bytes(record: Any) -> tuple[Any, ...]:
    return (record.offset, record.episode, record.address, record.at_ms, encode(record.event))


def test_a_line_that_is_none_of_a_log_is_named(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text('{"no": "log"}\n')
    with pytest.raises(BadLine, match=r"m\.jsonl:1"):
        import_jsonl(str(path))


@given(st.lists(st.tuples(NAMES, ADDRESSES, EVENTS["completed"] | EVENTS["voted"]), max_size=8))
@settings(max_examples=25)
def test_the_digest_hangs_on_no_order_time_claim_or_latency(
    stated: list[tuple[str, str, Event]],
) -> None:
    unique = list({(episode, at): (episode, at, event) for episode, at, event in stated}.values())
    digests: set[str] = set()
    for rows, claims in ((unique, 1), (unique[::-1], 3)):
        with closing(SqliteLog(":memory:", create=True)) as log:
            writer = [log.claim("w") for _ in range(claims)][-1]
            for episode, address, event in rows:
                late = {"seconds": claims * 1.5, "attempts": claims, "cached_tokens": claims}
                said = structs.replace(event, **late) if event.kind == "completed" else event
                writer.state("events", episode, address, said)
                writer.flush()
            digests.add(log_digest(log))
    assert len(digests) == 1


@given(EVENTS["completed"], EVENTS["completed"])
def test_the_digest_hangs_on_every_text(one: Any, other: Any) -> None:
    digests: list[str] = []
    for event in (one, other):
        with closing(SqliteLog(":memory:", create=True)) as log:
            writer = log.claim("w")
            writer.state("events", "p/d/a/0", "0", event)
            writer.flush()
            digests.append(log_digest(log))
    assert (one.text, one.asked) == (other.text, other.asked) or digests[0] != digests[1]
