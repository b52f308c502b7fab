"""What stands beside each other in a table is comparable, or the recipe says in what it is not."""

from __future__ import annotations

from handlers.policies.meta_reasoner.settings import MetaReasonerSettings
from streams.bench.recipe import load


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


def test_what_cannot_be_measured_says_so() -> None:
    said = {
        "mr-tab-02": "IO's best of 100 is not measured",
        "mr-tab-06": "Arms learn after every ten problems",
        "mr-tab-08": "it is not measured",
        "mr-tab-11": "the fixed bandit hardly leaves its first arm",
        "mr-tab-12": "Cost by calls is not measured",
        "mc2-tab-07": "not measured",
        "cot2-tab-10": "S5 swaps no lines of dialogue",
        "cot2-tab-17": "verify-style question of H.1 is put by cot2_meta alone",
        "gm-tab-01": "they are flattered",
    }
    for name, words in said.items():
        assert words in " ".join(load(name).differs.split()), name
