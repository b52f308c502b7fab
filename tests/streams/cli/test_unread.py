"""An episode in which no judgement could be read says so, wherever its answer is told."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from schemas.answer import Judgements
from schemas.events.base import Event
from schemas.events.reasoning import ControllerActed, MonitorReported
from schemas.events.search import ConfidenceStated, OracleScored
from schemas.events.strategy import RewardJudged
from streams.core.judgements import judgements, words
from streams.runtime.embedded.log import SqliteLog
from tests.endpoint import Answer, Asked, serving, whole
from tests.streams.cli.calling import Called, answer, call, log_of
from tests.streams.cli.learned import change

POLICY = ("--policy", "mc2", "--call-limit", 40)
SOLVE = ("solve", "What is 2 + 3?", *POLICY, "--backbone", "openai:check")


def no_judge(asked: Asked) -> Answer:
    """Whoever is asked solves the problem: no Monitor or Controller can be heard in it."""
    return whole("Final_answer: 5")


@pytest.fixture
def solved(folder: Path) -> Generator[Called]:
    with serving(no_judge) as endpoint:
        yield call(*SOLVE, "--base-url", endpoint.url, "--log", "a.db")


SAID = "no judgement could be read ("


def test_solve_says_so(solved: Called) -> None:
    assert (solved.code, solved.out) == (0, "5\n"), solved.err
    assert SAID in solved.err
    again = call(*SOLVE, "--base-url", "http://127.0.0.1:1", "--log", "a.db", "--json")
    judged = again.json["judgements"]
    assert (judged["read"], judged["unread"] > 1) == (0, True)


@pytest.mark.usefixtures("solved")
def test_show_and_consume_say_so() -> None:
    assert SAID in call("show", "--log", "a.db").out
    said = call("show", "--log", "a.db", "--json").json["judgements"]
    (line,) = call("consume", "--log", "a.db").lines
    assert SAID in line
    assert call("consume", "--log", "a.db", "--json").json["judgements"] == said


def test_the_record_bears_it_out(folder: Path) -> None:
    line = b'{"id": "q", "problem": "What is 2 + 3?"}'
    assert call("produce", "-", *POLICY, "--log", "a.db", given=line).code == 0
    with serving(no_judge) as endpoint:
        at = ("--backbone", "openai:check", "--base-url", endpoint.url, "--no-tables")
        assert call("worker", *at, "--until-idle", "--log", "a.db").code == 0
    assert call("verify", "--log", "a.db").code == 0
    without = "update messages set value = cast(json_remove(value, '$.judgements') as blob)"
    change(Path("a.db"), f"{without} where topic = 'answers'")
    assert call("verify", "--log", "a.db").code == 0, "an earlier build did not say it"
    forged = """update messages set value = cast(json_insert(value, '$.judgements',
        json('{"read":2,"unread":1}')) as blob) where topic = 'answers'"""
    change(Path("a.db"), forged)
    assert call("verify", "--log", "a.db").code == 3


READ: list[tuple[Event, bool]] = [
    (MonitorReported(round=0, flag="NO", source="1"), True),
    (MonitorReported(round=0, flag="NO", source="1", parse="reparsed"), True),
    (MonitorReported(round=0, source="1", parse="fallback"), False),
    (MonitorReported(round=0, source="1"), False),
    (ControllerActed(round=0, action="accept", source="1", parse="fallback"), False),
    (ControllerActed(round=0, action="accept", source="1"), True),
    (OracleScored(node="1", steps=(), rewards=(), source="1", parse="recovered"), True),
    (OracleScored(node="1", steps=(), rewards=(), source="1", parse="defaulted"), False),
    (ConfidenceStated(node="1", source="1", parse="defaulted"), False),
    (RewardJudged(round=0, steps=1, source="1", parse="fallback"), False),
]


@pytest.mark.parametrize(("fact", "read"), READ)
def test_a_fact_tells_whether_its_reply_could_be_read(fact: Event, read: bool) -> None:
    assert judgements([fact]) == Judgements(read=int(read), unread=int(not read))


@pytest.mark.parametrize(
    ("read", "unread", "said"),
    [
        (0, 0, ""),
        (3, 0, ""),
        (0, 1, "no judgement could be read"),
        (0, 4, "no judgement could be read (4 replies)"),
        (2, 1, "1 of 3 judgements could not be read"),
    ],
)
def test_in_words(read: int, unread: int, said: str) -> None:
    assert words(Judgements(read=read, unread=unread)) == said


@pytest.mark.parametrize("said", ["many", {"read": "few"}, {"unread": -1}])
def test_a_foreign_word_on_it_breaks_nothing(folder: Path, said: Any) -> None:
    log = log_of(folder / "a.db", [answer(1, judgements=said)])
    with closing(SqliteLog(log)) as opened:
        assert len(list(opened.messages("answers"))) == 1
    assert call("consume", "--log", log).lines[0].startswith("q1  answered")
