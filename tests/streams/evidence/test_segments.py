"""A log kept as segments: whatever it was cut into, it comes back whole, and what is kept never changes."""

from __future__ import annotations

import json
import lzma
import re
import subprocess
import tracemalloc
from contextlib import closing
from pathlib import Path
from platform import node, system
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.interfaces.cli.provenance import commit, machine
from streams.replay.digest import log_digest
from streams.research.evidence import segments as module
from streams.research.evidence.segments import BadSegment, Segments
from streams.runtime.embedded import packed
from streams.runtime.embedded.lines import lines_of, put
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.queries.spending import waiting
from tests.streams.cli.calling import call
from tests.streams.cli.learned import copy_of, made


@settings(max_examples=15, deadline=None)
@given(st.lists(st.floats(0, 1), max_size=5))
def test_a_log_comes_back_whole_however_often_it_was_packed_while_it_grew(
    shares: list[float],
) -> None:
    with TemporaryDirectory() as place, closing(SqliteLog(made())) as whole:
        lines = sorted(lines_of(whole), key=lambda line: line["at_ms"])
        segments, before = Segments(Path(place) / "kept"), dict[str, str]()
        with closing(SqliteLog(f"{place}/growing.db", create=True)) as growing:
            put_so_far = 0
            for end in sorted(int(share * len(lines)) for share in (*shares, 1.0)):
                _append(growing, lines[put_so_far:end])
                added = segments.add(growing)
                assert (added is None) == (end == put_so_far)
                put_so_far = end
                hashes = segments.hashes()
                assert before.items() <= hashes.items(), "what was kept never changes"
                before = hashes
        with closing(SqliteLog(f"{place}/again.db", create=True)) as again:
            assert segments.restore(again) == len(lines)
            assert log_digest(again) == log_digest(whole)
            assert list(lines_of(again)) == list(lines_of(whole))


def _append(log: SqliteLog, lines: list[dict[str, object]]) -> None:
    """Put lines on a log as it would have grown: offsets of records and of messages each go up."""
    with log.transaction():
        for line in lines:
            put(log, line)


def test_a_worker_goes_on_with_what_was_kept(tmp_path: Path) -> None:
    """The machine of a run is lost with half of its problems unsolved."""
    log, kept = f"sqlite:{tmp_path / 'first.db'}", tmp_path / "kept"
    assert call("produce", "game24:901-904", "--policy", "cot", "--log", log).code == 0
    work = ("--backbone", "rehearsal:seed=7", "--until-idle", "--total-calls", 2)
    call("worker", "--log", log, *work)
    packed = call("log", "pack", kept, "--log", log)
    assert packed.out == f"{kept / '0001.jsonl.xz'}\n"
    assert call("log", "pack", kept, "--log", log).out == "nothing new\n"

    again = f"sqlite:{tmp_path / 'again.db'}"
    assert call("log", "unpack", kept, "--log", again).code == 0
    with closing(SqliteLog(tmp_path / "again.db")) as log_again:
        assert sum(kind.problems for kind in waiting(log_again, 100)) == 2, "and no closed one"
    before = call("log", "stats", "--json", "--log", again).json
    assert before["closed"] < before["problems"] == 4
    assert call("worker", "--log", again, *work[:3]).code == 0
    after = call("log", "stats", "--json", "--log", again).json
    assert after["closed"] == 4
    assert after["repeated_completions"] == 0
    assert call("log", "pack", kept, "--log", again).out == f"{kept / '0002.jsonl.xz'}\n"
    other = call("log", "pack", kept, "--log", log)
    assert other.code == 2, "the first log has not what the second came to"
    assert "another log" in other.err


