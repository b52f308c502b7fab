"""`metalogue import traces`: other tools' work becomes lessons and paths, and stays theirs."""

from __future__ import annotations

import json
import re
from contextlib import closing
from html import unescape
from pathlib import Path
from urllib.parse import quote

import pytest

from schemas.events.graph import PathGrounded
from schemas.events.learning import LessonDistilled
from schemas.identity import episode_parts
from streams.interfaces.cli.finding import find_episode
from streams.runtime.embedded.log import SqliteLog
from tests.streams.cli.calling import call
from tests.streams.cli.imported import (
    ASSISTANT,
    CASES,
    USER,
    events,
    file,
    looked_up,
    taken_in,
    told_id,
    verified,
    worked,
)
from tests.streams.dashboard.serving import serving
from tests.streams.traces.otlp import chat, export, said, span, text


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
        assert find_episode(opened, episode_parts(name)[1][:-2]) == name
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
    assert "right by bot" in shown.out
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
