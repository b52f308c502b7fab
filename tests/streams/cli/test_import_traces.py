"""`metalogue import traces`: other tools' work becomes lessons and paths, and stays theirs."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from schemas.events.graph import PathGrounded
from schemas.events.learning import LessonDistilled
from schemas.events.traces import TraceTaken
from streams.interfaces.cli.finding import find_episode
from streams.runtime.embedded.log import SqliteLog
from tests.streams.cli.calling import Called, call
from tests.streams.dashboard.serving import serving
from tests.streams.traces.otlp import chat, export, noted, said, span, text

USER, ASSISTANT, TOOL = "user", "assistant", "tool"


def spoken(*pairs: tuple[str, str], **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": role, "content": content} for role, content in pairs], **more}


CASES = [
    spoken((USER, "What is 12 * 12?"), (ASSISTANT, "144"), id="t1", reference="144", model="gpt-4"),
    spoken((USER, "Capital of Australia?"), (ASSISTANT, "Sydney"), id="t2", label="wrong"),
    spoken((USER, "Nobody judged this?"), (ASSISTANT, "yes"), id="t3"),
]


def looked_up(found: str, answer: str, *, id: str, right: bool) -> dict[str, Any]:
    """An agent that calls a tool once."""
    call = {"id": "c", "function": {"name": "search", "arguments": '{"query": "capital"}'}}
    messages = [
        {"role": USER, "content": "Capital of Australia?"},
        {"role": ASSISTANT, "content": None, "tool_calls": [call]},
        {"role": TOOL, "tool_call_id": "c", "content": found},
        {"role": ASSISTANT, "content": answer},
    ]
    return {"messages": messages, "id": id, "verdict": right}


def file(folder: Path, *lines: dict[str, Any] | bytes, name: str = "traces.jsonl") -> Path:
    raw = (each if isinstance(each, bytes) else json.dumps(each).encode() for each in lines)
    path = folder / name
    path.write_bytes(b"\n".join(raw) + b"\n")
    return path


def taken_in(path: Path, log: Path, *options: str) -> Called:
    return call("import", "traces", path, "--log", f"sqlite:{log}", *options)


def worked(log: Path, *options: str) -> None:
    end = ("--until-idle", "--settle", "--no-tables", "-q")
    done = call("worker", "--log", f"sqlite:{log}", "--backbone", "rehearsal", *end, *options)
    assert done.code == 0, done.err


def verified(log: Path, *more: str) -> Called:
    return call("verify", *more, "--log", f"sqlite:{log}")


def events(log: Path, *kinds: str) -> list[Any]:
    with closing(SqliteLog(log)) as opened:
        return [record.event for record in opened.records(kinds=kinds)]


def with_keys(folder: Path) -> Path:
    """A log that was begun with keys."""
    for name in ("keys", "log"):
        (folder / name).mkdir()
    log = folder / "log" / "l.db"
    problem = file(folder, {"id": "p", "problem": "Why?"}, name="p.jsonl")
    call("produce", problem, "--log", f"sqlite:{log}", "--keys", folder / "keys" / "l", "-q")
    return log


@pytest.fixture
def log(folder: Path) -> Path:
    return folder / "l.db"


# ── Learning ─────────────────────────────────────────────────────────────────────────────────


def test_mc2_learns_from_what_somebody_judged(folder: Path, log: Path) -> None:
    done = taken_in(file(folder, *CASES), log, "--policy", "mc2", "--domain", "qa")
    assert (done.code, done.out) == (0, "taken 3 known 0 refused 0 labelled 2\n")
    assert "1 without a verdict" in done.err
    assert "Give it before a worker learns from them" in done.err
    worked(log)
    lessons: list[LessonDistilled] = events(log, "lesson.distilled")
    assert [(each.role, each.polarity) for each in lessons] == [
        ("reasoner", "do"),
        ("reasoner", "avoid"),
    ]
    (closed,) = events(log, "batch.closed")
    assert closed.outcomes == ("right", "wrong", "unknown")
    found = verified(log)
    assert found.code == 0, found.err
    assert "0 model calls" in found.out
    rebuilt = call("rebuild", "--log", f"sqlite:{log}").lines[-1]
    assert call("state", "hash", "--log", f"sqlite:{log}").out.strip() == rebuilt


def test_the_distiller_is_told_whose_attempt_it_was(folder: Path, log: Path) -> None:
    taken_in(file(folder, CASES[1]), log, "--domain", "qa")
    worked(log)
    (closed,) = events(log, "batch.closed")
    episode = f"b/{closed.scope}/1"
    shown = call("show", episode, "--at", "0.0.0", "--log", f"sqlite:{log}").out
    assert "attempt of another assistant was judged wrong" in " ".join(shown.split())
    assert "Sydney" in shown


def test_problems_of_a_file_that_is_produced_next_are_guided(folder: Path, log: Path) -> None:
    taken_in(file(folder, CASES[0]), log, "--domain", "qa")
    asked = [{"id": f"q{n}", "problem": f"What is 12 * 1{n}?", "domain": "qa"} for n in range(2)]
    problems = file(folder, *asked, name="problems.jsonl")
    call("produce", problems, "--policy", "mc2", "--log", f"sqlite:{log}", "-q")
    worked(log)
    assert [each.memory_version for each in events(log, "episode.opened")] == [1, 1]
    assert call("log", "stats", "--log", f"sqlite:{log}", "--json").json["problems"] == 2
    told = call("analyse", "--log", f"sqlite:{log}", "--json").json
    assert json.dumps(told).count("taken-") == 0
    assert verified(log).code == 0


def test_graph_memory_grows_by_paths_and_runs_nothing_of_its_own(folder: Path, log: Path) -> None:
    right = looked_up("Canberra is the capital.", "Canberra", id="a", right=True)
    wrong = looked_up("", "Sydney", id="b", right=False)
    options = ("--policy", "graph_memory", "--domain", "qa", "--set", "base=tool_reasoning")
    assert taken_in(file(folder, right, wrong), log, *options).code == 0
    worked(log)
    paths: list[PathGrounded] = events(log, "path.grounded")
    assert [each.outcome for each in paths] == ["right", "wrong"]
    assert len({each.path for each in paths}) == 2
    assert all("/taken-" in each.source for each in paths)
    asked = {each.asked.split(" ")[1] for each in events(log, "completed")}
    assert asked == {"inducer"}
    assert verified(log).code == 0


def test_chats_without_tools_have_one_path_and_that_is_said(folder: Path, log: Path) -> None:
    path, options = file(folder, *CASES), ("--policy", "graph_memory", "--domain", "qa")
    done = taken_in(path, log, *options)
    assert "all 3 have one path, GS IR AN: it cannot tell right from wrong." in done.err
    by_model = taken_in(path, log, *options, "--set", "grounding=model")
    assert (by_model.code, "one path" in by_model.err) == (0, False)


def test_our_own_spans_come_back_as_cases(folder: Path, log: Path) -> None:
    root = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.input.messages": json.dumps([said(USER, text("What is 12 * 12?"))]),
        "gen_ai.output.messages": json.dumps(
            [{**said(ASSISTANT, text("144")), "finish_reason": "answered"}]
        ),
    }
    spans = export(
        span(root, id="r"),
        span(
            chat([said(USER, text("### Problem\nWhat is 12 * 12?"))], said(ASSISTANT, text("144"))),
            id="a",
            parent="r",
            begun=2,
        ),
        service="metalogue",
    )
    assert taken_in(file(folder, spans), log).out == "taken 1 known 0 refused 0 labelled 0\n"
    (taken,) = events(log, "trace.taken")
    assert (taken.problem, taken.answer, taken.tool) == ("What is 12 * 12?", "144", "metalogue")


# ── What is on record of them ────────────────────────────────────────────────────────────────


def test_a_case_is_shown_with_its_provenance(folder: Path, log: Path) -> None:
    taken_in(
        file(folder, looked_up("Canberra", "Canberra", id="a", right=True)), log, "--tool", "bot"
    )
    worked(log)
    url = f"sqlite:{log}"
    with closing(SqliteLog(log)) as opened:
        name = next(record.episode for record in opened.records(kinds=["trace.taken"]))
        assert find_episode(opened, name[:30]) == name
    shown = call("show", name, "--log", url)
    for words in (
        "taken from bot",
        "trace a",
        "traces.jsonl",
        "calls search with",
        "no work of ours",
    ):
        assert words in shown.out
    assert call("show", told_id(name), "--log", url).out == shown.out
    assert "right by bot" in shown.out or "right" in shown.out
    told = call("show", name, "--log", url, "--json").json
    assert (told["tool"], told["trace"], told["outcome"]) == ("bot", "a", "right")
    assert told["steps"][0] == {
        "by": "tool",
        "tool": "search",
        "asked": '{"query": "capital"}',
        "text": "Canberra",
    }
    assert name in call("lessons", "show", "L1.R1", "--log", url).out


def test_a_verdict_may_come_later_than_its_case(folder: Path, log: Path) -> None:
    """A worker learns by those that are there; what comes after it is the outcome, and teaches nothing."""
    taken_in(file(folder, CASES[2]), log)
    with closing(SqliteLog(log)) as opened:
        name = next(record.episode for record in opened.records(kinds=["trace.taken"]))
    word = json.dumps({"episode": name, "verdict": True, "by": "ann"}).encode()
    done = call("feedback", "--log", f"sqlite:{log}", given=word)
    assert (done.out, done.err) == ("published 1 known 0 refused 0\n", "")
    worked(log)
    (closed,) = events(log, "batch.closed")
    assert closed.outcomes == ("right",)
    assert len(events(log, "lesson.distilled")) == 1
    late = json.dumps({"episode": name, "verdict": False, "by": "ann"}).encode()
    call("feedback", "--log", f"sqlite:{log}", given=late)
    worked(log)
    assert len(events(log, "batch.closed")) == len(events(log, "lesson.distilled")) == 1
    assert call("show", name, "--log", f"sqlite:{log}", "--json").json["outcome"] == "wrong"
    assert verified(log).code == 0


def test_a_forgotten_problem_takes_its_traces_along(folder: Path, log: Path) -> None:
    taken_in(file(folder, *({**each, "problem_id": f"q{n}"} for n, each in enumerate(CASES))), log)
    worked(log)
    options = ("--backbone", "rehearsal", "--log", f"sqlite:{log}")
    done = call("forget", "--problem", "q0", "--yes", *options)
    assert done.code == 0, done.err
    listed = call("lessons", "list", "--log", f"sqlite:{log}").out
    assert "L1.R1" not in listed
    assert "L1.R2" in listed
    assert verified(log).code == 0


def test_evidence_names_the_tool_that_a_lesson_came_from(folder: Path, log: Path) -> None:
    values = ("--set", "relevance_floor=null")
    taken_in(file(folder, CASES[0]), log, "--domain", "qa", "--tool", "bot", *values)
    problem = {"id": "q1", "problem": "What is 12 * 13?", "domain": "qa"}
    problems = file(folder, problem, name="problems.jsonl")
    call("produce", problems, "--policy", "mc2", "--log", f"sqlite:{log}", "-q", *values)
    worked(log)
    out = folder / "e.zip"
    done = call("export", "evidence", "q1", "--out", out, "--log", f"sqlite:{log}")
    assert done.code == 0, done.err
    manifest = json.loads(out.read_bytes().partition(b"\n")[0])
    (item,) = [each for each in manifest["memory"]["items"] if each["kind"] == "lesson"]
    (told,) = item["taken"].values()
    assert told == {"tool": "bot", "trace": "t1", "source": str(folder / "traces.jsonl")}
    found = call("verify", out)
    assert found.code == 0, found.err


NOBODY = """
from handlers.answers.own import Given, Grader

