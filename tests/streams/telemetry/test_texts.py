"""Texts along with the spans: only where they were asked for, and those that the model was really given."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from schemas.events.episode import Completed
from streams.interfaces.cli.errors import USAGE
from streams.interfaces.cli.show.moment import moment
from streams.producing.sources import SourceLine
from streams.producing.traces.case import Label
from streams.producing.traces.reading import Reading
from streams.runtime.embedded.log import SqliteLog
from streams.telemetry import texts as told
from streams.telemetry.otlp import Export
from streams.telemetry.spans import Span
from streams.telemetry.texts import Texts
from streams.views.sheet import read
from tests.streams.cli.calling import call, copied
from tests.streams.telemetry.collector import attributes, collecting
from tests.streams.telemetry.test_spans import OFFICIAL
from tests.streams.traces import otlp

TEXTS = {
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.system_instructions",
    "gen_ai.tool.call.result",
}


def sent(path: Path, *, texts: bool) -> list[Span]:
    """The spans of a log."""
    found: list[Span] = []

    def take(spans: Any) -> bool:
        found.extend(spans)
        return True

    with closing(SqliteLog(path)) as log:
        export = Export(log, take, "http://here", Texts(log) if texts else None)
        while export.step():
            pass
    return found


def test_nothing_of_them_leaves_unless_it_is_asked_for(worked: Path, tmp_path: Path) -> None:
    assert TEXTS <= OFFICIAL
    for span in sent(copied(worked, tmp_path / "a.db"), texts=False):
        assert not TEXTS & span.attributes.keys()


def test_each_call_has_the_prompt_that_its_record_was_made_of(worked: Path, tmp_path: Path) -> None:
    path = copied(worked, tmp_path / "a.db")
    spans = {
        (str(span.attributes["gen_ai.conversation.id"]), str(span.attributes["metalogue.at"])): span
        for span in sent(path, texts=True)
        if span.name.startswith("chat")
    }
    asked = 0
    with closing(SqliteLog(path)) as log:
        for record in log.records(kinds=["completed"]):
            assert isinstance(record.event, Completed)
            said = spans[record.episode, record.address].attributes
            (reply,) = json.loads(str(said["gen_ai.output.messages"]))
            assert reply["parts"] == [{"type": "text", "content": record.event.text}]
            if not record.episode.startswith("p/"):
                assert "gen_ai.input.messages" not in said, "prompts of learning are not derived"
                continue
            asked += 1
            if asked % 40 == 1:
                question: Any = moment(log, read(log, record.episode), record.address).question
                system = [text for who, text in question.messages() if who == "system"]
                rest = [text for who, text in question.messages() if who != "system"]
                shown = json.loads(str(said["gen_ai.input.messages"]))
                assert [each["parts"][0]["content"] for each in shown] == rest
                instructions = json.loads(str(said.get("gen_ai.system_instructions", "[]")))
                assert [each["content"] for each in instructions] == system
            assert "gen_ai.input.messages" in said
    assert asked > 100


def test_the_episode_has_its_problem_and_its_answer(worked: Path, tmp_path: Path) -> None:
    path = copied(worked, tmp_path / "a.db")
    roots = [each for each in sent(path, texts=True) if each.name.startswith("invoke_agent")]
    with closing(SqliteLog(path)) as log:
        for span in roots:
            episode = str(span.attributes["gen_ai.conversation.id"])
            if not episode.startswith("p/"):
                continue
            sheet = read(log, episode)
            assert sheet.admitted is not None
            assert sheet.closed is not None
            (problem,) = json.loads(str(span.attributes["gen_ai.input.messages"]))
            assert problem["parts"][0]["content"] == sheet.admitted.problem.problem
            if sheet.closed.answer is not None:
                (answer,) = json.loads(str(span.attributes["gen_ai.output.messages"]))
                assert answer["parts"][0]["content"] == sheet.closed.answer


def test_problems_come_back_under_their_ids_as_attempts_of_the_reasoner(
    worked: Path, tmp_path: Path
) -> None:
    """What our own spans say is read again: ids, domains, answers, outcomes; no word of a Monitor, and no learning."""
    path = copied(worked, tmp_path / "a.db")
    lines = [
        otlp.export(
            otlp.span(
                {
                    name: [*each] if isinstance(each, tuple) else each
                    for name, each in span.attributes.items()
                },
                trace=f"{span.trace:032x}",
                id=f"{span.id:016x}",
                begun=span.start_ms,
                events=[otlp.noted(each.name, each.attributes, each.at_ms) for each in span.noted],
            )
        )
        for span in sent(path, texts=True)
    ]
    reading = Reading()
    reading.take(SourceLine(number, line) for number, line in enumerate(lines, 1))
    assert not reading.refused
    with closing(SqliteLog(path)) as log:
        sheets = [read(log, each.episode) for each in log.records(kinds=["episode.closed"])]
        found = {each.problem_id: each for each in reading.cases}
        problems = [each for each in sheets if each.admitted is not None]
        assert len(found) == len(problems) == len(reading.cases)
        for sheet in problems:
            assert sheet.admitted is not None
            assert sheet.closed is not None
            case = found[sheet.admitted.problem.id]
            assert (case.domain, case.answer) == ("game24", sheet.closed.answer)
            said = [
                each.text.strip()
                for each in sheet.journal.values()
                if isinstance(each, Completed) and each.asked.split(" ")[1] == "reasoner"
            ]
            assert [step.text for step in case.steps] == [text for text in said if text]
    assert {case.label for case in found.values()} == {Label(verdict=True), Label(verdict=False)}


def test_a_policy_that_is_another_now_leaves_the_replies(
    worked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object) -> Any:
        raise LookupError("not here")

    monkeypatch.setattr(told, "find_recorded", gone)
    chats = [
        each
        for each in sent(copied(worked, tmp_path / "a.db"), texts=True)
        if each.name.startswith("chat")
    ]
    assert chats
    for span in chats:
        assert "gen_ai.output.messages" in span.attributes
        assert "gen_ai.input.messages" not in span.attributes


def test_a_worker_sends_them_on_request_and_a_long_text_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(told, "TEXT_CHARS", 20)
    path = tmp_path / "a.db"
    assert call("produce", "game24:901-902", "--policy", "cot", "--log", path).code == 0
    work = ("worker", "--backbone", "rehearsal:seed=7", "--until-idle", "--no-tables")
    with collecting() as collector:
        done = call(*work, "--log", path, "--otlp", collector.url, "--otlp-text")
        assert done.code == 0
    said = [attributes(span) for span in collector.spans if span.name.startswith("chat")]
    assert said
    for each in said:
        (message,) = json.loads(each["gen_ai.input.messages"])
        assert len(message["parts"][0]["content"]) == 21


def test_texts_go_nowhere_without_a_collector(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    call("produce", "game24:901-901", "--policy", "cot", "--log", path)
    done = call("worker", "--backbone", "rehearsal", "--until-idle", "--otlp-text", "--log", path)
    assert done.code == USAGE
    assert "--otlp-text" in done.err
