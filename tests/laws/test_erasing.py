"""Keys per subject: names say whose they are, a log with keys reads as one without, and a key opens its own alone."""

from __future__ import annotations

import sqlite3
from base64 import b64decode, b64encode
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.events.base import Event
from schemas.identity import episode_id, learning_id, probe_id, scope_id, set_id, text_key
from schemas.record import Record
from schemas.subjects import MARK, erasure_of, of_subject, own, subject_of
from streams.runtime.embedded.keys import Keys, NoKeys
from streams.runtime.embedded.log import SqliteLog
from tests.laws.events import ANY_EVENT, NAMES, PRINTABLE, TEXT

MARKS = st.from_regex(MARK, fullmatch=True)
SUBJECTS = ("ann", "ben", None)
SECRET = "the quokka's own words"


@contextmanager
def begun(*names: str) -> Generator[tuple[Path, SqliteLog, dict[str, str]]]:
    """A log with keys, and the marks of its subjects."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "keys").mkdir()
        path = Path(folder) / "a.db"
        with closing(SqliteLog(path, create=True, keys=Path(folder) / "keys" / "a")) as log:
            yield path, log, {name: keys_of(log).of(name) for name in names}


def keys_of(log: SqliteLog) -> Keys:
    assert log.sealing is not None
    return log.sealing.keys


# -- names -------------------------------------------------------------------------------------


@given(MARKS, PRINTABLE, NAMES, NAMES, st.integers(1, 99))
def test_every_name_that_is_made_of_a_subjects_says_so(
    mark: str, id: str, domain: str, series: str, batch: int
) -> None:
    id, memory = of_subject(mark, id, "main")
    episode = episode_id(domain, id, "0123456789ab")
    scope = scope_id(domain, "mc2", memory, {})
    names = [
        episode,
        probe_id(episode, "3.1", "fork", {}),
        probe_id(probe_id(episode, "0", "fork", {}), "1", "judge", {}),
        learning_id(scope, batch),
        learning_id(scope, batch, 2),
        f"n/{scope}/-",
        f"n/{scope}/{own(mark, series)}",
        set_id(own(mark, series), str(batch)),
        set_id(own(mark, series), f"{domain}.{batch}"),
    ]
    assert {subject_of(name) for name in names} == {mark}
    assert of_subject(mark, id, memory) == (id, memory)


@given(MARKS, PRINTABLE, NAMES, TEXT)
def test_no_other_name_does(mark: str, id: str, domain: str, text: str) -> None:
    if "subject-" not in f"{id}{domain}":
        assert subject_of(episode_id(domain, id, "0123456789ab")) is None
        assert of_subject(None, id, domain) == (id, domain)
    assert subject_of(text_key("0123456789ab")) is None
    assert subject_of(erasure_of(mark)) is None
    assert subject_of(f"p/{domain}/un{mark}.1/run") in (None, mark if domain == mark else None)


# -- a log with keys ---------------------------------------------------------------------------

Put = tuple[str | None, Event]


def episode_of(mark: str | None, number: int) -> str:
    id, _ = of_subject(mark, str(number), "main")
    return episode_id("zoo", id, "0123456789ab")


def put(log: SqliteLog, marks: dict[str, str], said: list[Put]) -> list[Record]:
    """State events, each in an episode of its own; what is read of them. It is always the same time here."""
    writer = log.claim("law")
    for number, (name, event) in enumerate(said):
        episode = episode_of(marks.get(name or ""), number)
        with patch("streams.runtime.embedded.writer.now_ms", lambda: 1):
            writer.state("events", episode, "0", event)
    writer.flush()
    return [record for record in log.records() if record.episode.startswith("p/")]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(SUBJECTS), ANY_EVENT), max_size=6), st.data())
def test_a_log_with_keys_reads_as_one_without_and_loses_what_it_is_told_to(
    said: list[Put], data: st.DataObject
) -> None:
    with closing(SqliteLog(":memory:", create=True)) as plain:
        wanted = [record.event for record in put(plain, {}, said)]
    with begun("ann", "ben") as (_, log, marks):
        found = put(log, marks, said)
        assert [record.event for record in found] == wanted
        gone = data.draw(st.sets(st.sampled_from(["ann", "ben"])))
        for name in gone:
            keys_of(log).shred(marks[name])
        left = [record for record in log.records() if record.episode.startswith("p/")]
        assert left == [r for r, (name, _) in zip(found, said, strict=True) if name not in gone]
        assert log.end() == len(said) + 1
        lies = log.db.execute("select count(*) from main.records").fetchone()
        assert lies == (len(said) + 1,)


@settings(max_examples=25, deadline=None)
@given(TEXT, TEXT, st.dictionaries(NAMES, TEXT, max_size=2))
def test_messages_are_sealed_with_their_headers(
    before: str, after: str, headers: dict[str, str]
) -> None:
    value = (before + SECRET + after).encode("utf-8", "surrogatepass")
    with begun("ann") as (path, log, marks):
        episode = episode_of(marks["ann"], 1)
        said = {**headers, "x": SECRET}
        log.publish([("problems", episode, said, value), ("answers", "p/zoo/2/run", {}, b"{}")])
        assert [*log.messages("problems")] == [(1, episode, said, value)]
        log.close()
        files = [file.read_bytes() for file in path.parent.glob("a.db*")]
        assert not [held for held in files if SECRET.encode() in held]
        with closing(SqliteLog(path)) as again:
            keys_of(again).shred(marks["ann"])
            assert [*again.messages("problems")] == []
            assert len([*again.messages("answers")]) == 1


# -- seals -------------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=60), TEXT, TEXT, st.integers(0, 200), st.integers(1, 255))
def test_a_seal_opens_where_it_was_put_and_whole_alone(
    said: bytes, where: str, elsewhere: str, place: int, flip: int
) -> None:
    with begun("ann", "ben") as (_, log, marks):
        keys, ann = keys_of(log), marks["ann"]
        sealed = keys.seal(ann, said, where)
        assert keys.open(ann, sealed, where) == said
        assert keys.open(marks["ben"], sealed, where) is None
        assert (keys.open(ann, sealed, elsewhere) == said) is (where == elsewhere)
        raw = bytearray(b64decode(sealed))
        raw[place % len(raw)] ^= flip
        assert keys.open(ann, b64encode(raw).decode(), where) is None
        assert keys.open(ann, sealed[:-4], where) is None
        assert keys.digest(ann, said) == keys.digest(ann, said) != keys.digest(marks["ben"], said)


def test_another_process_that_destroys_a_key_destroys_it_for_those_that_hold_it() -> None:
    with begun("ann") as (path, log, marks):
        keys, ann = keys_of(log), marks["ann"]
        sealed = keys.seal(ann, b"said", "here")
        with closing(SqliteLog(path)) as other:
            keys_of(other).shred(ann)
        assert keys.open(ann, sealed, "here") is None
        assert keys.of("ann") != ann
        with pytest.raises(NoKeys, match="it was erased"):
            keys.seal(ann, b"more", "here")
        with pytest.raises(NoKeys, match="it was erased"):
            log.publish([("problems", episode_of(ann, 1), {}, b"{}")])
        assert [*log.messages("problems")] == []


def test_a_key_and_its_subjects_name_leave_the_file() -> None:
    with begun("Ann Ångström") as (path, log, marks):
        file = path.parent / "keys" / "a"
        with closing(sqlite3.connect(file)) as db:
            (key,) = db.execute("select key from subjects").fetchone()
        assert key in file.read_bytes()
        keys_of(log).shred(marks["Ann Ångström"])
        held = file.read_bytes()
        assert [part for part in (key, "Ann Ångström".encode()) if part in held] == []
        assert file.stat().st_mode & 0o077 == 0
