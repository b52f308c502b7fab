from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from streams.interfaces.dashboard.listing import NEWEST
from streams.interfaces.door.messages import answers_after
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.queries import lists
from streams.runtime.embedded.reading import reading
from tests.streams.cli.calling import Message, answer, call, command, environment, log_of, process
from tests.streams.cli.test_foreign_messages import JUNK, WRONG


@pytest.fixture
def log(folder: Path) -> Path:
    """A log with five answers between other messages."""
    other: Message = ("problems", "p/default/q1/run", {}, b"{}")
    return log_of(folder / "a.db", [other, *(answer(number) for number in range(1, 6))])


def ids(*arguments: object) -> list[str]:
    called = call("consume", "--json", *arguments)
    assert called.code == 0, called.err
    return [row["problem_id"] for row in called.rows]


def test_all_from_the_beginning(log: Path) -> None:
    assert ids("--log", log) == ["q1", "q2", "q3", "q4", "q5"]
    assert ids("--log", log, "--from", "beginning") == ["q1", "q2", "q3", "q4", "q5"]


def test_fields_in_their_order(log: Path) -> None:
    first = call("consume", "--json", "--log", log).lines[0]
    assert list(json.loads(first)) == [
        *("problem_id", "episode", "domain", "policy", "status"),
        *("ended_by", "answer", "confidence", "usage"),
        *("confidence_source", "calibrated", "judgements", "plain"),
    ]


def test_an_answer_comes_in_plain_text_too(folder: Path) -> None:
    topic, key, headers, value = answer(1)
    told = json.dumps(json.loads(value) | {"answer": r"50 \text{ km/h}"}).encode()
    log = log_of(folder / "latex.db", [(topic, key, headers, told)])
    [row] = call("consume", "--json", "--log", log).rows
    assert (row["answer"], row["plain"]) == (r"50 \text{ km/h}", "50 km/h")
    assert "50 km/h" in call("consume", "--log", log).out


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("end", []),
        ("-2", ["q4", "q5"]),
        ("-99", ["q1", "q2", "q3", "q4", "q5"]),
        ("-0", []),
        ("0:4", ["q3", "q4", "q5"]),
        ("2000-01-01", ["q1", "q2", "q3", "q4", "q5"]),
        ("2999-01-01T00:00+00:00", []),
    ],
)
def test_starts(log: Path, start: str, expected: list[str]) -> None:
    assert ids("--log", log, f"--from={start}") == expected


def test_a_time_between(log: Path) -> None:
    time.sleep(0.01)
    moment = datetime.now(UTC).isoformat()
    time.sleep(0.01)
    log_of(log, [answer(6)])
    assert ids("--log", log, "--from", moment) == ["q6"]


@pytest.mark.parametrize(
    ("hours", "start", "first"),
    [
        ([10, 11, 12, 5, 6], 11, 2),
        ([10, 11, 50, 12, 13], 12, 3),
        ([10, 11, 12, 5, 6], 60, 6),
        ([10, 3, 4, 5, 6], 1, 1),
    ],
)
def test_a_time_misses_nothing_of_it_or_later_where_a_clock_was_set_back(
    log: Path, hours: list[int], start: int, first: int
) -> None:
    with closing(SqliteLog(log)) as opened:
        for number, hour in enumerate(hours, 1):
            change = "update messages set at_ms = ? where topic = 'answers' and key like ?"
            opened.db.execute(change, (hour * 3_600_000, f"%/q{number}/%"))
    moment = datetime.fromtimestamp(start * 3600, UTC).isoformat()
    assert ids("--log", log, "--from", moment) == [f"q{n}" for n in range(first, 6)]


@pytest.mark.parametrize("start", ["nowhere", "1:0", "0:x", "-x", ""])
def test_no_such_start(log: Path, start: str) -> None:
    called = call("consume", "--log", log, f"--from={start}")
    assert called.code == 2
    assert called.err.startswith("--from: ")


def test_a_group_goes_on_where_it_stood(log: Path) -> None:
    assert ids("--log", log, "--group", "g") == ["q1", "q2", "q3", "q4", "q5"]
    assert ids("--log", log, "--group", "g") == []
    assert ids("--log", log, "--group", "other", "--from=-1") == ["q5"]
    log_of(log, [answer(6)])
    assert ids("--log", log, "--group", "g") == ["q6"]
    assert ids("--log", log, "--group", "g", "--from", "-2") == ["q5", "q6"]


def test_a_group_is_refused_a_log_that_would_not_remember_it(log: Path, folder: Path) -> None:
    """It was told so by no word, and was given the same answers each time."""
    (folder / "a.jsonl").write_bytes(call("log", "cat", "--log", log).raw)
    assert ids("--log", "jsonl:a.jsonl") == ["q1", "q2", "q3", "q4", "q5"]
    done = call("consume", "--log", "jsonl:a.jsonl", "--group", "g")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("--log: jsonl:a.jsonl can only be read")


@pytest.mark.parametrize("group", ["", " "])
def test_a_group_without_a_name_is_none(log: Path, group: str) -> None:
    """Two that had set no variable took answers from each other."""
    done = call("consume", "--log", log, "--group", group)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("--group: a group has a name")


