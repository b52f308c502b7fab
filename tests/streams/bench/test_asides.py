"""Side runs of a recipe: another wording of the query at a search's end, and audits that tell failures apart."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from types import SimpleNamespace
from typing import Any

import pytest

from handlers.policies.cot2_meta.trace import tree_of
from schemas.events.base import Event
from schemas.events.episode import Completed, EpisodeClosed, EpisodeOpened
from schemas.events.reasoning import Generated
from schemas.events.search import Grown, NodeExpanded, NodePruned, OracleScored
from schemas.outcome import Outcome
from schemas.problem import Limits
from schemas.usage import Usage
from streams.research.analysis.cases import Case, Reading, read
from streams.research.analysis.trees import failed_as, rivals, under
from streams.research.bench.asides import complete, has_asides
from streams.research.bench.metrics import METRICS
from streams.research.bench.recipe import BadRecipe, Recipe
from streams.research.bench.recipe import read as read_recipe
from streams.research.bench.results import Results
from streams.runtime.embedded.log import SqliteLog
from tests.streams.bench.worlds import case, episodes
from tests.streams.cli.calling import call

AUDITED = ("false_prunes", "prune_precision", "act_prune")
RECIPE: dict[str, Any] = {
    "recipe": "asides", "claims": [], "paper": "none", "about": "Side runs", "differs": "Everything",
    "seeds": [0], "limits": {"calls": 16}, "data": {"game24": {"source": "game24:901-904"}},
    "runs": {
        "A": {"policy": "cot2_meta", "audit": True},
        "B": {"policy": "cot2_rescored", "settings": {"rewording": "B"}, "beside": "A"},
        "other": {"policy": "best_of_n", "settings": {"samples": 16, "pick": "vote"}},
    },
    "tables": [
        {
            "title": "Words",
            "columns": {
                "Brier": {"data": "game24", "metric": "brier"},
                "right": {"data": "game24", "metric": "accuracy"},
            },
            "rows": {"A": {"run": "A", "paper": [0.1, 90]}, "B": {"run": "B", "paper": [0.1, 90]}},
        },
        {
            "title": "Failures",
            "columns": {"count": {"run": "A", "data": "game24", "metric": "failures"}},
            "rows": {"F1": {"kind": "f1", "paper": [1]}, "all": {"paper": [2]}},
        },
        {
            "title": "Audit",
            "columns": {name: {"run": "A", "data": "game24", "metric": name} for name in AUDITED},
            "rows": {"A": {"paper": [None] * 3}},
        },
    ],
}  # fmt: skip
WORDS = (
    "bench",
    "run",
    "asides.yaml",
    "--backbone",
    "rehearsal:seed=2",
    "--log",
    "a.db",
    "--plots",
    "none",
)


def forks(log: SqliteLog, purpose: str) -> dict[str, EpisodeOpened]:
    found = {r.episode: r.event for r in log.records(kinds=["episode.opened"])}
    return {
        episode: event
        for episode, event in found.items()
        if isinstance(event, EpisodeOpened) and event.purpose == purpose
    }


def test_another_wording_is_put_to_the_same_trajectories_and_paid_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("asides.yaml").write_text(json.dumps(RECIPE))
    done = call(*WORDS)
    assert done.code == 0, done.err
    log = SqliteLog("a.db")
    answered = [c for c in read(log).cases() if c.opened.policy == "cot2_meta" and c.closed.answer]
    beside = forks(log, "beside")
    assert answered
    assert sorted(str(each.parent) for each in beside.values()) == sorted(
        c.episode for c in answered
    )
    for episode in beside:
        own = [
            e for e in log.journal(episode).values() if isinstance(e, Completed) and not e.reused
        ]
        assert 1 <= len(own) <= 2
        assert all(e.asked.split(" ")[1] == "confidence" for e in own), "nothing is searched again"
    calls = len(list(log.records(kinds=["completed"])))
    reading = read(log)
    searches = [case for case in reading.cases() if case.opened.policy == "cot2_meta"]
    audited = sum(isinstance(e, NodePruned) for case in searches for _, e in case.trace.events)
    spared = [under(case, each) for case in searches for each in reading.shadows(case.episode)]
    wrongly = [found for found in spared if found is not None]
    log.close()
    made = json.loads(Path("bench/asides.json").read_text())
    words = {row["name"]: row["cells"] for row in made["tables"][0]["rows"]}
    assert words["A"][1]["ours"] == words["B"][1]["ours"], "the answers are the same"
    assert words["B"][0]["ours"] is not None
    false, precise, pruned = made["tables"][2]["rows"][0]["cells"]
    assert pruned["ours"]["known"] > 0
    if audited:
        assert false["ours"]["known"] + false["ours"]["unknown"] == audited
        assert len(spared) == audited
        assert false["ours"]["value"] == pytest.approx(100 * fmean(wrongly))
        assert precise["ours"]["value"] == pytest.approx(100 * (1 - fmean(wrongly)))
    else:
        assert false["ours"] is None
    assert {(each["run"]) for each in made["measured"]} == {"A", "other"}
    assert made["unfinished"] == 0
    again = call(*WORDS)
    assert again.code == 0, again.err
    log = SqliteLog("a.db")
    assert len(list(log.records(kinds=["completed"]))) == calls > 0, "what is there costs nothing"
    log.close()
    assert json.loads(Path("bench/asides.json").read_text()) == made
    verified = call("verify", "--log", "a.db")
    assert verified.code == 0, verified.out + verified.err
    assert "not verifiable" not in verified.out


def paid(log: SqliteLog) -> int:
    """How many replies were paid for."""
    events = (record.event for record in log.records(kinds=["completed"]))
    return sum(isinstance(event, Completed) and not event.reused for event in events)


def planned(*more: str) -> dict[str, Any]:
    """The rows of the plan that come beside episodes, by what they are."""
    made: dict[str, Any] = call(*WORDS, "--plan", "--json", *more).json
    return {row["what"]: row for row in made["besides"]} | {"total": made["total"]}


def test_side_runs_stand_in_the_plan_and_in_the_totals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were in neither: a total of calls was overspent by all of them, and the plan did not name them."""
    monkeypatch.chdir(tmp_path)
    Path("asides.yaml").write_text(json.dumps(RECIPE))
    before = planned("--judge", "rehearsal")
    assert before["beside A"]["calls_at_most"] == 4 * 2
    assert before["audits what it pruned"]["calls_at_most"] == 4 * 16 * (2 * 16 + 16)
    assert before["of undecided answers"]["calls_at_most"] == (4 + 4) * 2
    assert before["beside A"]["calls"] is None, (
        "no side run is on the log: what one takes is unknown"
    )
    bound = sum(row["calls_at_most"] for what, row in before.items() if what != "total")
    assert before["total"]["calls_at_most"] == 2 * 4 * 16 + bound
    done = call(*WORDS)
    assert done.code == 0, done.err
    after = planned("--judge", "rehearsal")
    assert after["beside A"]["made"] > 0
    rest = [row for what, row in after.items() if what not in ("total", "of undecided answers")]
    assert [(row["lacking_at_most"], row["calls"]) for row in rest] == [(0, 0.0)] * 2
    assert after["total"]["calls_at_most"] == after["of undecided answers"]["calls_at_most"] == 0
    log = SqliteLog("a.db")
    whole = paid(log)
    log.close()
    again = tmp_path / "again"
    again.mkdir()
    monkeypatch.chdir(again)
    Path("asides.yaml").write_text(json.dumps(RECIPE))
    short = call(*WORDS, "--total-calls", str(whole - 1))
    assert short.code == 4, "one call short, and the last side runs are not made"
    assert "calls spent" in short.err
    log = SqliteLog("a.db")
    assert paid(log) == whole - 1
    log.close()


