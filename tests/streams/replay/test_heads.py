"""A log held against heads that were published of it: nothing before them can be changed and pass."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.problem import Problem
from streams.engine.policies import find
from streams.replay.chain import heads_of, links_of
from streams.replay.heads import (
    BadHeads,
    Head,
    Heads,
    Link,
    compared,
    digest_of,
    heads_in,
    netstring,
    together,
)
from streams.replay.held import hold
from streams.replay.verify import Verified, Verifier
from streams.research.evidence.segments import Segments
from streams.runtime.embedded.imported import import_jsonl
from streams.runtime.embedded.lines import lines_of
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.kafka.imported import KafkaLog
from tests.architecture.pages import DOCS, blocks
from tests.contracts.runtimes import PARTITIONS, Life, OnKafka
from tests.memory_kafka.fixture import in_memory
from tests.streams.cli.calling import call
from tests.streams.cli.learned import copy_of, made
from tests.streams.replay.spoiling import BLIND, drawn, forged, spoilt


@pytest.fixture(scope="module")
def log() -> Iterator[SqliteLog]:
    """A log in memory in which MC² has learned, with a person's verdict."""
    with closing(SqliteLog(made())) as source, closing(SqliteLog(":memory:", create=True)) as log:
        source.db.backup(log.db)
        verdict = b'{"domain":"game24","problem_id":"n901","verdict":true,"by":"a teacher"}'
        log.publish([("feedback", "game24/n901", {}, verdict)])
        yield log


def published(log: SqliteLog, *, records: bool) -> Heads:
    """What somebody kept of a log, by way of its text."""
    links = list(links_of(log))
    lines = [orjson.dumps(link.json).decode() for link in links if records]
    return heads_in("\n".join([*lines, *(head.line for head in heads_of(links))]))


def held(log: SqliteLog, heads: Heads) -> Verified:
    done = Verified()
    hold(log, heads, done)
    return done


def verified(log: SqliteLog, heads: Heads | None = None) -> Verified:
    done = Verifier(log, find).run()
    if heads is not None:
        hold(log, heads, done)
    return done


def test_a_hundred_random_changes_are_found_each_with_its_address(log: SqliteLog) -> None:
    heads, short, random = published(log, records=True), published(log, records=False), Random(25)
    for _ in range(100):
        what, change, names = drawn(log, random)
        with spoilt(log, change):
            found = {(each.episode, each.address) for each in held(log, heads).diverged}
            assert found & names or _renamed(what, found), what
            assert held(log, short).diverged, what
    assert held(log, heads).diverged == []


def _renamed(what: str, found: set[tuple[str, str]]) -> bool:
    """A record under another name, or in another chain, is gone under its own and new under the other."""
    return what.startswith(("key", "episode", "address", "topic", "partition")) and bool(found)


@pytest.mark.parametrize("what", BLIND)
def test_what_verify_alone_is_blind_to_is_found(log: SqliteLog, what: str) -> None:
    heads = published(log, records=True)
    with spoilt(log, *forged(log, BLIND[what])):
        blind = verified(log)
        assert (blind.diverged, blind.unverifiable) == ([], []), "else this shows nothing"
        told = {each.text for each in blind.left_out}
        assert (
            "a log that was written anew as a whole (no head of it was given: metalogue log heads)"
            in told
        )
        changed = {each.episode for each in held(log, heads).diverged}
        completed = "select distinct episode from records where kind = 'completed'"
        assert changed >= {episode for (episode,) in log.db.execute(completed)}


def test_an_end_that_was_cut_off_is_found(log: SqliteLog) -> None:
    heads = published(log, records=False)
    with spoilt(log, ("delete from records where offset > ?", (log.end() - 200,))):
        found = [(each.episode, each.part) for each in held(log, heads).diverged]
        assert found == [("events/0", "cut off"), ("learning/0", "cut off")]


def test_two_records_that_changed_their_places_are_found(log: SqliteLog) -> None:
    query = "select offset from records where kind = 'completed' order by offset limit 2"
    (first,), (second,) = log.db.execute(query).fetchall()
    heads = published(log, records=True)
    moved = "update records set offset = case offset when ?1 then -1 else ?1 end where offset in (?1, ?2)"
    back = "update records set offset = ? where offset = -1"
    with spoilt(log, (moved, (first, second)), (back, (second,))):
        assert len(held(log, heads).diverged) >= 2


