"""A log that is read from lines can be looked at; whatever would write to it says that it does not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.streams.cli.calling import call
from tests.streams.cli.learned import made, rows


@pytest.fixture
def url(folder: Path) -> str:
    (folder / "a.jsonl").write_bytes(call("log", "cat", "--log", made()).raw)
    return f"jsonl:{folder / 'a.jsonl'}"


def lesson() -> str:
    return str(rows(made(), "select id from lessons order by offset limit 1")[0][0])


@pytest.mark.parametrize(
    "words",
    [
        ("forget", "--problem", "n901", "--yes"),
        ("lessons", "retire", "ITEM"),
        ("lessons", "restore", "ITEM"),
        ("lessons", "embed", "hashed"),
        ("feedback", "-"),
        ("dlq", "replay", "1"),
        ("doctor", "--void", "n901"),
        ("fork", "n901", "--at", "1", "--backbone", "rehearsal"),
        ("effect", "lesson", "ITEM", "--backbone", "rehearsal"),
        ("analyse", "--judge", "rehearsal"),
        ("analyse", "--audit", "--backbone", "rehearsal"),
        ("projector",),
    ],
)
def test_what_would_change_it_is_refused(url: str, words: tuple[str, ...]) -> None:
    said = [lesson() if word == "ITEM" else word for word in words]
    refused = call(*said, "--log", url)
    assert refused.code == 2
    assert "can only be read" in refused.err


def test_what_a_forget_would_do_is_told(url: str) -> None:
    told = call("forget", "--problem", "n901", "--log", url)
    assert told.code == 0, told.err
    assert "nothing was changed" in told.err


def test_a_rebuild_of_it_leaves_nothing_behind(url: str, folder: Path) -> None:
    hashed = call("rebuild", "--log", url)
    assert hashed.code == 0, hashed.err
    assert hashed.lines[-1] == call("state", "hash", "--log", made()).out.strip()
    assert [path.name for path in folder.iterdir()] == ["a.jsonl"]
    assert call("rebuild", "--tables", "lessons", "--log", url).code == 2


@pytest.mark.parametrize(
    ("number", "change", "why"),
    [
        (7, {}, "an earlier line has its place or its name"),
        (7, {"offset": 99}, "an earlier line has its place or its name"),
        (7, {"kind": None}, "kind: expected a text"),
        (7, {"offset": 1 << 70}, "offset: expected a whole number"),
    ],
)
def test_a_line_that_cannot_be_put_is_named(
    folder: Path, number: int, change: dict[str, object], why: str
) -> None:
    lines = call("log", "cat", "--log", made()).lines
    first = json.dumps(json.loads(lines[0]) | change)
    (folder / "a.jsonl").write_text("\n".join((*lines[: number - 1], first, *lines[number - 1 :])))
    for command in ("verify", "log stats"):
        done = call(*command.split(), "--log", f"jsonl:{folder / 'a.jsonl'}")
        assert (done.code, f"a.jsonl:{number}: not a line of a log: " in done.err) == (2, True)
        assert why in done.err
