"""What anybody put on the topics of feedback and answers and nobody can read: no command and no page stops at it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from streams.interfaces.dashboard.app import Dashboard
from streams.interfaces.dashboard.live_log import LiveLog
from streams.research.analysis.cases import references
from streams.runtime.embedded.labels import judgements_of
from streams.runtime.embedded.log import SqliteLog
from streams.support.web.hosts import Hosts
from streams.telemetry.counts import Counts
from tests.streams.cli.calling import call
from tests.streams.cli.learned import change
from tests.streams.test_strays import spoilt

PUT = "insert into messages(topic, key, at_ms, headers, value) values (?, ?, 1, '{}', ?)"
JUNK = (
    b"not json",
    b"[1]",
    b"",
    b"\xff",
    b'{"status": "\xff"}',
    b'{"status": ["answered"]}',
    b'{"problem_id": ["n901"], "reference": 1}',
    b'{"domain": "game24", "problem_id": "n901", "reference": 1000000000000000000000000000000}',
)


WRONG = (
    b'{"status": "answered", "problem_id": "a", "domain": "", "usage": 5}',
    b'{"status": "answered", "problem_id": "a", "domain": "", "usage": {"prompt_tokens": "a", "completion_tokens": 1}}',
    b'{"status": "answered", "problem_id": "a", "domain": "", "answer": {"a": 1}}',
    b'{"status": "answered", "problem_id": "a", "domain": "", "confidence": "high"}',
    # Some fields of an answer: to the pages it was one, and to whoever consumes answers it was none.
    b'{"status": "answered", "problem_id": "a", "domain": "", "answer": "42"}',
)


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A log on whose topics of feedback and answers lies what is neither."""
    path = spoilt(tmp_path / "a.db")
    for topic in ("feedback", "answers"):
        for number, value in enumerate(JUNK):
            change(path, PUT, topic, f"x{number}", value)
    return path


def shown(path: Path) -> TestClient:
    """The pages of a log that has been read to its end."""
    live_log = LiveLog(path)
    while live_log.look() or not live_log.caught_up:
        assert live_log.away is None, live_log.away
    app = Dashboard(live_log, "sqlite:a.db", lambda: SqliteLog(path)).app(Hosts.of("localhost"))
    return TestClient(app, base_url="http://localhost")


def test_commands_pass_over_feedback_and_answers_that_nobody_can_read(foreign: Path) -> None:
    log = ("--log", foreign)
    work = ("worker", "--backbone", "rehearsal:seed=7", "--until-idle", "--no-tables")
    for command in (
        work,
        ("analyse", "--out", foreign.parent / "analysis"),
        ("forget", "--problem", "n901"),
        ("export", "grpo", foreign.parent / "groups.jsonl"),
        ("show",),
        ("log", "stats"),
    ):
        found = call(*command, *log)
        assert found.code == 0, (command, found.err)
    refused = [line for line in call("dlq", "list", *log).lines if "feedback:" in line]
    assert len(refused) == len(JUNK), "each has a dead letter that says why"


def test_labels_are_read_as_the_worker_reads_them(foreign: Path, tmp_path: Path) -> None:
    said = b'{"domain": "default", "problem_id": "eggs", "reference": ["31", "31.0"]}'
    change(foreign, PUT, "feedback", "good", said)
    with closing(SqliteLog(foreign)) as log:
        assert [found for _, found in references(log).values()] == [("31", "31.0")]
        assert judgements_of(log).reference("default", "eggs") == ["31", "31.0"]


def test_figures_count_what_is_no_answer_apart(foreign: Path) -> None:
    with closing(Counts(foreign)) as counts:
        counts.read_all()
        assert counts.answers.pop("unreadable") == len(JUNK)
        assert sum(counts.answers.values()) == counts.figures.closed
        assert counts.lags()["relay"] == 0


