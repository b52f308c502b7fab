"""An analysis as people read it: every figure of a small one, in Markdown and on a page."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest

from streams.research.analysis import plots as drawing
from streams.research.analysis.plots import MISSING, Plot, bars
from streams.research.analysis.report import html, markdown, plots, table
from tests.stand_ins import always

STATED: dict[str, Any] = {
    "answers": 3, "left_out": 1,
    "ece": 0.1, "ece_interval": [0.05, 0.3],
    "brier": 0.2, "brier_interval": None,
    "aurc": 0.3004, "aurc_interval": [0.1, 0.4],
    "selective_accuracy": {"0.25": 1.0, "1": 2 / 3},
    "risk_coverage": [[0.5, 0.0], [1.0, 1 / 3]],
    "bins": [[0, 0.05, 0.0], [2, 0.55, 0.5], [1, 0.9, 1.0]],
}  # fmt: skip
SEARCH: dict[str, Any] = {
    "policy": "cot2_meta@3", "profile": "service", "problems": 4, "right": 1, "commission": 1,
    "omission": 2, "undecided": 1, "not_graded": 0, "graded": 3, "by_person": 1,
    "accuracy": 1 / 3, "accuracy_interval": [0.06, 0.79], "coverage": 0.75,
    "mean_calls": 1234.56, "mean_tokens": 2500.4, "tokens_unknown": 1,
    "points_per_1k_tokens": 13.333, "points_per_1k_tokens_of": 3,
    "tokens_per_point": 7.26, "tokens_per_point_of": 2,
    "ended_by": {"answered": 3, "budget": 1, "closed": 0},
    "calls_by_column": {"generation": 3, "repair": 0}, "calls_by_role": {"thinker": 3},
    "confidence": {"stated": STATED, "stated, calibrated": {**STATED, "left_out": 0}},
    "judge": {"right": 1, "wrong": 0, "unclear": 2, "accuracy": 0.5, "coverage": 1.0,
              "by": ["a@1, m", "b@1, m"]},
    "rewards": {"judged": 2, "unknown": 1, "mean_reward": 0.5, "cumulative_reward": [0.25, 0.75, 1.5],
                "strategies": 2},
    "flow": {"correct": 2, "incorrect": 0},
    "actions_by_depth": {"0": {"expand": 2}, "1": {"prune": 1, "stop": 0}},
    "repairs": {"wrong_before": 2, "right_before": 1, "unknown": 1, "rescue_rate": 0.5,
                "hurt_rate": None, "net": 1},
    "parsed": 5, "parse_rates": {"strict": 0.8, "fallback": 0.2},
    "pruning": {"pruned": 3, "pruned_right": 1, "pruned_unknown": 0, "shadow_runs": 2,
                "shadow_unknown": 1, "false_prune_rate": 0.25, "prune_precision": 0.75,
                "oracle_gap": None, "oracle_gap_of": 0},
    "failures": {}, "utility": 0.125,
}  # fmt: skip
PLAIN: dict[str, Any] = {
    "policy": "cot@1", "profile": "paper", "problems": 1, "right": 0, "commission": 0,
    "omission": 0, "undecided": 0, "not_graded": 1, "graded": 0, "by_person": 0,
    "accuracy": None, "accuracy_interval": None, "coverage": 0.0,
    "mean_calls": 1.0, "mean_tokens": None, "tokens_unknown": 1,
    "points_per_1k_tokens": None, "points_per_1k_tokens_of": 0,
    "tokens_per_point": None, "tokens_per_point_of": 0,
    "ended_by": {}, "calls_by_column": {}, "calls_by_role": {"planner": 2, "thinker": 1},
    "confidence": {},
}  # fmt: skip
STEPS: list[dict[str, Any]] = [
    {"batch": 1, "members": 4, "graded": 3, "right": 1, "accuracy": 1 / 3,
     "accuracy_interval": [0.1, 0.6], "calls": 2.25, "calls_interval": [1.0, 3.5],
     "tokens": None, "tokens_interval": None, "tokens_unknown": 4, "lessons": 1234},
    {"batch": 2, "members": 2, "graded": 2, "right": 2, "accuracy": 1.0,
     "accuracy_interval": [0.3, 1.0], "calls": 2.0, "calls_interval": None,
     "tokens": 1500.6, "tokens_interval": [1000.0, 2000.0], "tokens_unknown": 1, "lessons": 0},
]  # fmt: skip
RUNS = {"search <a>": SEARCH, "plain": PLAIN}
MADE = {"episodes": 5, "simulated": True, "learning": {"game24 <mc2>": STEPS}, "runs": RUNS}
WARNING = "Simulated: no model answered. These figures say nothing about any method."
RULER = "|---|" + "---:|" * 12
PAGE = f"""\
# Analysis of 5 episodes