def test_beside_each_segment_stands_what_packed_it(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    assert call("log", "pack", kept, "--log", made()).code == 0
    said = Segments(kept).packers()["0001.jsonl.xz"]
    assert (kept / "0001.txt").read_text() == f"{said}\n"
    assert re.fullmatch(r"metalogue [\d.]+ of \S+ on \S.*, \d+ processors?, \w+", said)
    assert node() not in said, "no host is named"
    (kept / "0001.txt").unlink()
    assert Segments(kept).packers() == {"0001.jsonl.xz": "unknown"}


@pytest.mark.parametrize(
    "said", ["", "\n", "no end of line", "two\nlines\n", "a\x1b[31mred\n", "x" * 401 + "\n", b"\xff\n"]
)  # fmt: skip
def test_what_is_no_line_of_text_says_not_what_packed_a_segment(
    said: str | bytes, tmp_path: Path
) -> None:
    (tmp_path / "0001.jsonl.xz").write_bytes(b"")
    (tmp_path / "0001.txt").write_bytes(said.encode() if isinstance(said, str) else said)
    with pytest.raises(BadSegment, match=r"0001\.txt"):
        Segments(tmp_path).packers()
    (tmp_path / "0001.txt").write_text("x" * 400 + "\n")
    assert Segments(tmp_path).packers() == {"0001.jsonl.xz": "x" * 400}


def test_a_machine_is_named_by_its_processor_or_by_what_the_system_knows(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text(
        "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz \nflags\t: a\n"
    )
    assert machine(tmp_path / "cpuinfo").startswith("Some CPU @ 2 GHz, ")
    elsewhere = machine(tmp_path / "none")
    assert elsewhere.split(", ")[0]
    assert elsewhere.endswith(f", {system()}")


def test_a_commit_is_named_only_where_it_holds_our_code(tmp_path: Path) -> None:
    ours = tmp_path / "ours.py"
    ours.write_text("")
    assert commit(ours) == "unknown", "no checkout"
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org")

    def run(*words: str) -> None:
        subprocess.run([*git, *words], cwd=tmp_path, check=True, capture_output=True)

    run("init", "-q")
    run("commit", "-q", "--allow-empty", "-m", "theirs")
    assert commit(ours) == "unknown", "what is installed below somebody's checkout is no part of it"
    run("add", "ours.py")
    run("commit", "-q", "-m", "ours")
    clean = commit(ours)
    assert re.fullmatch("[0-9a-f]{12}", clean)
    ours.write_text("changed")
    assert commit(ours) == f"{clean}-dirty"
    assert commit(tmp_path / "none" / "ours.py") == "unknown"


def test_what_is_there_is_not_written_over(tmp_path: Path) -> None:
    log = copy_of(made(), tmp_path / "log.db")
    assert call("log", "pack", tmp_path / "kept", "--log", log).code == 0
    was = log.read_bytes()
    refused = call("log", "unpack", tmp_path / "kept", "--log", log)
    assert (refused.code, log.read_bytes()) == (2, was)
    assert "is there already" in refused.err


def test_what_was_stopped_half_way_is_done_when_it_is_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, log = tmp_path / "kept", tmp_path / "log.db"
    assert call("log", "pack", kept, "--log", made()).code == 0

    def stopped(log: SqliteLog, line: dict[str, Any]) -> None:
        put(log, line)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, "put", stopped)
        assert call("log", "unpack", kept, "--log", log).code == 130
    assert log.exists()
    assert call("log", "unpack", kept, "--log", log).code == 0
    with closing(SqliteLog(made())) as whole, closing(SqliteLog(log)) as again:
        assert log_digest(again) == log_digest(whole)


@pytest.mark.parametrize(
    "changed",
    [
        {"offset": 2**63},
        {"at_ms": 2**64 - 1},
        {"address": "a\ud800"},
        {"episode": None},
        {"episode": []},
        {"offset": "x"},
        {"at_ms": "x"},
        {"at_ms": None},
        {"headers": []},
        {"headers": 5},
    ],
)
def test_a_line_of_a_stranger_is_refused_by_its_number(
    changed: dict[str, Any], tmp_path: Path
) -> None:
    kept, log = tmp_path / "kept", tmp_path / "log.db"
    kept.mkdir()
    with closing(SqliteLog(made())) as whole:
        line = next(each for each in lines_of(whole) if "episode" in each)
    raw = json.dumps(line | changed).encode()
    (kept / "0001.jsonl.xz").write_bytes(lzma.compress(raw + b"\n"))
    refused = call("log", "unpack", kept, "--log", log)
    assert refused.code == 2
    assert "Traceback" not in refused.err
    assert "line 1" in refused.err or "0001" in refused.err
    assert not log.exists()


@pytest.mark.parametrize("at", [20, -20])
def test_a_changed_byte_is_found_and_leaves_no_log(at: int, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    assert call("log", "pack", kept, "--log", made()).code == 0
    [file] = Segments(kept).files()
    raw = bytearray(file.read_bytes())
    raw[at] ^= 1
    file.write_bytes(raw)
    refused = call("log", "unpack", kept, "--log", tmp_path / "log.db")
    assert refused.code == 2
    assert file.name in refused.err
    assert not (tmp_path / "log.db").exists()


@pytest.mark.parametrize(
    ("most", "line", "preset", "told"),
    [
        ("MOST_LINE", b" " * (8 << 20), 0, "a line in it is longer than 4,194,304 bytes"),
        ("MOST_UNPACKED", b"{}\n" * (4 << 20), 0, "it unpacks to more than 4,194,304 bytes"),
        ("MOST_TO_DECODE", b"{}\n", 9, "Memory usage limit exceeded"),
    ],
)
def test_a_segment_that_unpacks_to_more_than_a_log_has_is_named_before_it_fills_the_memory(
    tmp_path: Path, most: str, line: bytes, preset: int, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred kilobytes may come to gigabytes, and the file may come from anybody."""
    monkeypatch.setattr(packed, most, 4 << 20)
    monkeypatch.setattr(packed, "AT_ONCE", 1 << 16)
    (tmp_path / "0001.jsonl.xz").write_bytes(lzma.compress(line * 4, preset=preset))
    tracemalloc.start()
    try:
        with pytest.raises(BadSegment, match=rf"0001\.jsonl\.xz: {told}"):
            for _ in Segments(tmp_path).lines():
                pass
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("behind", [b"x", b"\0" * 4, lzma.compress(b"{}\n")])
def test_nothing_stands_behind_what_a_segment_packs(tmp_path: Path, behind: bytes) -> None:
    (tmp_path / "0001.jsonl.xz").write_bytes(lzma.compress(b"{}\n{}") + behind)
    with pytest.raises(BadSegment, match=r"0001\.jsonl\.xz: more stands behind"):
        list(Segments(tmp_path).lines())
    (tmp_path / "0001.jsonl.xz").write_bytes(lzma.compress(b"{}\n{}"))
    assert list(Segments(tmp_path).lines()) == [{}, {}]


def test_no_segment_is_packed_that_could_not_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for most in ("MOST_LINE", "MOST_UNPACKED"):
        with monkeypatch.context() as changed:
            changed.setattr(module, most, 100)
            refused = call("log", "pack", tmp_path / "kept", "--log", made())
        assert (refused.code, "[log.segment, exit 2]" in refused.err) == (2, True)
    assert not list((tmp_path / "kept").iterdir())


def test_a_missing_segment_is_named(tmp_path: Path) -> None:
    (tmp_path / "0002.jsonl.xz").write_bytes(lzma.compress(b""))
    with pytest.raises(BadSegment, match=r"0001\.jsonl\.xz is missing"):
        Segments(tmp_path).files()
    empty = call("log", "unpack", tmp_path / "nowhere", "--log", tmp_path / "log.db")
    assert empty.code == 2
    assert "no segment" in empty.err


def test_two_who_pack_at_once_never_write_over_what_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, kept = copy_of(made(), tmp_path / "log.db"), tmp_path / "kept"
    pressed = lzma.compress

    def meanwhile(raw: bytes, **how: Any) -> bytes:
        monkeypatch.setattr(lzma, "compress", pressed)
        second = call("log", "pack", kept, "--log", log)
        assert (second.code, "another process packs a log into" in second.err) == (2, True)
        return pressed(raw, **how)

    monkeypatch.setattr(lzma, "compress", meanwhile)
    assert call("log", "pack", kept, "--log", log).code == 0
    assert call("log", "pack", kept, "--log", log).out == "nothing new\n"


def test_logs_on_which_there_are_messages_alone_are_told_apart_too(tmp_path: Path) -> None:
    for name, count in (("first", 1), ("second", 3)):
        rows = b"".join(
            b'{"id": "%s%d", "problem": "?"}\n' % (name.encode(), n) for n in range(count)
        )
        words = ("produce", "-", "--follow", "--policy", "cot", "--log", tmp_path / f"{name}.db")
        assert call(*words, given=rows).code == 0
    assert call("log", "pack", tmp_path / "kept", "--log", tmp_path / "first.db").code == 0
    other = call("log", "pack", tmp_path / "kept", "--log", tmp_path / "second.db")
    assert (other.code, "another log" in other.err) == (2, True)


def test_the_ten_thousandth_segment_stands_behind_all_others(tmp_path: Path) -> None:
    for number in range(1, 10_001):
        (tmp_path / f"{number:04}.jsonl.xz").touch()
    assert Segments(tmp_path).files()[-1].name == "10000.jsonl.xz"
