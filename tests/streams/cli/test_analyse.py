"""`analyse`: diagnostics from the log alone; `show` draws trees; shadow runs reuse what is recorded."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from handlers.policies.cot2_meta.trace import tree_of
from schemas.events.episode import Completed, EpisodeClosed
from schemas.events.search import NodePruned
from state.folds.grades import Known, Word
from streams.research.analysis.cases import read
from streams.research.analysis.trees import pruning, under, utility_of
from streams.runtime.embedded.log import SqliteLog
from tests.streams.cli.calling import call

BACKBONE = "rehearsal:seed=7,sensitivity=0.95,malformed=0.05"


@pytest.fixture
def searched(folder: Path) -> str:
    """A log with CoT2-Meta and greedy episodes; thresholds so strict that much is pruned."""
    url = f"sqlite:{folder / 'a.db'}"
    problems = [{"id": f"g{at}", "problem": text} for at, text in enumerate(PUZZLES)]
    source = folder / "p.jsonl"
    source.write_text("".join(json.dumps(each) + "\n" for each in problems))
    common = ["--domain", "game24", "--log", url, "--profile", "paper"]
    strict = ["--set", "prune_threshold=0.6", "--set", "repair=none"]
    for policy, more in (("cot2_meta", strict), ("greedy", [])):
        made = call("produce", source, "--policy", policy, "--call-limit", 16, *more, *common)
        assert made.code == 0, made.err
    done = call("worker", "--backbone", BACKBONE, "--until-idle", "--settle", "--log", url)
    assert done.code == 0, done.err
    return url


PUZZLES = (
    "4 5 6 10",
    "1 2 3 4",
    "3 3 8 8",
    "2 4 6 8",
    "1 5 5 5",
    "4 4 10 10",
    "6 6 6 6",
    "2 3 5 12",
)


def test_three_files_and_figures_of_every_run(searched: str, folder: Path) -> None:
    made = call("analyse", "--log", searched, "--out", folder / "out", "--json")
    assert made.code == 0, made.err
    figures = made.json
    assert figures["simulated"] is True
    assert figures["episodes"] == 2 * len(PUZZLES)
    run = next(each for name, each in figures["runs"].items() if name.startswith("cot2_meta"))
    assert run["problems"] == len(PUZZLES)
    assert run["right"] + run["commission"] + run["omission"] == len(PUZZLES)
    assert run["max_calls"] <= 16
    assert sum(run["calls_by_column"].values()) == run["mean_calls"] * len(PUZZLES)
    assert sum(run["flow"].values()) == len(PUZZLES)
    assert run["utility"] == run["right"] / len(PUZZLES), "false certainty costs nothing"
    assert sum(run["failures"].values()) == run["commission"] + run["omission"]
    stated = run["confidence"]["stated"]
    assert 0 <= stated["aurc_interval"][0] <= stated["aurc"] <= stated["aurc_interval"][1] <= 1
    page = (folder / "out" / "analysis.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert '<img src="data:image/svg+xml;base64,' in page
    assert not re.findall(r'(?:src|srcset|href)="(?!data:)', page), "nothing comes from elsewhere"
    assert "Simulated" in (folder / "out" / "analysis.md").read_text(encoding="utf-8")
    assert json.loads((folder / "out" / "analysis.json").read_bytes()) == figures


def test_what_an_answer_is_worth_hangs_on_what_false_certainty_costs(searched: str) -> None:
    """U: 1 for a right answer, 0 for none, and what was claimed of a wrong one at its price."""
    log = SqliteLog(searched.removeprefix("sqlite:"))
    answered = [
        case
        for case in read(log).cases()
        if case.opened.policy == "cot2_meta" and case.closed.confidence
    ]
    log.close()
    # Whatever the simulator's dice made of them: every other one is wrong.
    words = [Word(outcome, "exact@2", person=False) for outcome in ("right", "wrong")]
    cases = [replace(case, known=Known(feedback=words[at % 2])) for at, case in enumerate(answered)]
    right = sum(case.outcome == "right" for case in cases)
    claimed = sum(case.closed.confidence or 0 for case in cases if case.outcome == "wrong")
    assert claimed > 0
    for cost in (0.0, 2.0):
        for case in cases:
            case.problem.settings["overconfidence_cost"] = cost
        assert utility_of(cases) == pytest.approx((right - cost * claimed) / len(cases))


def test_a_run_can_be_named_by_policy(searched: str, folder: Path) -> None:
    made = call("analyse", "greedy", "--log", searched, "--out", folder / "out", "--json")
    assert [run["policy"] for run in made.json["runs"].values()] == ["greedy@2"]
    unknown = call("analyse", "nobody", "--log", searched)
    assert unknown.code == 2
    assert "nobody" in unknown.err


@pytest.mark.parametrize("leaves", [1, 5])
def test_so_many_leaves_of_a_shadow_run_are_looked_at_as_are_set(
    leaves: int, searched: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gap(pairs: object, judges: object, k: int) -> float:
        return float(k)

    monkeypatch.setattr("streams.research.analysis.trees.oracle_gap", gap)
    log = SqliteLog(searched.removeprefix("sqlite:"))
    cases = [case for case in read(log).cases() if case.opened.policy == "cot2_meta"]
    log.close()
    for case in cases:
        case.problem.settings["audit_leaves"] = leaves
    trees = [(case, tree_of(case.trace)) for case in cases]
    assert pruning(trees, lambda episode: ())["oracle_gap"] == leaves


def prunes(url: str) -> list[tuple[str, str]]:
    log = SqliteLog(url.removeprefix("sqlite:"))
    found = [(r.episode, r.address) for r in log.records(kinds=["node.pruned"])]
    log.close()
    return [each for each in found if each[0].startswith("p/")]


def test_a_fork_at_a_pruned_node_spends_only_what_is_new(searched: str) -> None:
    episode, at = prunes(searched)[0]
    done = call(
        "fork", episode, "--at", at, "--set", "pruning=false", "--backbone", BACKBONE,
        "--log", searched, "--json",
    )  # fmt: skip
    assert done.code in (0, 4), done.err
    log = SqliteLog(searched.removeprefix("sqlite:"))
    own = [e for e in log.journal(done.json["episode"]).values() if isinstance(e, Completed)]
    assert done.json["kept_calls"] >= 3
    assert len(own) == done.json["usage"]["calls"]
    log.close()


def test_shadow_runs_audit_every_prune(searched: str, folder: Path) -> None:
    made = call(
        "analyse", "cot2_meta", "--log", searched, "--out", folder / "out", "--audit",
        "--backbone", BACKBONE, "--json",
    )  # fmt: skip
    assert made.code == 0, made.err
    [run] = made.json["runs"].values()
    pruned = run["pruning"]
    assert pruned["shadow_runs"] == len(prunes(searched)) > 0
    assert pruned["oracle_gap"] is not None
    log = SqliteLog(searched.removeprefix("sqlite:"))
    reading = read(log)
    found = [
        under(case, shadow) for case in reading.cases() for shadow in reading.shadows(case.episode)
    ]
    worth, bad = found.count(True), found.count(False)
    assert 0 < worth < bad, "the two rates differ, and neither is nothing"
    assert pruned["false_prune_rate"] == pytest.approx(worth / (worth + bad))
    assert pruned["prune_precision"] == pytest.approx(bad / (worth + bad))
    for record in log.records(kinds=["episode.closed"]):
        if record.episode.startswith("q/"):
            assert isinstance(record.event, EpisodeClosed)
            assert record.event.status != "failed"
            assert not any(isinstance(e, NodePruned) for e in log.journal(record.episode).values())
    before = log.end()
    log.close()
    again = call(
        "analyse", "cot2_meta", "--log", searched, "--out", folder / "out", "--audit",
        "--backbone", BACKBONE, "--json",
    )  # fmt: skip
    assert again.json == made.json
    log = SqliteLog(searched.removeprefix("sqlite:"))
    assert log.end() == before
    log.close()


def test_an_audit_whose_endpoint_is_away_says_so(
    searched: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    away = call("analyse", "--audit", "--backbone", "openai:m", "--log", searched)
    assert (away.code, "[model.unreachable, exit 6]" in away.err) == (6, True), away.err
    assert "Traceback" not in away.err


def test_show_draws_the_tree(searched: str, folder: Path) -> None:
    episode, _ = prunes(searched)[0]
    shown = call("show", episode, "--log", searched)
    assert shown.code == 0, shown.err
    drawn = shown.out[shown.out.index("── tree") :]
    assert "the problem  expanded" in drawn
    assert "✗ " in drawn
    assert "pruned" in drawn
    for name in ("t.svg", "t.html"):
        assert call("show", episode, "--tree", folder / name, "--log", searched).code == 0
        assert "<svg" in (folder / name).read_text(encoding="utf-8")
    assert call("show", episode, "--tree", folder / "t.png", "--log", searched).code == 2


def test_verify_derives_every_episode_again_without_a_call(searched: str) -> None:
    done = call("verify", "--log", searched)
    assert done.code == 0, done.err
    assert done.lines[-1].endswith("0 model calls")
