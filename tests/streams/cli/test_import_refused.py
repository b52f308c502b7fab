"""`metalogue import traces`: what is refused, what is known already, and what of either is kept."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from schemas.events.traces import TraceTaken
from streams.runtime.embedded.log import SqliteLog
from tests.streams.cli.calling import call
from tests.streams.cli.imported import (
    ASSISTANT,
    CASES,
    USER,
    events,
    file,
    spoken,
    taken_in,
    verified,
    with_keys,
    worked,
)
from tests.streams.traces.otlp import chat, export, noted, said, span, text


@pytest.fixture
def log(folder: Path) -> Path:
    return folder / "l.db"


# ── What may not be ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "change",
    [
        "update records set body = json_set(body, '$.answer', '7') where kind = 'trace.taken'",
        "update records set body = json_set(body, '$.problem', 'Why?') where kind = 'trace.taken'",
        "update records set body = json_set(body, '$.steps[0].text', '7') where kind = 'trace.taken'",
        "update records set body = json_set(body, '$.summary.grade', 'B') where kind = 'reflected'",
        "update records set body = json_set(body, '$.outcome', 'right') where kind = 'graded'",
        "delete from records where kind = 'trace.taken'",
        "update messages set value = replace(value, 'false', 'true') where topic = 'feedback'",
    ],
)
def test_a_changed_case_is_found(folder: Path, log: Path, change: str) -> None:
    taken_in(file(folder, CASES[1]), log)
    worked(log)
    assert verified(log).code == 0
    with closing(sqlite3.connect(log)) as db, db:
        db.execute(change)
    assert verified(log).code == 3


@pytest.mark.parametrize("command", [("diff", "{0}", "{0}"), ("fork", "{0}", "--at", "0")])
def test_a_case_is_no_episode_that_could_be_compared(
    folder: Path, log: Path, command: tuple[str, ...]
) -> None:
    taken_in(file(folder, CASES[0]), log)
    with closing(SqliteLog(log)) as opened:
        name = next(record.episode for record in opened.records(kinds=["trace.taken"]))
    model = ("--backbone", "rehearsal") if command[0] == "fork" else ()
    done = call(*(word.format(name) for word in command), *model, "--log", f"sqlite:{log}")
    assert (done.code, f"EPISODE: {name} " in done.err) == (2, True), done.err


def test_a_policy_that_learns_only_from_its_own_work_is_refused(folder: Path, log: Path) -> None:
    done = taken_in(file(folder, *CASES), log, "--policy", "cot")
    assert done.code == 2
    assert "cot learns nothing from traces of other tools" in done.err
    assert "mc2" in done.err
    assert "graph_memory" in done.err
    assert not log.exists()


def test_refused_lines_are_kept_and_can_be_mended(folder: Path, log: Path) -> None:
    bad = spoken((USER, "What is 2 + 2?"), id="x", reward=2)
    done = taken_in(file(folder, CASES[0], bad), log)
    assert (done.code, done.out) == (1, "taken 1 known 0 refused 1 labelled 1\n")
    assert "traces.jsonl:2:1: messages: no reply in it says anything [trace.replies]" in done.err
    listed = call("dlq", "list", "--log", f"sqlite:{log}", "--json").rows
    assert [(each["topic"], each["place"].endswith("traces.jsonl:2")) for each in listed] == [
        ("traces", True)
    ]
    again = call("dlq", "replay", "1", "--log", f"sqlite:{log}")
    assert again.code == 1
    mended = file(
        folder, spoken((USER, "What is 2 + 2?"), (ASSISTANT, "4"), id="x", reward=1), name="m.json"
    )
    done = call("dlq", "replay", "1", "--file", mended, "--log", f"sqlite:{log}")
    assert done.out == "replayed 1 known 0 refused 0\n"
    assert len(events(log, "trace.taken")) == 2
    worked(log)
    assert verified(log).code == 0


def test_a_type_on_the_command_line_is_kept_on_the_cases_and_graded_by(
    folder: Path, log: Path
) -> None:
    """Refused are a reference of another form, also where it is replayed, and the same case with another type."""
    hours = json.dumps({"type": "number", "unit": "h"})
    long = spoken((USER, "How long?"), (ASSISTANT, "90 minutes"), id="a", reference="1.5")
    bad = spoken((USER, "How long is that?"), (ASSISTANT, "1 h"), id="b", reference="an hour or so")
    lines = file(folder, long, bad)
    done = taken_in(lines, log, "--answer-type", hours)
    assert (done.code, done.out) == (1, "taken 1 known 0 refused 1 labelled 1\n")
    assert "traces.jsonl:2:1: reference: " in done.err
    assert "and the answer type is number [input.answer_type]" in done.err
    assert call("dlq", "replay", "1", "--log", f"sqlite:{log}").code == 1
    mended = file(folder, bad | {"reference": "60 minutes"}, name="mended.json")
    replayed = call("dlq", "replay", "1", "--file", mended, "--log", f"sqlite:{log}")
    assert replayed.out == "replayed 1 known 0 refused 0\n"
    taken: list[TraceTaken] = events(log, "trace.taken")
    assert [each.answer_type for each in taken] == [json.loads(hours)] * 2
    worked(log)
    graded = [(each.outcome, each.by) for each in events(log, "graded")]
    assert graded == [("right", "feedback")] * 2
    assert verified(log).code == 0
    again = taken_in(file(folder, long), log)
    assert "answer_type: " in again.err
    assert "is already there with another type of answer [input.duplicate]" in again.err
    assert taken_in(file(folder, long), log, "--answer-type", hours).out.startswith(
        "taken 0 known 1"
    )


def test_a_type_that_nobody_could_answer_by_is_refused(folder: Path, log: Path) -> None:
    done = taken_in(file(folder, *CASES), log, "--answer-type", "numbr")
    assert done.code == 2
    assert "--answer-type: type: Input should be" in done.err
    assert not log.exists()
    done = taken_in(file(folder, CASES[0]), log, "--answer-type", "choice")
    assert "traces.jsonl:1:1: answer_type.options: missing" in done.err


def test_of_a_refused_line_a_log_with_keys_keeps_what_may_be_erased(folder: Path) -> None:
    """Of one that cannot be read that is nothing, and of a subject's what the subject's key opens."""
    log = with_keys(folder)
    secrets = spoken((USER, "What ails Lovelace?"), (ASSISTANT, "gout"), subject="ada@example.org")
    nobody = spoken((USER, "What is 2 + 2?"), id="x")
    lines = (secrets, {**secrets, "messages": 1}, {**secrets, "subject": ["ada@example.org"]})
    elsewhere = {**nobody, "user": {"Sub\u006aect": "ada@example.org"}}
    path = file(folder, *lines, json.dumps(secrets).encode()[:-1], elsewhere, nobody)
    done = taken_in(path, log)
    assert done.out == "taken 0 known 0 refused 6 labelled 0\n"
    assert done.err.count("without its bytes: nobody knows whom they are about") == 3
    assert "subject: what is taken in is of no subject [input.subject]" in done.err
    listed = call("dlq", "list", "--log", f"sqlite:{log}", "--json").rows
    assert [each["kept"] > 0 for each in listed] == [True, True, False, False, False, True]
    for each in (log, *log.parent.iterdir()):
        raw = each.read_bytes()
        assert not any(word in raw for word in (b"Lovelace", b"gout", b"ada@example"))
    options = ("--subject", "ada@example.org", "--erase", "--yes", "--log", f"sqlite:{log}")
    assert call("forget", *options).code == 0
    listed = call("dlq", "list", "--log", f"sqlite:{log}", "--json").rows
    assert "2 + 2" in call("dlq", "show", str(len(listed)), "--log", f"sqlite:{log}").out
    assert verified(log).code == 0


def test_a_name_that_speaks_of_a_subject_is_refused(folder: Path) -> None:
    log = with_keys(folder)
    mark = "subject-0123456789abcdef"
    path = file(folder, {**CASES[0], "problem_id": f"{mark}.q"}, {**CASES[1], "domain": mark})
    done = taken_in(path, log)
    assert f"jsonl:1:1: problem_id: speaks of {mark}, which is no name [input.subject]" in done.err
    assert f"jsonl:2:1: domain: speaks of {mark}" in done.err
    done = taken_in(file(folder, CASES[2]), log, "--memory", mark)
    assert f"memory: speaks of {mark}" in done.err
    assert not events(log, "trace.taken")


def test_a_dry_run_appends_nothing(folder: Path, log: Path) -> None:
    done = taken_in(file(folder, *CASES), log, "--dry-run", "--json")
    assert done.json["taken"] == 3
    assert not log.exists()


def test_one_name_is_one_problem(folder: Path, log: Path) -> None:
    one, two = ({**each, "problem_id": "q"} for each in CASES[:2])
    done = taken_in(file(folder, one, two), log)
    assert "problem_id: 'q' is already taken by another problem text" in done.err
    problem = {"id": "p", "problem": "Quite another?", "domain": "default"}
    call(
        "produce",
        file(folder, problem, name="p.jsonl"),
        "--policy",
        "mc2",
        "--log",
        f"sqlite:{log}",
        "-q",
    )
    worked(log)
    done = taken_in(file(folder, {**CASES[1], "problem_id": "p"}, name="more.jsonl"), log)
    assert "'p' is already taken by another problem text" in done.err
    again = ({"id": "q", "problem": text, "domain": "default"} for text in ("No sums?", "Why?"))
    path = file(folder, *again, {**problem, "id": "n"}, name="again.jsonl")
    done = call("produce", path, "--policy", "mc2", "--log", f"sqlite:{log}")
    assert done.err.count("id: 'q' is already taken by another problem text") == 2
    assert "produced 1 known 0 refused 2" in done.out


def traced(*replies: str, trace: str = "aB", **more: Any) -> bytes:
    """A trace of chats that were exported so far; with an attribute, a verdict on the last of them."""
    asked = said(USER, text("What is 12 * 12?"))
    events = [noted("gen_ai.evaluation.result", more)] if more else []
    spans = (
        span(
            chat([asked], said(ASSISTANT, text(reply))),
            id=f"s{at}",
            trace=trace,
            begun=at,
            events=events,
        )
        for at, reply in enumerate(replies)
    )
    return export(*spans)


def test_a_trace_that_was_taken_in_part_is_never_called_known(folder: Path, log: Path) -> None:
    right = {"gen_ai.evaluation.score.label": "right"}
    assert taken_in(file(folder, traced("Let me see.")), log).code == 0
    whole = file(folder, traced("Let me see.", "144"), name="whole.jsonl")
    done = taken_in(whole, log)
    assert done.out == "taken 0 known 0 refused 1 labelled 0\n"
    assert "traceId: aB was taken with other steps: import a trace once all of it" in done.err
    assert "[input.duplicate]" in done.err
    other = taken_in(file(folder, traced("150", trace="AB", **right), name="other.jsonl"), log)
    assert other.out == "taken 0 known 0 refused 1 labelled 0\n"
    with closing(SqliteLog(log)) as opened:
        assert not list(opened.messages("feedback"))
    same = taken_in(file(folder, traced("Let me see.", trace="Ab"), name="same.jsonl"), log)
    assert same.out == "taken 0 known 1 refused 0 labelled 0\n"
    apart = taken_in(whole, log, "--tool", "whole")
    assert apart.out == "taken 1 known 0 refused 0 labelled 0\n"


def test_tenants_learn_apart(folder: Path, log: Path) -> None:
    for tenant in ("ann", "bob"):
        assert taken_in(file(folder, *CASES), log, "--tenant", tenant).code == 0
    taken: list[TraceTaken] = events(log, "trace.taken")
    assert {each.scope.split("/")[2] for each in taken} == {"ann", "bob"}
    assert all(each.problem_id.startswith(("ann.", "bob.")) for each in taken)


def test_a_set_up_that_does_not_fit_is_refused_before_there_is_a_log(
    folder: Path, log: Path
) -> None:
    path = file(folder, *CASES)
    for options, field in (
        (("--set", "colour=red"), "--set"),
        (("--domain", "a b"), "--domain"),
        (("--policy", "nobody"), "--policy"),
    ):
        done = taken_in(path, log, *options)
        assert (done.code, field in done.err) == (2, True), done.err
    assert call("import", "traces", "game24:1-2", "--log", f"sqlite:{log}").code == 2
    assert call("import", "traces", folder / "none.jsonl", "--log", f"sqlite:{log}").code == 2
    assert not log.exists()