> **{WARNING}**

| run | n | accuracy | 95 % | coverage | wrong | withheld | undecided | not graded | calls | tokens | ECE | AURC |\
 with a judge | coverage with it |
{RULER}---:|---:|
| search <a> | 4 | 33.3 % of 3 | 6.0 %–79.0 % | 75.0 % | 1 | 2 | 1 | 0 | 1,234.6 | 2,500 of 3 | 0.100 of 3 |\
 0.300 of 3 | 50.0 % | 100.0 % |
| plain | 1 | – | – | 0.0 % | 0 | 0 | 0 | 1 | 1.0 | – | – | – | – | – |

## game24 <mc2>, batch by batch

| batch | right | accuracy | 95 % | calls | 95 % | tokens | 95 % | lessons |
|---|---:|---:|---:|---:|---:|---:|---:|---:|
| 1 | 1 of 3 (1 not graded) | 33.3 % | 10.0 %–60.0 % | 2.2 | 1.0–3.5 | – | – | 1,234 |
| 2 | 2 of 2 | 100.0 % | 30.0 %–100.0 % | 2.0 | – | 1,501 of 1 | 1,000–2,000 | 0 |

## search <a>

- policy cot2_meta@3, profile service
- ended by: answered 3, budget 1
- by a person's verdict: 1
- a judge of undecided answers: right 1, wrong 0, unclear 2 (a@1, m; b@1, m)
- calls: generation 3
- points per 1K tokens 13.33 of 3; tokens per point over greedy 7.3 of 2
- confidence (stated, claimed), 3 answers (1 not graded): ece 0.100 [0.050, 0.300]; brier 0.200;\
 aurc 0.300 [0.100, 0.400]; accuracy by coverage 100.0 % at 0.25, 66.7 % at 1
- confidence (stated, calibrated), 3 answers: ece 0.100 [0.050, 0.300]; brier 0.200;\
 aurc 0.300 [0.100, 0.400]; accuracy by coverage 100.0 % at 0.25, 66.7 % at 1
- rewards: 2 judged, 1 unknown, mean 0.500, in all 1.5; 2 strategies used
- flow: correct 2
- actions by depth: 0: expand 2; 1: prune 1
- repair: rescue 50.0 % of 2, hurt – of 1, net +1 (1 that nobody could judge)
- oracle replies: strict 80.0 %, fallback 20.0 % of 5
- pruned 3, of them 1 with a right answer; false-prune rate 25.0 % of 2 shadow runs\
 (1 that nobody could judge), oracle gap – of 0
- failures: none
- utility of an answer: 0.125 of 3

## plain

- policy cot@1, profile paper
- ended by: none
- calls: planner 2, thinker 1
- points per 1K tokens –; tokens per point over greedy –
"""


def test_every_figure_of_an_analysis_in_markdown() -> None:
    assert markdown(MADE) == PAGE


def test_without_a_judge_a_model_s_answers_and_what_nobody_knows_there_is_less_to_say() -> None:
    unread: dict[str, Any] = {
        "rewards": {**SEARCH["rewards"], "judged": 0, "cumulative_reward": []}
    }
    figures: dict[str, Any] = {**SEARCH, **unread, "parse_rates": {}, "parsed": 0, "graded": 4}
    del figures["judge"]
    said = markdown({"episodes": 4, "simulated": False, "learning": {}, "runs": {"a": figures}})
    assert said.startswith("# Analysis of 4 episodes\n\n| run | n |")
    assert f"| ECE | AURC |\n{RULER}\n| a | 4 | 33.3 % | 6.0 %–79.0 % |" in said
    assert "2 judged" not in said
    assert "- rewards: 0 judged, 1 unknown, mean 0.500, in all –; 2 strategies used\n" in said
    assert "- oracle replies: none of 0\n" in said
    assert said.endswith("- utility of an answer: 0.125\n")


def text(page: str) -> list[str]:
    """What a page's list items say."""
    return [unescape(each) for each in re.findall(r"<li>(.*?)</li>", page)]


