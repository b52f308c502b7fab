from __future__ import annotations

import json
import re
from contextlib import closing
from pathlib import Path

import pytest

from schemas.problem import Problem
from streams.runtime.embedded.log import SqliteLog
from tests.memory_kafka.fixture import in_memory
from tests.streams.cli.calling import call

GOOD = '{"id":"a","problem":"4 5 6 10","domain":"game24"}'
BAD = '{"id":"b","problm":"1 2 3 5","domain":"game24"}'
MENDED = '{"id":"b","problem":"1 2 3 5","domain":"game24"}'


@pytest.fixture
def log(folder: Path) -> Path:
    """A log with one problem of a series, and one line that was refused."""
    (folder / "in.jsonl").write_text(f"{GOOD}\n{BAD}\n")
    called = call("produce", "in.jsonl", "--policy", "cot", "--log", "a.db")
    assert called.code == 1
    return folder / "a.db"


def work(log: Path, *more: str) -> int:
    return call("worker", "--backbone", "rehearsal", "--until-idle", "-q", "--log", log, *more).code


def answered(log: Path) -> list[str]:
    rows = call("consume", "--json", "--log", log).rows
    return sorted(row["problem_id"] for row in rows)


def test_list_and_show(log: Path) -> None:
    listed = call("dlq", "list", "--json", "--log", log).rows
    assert [(row["number"], row["place"], row["reason"]) for row in listed] == [
        (1, "in.jsonl:2", "problem: is missing")
    ]
    assert "refused   in.jsonl:2: problem: is missing" in call("dlq", "list", "--log", log).out
    assert call("dlq", "show", 1, "--raw", "--log", log).raw == BAD.encode()
    told = call("dlq", "show", 1, "--json", "--log", log).json
    assert told["value"] == BAD
    assert told["headers"]["__metalogue.errors.offset"] == 2
    shown = call("dlq", "show", 1, "--log", log).out
    assert BAD in shown
    assert f"metalogue dlq replay 1 --file mended.json --log {log}" in shown


def test_unmended_it_stays(log: Path) -> None:
    called = call("dlq", "replay", 1, "--log", log)
    assert (called.code, called.out) == (1, "replayed 0 known 0 refused 1\n")
    assert called.err.startswith("dead letter 1:1:1: problem: is missing [input.field]")
    assert "refused" in call("dlq", "list", "--log", log).out


def test_a_mended_line_joins_its_series_late(log: Path, folder: Path) -> None:
    (folder / "mended.json").write_text(MENDED + "\n")
    called = call("dlq", "replay", 1, "--file", "mended.json", "--log", log)
    assert (called.code, called.out) == (0, "replayed 1 known 0 refused 0\n")
    assert work(log) == 0
    assert answered(log) == ["a", "b"]
    assert "replayed  in.jsonl:2" in call("dlq", "list", "--log", log).out
    again = call("dlq", "replay", 1, "--file", "mended.json", "--json", "--log", log)
    assert again.json == {"replayed": 0, "known": 1, "refused": 0}
    every = call("dlq", "replay", "--all", "--json", "--log", log)
    assert every.json == {"replayed": 0, "known": 0, "refused": 0}


def test_a_mended_line_is_the_episode_that_the_source_would_have_made(
    log: Path, folder: Path
) -> None:
    call("dlq", "replay", 1, "--file", "-", "--log", log, given=MENDED.encode())
    (folder / "in.jsonl").write_text(f"{GOOD}\n{MENDED}\n")
    called = call("produce", "in.jsonl", "--policy", "cot", "--log", log, "--json")
    assert called.json["known"] == 2


