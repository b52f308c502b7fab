"""What stands beside each other in a table is comparable, or the recipe says in what it is not."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from handlers.policies.meta_reasoner.settings import MetaReasonerSettings
from handlers.policies.registry import find
from schemas.events.graph import ExperienceShown
from streams.research.analysis.cases import read
from streams.research.bench.printed import read_printed
from streams.research.bench.recipe import load, names
from streams.research.bench.report import simplified
from streams.research.bench.tables import shown
from streams.runtime.embedded.log import SqliteLog
from tests.streams.cli.calling import call


def test_choosers_of_figure_3_choose_among_the_same_arms() -> None:
    """Direct selection used an advice that was no arm, and the bandit's arms grew while the draw's did not."""
    runs = load("mr-fig-03").runs
    rows = ("LinUCB", "LinUCB, warmed up", "Direct Arm Selection", "Random")
    found = {name: MetaReasonerSettings.resolve("paper", runs[name].settings) for name in rows}
    assert {(each.strategies, each.start_arms, each.direct) for each in found.values()} == {
        ("fixed", 5, "pick")
    }
    assert [each.choice for each in found.values()] == ["linucb", "linucb", "direct", "random"]
    assert "same five arms" in " ".join(load("mr-fig-03").differs.split())


def test_mc2_s_table_1_decodes_as_endpoints_do_by_default() -> None:
    """C.8.2: default decoding and no cap for all methods; trees and TTPI had the samplings of other papers."""
    runs = load("mc2-tab-01").runs
    default = {"temperature": None, "top_p": None, "max_tokens": None}
    for name in ("ToT", "Meta Reasoning", "TTPI"):
        assert runs[name].settings["parameters"] == {"*": default}, name


def test_meta_reasoner_s_baselines_decode_as_its_paper_says_of_all_models() -> None:
    """At temperature .7 and top_p 1: chains went at the endpoint's defaults, best of n at .4 and .95."""
    trees = 0
    for name in names():
        for run in load(name).runs.values() if name.startswith("mr-") else ():
            if run.policy != "meta_reasoner":
                assert run.settings["parameters"] == {"*": {"temperature": 0.7, "top_p": 1.0}}, name
            if run.policy == "tot" and name != "mr-tab-08":
                settings = run.settings | run.per_data.get("game24", {})
                assert settings["depth"] == 3, "three operations make 24"
                trees += 1
    assert trees == 5


def test_mc2_is_measured_with_its_outcome_tag_too() -> None:
    rows = load("mc2-tab-02").tables[0].rows
    tagged = [row.run for row in rows.values() if row.run and "tag on" in row.run]
    assert tagged
    assert load("mc2-tab-02").runs[tagged[0]].settings["outcome_tag"] == "on"


def test_a_sweep_of_the_threshold_is_not_replaced_by_the_median_of_a_domain() -> None:
    runs = load("mgv-report").runs
    swept = [run.settings for name, run in runs.items() if name.startswith("retrieval, λ =")]
    assert len({values["confidence_threshold"] for values in swept}) == len(swept) == 2
    assert all(values["min_labels"] >= 1_000_000 for values in swept)


def test_feelings_have_their_calibration_in_the_report() -> None:
    measured = {
        column.metric for table in load("mgv-report").tables for column in table.columns.values()
    }
    assert {"ece_eol", "ece_fok", "ece_jol", "auroc_difficulty", "auroc_fok", "seconds"} <= measured


def unmeasured(name: str) -> list[str]:
    """Rows in which a number of the paper has none of ours beside it, whatever is run."""
    recipe = load(name)
    return [
        row
        for table in recipe.tables
        for row, said in table.rows.items()
        for paper, column in zip(said.paper, table.columns.values(), strict=True)
        if read_printed(paper) is not None
        and (not said.joined(column).runs or said.joined(column).metric is None)
    ]


def test_differences_and_models_that_answer_alone_have_figures_of_ours() -> None:
    """Table 8 printed no difference though both sides are measured; IO had a policy and no run."""
    for name in ("cot2-tab-08", "mr-tab-02", "mr-tab-09"):
        assert unmeasured(name) == [], name
    io = load("mr-tab-02").runs["IO (best of 100)"]
    settings = find(io.policy).settings.resolve("paper", io.settings)
    assert (settings.samples, settings.pick, settings.reasoning) == (100, "checker", False)