def test_without_a_group_nothing_is_committed(log: Path) -> None:
    ids("--log", log)
    opened = SqliteLog(log)
    assert opened.db.execute("select count(*) from consumers").fetchone() == (0,)
    opened.close()


def test_for_people(folder: Path) -> None:
    answers = [
        answer(1, answer="4*6\n+0", confidence=0.876, usage={"calls": 12}),
        answer(2, answer=None, status="abstained", usage={}),
        answer(3, confidence=0.95, confidence_source="value", calibrated=0.881),
    ]
    called = call("consume", "--log", log_of(folder / "a.db", answers))
    assert called.lines[2].count("  confidence 0.88 calibrated (claimed 0.95, value)  ") == 1
    assert called.lines[:2] == [
        "q1  answered  4*6 +0  confidence 0.88 claimed  12 calls  cot  answered",
        "q2  abstained  -  confidence unknown  unknown calls  cot  answered",
    ]


STEERING = "\x1b[31m4\x1b]0;pwn\x07\u202e\r9"
SAFE = "␛[31m4␛]0;pwn␇\\u202e␍9"


def test_an_answer_steers_no_terminal(folder: Path) -> None:
    log = log_of(folder / "a.db", [answer(1, answer=STEERING)])
    called = call("consume", "--log", log)
    assert called.raw.decode().startswith(f"q1  answered  {SAFE}  ")
    assert json.loads(call("consume", "--json", "--log", log).raw)["answer"] == STEERING


def test_what_is_no_answer_is_named_and_left_out(folder: Path) -> None:
    log = log_of(
        folder / "a.db",
        [("answers", "x", {}, b"\xff{"), ("answers", "y", {}, b"[]"), answer(1)],
    )
    called = call("consume", "--json", "--log", log)
    assert called.code == 1
    assert [row["problem_id"] for row in called.rows] == ["q1"]
    assert called.err.splitlines()[0] == "answers:0:1: not an answer, left out [answer.unreadable]"


@pytest.mark.parametrize("as_json", [True, False])
def test_what_has_some_fields_of_an_answer_is_none_in_either_form(
    folder: Path, as_json: bool
) -> None:
    """As text a `usage` of 5 was left out, and as JSON it was handed on; a label was one in both."""
    strange = (*JUNK, *WRONG)
    put: list[Message] = [("answers", f"x{n}", {}, value) for n, value in enumerate(strange)]
    log = log_of(folder / "a.db", [*put, answer(1)])
    called = call("consume", *(["--json"] if as_json else []), "--log", log)
    assert (called.code, len(called.lines)) == (1, 1)
    assert called.err.count("[answer.unreadable]") == len(strange)


@pytest.mark.parametrize("more", [{"mood": ["new"]}, {"judgements": [1]}, {"usage": {"pages": 3}}])
def test_an_answer_of_which_a_later_build_says_more_is_one(
    folder: Path, more: dict[str, object]
) -> None:
    """Pages called it unreadable, and who waited for it at a door waited on."""
    topic, key, headers, value = answer(1)
    told = json.dumps(json.loads(value) | more).encode()
    log = log_of(folder / "later.db", [(topic, key, headers, told)])
    called = call("consume", "--json", "--log", log)
    assert (called.code, [row["answer"] for row in called.rows]) == (0, ["1"])
    with reading(log) as opened:
        assert lists.answers(opened, "unreadable", NEWEST, 9) == []
        (found,) = answers_after(opened, 0)
        assert (found[1], found[2].answer) == (key, "1")


def test_no_log(folder: Path) -> None:
    called = call("consume", "--log", "none.db")
    assert called.code == 2
    assert called.err.startswith("--log: no log at none.db [log.missing, exit 2]")
    assert not (folder / "none.db").exists()


def test_follow_hands_on_what_comes_later_until_told_to_stop(log: Path, folder: Path) -> None:
    running = process("consume", "--follow", "--json", "--group", "g", "--log", log, cwd=folder)
    assert running.stdout is not None
    first = [json.loads(running.stdout.readline())["problem_id"] for _ in range(5)]
    assert first == ["q1", "q2", "q3", "q4", "q5"]
    log_of(log, [answer(6)])
    assert json.loads(running.stdout.readline())["problem_id"] == "q6"
    running.send_signal(signal.SIGTERM)
    out, err = running.communicate(timeout=60)
    assert (running.returncode, out, err) == (0, b"", b"")
    assert ids("--log", log, "--group", "g") == []


def test_interrupted(log: Path, folder: Path) -> None:
    running = process("consume", "--follow", "--json", "--log", log, cwd=folder)
    assert running.stdout is not None
    running.stdout.readline()
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert (running.returncode, err) == (130, b"")


def test_a_closed_pipe_is_no_error(folder: Path) -> None:
    log = log_of(folder / "a.db", [answer(number) for number in range(3_000)])
    reading, writing = os.pipe()
    running = subprocess.Popen(
        command("consume", "--json", "--log", log),
        cwd=folder,
        env=environment(),
        stdout=writing,
        stderr=subprocess.PIPE,
    )
    os.close(writing)
    assert os.read(reading, 10)
    os.close(reading)
    _, err = running.communicate(timeout=60)
    assert (running.returncode, err) == (0, b"")