def test_on_kafka_too_a_letter_has_one_number(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over several partitions the list is in another order than the lines."""
    lines = [f"[{number}]" for number in range(8)]
    (folder / "in.jsonl").write_text("\n".join(lines) + "\n")
    monkeypatch.setenv("METALOGUE_HOME", str(folder / "home"))
    with in_memory(partitions=4) as (place, _):
        said = call("produce", "in.jsonl", "--policy", "cot", "--log", place.url).err
        listed = call("dlq", "list", "--json", "--log", place.url).rows
    told = re.findall(r"(in.jsonl:\d):1: .*\n  Kept as dead letter (\d),", said)
    assert sorted(told) == sorted((row["place"], str(row["number"])) for row in listed)
    assert len(told) == len(lines)


def test_a_refused_message_names_the_field_in_one_line(folder: Path) -> None:
    """Of a problem as of feedback."""
    log = SqliteLog(folder / "a.db", create=True)
    huge = Problem(id="h", problem="1", domain="d", settings={"k": 1}).model_dump_json()
    log.publish(
        [
            ("problems", "huge", {}, huge.replace('{"k":1}', '{"k":1' + "0" * 30 + "}").encode()),
            ("feedback", "odd", {}, b'{"domain":"d","problem_id":"h","verdict":"maybe"}'),
        ]
    )
    log.close()
    work(folder / "a.db")
    rows = call("dlq", "list", "--json", "--log", "a.db").rows
    reasons = {row["topic"]: row["reason"] for row in rows}
    assert reasons["problems"].startswith("settings: ")
    assert reasons["feedback"].startswith("verdict: ")
    assert not any("\n" in each or "http" in each for each in reasons.values())


def test_a_client_s_message_is_replayed_as_it_was(folder: Path) -> None:
    """A message for a policy that was not there yet, and feedback that made no sense."""
    log = SqliteLog(folder / "a.db", create=True)
    problem = {"id": "q", "problem": "1 2 3 4", "domain": "game24", "policy": "mine.py:MINE"}
    log.publish(
        [
            ("problems", "foreign-1", {"from": "client"}, json.dumps(problem).encode()),
            ("feedback", "foreign-2", {}, b'{"verdict": true}'),
        ]
    )
    log.close()
    assert work(folder / "a.db") == 0
    listed = call("dlq", "list", "--json", "--log", "a.db").rows
    assert [row["topic"] for row in listed] == ["problems", "feedback"]
    assert call("dlq", "show", 1, "--json", "--log", "a.db").json["headers"]["from"] == "client"
    own = "from handlers.policies.baselines.chain import COT as MINE\n"
    (folder / "mine.py").write_text(own)
    assert call("dlq", "replay", 1, "--log", "a.db").out == "replayed 1 known 0 refused 0\n"
    mended = b'{"domain": "game24", "problem_id": "q", "verdict": true}'
    called = call("dlq", "replay", 2, "--file", "-", "--log", "a.db", given=mended)
    assert called.out == "replayed 1 known 0 refused 0\n"
    assert work(folder / "a.db", "--policy", "cot", "--policy", "mine.py:MINE") == 0
    assert answered(folder / "a.db") == ["q"]
    with closing(SqliteLog(folder / "a.db")) as log:
        ((_, _, headers, _),) = log.messages("answers")
    assert headers == {"from": "client"}, (
        "its application finds it by that, and not why it was refused"
    )
    stats = call("log", "stats", "--json", "--log", "a.db").json
    assert stats["dead_letters"] == 2


def test_what_was_refused_for_its_headers_goes_on_without_them(folder: Path) -> None:
    """Nobody can mend them, and with them it would be refused again."""
    with closing(SqliteLog(folder / "a.db", create=True)) as log:
        said = json.dumps({"id": "q", "problem": "1 2 3 4", "domain": "game24"}).encode()
        log.publish([("problems", "foreign-1", {"note": "x" * 9_000}, said)])
    assert work(folder / "a.db") == 0
    sent = call("dlq", "replay", 1, "--log", "a.db")
    assert sent.out == "replayed 1 known 0 refused 0\n"
    assert "sent on without its headers" in sent.err
    assert work(folder / "a.db") == 0
    assert answered(folder / "a.db") == ["q"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("show", "7"), "N: no dead letter 7; there are 1 [dlq.missing, exit 2]"),
        (("replay", "0"), "N: no dead letter 0; there are 1 [dlq.missing, exit 2]"),
        (("replay",), "N: give one number, or --all without --file"),
        (("replay", "1", "--all"), "N: give one number, or --all without --file"),
        (("replay", "1", "--file", "absent"), "--file: absent: No such file"),
    ],
)
def test_wrong_command_lines(log: Path, arguments: tuple[str, ...], message: str) -> None:
    called = call("dlq", *arguments, "--log", log)
    assert called.code == 2
    assert called.err.startswith(message)