def test_a_problem_that_a_worker_refused_is_none_of_those_that_are_to_be_closed(
    foreign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is no problem stood among them for good, and so did no line of a source, which was never put."""
    log = ("--log", foreign)
    for number, value in enumerate(JUNK):
        change(foreign, PUT, "problems", f"x{number}", value)
    # A source's name may begin as the topic's does.
    monkeypatch.chdir(tmp_path)
    Path("problems").mkdir()
    Path("problems/in.jsonl").write_text("{\n")
    assert call("produce", "problems/in.jsonl", *log).code == 1
    work = ("worker", "--backbone", "rehearsal:seed=7", "--until-idle", "--no-tables")
    assert call(*work, *log).code == 0
    with closing(Counts(foreign)) as counts:
        figures = counts.read_all()
        assert figures.total == figures.closed > 0
    assert f"of {figures.closed} problems" in shown(foreign).get("/").text


@pytest.mark.parametrize("wrong", WRONG)
def test_an_answer_with_a_field_of_another_form_stops_neither_pages_nor_consume(
    foreign: Path, wrong: bytes
) -> None:
    """The status is one of ours, and so it was taken for an answer: the first page told of a defect."""
    before = shown(foreign).get("/answers").text.count(">unreadable<")
    change(foreign, PUT, "answers", "wrong", wrong)
    pages = shown(foreign)
    for path in ("/", "/answers", "/answers?status=answered", "/metrics"):
        found = pages.get(path)
        assert found.status_code == 200, (path, found.text)
    assert pages.get("/answers").text.count(">unreadable<") == before + 1 > len(JUNK)
    told = call("consume", "--log", foreign)
    assert (told.code, told.err.count("[answer.unreadable]")) == (1, told.err.count("\n"))


@pytest.mark.parametrize("at_ms", [-1, 10**15 * 2, 10**18])
def test_a_message_of_no_time_or_of_one_that_no_calendar_has_stops_no_page(
    foreign: Path, at_ms: int
) -> None:
    """On Kafka a client may say none, or count it in microseconds: first page, answers and letters were gone."""
    put = PUT.replace(", 1, ", f", {at_ms}, ")
    said = b'{"problem_id":"a","episode":"p/d/a/b","domain":"","policy":"x","status":"answered",'
    more = b'"ended_by":"e","answer":"42","confidence":null,"usage":{}}'
    change(foreign, put, "answers", "p/d/a/b", said + more)
    change(foreign, put, "dead-letters", "z", b"{}")
    pages = shown(foreign)
    for path in ("/", "/answers", "/dead-letters"):
        found = pages.get(path)
        assert found.status_code == 200, (path, found.text)
        assert 'title="unknown">unknown</time>' in found.text
    told = call("dlq", "list", "--log", foreign)
    assert (told.code, "unknown" in told.out) == (0, True)


def test_of_what_is_no_answer_a_page_says_nothing_but_that(foreign: Path) -> None:
    """It was withheld, and by a policy called None."""
    page = shown(foreign).get("/answers").text
    rows = [row for row in page.split("<tr>") if ">unreadable<" in row]
    assert len(rows) == len(JUNK)
    assert all("withheld" not in row and "None" not in row for row in rows)


def test_the_view_of_answers_holds_those_that_are_some(tmp_path: Path) -> None:
    """Whoever reads the log with four lines of Python got `malformed JSON`, and no answer at all."""
    with closing(SqliteLog(tmp_path / "a.db", create=True)) as log:
        for key, value in enumerate((*JUNK, b'{"status": "answered", "answer": "31"}')):
            log.publish([("answers", str(key), {}, value)])
        found = log.db.execute("select answer from answers where status = 'answered'").fetchall()
        assert found == log.db.execute("select answer from answers").fetchall() == [("31",)]


def test_pages_go_on_behind_an_answer_that_nobody_can_read(foreign: Path) -> None:
    pages = shown(foreign)
    for path in ("/", "/episodes", "/episode", "/answers", "/answers?status=answered", "/metrics"):
        found = pages.get(path)
        assert found.status_code == 200, (path, found.text)
    assert pages.get("/answers").text.count(">unreadable<") >= len(JUNK)


def test_what_is_no_answer_has_a_tab_that_counts_what_it_lists(foreign: Path) -> None:
    """It had none; and what has the status of an answer, but is none, was counted and listed among the answered."""
    for number, value in enumerate(WRONG):
        change(foreign, PUT, "answers", f"w{number}", value)
    pages, strange = shown(foreign), len(JUNK) + len(WRONG)
    page = pages.get("/answers?status=unreadable").text
    tab = '<a href="/answers?status=unreadable" aria-current="true">unreadable'
    assert f'{tab} <span class="dim">{strange}</span></a>' in page
    assert page.count("<tr><th") == 1 + page.count(">unreadable<") == 1 + strange
    answered = pages.get("/answers?status=answered").text
    assert ">unreadable<" not in answered
    rows = answered.count("<tr><th") - 1
    assert f'aria-current="true">answered <span class="dim">{rows}</span></a>' in answered
    assert f'metalogue_answers_total{{status="unreadable"}} {strange}' in pages.get("/metrics").text