BASELINES: dict[str, Any] = {
    **RECIPE,
    "recipe": "trusted",
    "data": {"game24": {"source": "game24:901-902"}},
    "runs": {
        **{name: {"policy": name} for name in ("tot", "rest_mcts")},
        "best_of_n": {"policy": "best_of_n", "settings": {"samples": 16, "pick": "vote"}},
        **{f"{name}, asked": {"policy": f"{name}_trusted", "beside": name}
           for name in ("tot", "rest_mcts", "best_of_n")},
    },
    "tables": [],
}  # fmt: skip


def test_baselines_are_asked_of_their_final_trajectories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Table 17 compared shares of votes and judges' values with the query's confidence."""
    monkeypatch.chdir(tmp_path)
    Path("asides.yaml").write_text(json.dumps(BASELINES))
    done = call(*WORDS)
    assert done.code == 0, done.err
    log = SqliteLog("a.db")
    answered = {c.episode for c in read(log).cases() if c.closed.answer is not None}
    beside = forks(log, "beside")
    assert {str(each.parent) for each in beside.values()} == answered != set()
    for episode in beside:
        own = [
            e for e in log.journal(episode).values() if isinstance(e, Completed) and not e.reused
        ]
        assert 1 <= len(own) <= 2
        assert all(e.asked.split(" ")[1] == "confidence" for e in own), "nothing is searched again"
    log.close()
    verified = call("verify", "--log", "a.db")
    assert verified.code == 0, verified.out + verified.err
    assert "not verifiable" not in verified.out


def test_a_kind_that_no_metric_ends_with_is_named(tmp_path: Path) -> None:
    wrong = json.loads(json.dumps(RECIPE))
    wrong["tables"][1]["rows"]["F1"]["kind"] = "f9"
    file = tmp_path / "wrong.yaml"
    file.write_text(json.dumps(wrong))
    with pytest.raises(BadRecipe, match="no metric 'failures_f9'"):
        read_recipe(file)


# ── What a search failed by ──────────────────────────────────────────────────────────────────


def tree(*leaves: tuple[str, float], pruned: bool = False) -> list[Event]:
    """Leaves of the root with their answers and process values; the last may have been pruned."""
    names = [f"1.{at}.0" for at in range(len(leaves))]
    made: list[Event] = []
    for name, (answer, worth) in zip(names, leaves, strict=True):
        made += [
            Generated(answer=answer, source=name),
            OracleScored(node=name, steps=(), rewards=(), value=worth, source=name),
        ]
    grown = tuple(
        Grown(node=name, strategy="direct", depth=1, value=worth)
        for name, (_, worth) in zip(names, leaves, strict=True)
    )
    made.append(NodeExpanded(round=0, node="opened", children=grown))
    return [*made, NodePruned(round=0, node=names[-1], value=0.1)] if pruned else made


def lost(problem: str, events: Sequence[Event], *, calls: int = 16, policy: str = "cot2_meta",
         outcome: Outcome = "wrong", ended_by: str = "budget") -> Case:  # fmt: skip
    found = case(
        problem,
        outcome,
        events,
        reference="24",
        answer="25",
        ended_by=ended_by,
        usage=Usage(calls=calls),
    )
    opened: Any = SimpleNamespace(
        policy=policy, limits=Limits(calls=16), memory_version=0, backbones="m"
    )
    return replace(found, opened=opened)


def shadow(of: Case, *answers: str) -> Any:
    """A shadow run that went on with the pruned node to these answers."""
    below: list[Event] = [
        Generated(answer=each, source=f"2.{at}.0") for at, each in enumerate(answers)
    ]
    children = tuple(
        Grown(node=f"2.{at}.0", strategy="direct", depth=2) for at in range(len(answers))
    )
    first = [event for _, event in of.trace.events if not isinstance(event, NodePruned)]
    grown = [*first, *below, NodeExpanded(round=1, node="1.1.0", children=children)]
    return SimpleNamespace(trace=case("s", "wrong", grown).trace, node="1.1.0", closed=of.closed)


def said(one: Case, *others: Case, shadows: Sequence[Any] = ()) -> str | None:
    return failed_as(one, tree_of(one.trace), rivals(others), lambda _: shadows)


FAILED = lost("p", [], policy="tot")
SOLVED = lost("p", [], policy="tot", outcome="right")
APART = (("25", 0.5), ("26", 0.5))


def test_each_class_is_told_by_what_tells_it() -> None:
    misjudged = lost("p", tree(("25", 0.9), ("24", 0.5)))
    assert said(misjudged) == "F2", "neither shadow runs nor baselines are needed for it"
    cut = lost("p", tree(*APART, pruned=True))
    assert said(cut, SOLVED, shadows=[shadow(cut, "24")]) == "F3"
    assert said(cut, FAILED, shadows=[shadow(cut, "26")]) == "F4"
    open_end = lost("p", tree(*APART))
    assert said(open_end, FAILED) == "F4"
    assert said(open_end, SOLVED) == "F1"
    assert said(lost("p", tree(*APART), ended_by="frontier"), SOLVED) == "unclassified"


def test_what_cannot_be_ruled_out_is_in_no_class() -> None:
    """Without shadow runs and baselines every failure was F1, or of none."""
    cut = lost("p", tree(*APART, pruned=True))
    assert said(cut, FAILED) is None, "no shadow run: it may be F3"
    assert said(lost("p", tree(*APART))) is None, "no baseline: it may be F4"
    tale = lost("p", tree(("25", 0.9), ("\\alpha + 1", 0.5)))
    assert said(tale, SOLVED) is None, "a leaf that nobody can judge: it may be F2"


def value(name: str, cases: Sequence[Case]) -> tuple[Any, int, int]:
    found = METRICS[name].found(cases)
    return found.value, found.known, found.unknown


def test_table_15_counts_shares_and_calls_of_each_class() -> None:
    def classed(problem: str, calls: int, failed: str | None) -> Case:
        one = lost(problem, [], calls=calls)
        return replace(one, failed_as=failed)

    cases = [
        classed("a", 16, "F1"), classed("b", 10, "F3"), classed("c", 12, "F3"), classed("d", 16, None),
        lost("e", [], outcome="right"), lost("f", [], outcome="unknown"),
    ]  # fmt: skip
    assert value("failures", cases) == (4.0, 5, 1)
    assert value("failure", cases) == (75.0, 4, 0)
    assert value("failures_f3", cases) == (2.0, 3, 1)
    assert value("failure_f3", cases) == (pytest.approx(200 / 3), 3, 1)
    assert value("failure_calls_f3", cases) == (11.0, 2, 0)
    assert value("failures_f4", cases) == (0.0, 3, 1)
    assert value("failure_calls_f4", cases) == (None, 0, 0)
    assert value("failure_calls", cases) == (13.5, 4, 0)
    assert value("failures_f1", [classed("d", 16, None)]) == (None, 0, 1)
    assert value("failures_f1", cases[4:5]) == (0.0, 0, 0)


# ── What side runs tell, once they are on the log ────────────────────────────────────────────


def opened(of: Case, **more: Any) -> EpisodeOpened:
    plain: dict[str, Any] = {
        "policy": "cot2_rescored",
        "policy_version": "1",
        "settings": "B",
        "limits": Limits(),
        "seed": 0,
        "memory_version": 0,
        "backbones": "m",
        "parent": of.episode,
        "purpose": "beside",
    }
    return EpisodeOpened(**plain | more)


def sure(confidence: float | None, answer: str = "25") -> EpisodeClosed:
    return EpisodeClosed(
        status="answered", ended_by="done", answer=answer, confidence=confidence, usage=Usage(calls=1)
    )  # fmt: skip


def as_kept(closed: Any) -> EpisodeClosed:
    """How an episode ended, as the log holds it."""
    return EpisodeClosed(
        status="answered", ended_by=closed.ended_by, answer=closed.answer, usage=closed.usage,
        confidence=closed.confidence,
    )  # fmt: skip


def completed(
    cases: Sequence[Case], *others: Case, journals: Sequence[Mapping[str, Event]] = ()
) -> Results:
    """The groups of a search that is audited, of its baselines, and of three runs beside it."""
    runs = {
        "A": {"policy": "cot2_meta", "audit": True},
        "B": {"policy": "cot2_rescored", "settings": {"rewording": "B"}, "beside": "A"},
        "C": {"policy": "cot2_rescored", "settings": {"rewording": "C"}, "beside": "A"},
        "as it is": {"policy": "cot2_rescored", "beside": "A"},
        "other": {"policy": "tot"},
    }
    said = {
        "recipe": "r",
        "data": {"d": {"source": "jsonl"}, "e": {"source": "jsonl"}},
        "runs": runs,
    }
    reading = Reading(journals={f"{at}": dict(each) for at, each in enumerate(journals)})
    for each in cases:
        events: dict[str, Event] = dict(each.trace.events)
        reading.journals[each.episode] = events
    cases = [replace(each, closed=as_kept(each.closed)) for each in cases]
    groups = {("A", "d"): episodes(*cases), ("other", "d"): episodes(*others)}
    results = Results((), groups=groups, reading=reading)
    texts = {"B": '{"rewording":"B","primary_calls":16}', "C": '{"rewording":"C"}'}
    complete(results, Recipe.model_validate(said), texts.get)
    return results


def test_an_episode_is_as_sure_as_the_newest_side_run_of_its_run_said() -> None:
    mine = [
        replace(lost(name, [], outcome="right"), closed=sure(0.9), calibrated=0.7)
        for name in ("a", "b", "c")
    ]
    a, b, _ = mine
    found = completed(
        mine,
        journals=[
            {"opened": opened(a), "closed": sure(0.1)},
            {"opened": opened(a), "closed": sure(0.2)},
            {"opened": opened(a, settings="C"), "closed": sure(0.3)},
            {"opened": opened(a, policy="tot_trusted"), "closed": sure(0.4)},
            {"opened": opened(a, purpose="other"), "closed": sure(0.5)},
            {"opened": opened(a)},
            {"opened": opened(a, parent=None), "closed": sure(0.6)},
            {"opened": opened(b, settings="unknown"), "closed": sure(0.7)},
            {"closed": sure(0.8)},
        ],
    )
    said = {
        run: [(each.case.closed.confidence, each.case.calibrated) for each in group]
        for (run, _), group in found.groups.items()
    }
    assert said == {
        "A": [(0.9, 0.7)] * 3,
        "B": [(0.2, None), (None, None), (None, None)],
        "C": [(0.3, None), (None, None), (None, None)],
        # B is what it comes to by default, and C, though the newest, was put otherwise.
        "as it is": [(0.2, None), (None, None), (None, None)],
        "other": [],
    }
    assert found.beside == {"B", "C", "as it is"}
    assert {data for _, data in found.groups} == {"d"}
    assert [each.case.closed.answer for each in found.groups["B", "d"]] == ["25"] * 3


def audit_of(one: Case, *answers: tuple[str, float]) -> dict[str, Event]:
    """A side run that spared the pruned branch and went on below it."""
    [at] = (at for at, event in one.trace.events if isinstance(event, NodePruned))
    journal: dict[str, Event] = {"opened": opened(one, at=at, purpose=None), "closed": sure(None)}
    for number, (answer, worth) in enumerate(answers):
        node = f"2.{number}.0"
        journal[f"{20 + number}.0.0"] = Generated(answer=answer, source=node)
        journal[f"{30 + number}.0.0"] = OracleScored(
            node=node, steps=(), rewards=(), value=worth, source=node
        )
    children = tuple(
        Grown(node=f"2.{number}.0", strategy="direct", depth=2, value=worth)
        for number, (_, worth) in enumerate(answers)
    )
    journal["40.0.0"] = NodeExpanded(round=1, node="1.1.0", children=children)
    return journal


def test_a_search_is_told_what_its_prunes_cost_it() -> None:
    cut = lost("p", tree(*APART, pruned=True))
    [spared] = completed([cut], SOLVED, journals=[audit_of(cut, ("24", 0.8))]).groups["A", "d"]
    assert (spared.case.spared, spared.case.gap, spared.case.failed_as) == ((True,), 1, "F3")
    [poor] = completed([cut], FAILED, journals=[audit_of(cut, ("26", 0.8))]).groups["A", "d"]
    assert (poor.case.spared, poor.case.gap, poor.case.failed_as) == ((False,), 0, "F4")
    [alone] = completed([cut], FAILED).groups["A", "d"]
    assert (alone.case.spared, alone.case.gap, alone.case.failed_as) == ((), None, None)
    below = [("26", 0.9), ("27", 0.8), ("28", 0.7), ("24", 0.2)]
    [late] = completed([cut], SOLVED, journals=[audit_of(cut, *below)]).groups["A", "d"]
    assert (late.case.spared, late.case.gap) == ((True,), 0), "not among the best three leaves"


def test_a_search_that_came_to_the_answer_failed_by_nothing() -> None:
    won = lost("p", tree(("24", 0.9), ("26", 0.5), pruned=True), outcome="right")
    [found] = completed([won], SOLVED, journals=[audit_of(won, ("24", 0.8))]).groups["A", "d"]
    assert (found.case.spared, found.case.gap, found.case.failed_as) == ((True,), 0, None)
    withheld = replace(lost("p", tree(*APART), outcome="withheld"), failed_as=None)
    [none] = completed([withheld], SOLVED).groups["A", "d"]
    assert none.case.failed_as == "F1"


def test_only_runs_that_ask_for_it_are_told() -> None:
    results = completed([lost("p", tree(*APART))], lost("p", [], policy="tot"))
    [other] = results.groups["other", "d"]
    assert (other.case.failed_as, other.case.gap) == (None, None)


@pytest.mark.parametrize(
    ("runs", "asked"),
    [
        ({"a": {"policy": "cot"}}, False),
        ({"a": {"policy": "cot2_meta", "audit": True}}, True),
        ({"a": {"policy": "cot"}, "b": {"policy": "tot_trusted", "beside": "a"}}, True),
    ],
)
def test_side_runs_are_made_where_a_recipe_asks_for_them(runs: dict[str, Any], asked: bool) -> None:
    said = {"recipe": "r", "data": {"d": {"source": "jsonl"}}, "runs": runs}
    assert has_asides(Recipe.model_validate(said)) is asked
