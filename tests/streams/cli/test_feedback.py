from __future__ import annotations

import json
from pathlib import Path

import pytest

from schemas.problem import Feedback
from streams.runtime.embedded.log import SqliteLog
from tests.streams.cli.calling import call, log_of

GOOD = [
    {"domain": "math", "problem_id": "q1", "reference": "42", "by": "ada"},
    {"episode": "p/math/q2/run", "verdict": True},
    {"domain": "math", "problem_id": "q3", "score": 0.25, "by": "ada"},
]


def lines(*values: object) -> bytes:
    return "".join(json.dumps(value) + "\n" for value in values).encode()


def on_topic(log: Path, topic: str) -> list[bytes]:
    opened = SqliteLog(log)
    values = [value for _, _, _, value in opened.messages(topic)]
    opened.close()
    return values


def test_judgements_are_published_once(folder: Path) -> None:
    log = log_of(folder / "a.db")
    (folder / "f.jsonl").write_bytes(lines(*GOOD) + b"\n")
    assert call("feedback", "f.jsonl", "--log", log).out == "published 3 known 0 refused 0\n"
    again = call("feedback", "--log", log, "--json", given=lines(*GOOD[::-1]))
    assert (again.code, again.json) == (0, {"published": 0, "known": 3, "refused": 0})
    told = [Feedback.model_validate_json(value) for value in on_topic(log, "feedback")]
    assert [(each.problem_id, each.reference, each.by) for each in told] == [
        ("q1", "42", "ada"),
        (None, None, "unknown"),
        ("q3", None, "ada"),
    ]


BAD = [
    (b'{"domain": "d"', ":15: not JSON: "),
    (b"[1]", ":1: expected an object, found a list [input.type]"),
    (b"\xff", ":1: not UTF-8"),
    (b'{"episode": "e", "verdict": "yes"}', ":18: verdict: Input should be a valid boolean"),
    (b'{"episode": "e", "verdict": true, "colour": 1}', ":35: colour: unknown field"),
    (b'{"episode": "e"}', ":1: give one of reference, verdict, score"),
    (b'{"domain": "d", "reference": "x"}', ":1: name an episode, or a domain and a problem_id"),
    (b'{"episode": "e", "score": 1.5}', ":18: score: Input should be less than or equal to 1"),
    (b'{"episode": "e", "score": NaN}', ":1: not JSON: NaN is no JSON number"),
    (b'{"episode": "e", "reference": 1e999}', ":18: reference"),
    (
        b'{"episode": "e", "reference": 123456789012345678901}',
        ":18: reference: a number of more than 64",
    ),
    (b'{"episode": "e", "reference": ["\\ud800"]}', ":18: reference: "),
]


@pytest.mark.parametrize(("raw", "message"), BAD)
def test_a_bad_line_is_named_and_kept(folder: Path, raw: bytes, message: str) -> None:
    log = log_of(folder / "a.db")
    (folder / "f.jsonl").write_bytes(lines(GOOD[0]) + raw + b"\r\n" + lines(GOOD[1]))
    called = call("feedback", "f.jsonl", "--log", log)
    assert called.code == 1
    assert called.out == "published 2 known 0 refused 1\n"
    assert called.err.startswith(f"f.jsonl:2{message}")
    assert "Kept as dead letter 1, bytes unchanged." in called.err
    assert on_topic(log, "dead-letters") == [raw]


def test_the_same_bad_line_is_one_dead_letter(folder: Path) -> None:
    log = log_of(folder / "a.db")
    for _ in range(2):
        called = call("feedback", "--log", log, given=b"{}\nx\n")
        assert "dead letter 1," in called.err
        assert "dead letter 2," in called.err
    assert on_topic(log, "dead-letters") == [b"{}", b"x"]


def test_errors_for_scripts(folder: Path) -> None:
    called = call("feedback", "--json", "--log", log_of(folder / "a.db"), given=b"x\n")
    error = json.loads(called.err)
    assert (error["error"], error["where"], error["exit"]) == ("input.json", "-:1:1", 1)
    assert called.json == {"published": 0, "known": 0, "refused": 1}


def test_nothing_to_read(folder: Path) -> None:
    log = log_of(folder / "a.db")
    for name in ("absent.jsonl", "game24"):
        called = call("feedback", name, "--log", log)
        assert called.code == 2
        assert "No such file" in called.err or "no such file" in called.err
    assert call("feedback", "--log", "none.db", given=b"").code == 2


def test_a_name_that_nothing_bears_is_told(folder: Path) -> None:
    """It may be that of an episode to come, so the judgement is kept; a misspelt one is seen."""
    log = log_of(folder / "a.db")
    told = call("feedback", "--log", log, given=lines(*GOOD))
    assert (told.code, told.out) == (0, "published 3 known 0 refused 0\n")
    assert "1 of the episodes that are named are not on this log: p/math/q2/run" in told.err
    assert "of the problems that are named are not on this log: " in told.err
    assert call("produce", "game24:901-901", "--log", log).code == 0
    known = {"domain": "game24", "problem_id": "n901", "verdict": True}
    assert "not on this log" not in call("feedback", "--log", log, given=lines(known)).err


def test_a_mind_may_be_changed_back(folder: Path) -> None:
    log = log_of(folder / "a.db")
    yes, no = ({"episode": "e", "verdict": each, "by": "ada"} for each in (True, False))
    for each in (yes, no):
        assert "published 1" in call("feedback", "--log", log, given=lines(each)).out
    again = call("feedback", "--log", log, given=lines(yes, no))
    assert again.out == "published 0 known 2 refused 0\n"
    assert "1 known, and a later verdict on the same answer stands." in again.err
    anew = call("feedback", "--log", log, given=lines(yes | {"at": "2026-01-31T12:00Z"}))
    assert (anew.out, "later verdict" in anew.err) == ("published 1 known 0 refused 0\n", False)
    assert Feedback.model_validate_json(on_topic(log, "feedback")[-1]).verdict is True