def cells(page: str) -> list[list[str]]:
    """What a page's tables say, row by row."""
    rows = re.findall(r"<tr>(.*?)</tr>", page)
    return [[unescape(c) for c in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", r)] for r in rows]


def test_a_page_says_what_markdown_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "can_draw", lambda: False)
    page = html(MADE)
    lines = PAGE.splitlines()
    assert text(page) == [line[2:] for line in lines if line.startswith("- ")]
    said = [line[2:-2].split(" | ") for line in lines if line.startswith("| ")]
    assert cells(page) == said
    assert re.findall(r"<h[12]>(.*?)</h[12]>", page) == [
        "Analysis of 5 episodes",
        "game24 &lt;mc2&gt;, batch by batch",
        "search &lt;a&gt;",
        "plain",
    ]
    assert f'<p class="notice warn">{WARNING}</p>' in page
    assert re.findall(r'role="region" tabindex="0" aria-label="(.*?)"', page) == ["Runs", "Batches"]
    assert "<title>Analysis</title>" in page
    assert '<span class="dim">analysis</span>' in page
    assert f"<p>{MISSING}</p>" in unescape(page)
    assert "<img" not in page
    assert "notice" not in html({**MADE, "simulated": False}).partition("<main>")[2]


def test_a_page_s_plots_stand_where_their_figures_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "can_draw", lambda: True)
    monkeypatch.setattr(drawing, "drawn", always(b"a drawing"))
    body = html(MADE).partition("<main>")[2]
    found = re.findall(r'<h[12]>(.*?)</h[12]>|alt="(.*?)"', body)
    assert [unescape(heading or alt) for heading, alt in found] == [
        "Analysis of 5 episodes",
        "game24 <mc2>, batch by batch",
        "game24 <mc2>, batch by batch. Accuracy, calls and tokens a problem with 95 % intervals, and lessons, from"
        " batch 1: 1 of 3 right, 1 not graded, to batch 2: 2 of 2 right",
        "cumulative reward by round: search <a>",
        "search <a>",
        "risk by coverage: stated, stated, calibrated",
        "share right by confidence: stated, stated, calibrated",
        "flow: correct, incorrect",
        "depth 0: expand",
        "depth 1: prune, stop",
        "plain",
    ]


def test_a_run_s_plots_are_its_curves_of_confidence_and_its_counts() -> None:
    both = ("stated", "stated, calibrated")
    assert plots(SEARCH) == [
        Plot(
            "risk by coverage", {each: [[0.5, 0.0], [1.0, 1 / 3]] for each in both},
            "coverage", "share wrong", dots=False, share=True,
        ),
        Plot(
            "share right by confidence", {each: [[0.55, 0.5], [0.9, 1.0]] for each in both},
            "confidence", "share right", diagonal=True, share=True,
        ),
        bars("flow", {"correct": 2, "incorrect": 0}),
        bars("depth 0", {"expand": 2}),
        bars("depth 1", {"prune": 1, "stop": 0}),
    ]  # fmt: skip
    assert bars("flow", {"correct": 2}) == Plot("flow", {"correct": [(0.0, 2.0)]}, bars=True)
    assert plots(PLAIN) == []


def test_a_figure_stays_in_its_column_whatever_a_name_holds() -> None:
    head, ruler, row = table(("run", "n"), [("cot prompts=a | b\nc\rd\u2028e", "3")])
    assert row == r"| cot prompts=a \| b c d e | 3 |"
    assert (head, ruler) == ("| run | n |", "|---|---:|")
