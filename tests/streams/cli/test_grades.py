"""What is known of an answer: the newest verdict of a person wins on every screen, with who gave it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import closing
from html import escape
from pathlib import Path
from typing import Any

import pytest

from handlers.answers import grade
from schemas.events.base import Event
from schemas.events.episode import EpisodeClosed
from schemas.events.learning import Graded
from schemas.outcome import Outcome
from schemas.usage import NOTHING
from state.folds.state import State
from streams.interfaces.dashboard import listing
from streams.research.export.parquet import export
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.rebuild import fold
from streams.telemetry.figures import Reader
from streams.views.sheet import EpisodeView
from tests.streams.cli.calling import call, log_of
from tests.streams.dashboard.serving import serving

ANSWERED = ("--backbone", "rehearsal:seed=7", "--until-idle", "--settle", "--no-tables")


def worked(log: Path) -> None:
    assert call("worker", "--log", log, *ANSWERED).code == 0


def judged(log: Path, *said: dict[str, Any]) -> None:
    """Give judgements one after another, and have a worker take them in."""
    lines = "".join(f"{json.dumps(each)}\n" for each in said)
    assert call("feedback", "-", "--log", log, given=lines.encode()).code == 0
    worked(log)


def produced(log: Path, lines: Iterable[dict[str, Any]], policy: str = "cot") -> None:
    given = "".join(f"{json.dumps(each)}\n" for each in lines).encode()
    made = call("produce", "-", "--policy", policy, "--log", log, given=given)
    assert made.code == 0, made.err
    worked(log)


@pytest.fixture
def wrong(folder: Path) -> Path:
    """A log whose one answer a reference calls wrong, and then eight persons after one another: the last right."""
    log = folder / "a.db"
    produced(log, [{"id": "q", "problem": "What is 2 + 3?", "domain": "sums", "answer": "no"}])
    of = {"domain": "sums", "problem_id": "q"}
    judged(log, *({**of, "verdict": False, "by": f"person-{n}"} for n in range(7)))
    assert "wrong by person-6" in call("show", "q", "--log", log).out
    judged(log, {**of, "verdict": True, "by": "ada"})
    judged(log, {**of, "reference": "nor that", "by": "source"})
    return log


def test_it_wins_where_an_episode_is_shown(wrong: Path) -> None:
    assert "right by ada" in call("show", "q", "--log", wrong).out
    said = call("show", "q", "--log", wrong, "--json").json
    assert (said["outcome"], said["graded"], said["graded_by"]) == ("right", "right", "ada")


def test_it_wins_in_analyses(wrong: Path) -> None:
    (run,) = call("analyse", "--log", wrong, "--json").json["runs"].values()
    figures = (run["right"], run["commission"], run["unknown"], run["by_person"], run["accuracy"])
    assert figures == (1, 0, 0, 1, 1.0)


def test_it_wins_on_the_dashboard_in_tables_and_in_figures(wrong: Path, tmp_path: Path) -> None:
    with closing(SqliteLog(wrong)) as log:
        state = fold(log, State())
        (line,) = listing.answers(log, state, "", listing.NEWEST).lines
        assert line.known is not None
        assert (line.known.standing(), line.known.by) == ("right", "ada")
        export(log, tmp_path / "out")
    parquet = pytest.importorskip("pyarrow.parquet")
    (row,) = parquet.read_table(tmp_path / "out" / "episodes.parquet").to_pylist()
    assert (row["outcome"], row["graded"], row["graded_by"]) == ("right", "right", "ada")
    (row,) = parquet.read_table(tmp_path / "out" / "batches.parquet").to_pylist()
    assert (row["outcome"], row["graded"]) == ("wrong", "right")
    reader = Reader(wrong)
    (batch,) = reader.read_all().batches.values()
    reader.close()
    assert (batch.right, batch.graded) == (1, 1)


NOT_KNOWN = [
    ({"id": "tried", "answer": "the sum of it all, as the book says"}, "undecided"),
    ({"id": "left"}, "not graded"),
]


@pytest.fixture
def unknown(folder: Path) -> Path:
    """A log of two answers of which nobody knows whether they are right: one was looked at."""
    log = log_of(folder / "a.db")
    text = {"problem": "What is 2 + 3?", "domain": "sums"}
    produced(log, ({**text, **line} for line, _ in NOT_KNOWN))
    return log


@pytest.mark.parametrize(("line", "standing"), NOT_KNOWN)
def test_undecided_and_not_graded_are_told_apart(
    unknown: Path, line: dict[str, str], standing: str
) -> None:
    name = line["id"]
    shown = call("show", name, "--log", unknown).out
    status = shown.splitlines()[1]
    assert f"   {standing}" in status
    assert "unknown   confidence" not in status
    said = call("show", name, "--log", unknown, "--json").json
    assert (said["outcome"], said["graded"]) == ("unknown", standing)
    with closing(SqliteLog(unknown)) as log:
        leaf = listing.answers(log, fold(log, State()), "", listing.NEWEST)
    assert [e.known.standing() for e in leaf.lines if e.known and e.name == name] == [standing]


def test_an_episode_says_why_its_answer_is_undecided(unknown: Path) -> None:
    said = call("show", "tried", "--log", unknown, "--json").json
    why = said["graded_for"]
    assert "sympy" in why, "the grader that decides where words do not"
    assert f"undecided: {why}" in call("show", "tried", "--log", unknown).out.splitlines()
    with serving(unknown) as site:
        assert f'<span class="dim small">{escape(why)}</span>' in site.get("/episode?id=tried").text
        assert escape(why) not in site.get("/episode?id=left").text
    assert call("show", "left", "--log", unknown, "--json").json["graded_for"] is None
    assert "undecided" not in call("show", "left", "--log", unknown).out


@pytest.mark.parametrize(
    ("answer", "outcome", "told"),
    [("5", "unknown", "no rule"), ("5", "right", None), (None, "unknown", None)],
)
def test_what_was_withheld_or_decided_is_not_called_undecided(
    answer: str | None, outcome: Outcome, told: str | None
) -> None:
    closed = EpisodeClosed(
        status="abstained" if answer is None else "answered",
        ended_by="x",
        answer=answer,
        usage=NOTHING,
    )
    graded = Graded(scope="s", outcome=outcome, grader="g@1", by="feedback", detail="no rule")
    journal: dict[str, Event] = {"closed": closed, "graded.1": graded}
    view = EpisodeView("p/d/q/r", journal, None, None, closed, None, None, 0, None)
    assert (view.graded_for, view.undecided_for) == ("no rule", told)


def test_a_decided_answer_gives_its_reasons_to_scripts_alone(wrong: Path) -> None:
    shown = call("show", "q", "--log", wrong)
    assert "undecided" not in shown.out
    assert call("show", "q", "--log", wrong, "--json").json["graded_for"] == "score 1.0"


def test_reports_count_them_apart(unknown: Path) -> None:
    (run,) = call("analyse", "--log", unknown, "--json").json["runs"].values()
    assert (run["unknown"], run["undecided"], run["not_graded"]) == (2, 1, 1)
    head, _, row = call("analyse", "--log", unknown).lines[4:7]
    cells = dict(zip(head.split(" | "), row.split(" | "), strict=True))
    assert (cells["undecided"], cells["not graded"]) == ("1", "1")
    assert (run["coverage"], cells["coverage"]) == (0.0, "0.0 %")


def test_what_nobody_could_grade_is_no_wrong_answer(folder: Path) -> None:
    """Not in the accuracy, and not in the points that tokens bring."""
    log = log_of(folder / "a.db")
    text = {"problem": "What is 2 + 3?", "domain": "sums"}
    produced(log, [{**text, "id": f"q{n}"} for n in (1, 2, 3)])
    judged(log, {"domain": "sums", "problem_id": "q1", "verdict": True})
    (run,) = call("analyse", "--log", log, "--json").json["runs"].values()
    assert (run["accuracy"], run["graded"], run["not_graded"]) == (1.0, 1, 2)
    assert run["coverage"] == pytest.approx(1 / 3)
    assert run["points_per_1k_tokens"] == pytest.approx(100_000 / run["mean_tokens"])
    assert "100.0 % of 1" in call("analyse", "--log", log).out


def test_what_was_solved_by_hand_can_be_judged_too(folder: Path) -> None:
    """A solve teaches nothing, but its answer is an answer."""
    log = log_of(folder / "a.db")
    solve = ("solve", "What is 2 + 3?", "--backbone", "rehearsal:seed=7", "--log", log, "--json")
    episode = call(*solve).json["episode"]
    judged(log, {"episode": episode, "verdict": True, "by": "ada"})
    assert "right by ada" in call("show", "--log", log).out
    judged(log, {"episode": episode, "verdict": False, "by": "bob"})
    assert "wrong by bob" in call("show", "--log", log).out
    assert call("verify", "--log", log).code == 0


SUM = {"id": "q", "problem": "What is 2 + 3?", "domain": "sums"}


def test_a_problem_may_have_aliases_as_its_label(folder: Path) -> None:
    produced(folder / "said.db", [SUM])
    (said,) = call("consume", "--json", "--log", folder / "said.db").rows
    log = log_of(folder / "a.db")
    produced(log, [{**SUM, "answer": ["the sum", said["answer"]]}])
    (run,) = call("analyse", "--log", log, "--json").json["runs"].values()
    assert (run["right"], run["coverage"]) == (1, 1.0)
    assert call("verify", "--log", log).code == 0


def test_grades_of_earlier_graders_stay(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever made them compared otherwise; this build cannot say whether they are right."""
    log = log_of(folder / "a.db")
    with monkeypatch.context() as earlier:
        earlier.setattr(grade, "EXACT", "exact@1")
        produced(log, [{**SUM, "answer": "no number"}])
    done = call("verify", "--log", log)
    assert done.code == 0, done.err
    assert "only exact@1 can tell" in done.out + done.err
    (run,) = call("analyse", "--log", log, "--json").json["runs"].values()
    assert run["commission"] == 1
