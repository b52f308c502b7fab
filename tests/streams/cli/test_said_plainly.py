"""What a strong model's user met on screens: thoughts that are open, counts, roles, and a log that repeats itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from handlers.policies.cot2_meta.trace import Tree, Twig
from schemas.events.reasoning import Generated
from streams.interfaces.cli.live import Plain
from streams.interfaces.cli.show.board import plain_line
from streams.research.analysis.drawing import headline
from streams.telemetry.figures import BatchFigures, Figures, Spent
from streams.views.facts import says
from streams.views.words import plural, wrap
from tests.streams.cli.calling import call


@pytest.mark.parametrize("role", ["thinker", "repairer"])
def test_a_thought_that_is_open_is_no_answer_that_cannot_be_read(role: str) -> None:
    assert says(Generated(role=role, source="0"), None)[1] == "still open: no answer yet"
    unread = says(Generated(role=role, source="0", parse="unreadable"), None)[1]
    assert unread.startswith("no answer that can be read")
    assert says(Generated(role="reasoner", source="0"), None)[1] == "no answer that can be read"


def test_one_of_a_thing_is_no_plural() -> None:
    assert [plural(number, "query") for number in (0, 1, 2)] == [
        "0 queries",
        "1 query",
        "2 queries",
    ]
    assert plural(2, "day") == "2 days"
    nodes = {"root": Twig("root", None), "1": Twig("1", "root", repairs="0")}
    assert headline(Tree(nodes)) == "1 thought, 0 pruned, 1 repair"


def test_calls_are_told_by_the_role_that_was_asked(folder: Path) -> None:
    log = f"sqlite:{folder / 'a.db'}"
    problem = json.dumps({"id": "a", "problem": "What is 12 * 13?"}).encode()
    for policy in ("meta_reasoner", "cot2_meta"):
        call("produce", "-", "--policy", policy, "--log", log, "-q", given=problem)
    call(
        "worker",
        "--backbone",
        "rehearsal:seed=7",
        "--until-idle",
        "--no-tables",
        "--log",
        log,
        "-q",
    )
    told = call("analyse", "--log", log, "--out", folder / "out")
    assert told.code == 0, told.err
    lines = [line for line in told.lines if line.startswith("- calls: ")]
    assert any("judge" in line and "step" in line and "generation" not in line for line in lines)
    assert any("generation" in line and "evaluation" in line for line in lines)
    runs = json.loads((folder / "out" / "analysis.json").read_text(encoding="utf-8"))["runs"]
    for run in runs.values():
        assert sum(run["calls_by_role"].values()) == run["mean_calls"]


def test_what_is_indented_stays_indented() -> None:
    assert wrap("    return x", 40) == ["    return x"]
    assert wrap("  one two three", 9) == ["  one two", "  three"]
    assert wrap("one two", 40) == ["one two"]
    assert wrap("   ", 40) == [""]


def test_a_line_that_says_nothing_new_is_not_said_again(capsys: pytest.CaptureFixture[str]) -> None:
    view, figures = Plain(), Figures()
    for elapsed in (10.0, 20.0, 30.0):
        view.draw(figures, 3, elapsed)
    figures.closed = 1
    view.draw(figures, 2, 40.0)
    view.end()
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[0] for line in lines] == ["0:10", "0:40"]


def test_the_line_names_the_batch_that_is_learned_from() -> None:
    figures = Figures()
    batch = BatchFigures("math/mc2/main/44", 2, 10, Spent(), ())
    figures.batches["math/mc2/main/44", 2] = batch
    assert "learning batch 2 of math/mc2/main/44" in plain_line(figures, 1)
    batch.versioned = True
    assert "learning batch" not in plain_line(figures, 1)
