"""Logs that are handed over as a file of lines: packed or not, and what is said of files that are none."""

from __future__ import annotations

import gzip
import json
import lzma
import os
from codecs import BOM_UTF8
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.runtime.embedded import packed
from tests.streams.cli.calling import call
from tests.streams.cli.learned import made


def lines() -> list[dict[str, Any]]:
    return call("log", "cat", "--log", made()).rows


@pytest.mark.parametrize("pack", [lzma.compress, gzip.compress])
def test_packed_lines_are_read_as_plain_ones(folder: Path, pack: Any) -> None:
    (folder / "anything").write_bytes(pack(call("log", "cat", "--log", made()).raw))
    read = call("log", "digest", "--log", f"jsonl:{folder / 'anything'}")
    assert (read.code, read.out) == (0, call("log", "digest", "--log", made()).out)


def test_what_editors_leave_in_a_file_says_nothing(folder: Path) -> None:
    first, *rest = call("log", "cat", "--log", made()).raw.splitlines(keepends=True)
    left = BOM_UTF8 + first + b"\r\n \n" + b"".join(rest) + b"\n"
    (folder / "edited.jsonl").write_bytes(left)
    read = call("log", "digest", "--log", f"jsonl:{folder / 'edited.jsonl'}")
    assert (read.code, read.out) == (0, call("log", "digest", "--log", made()).out)


@pytest.mark.parametrize("asked", [("show", "latest"), ("verify",), ("log", "cat")])
def test_a_file_without_lines_is_named(folder: Path, asked: tuple[str, ...]) -> None:
    (folder / "empty.jsonl").touch()
    said = call(*asked, "--log", f"jsonl:{folder / 'empty.jsonl'}").err
    assert str(folder / "empty.jsonl") in said
    assert ":memory:" not in said


@pytest.mark.parametrize("pack", [lzma.compress, gzip.compress])
def test_packed_files_that_were_joined_are_read_to_the_end(folder: Path, pack: Any) -> None:
    """As `cat` joins them and `gzip -d` reads them: what stood behind the first was refused."""
    raw = call("log", "cat", "--log", made()).raw
    middle = raw.index(b"\n", len(raw) // 2) - 5  # a line may go on in the next member
    (folder / "joined").write_bytes(pack(raw[:middle]) + pack(b"") + bytes(8) + pack(raw[middle:]))
    read = call("log", "digest", "--log", f"jsonl:{folder / 'joined'}")
    assert (read.code, read.out) == (0, call("log", "digest", "--log", made()).out), read.err


@given(st.lists(st.binary(max_size=40).filter(lambda line: b"\n" not in line)), st.integers(1, 64))
def test_lines_are_the_same_however_they_are_packed_and_whatever_is_read_at_once(
    said: list[bytes], at_once: int
) -> None:
    """Not one that its end left open, nor an empty one, is lost or made."""
    for data in (b"".join(line + b"\n" for line in said), b"\n".join([*said, b"last"])):
        *lines, last = data.split(b"\n")
        lines += [last] if last else []
        with (
            NamedTemporaryFile() as file,
            pytest.MonkeyPatch.context() as patched,
        ):
            patched.setattr(packed, "AT_ONCE", at_once)
            patched.setattr(packed, "PIECE", at_once)
            for pack in (bytes, lzma.compress, gzip.compress):
                for members in ([data], [data[:at_once], b"", data[at_once:]]):
                    Path(file.name).write_bytes(b"".join(map(pack, members)))
                    assert list(packed.unpacked(file.name)) == lines


@pytest.mark.parametrize("pack", [lzma.compress, gzip.compress])
@pytest.mark.parametrize(
    ("most", "line", "told"),
    [
        ("MOST_LINE", b" " * (8 << 20), "a line in it is longer than 1,048,576 bytes"),
        ("MOST_UNPACKED", b"{}\n" * (4 << 20), "it unpacks to more than 1,048,576 bytes"),
    ],
)
def test_packed_lines_that_would_fill_the_memory_are_refused(
    folder: Path, pack: Any, most: str, line: bytes, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed, most, 1 << 20)
    for members in ([line], [line[at : at + (1 << 19)] for at in range(0, len(line), 1 << 19)]):
        (folder / "a").write_bytes(b"".join(map(pack, members)))
        with pytest.raises(packed.Unreadable, match=told):
            for _ in packed.unpacked(folder / "a"):
                pass


@pytest.mark.parametrize("pack", [lzma.compress, gzip.compress])
def test_what_is_cut_off_or_goes_on_is_no_log(folder: Path, pack: Any) -> None:
    whole = pack(os.urandom(1 << 16).hex().encode())
    for raw, told in ((whole[:-9], "it is cut off"), (whole + b"{}", "more stands behind")):
        (folder / "a").write_bytes(raw)
        done = call("log", "stats", "--log", f"jsonl:{folder / 'a'}")
        assert (done.code, told in done.err, "[log.format, exit 2]" in done.err) == (2, True, True)


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"PK\x03\x04and more", "a: this is a zip archive, and no log as JSON Lines"),
        (b"SQLite format 3\0", "a: this is a file of SQLite, and no log as JSON Lines"),
        (b"\x89PNG\r\n\x1a\n", "a:1: not a line of a log: not JSON"),
        (b"id,problem\n1,2\n", "a:1: not a line of a log: not JSON"),
        (b"[1]\n", "a:1: not a line of a log: expected an object"),
        (b'{"id":"1","problem":"2"}\n', "a:1: not a line of a log: neither a record (episode, ev"),
    ],
)
def test_a_file_that_is_no_log_is_called_what_it_is(folder: Path, raw: bytes, told: str) -> None:
    (folder / "a").write_bytes(raw)
    done = call("log", "stats", "--log", f"jsonl:{folder / 'a'}")
    assert (done.code, told in done.err, "jsonl:PATH reads what log cat writes" in done.err) == (
        2,
        True,
        True,
    )