def test_a_log_goes_on_and_its_heads_stay_good(tmp_path: Path) -> None:
    path, kept = tmp_path / "a.db", tmp_path / "heads"
    assert call("produce", "game24:901-902", "--policy", "cot", "--log", path).code == 0
    first = call("log", "heads", "--log", path)
    assert call("worker", "--backbone", "rehearsal:seed=7", "--until-idle", "--log", path).code == 0
    second = call("log", "heads", "--records", "--log", path)
    assert first.lines[-1] not in second.lines
    for text in (first.out, first.out + second.out):
        kept.write_text(text)
        done = call("verify", "--heads", kept, "--log", path, "--json")
        assert (done.code, done.json["diverged"]) == (0, [])
        assert done.json["covered"] + done.json["since"] == second.rows[-1]["count"]
        assert bool(done.json["since"]) == (text == first.out)
        since = "records" in {each["what"] for each in done.json["left_out"]}
        assert since == (text == first.out), "what came since is told"


def test_the_same_records_have_the_same_heads_however_they_are_kept(
    log: SqliteLog, tmp_path: Path
) -> None:
    large = '{"kind":"completed","version":1,"cost":1e50}'
    with spoilt(log, ("update records set body = ? where offset = 60", (large,))):
        copied = SqliteLog(tmp_path / "a.db", create=True)
        lines = tmp_path / "a.jsonl"
        wanted = list(links_of(log))
        log.db.execute("commit")
        log.db.backup(copied.db)
        log.db.execute("begin")
    with closing(copied):
        lines.write_bytes(call("log", "cat", "--log", copied.path).raw)
        Segments(tmp_path / "kept").add(copied)
        with closing(import_jsonl(str(lines))) as read:
            assert list(links_of(read)) == wanted
        with closing(SqliteLog(tmp_path / "again.db", create=True)) as again:
            Segments(tmp_path / "kept").restore(again)
            assert list(links_of(again)) == wanted
        heads = call("log", "heads", "--json", "--log", copied.path).rows
        assert [Head(**each) for each in heads] == heads_of(wanted)


def problems() -> Iterator[tuple[str, str, dict[str, str], bytes]]:
    for n in range(12):
        body = Problem(id=f"{n}", problem="1", domain="d", policy="pupil").model_dump_json()
        yield "problems", f"{n}", {}, body.encode()


def test_imports_from_kafka_have_the_same_heads_whenever_they_were_made(tmp_path: Path) -> None:
    """They number records in another order; on the broker each lies where it lay."""
    with in_memory(PARTITIONS) as (place, _), closing(KafkaLog(place, tmp_path / "one")) as first:
        letter = ("dead-letters", "x", {"__metalogue.errors.topic": "feedback"}, b"?")
        first.publish([*problems(), letter])
        OnKafka(place, first).live(Life(settle=True))
        first.refresh()
        with closing(KafkaLog(place, tmp_path / "two")) as second:
            wanted = heads_of(links_of(first))
            assert heads_of(links_of(second)) == wanted
            chains = {head.chain for head in wanted}
            assert {"dlq.feedback/", "problems/"} <= {c.rstrip("0123456789") for c in chains}
            lines = tmp_path / "a.jsonl"
            with lines.open("wb") as file:
                file.writelines(orjson.dumps(line) + b"\n" for line in lines_of(second))
            with closing(import_jsonl(str(lines))) as read:
                assert heads_of(links_of(read, numbered=False)) == wanted
                assert heads_of(links_of(read)) == wanted


def test_the_page_says_how_anybody_computes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    copy_of(made(), tmp_path / "metalogue.db")
    monkeypatch.chdir(tmp_path)
    (recipe,) = (each.text for each in blocks(DOCS / "proof.md") if each.language == "python")
    names: dict[str, Any] = {}
    exec(compile(recipe, "proof.md", "exec"), names)
    names["log"].close()
    said = [
        f"{each['chain']} {each['digest']}" for each in call("log", "heads", "--json").rows[:-1]
    ]
    assert capsys.readouterr().out.splitlines() == said


# -- the file of heads -----------------------------------------------------------------------------

