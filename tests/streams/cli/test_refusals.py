"""Thousands of refused lines are summed up by cause: the first as they are, all of them by number."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from streams.interfaces.cli.refusals import CAUSES, FIRST, SHOWN
from tests.streams.cli.calling import Called, call, log_of

LINES = 6_000
COUNT = re.compile(r"^ {2,}([\d,]+)  (.*)$", re.MULTILINE)


def source(folder: Path) -> Path:
    """Lines of another form, among them two of other faults and one that is good."""
    lines: list[Any] = [{"id": f"q{n}", "question": f"What is {n}?"} for n in range(LINES)]
    lines[70] = {"id": "", "problem": "1 + 1"}
    lines[4_000] = {"id": "good", "problem": "1 + 1"}
    written = "".join(f"{json.dumps(each)}\n" for each in lines) + "{broken\n"
    path = folder / "in.jsonl"
    path.write_text(written)
    return path


def by_cause(said: Called) -> dict[str, int]:
    """The lines of the summary."""
    return {what: int(lines.replace(",", "")) for lines, what in COUNT.findall(said.err)}


@pytest.mark.parametrize("dry", [False, True])
def test_a_file_of_another_form(folder: Path, dry: bool) -> None:
    done = call("produce", source(folder), "--log", "a.db", *(["--dry-run"] if dry else []))
    assert (done.code, done.out) == (1, f"produced 1 known 0 refused {LINES}\n")
    assert f"in.jsonl: {LINES:,} refused, by cause:" in done.err
    causes = by_cause(done)
    assert sum(causes.values()) == LINES
    assert len(causes) == 3
    assert max(causes.values()) == LINES - 2
    assert any(what.endswith("[input.json]") for what in causes)
    assert f"in.jsonl:{LINES + 1}:2: not JSON" in done.err, "the one of another cause is not hidden"
    assert len(done.err.splitlines()) <= 2 * (FIRST + 2 * SHOWN) + 10
    assert ("A dry run: nothing is kept. All of them: --json" in done.err) == dry
    if not dry:
        assert "metalogue dlq list --log a.db" in done.err
        assert call("log", "stats", "--json", "--log", "a.db").json["dead_letters"] == LINES


@pytest.mark.parametrize("text", ["a,b\n1,2\n3,4\n", '[\n  {\n    "id": "q"\n  }\n]\n'])
@pytest.mark.parametrize("command", ["produce", "feedback"])
def test_a_file_that_is_no_json_lines_is_told_once_as_one(
    folder: Path, command: str, text: str
) -> None:
    log_of(folder / "a.db")
    (folder / "in.csv").write_text(text)
    done = call(command, "in.csv", "--log", "a.db")
    assert done.code == 1
    assert done.err.count("in.csv: no line of it is a JSON object: is it JSON Lines?") == 1
    told = call(command, "in.csv", "--log", "a.db", "--json").err.splitlines()
    assert all(json.loads(each)["exit"] == 1 for each in told)


def test_one_good_line_is_enough_to_be_json_lines(folder: Path) -> None:
    (folder / "in.jsonl").write_text('{"id": "q", "problem": "1 + 1"}\n{\n{\n')
    done = call("produce", "in.jsonl", "--log", "a.db")
    assert (done.code, "is it JSON Lines?" in done.err) == (1, False)


GOOD = '{"id": "q", "problem": "1 + 1"}\n'


@pytest.mark.parametrize(
    "raw",
    [
        gzip.compress(GOOD.encode()),
        GOOD.encode("utf-16"),
        GOOD.encode("utf-16-le"),
        b"PK\x03\x04\n",
    ],
    ids=["gzip", "utf-16", "utf-16 without a mark", "zip"],
)
@pytest.mark.parametrize("source", ["in.jsonl", "-"])
def test_what_is_not_made_of_lines_is_refused_as_a_whole(
    folder: Path, source: str, raw: bytes
) -> None:
    (folder / "in.jsonl").write_bytes(raw)
    done = call("produce", source, "--log", "a.db", given=raw)
    assert (done.code, done.out) == (2, "")
    assert "and not JSON Lines in UTF-8 [input.source, exit 2]" in done.err
    assert not (folder / "a.db").exists()


def test_scripts_get_every_one(folder: Path) -> None:
    done = call("produce", source(folder), "--policy", "cot", "--log", "a.db", "--json")
    told = [json.loads(line) for line in done.err.splitlines()]
    assert len(told) == done.json["refused"] == LINES
    assert len({each["where"] for each in told}) == LINES


def test_a_stream_without_end_tells_now_and_then(folder: Path) -> None:
    given = source(folder).read_bytes()[:60_000]
    done = call("produce", "-", "--follow", "--dry-run", "--log", "a.db", given=given)
    assert "-: 100 refused so far: " in done.err
    assert "-: 1,000 refused so far: " in done.err


def test_judgements_are_summed_up_too(folder: Path) -> None:
    log = log_of(folder / "a.db")
    lines = [{"episode": f"e{n}", "verdict": "yes"} for n in range(LINES)]
    given = "".join(f"{json.dumps(each)}\n" for each in lines).encode()
    done = call("feedback", "--log", log, given=given)
    assert (done.code, done.out) == (1, f"published 0 known 0 refused {LINES}\n")
    assert list(by_cause(done).values()) == [LINES]
    again = call("dlq", "replay", "--all", "--log", log)
    assert (again.code, again.out) == (1, f"replayed 0 known 0 refused {LINES}\n")
    assert list(by_cause(again).values()) == [LINES]


def test_causes_without_number_are_summed_up_themselves(folder: Path) -> None:
    lines = [{"id": "q", "problem": "p", f"field_{chr(97 + n % 26)}{n}": 1} for n in range(500)]
    (folder / "in.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    done = call("produce", "in.jsonl", "--log", "a.db")
    causes = by_cause(done)
    assert sum(causes.values()) == 500
    assert len(causes) == CAUSES + 1
    assert f"of {500 - CAUSES} other causes" in causes