@pytest.mark.parametrize(
    ("has", "change", "told"),
    [
        ("event", {"event": [1]}, "event: expected an object"),
        ("event", {"at_ms": 9 * 10**18}, "at_ms: no time between the years 1 and 9999"),
        ("event", {"episode": 5}, "episode: expected a text"),
        ("event", {"partition": "x"}, "partition: expected a whole number"),
        ("value", {"key": ["1"]}, "key: expected a text"),
    ],
)
def test_a_line_that_is_wrong_is_named_with_its_field(
    folder: Path, has: str, change: dict[str, Any], told: str
) -> None:
    rows = lines()
    at = next(at for at, row in enumerate(rows) if has in row)
    rows[at] = {name: each for name, each in rows[at].items() if name != "body"} | change
    (folder / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    for command in ("verify", "log stats", "analyse"):
        done = call(*command.split(), "--log", f"jsonl:{folder / 'a.jsonl'}")
        assert (done.code, f"a.jsonl:{at + 1}: not a line of a log: {told}" in done.err) == (
            2,
            True,
        ), done.err


@pytest.mark.parametrize("event", [{"kind": "x"}, {"sealed": "x"}])
def test_an_event_that_is_none_is_named_by_who_reads_it(
    folder: Path, event: dict[str, Any]
) -> None:
    """A log on Kafka may hold some that anybody put there, and is read all the same."""
    rows = lines()
    at = next(at for at, row in enumerate(rows) if row.get("kind") == "reflected")
    rows[at]["event"] = event
    (folder / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    url = f"jsonl:{folder / 'a.jsonl'}"
    assert call("log", "stats", "--log", url).code == 0
    done = call("verify", "--log", url)
    assert (done.code, f"{rows[at]['episode']} at reflected" in done.err) == (3, True)
    done = call("analyse", "--log", url)
    assert (done.code, f"{rows[at]['episode']} at reflected: reflected: " in done.err) == (5, True)
    assert "[log.damaged, exit 5]" in done.err


def test_a_message_of_any_time_is_read_again(folder: Path) -> None:
    rows = lines()
    at = next(at for at, row in enumerate(rows) if "value" in row)
    rows[at]["at_ms"] = 1_764_000_000_000_000
    (folder / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    for command in ("log cat", "log stats", "verify", "analyse"):
        done = call(*command.split(), "--log", f"jsonl:{folder / 'a.jsonl'}")
        assert done.code == 0, done.err