def test_whose_arms_begin_untrained_and_when_they_learn_is_said_in_every_recipe() -> None:
    """Most of them said neither, and an ablation without training stood beside the full method with it."""
    for name in names():
        recipe = load(name)
        mine = [run for run in recipe.runs.values() if run.policy == "meta_reasoner"]
        if not mine or not name.startswith("mr-"):
            continue
        learned = [run for run in mine if run.settings.get("choice") != "cot"]
        fresh = [run for run in learned if not run.continues and not run.settings.get("training")]
        assert "after every ten problems" in " ".join(recipe.differs.split()), name
        assert not fresh or re.search("begin (untrained|fresh)", recipe.differs), name
    runs = load("mr-tab-06").runs.values()
    arms = [run for run in runs if run.settings.get("choice") != "cot"]
    assert all(run.continues or run.settings.get("training") for run in arms)


def test_what_cannot_be_measured_says_so() -> None:
    said = {
        "mr-tab-02": "which a model that reasons by itself will not keep to",
        "mr-tab-06": "External scoring scripts as a reward (§ 3.3.1) are not built",
        "mr-tab-08": "it is not measured",
        "mr-tab-11": "the fixed bandit hardly leaves its first arm",
        "mr-tab-12": "without them it is unknown",
        "mc2-tab-07": "not measured",
        "cot2-tab-10": "S5 swaps no lines of dialogue",
        "cot2-tab-17": "in a side run of its episode, beyond its calls",
        "gm-tab-01": "and are frozen for the test",
    }
    for name, words in said.items():
        assert words in " ".join(load(name).differs.split()), name


def test_memories_of_table_1_fill_on_training_data_and_are_frozen_for_the_test() -> None:
    """They learned on the sets that they were measured on, with their labels."""
    recipe = load("gm-tab-01")
    for name in ("Direct Trajectory", "A-MEM", "EXPEL"):
        run, filled = recipe.runs[name], recipe.runs[f"{name}, filled"]
        assert run.settings["frozen"] is True
        assert (run.continues and run.continues.run) == f"{name}, filled"
        assert filled.data == ("hotpotqa-build",)
        assert not {*filled.data} & {*run.data}
        assert find(run.policy).resolve("paper", run.settings).batch_of(500) == 500


def test_a_frozen_memory_is_shown_and_learns_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    recipe = {
        "recipe": "frozen", "claims": [], "paper": "none", "about": "a", "differs": "d", "seeds": [0],
        "data": {"train": {"source": "game24:1-12"}, "test": {"source": "game24:901-912"}},
        "runs": {
            "filled": {"policy": "direct_trajectory", "data": ["train"]},
            "tried": {"policy": "direct_trajectory", "settings": {"frozen": True}, "data": ["test"],
                      "continues": {"run": "filled", "data": "train"}},
        },
        "tables": [],
    }  # fmt: skip
    Path("frozen.yaml").write_text(json.dumps(recipe))
    words = ("--backbone", "rehearsal:seed=2", "--log", "a.db", "--plots", "none")
    done = call("bench", "run", "frozen.yaml", *words)
    assert done.code == 0, done.err
    log = SqliteLog("a.db")
    cases = [*read(log).cases()]
    kept = [r.event for r in log.records(kinds=["lesson.distilled"])]
    log.close()
    tried = [case for case in cases if case.problem.settings.get("frozen")]
    assert len(tried) == 12
    assert len(kept) == 12, "a trajectory of each problem of the training set, and of no other"
    versions = {case.opened.memory_version for case in tried}
    assert len(versions) == 1, "all of them are guided by the same memory"
    assert versions.pop() > 0
    shown = [e for case in tried for _, e in case.trace.events if isinstance(e, ExperienceShown)]
    assert len(shown) == 12
    assert all(item.startswith("T") for each in shown for item in each.items)


def test_a_table_says_which_of_its_methods_are_simplified() -> None:
    """``rest_mcts`` has no trained value model, and neither its line nor the tables said so."""
    assert "simplified" in find("rest_mcts").about
    recipe = load("cot2-tab-16")
    found = simplified(recipe.tables[0], recipe)
    assert found == {"ReST-MCTS (C = 16)": find("rest_mcts").about}
    made: dict[str, Any] = {
        "title": "t",
        "model": "",
        "note": "",
        "columns": [],
        "rows": [],
        "simplified": found,
    }
    assert shown(made).under == f"ReST-MCTS (C = 16): {find('rest_mcts').about}."