nobody = Grader(name="nobody", version="1", grade=lambda given: False)
"""


@pytest.mark.parametrize("profile", ["service", "paper"])
def test_a_regrade_takes_along_what_was_learned_of_them(
    folder: Path, log: Path, profile: str
) -> None:
    """Traces teach by their verdicts, also a method that learns from its own work without labels."""
    assert taken_in(file(folder, *CASES), log, "--profile", profile).code == 0
    worked(log)
    (folder / "mine.py").write_text(NOBODY)
    options = ("--grader", f"{folder / 'mine.py'}:nobody", "--log", f"sqlite:{log}")
    done = call("regrade", *options)
    assert done.code == 0, done.err
    assert "right -> wrong" in done.out
    said = done.out.splitlines()[-1]
    assert said.startswith("out of prompts, since its outcome was turned around: default/mc2/main/")
    assert said.endswith(": L1.R1"), "the other's case was wrong before"
    assert "and stays" not in done.err
    assert call("verify", *options).code == 0
    again = call("regrade", *options, "--json")
    assert again.json["stays"] == {}


def told_id(episode: str) -> str:
    """The id of a case's problem."""
    return episode.split("/")[2]


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
    path = file(folder, *lines, json.dumps(secrets).encode()[:-1], nobody)
    done = taken_in(path, log)
    assert done.out == "taken 0 known 0 refused 5 labelled 0\n"
    assert done.err.count("without its bytes: nobody knows whom they are about") == 2
    assert "subject: what is taken in is of no subject [input.subject]" in done.err
    listed = call("dlq", "list", "--log", f"sqlite:{log}", "--json").rows
    assert [each["kept"] > 0 for each in listed] == [True, True, False, False, True]
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


# ── Pages ────────────────────────────────────────────────────────────────────────────────────


def test_pages_of_a_log_that_holds_cases_alone_are_whole(folder: Path, log: Path) -> None:
    taken_in(file(folder, *CASES), log)
    worked(log)
    with serving(log) as site:
        for page in ("/", "/learning", "/episodes", "/answers", "/reviews"):
            assert site.get(page).status == 200, page
        shown = site.get("/learning").text
        scope = "default/mc2/main/44136fa355b3"
        item = site.get(f"/item?scope={quote(scope, safe='')}&key=L1.R1").text
        links = [unescape(each) for each in re.findall(r'href="(/(?:case|episode)\?[^"]*)"', item)]
        assert [link.partition("?")[0] for link in links] == ["/episode", "/case"]
        assert all(site.get(link).status == 200 for link in links)
        case = site.get(links[1]).text
        assert site.get("/case?id=nobody").status == 404
    assert "batch by batch" not in shown
    for words in ("What is 12 * 12?", "t1", "gpt-4", "it taught, and is no work of ours"):
        assert words in case