HEX = "0" * 64
GOOD = Head("events/0", 2, HEX, 7)
WRONG = {
    "": "1: no head in it",
    "hello": "1: not a line of `log heads`",
    f"events/0 x 7 sha256:{HEX}": "1: count: 'x' is not a number",
    "events/0 2 7 sha256:12": "1: digest: '12' is not 64 hexadecimal digits",
    '{"chain": 3, "count": 1}': "1: chain: not a name",
    '{"chain': "1: not JSON",
    f"{GOOD.line}\n{Head('events/0', 2, '1' * 64).line}": "2: two heads of events/0 at 2 that differ",
    f"{GOOD.line}\n{together([]).line}": "2: all: the heads above it do not make this digest",
    f'{{"chain":"events/0","count":2,"name":"a","record":"{HEX}"}}': "1: count: 2 of events/0 after 0",
    f'{{"chain":"events/0","count":1,"name":"a","record":"{HEX}"}}\n{GOOD.line}': (
        "events/0: no head for the digests of its 1 records"
    ),
    f'{{"chain":"events/0","count":1,"name":"a","record":"{HEX}"}}\n{Head("events/0", 1, HEX).line}': (
        "events/0: its records' digests make another head at 1"
    ),
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_no_file_of_heads_is_refused_by_line_and_field(text: str, tmp_path: Path) -> None:
    with pytest.raises(BadHeads) as error:
        heads_in(text)
    assert WRONG[text] in str(error.value)
    file = tmp_path / "heads"
    file.write_text(text)
    refused = call("verify", "--heads", file, "--log", made())
    assert (refused.code, "[log.heads, exit 2]" in refused.err) == (2, True)


def test_a_changed_log_ends_with_3_and_says_where(tmp_path: Path) -> None:
    path, kept = copy_of(made(), tmp_path / "a.db"), tmp_path / "heads"
    kept.write_bytes(call("log", "heads", "--records", "--log", path).raw)
    with closing(SqliteLog(path)) as log:
        (offset, episode, address), *_ = log.db.execute(
            "select offset, episode, address from records where kind = 'completed'"
        ).fetchall()
        log.db.execute("update records set at_ms = at_ms + 1 where offset = ?", (offset,))
    done = call("verify", "--heads", kept, "--log", path)
    assert done.code == 3
    assert f"{episode} at {address}: not what was published in events/0: changed" in done.err
    assert "[log.chain, exit 3]" in done.err


HIDING = """
drop index records_identity;
create unique index records_identity on records(episode, address) where offset > 100;
pragma writable_schema=on;
update sqlite_master set sql = 'CREATE UNIQUE INDEX records_identity on records(episode, address)'
  where name = 'records_identity';
"""


def test_an_index_that_hides_records_from_readers_is_found(tmp_path: Path) -> None:
    """Its rows are all there, so that its chains hold; `show` and `verify` look for them by the index."""
    path, kept = copy_of(made(), tmp_path / "a.db"), tmp_path / "heads"
    kept.write_bytes(call("log", "heads", "--log", path).raw)
    with closing(sqlite3.connect(path)) as db:
        db.executescript(HIDING)
    done = call("verify", "--heads", kept, "--log", path)
    assert done.code == 3
    assert "records_identity" in done.err


# -- laws ------------------------------------------------------------------------------------------

PARTS = st.lists(st.none() | st.text() | st.binary() | st.integers() | st.floats(allow_nan=False))


@given(PARTS, PARTS)
def test_no_two_lists_of_fields_give_the_same_bytes(one: list[object], two: list[object]) -> None:
    same = [(type(each), repr(each)) for each in one] == [(type(each), repr(each)) for each in two]
    said = [b"".join(netstring(part) for part in each) for each in (one, two)]  # type: ignore[arg-type]
    assert (said[0] == said[1]) == same


NAMES = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)


def chained(names: list[str], changed: str = "") -> list[Link]:
    return [
        Link("c/0", at, name, digest_of((name, name in changed)).hex())
        for at, name in enumerate(names, 1)
    ]


@given(NAMES, NAMES, st.sampled_from(["", "a", "b", "ah"]), st.booleans())
def test_a_chain_holds_exactly_where_it_begins_with_what_was_published(
    before: list[str], now: list[str], changed: str, records: bool
) -> None:
    if not before:
        return
    links = chained(before)
    published = Heads(
        {"c/0": {len(before): heads_of(links)[0].digest}}, {"c/0": links} if records else {}
    )
    holds = now[: len(before)] == before and not set(changed) & set(before)
    found = list(compared(chained(now, changed), published))
    assert (found == []) == holds
    if records:
        assert all(each.name in {*before, *now, "-"} for each in found)
