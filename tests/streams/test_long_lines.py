"""A line without an end fills no memory: as much is read as tells that it is too long, and the next is read as ever."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path

import pytest

from streams.producing.sources import LINE_BYTES, BadLine, SourceLine, lines_of, parse
from streams.support.datasets.lines import LINE_CHARS, json_array, json_lines
from tests.streams.cli.calling import call, log_of


class Counting(BytesIO):
    """A file that keeps the length of the longest piece that was asked of it."""

    longest = 0

    def readline(self, size: int | None = -1, /) -> bytes:
        piece = super().readline(-1 if size is None else size)
        self.longest = max(self.longest, len(piece))
        return piece

    def __next__(self) -> bytes:
        return self.readline()


class Stdin:
    """Standard input with such a file."""

    def __init__(self, raw: bytes) -> None:
        self.buffer = Counting(raw)


def given(raw: bytes, monkeypatch: pytest.MonkeyPatch) -> tuple[list[SourceLine], int]:
    """The lines of standard input, and the longest piece that was read at once."""
    stdin = Stdin(raw)
    monkeypatch.setattr("sys.stdin", stdin)
    return list(lines_of("-", None)), stdin.buffer.longest


def test_a_line_too_long_is_refused_and_the_next_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    good = json.dumps({"id": "a", "problem": "1+1"}).encode()
    lines, longest = given(b"\n".join((good, b"x" * (2 * LINE_BYTES + 9), b"", good)), monkeypatch)
    assert [line.number for line in lines] == [1, 2, 4]
    assert longest <= LINE_BYTES + 2
    assert parse(lines[0].raw) == parse(lines[2].raw)
    with pytest.raises(BadLine, match="longer than 16,777,216 bytes, and was not read to its end"):
        parse(lines[1].raw)


@pytest.mark.parametrize("command", ["produce", "feedback", "import traces"])
def test_what_is_kept_of_it_is_said(tmp_path: Path, command: str) -> None:
    (tmp_path / "long.jsonl").write_bytes(b"x" * (LINE_BYTES + 9) + b"\n")
    done = call(*command.split(), tmp_path / "long.jsonl", "--log", log_of(tmp_path / "a.db"))
    assert "bytes, and was not read to its end [input.size]" in done.err
    assert f"Kept as dead letter 1, the first {LINE_BYTES + 2:,} of its bytes." in done.err


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_the_longest_line_is_taken_whole(monkeypatch: pytest.MonkeyPatch, end: bytes) -> None:
    lines, _ = given(b"y" * LINE_BYTES + end + b"z\n", monkeypatch)
    whole = b"y" * LINE_BYTES + (b"" if end else b"z")
    assert [line.raw[: LINE_BYTES + 1] for line in lines] == [whole, b"z"][: 2 if end else 1]


def test_the_longest_problem_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = "\N{MATHEMATICAL BOLD SMALL X}" * 262_144
    lines, _ = given(json.dumps({"id": "a", "problem": problem}).encode(), monkeypatch)
    assert parse(lines[0].raw).problem == problem


def test_files_of_data_sets_name_the_place(tmp_path: Path) -> None:
    long, deep = tmp_path / "long.jsonl", tmp_path / "deep.json"
    long.write_text('{"a": 1}\n' + '"' * (LINE_CHARS + 1))
    with pytest.raises(ValueError, match=r"^long\.jsonl:2: longer than 4,194,304 characters$"):
        list(json_lines(long))
    deep.write_text("[" * 50_000)
    with pytest.raises(ValueError, match=r"^deep\.json: not JSON: nested too deep$"):
        list(json_array(deep))
