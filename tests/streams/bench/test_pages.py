"""A report as it is printed: every line of one in which everything happened, and none of what did not."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from typing import Any

import pytest

from streams.research.analysis.plots import Plot, curves
from streams.research.bench import pages
from streams.research.bench.pages import figures, html, markdown, sections
from streams.research.bench.report import MEASURED


def of(value: float | None, known: int = 4, unknown: int = 0) -> dict[str, Any] | None:
    """A figure without intervals."""
    if value is None:
        return None
    return {
        "value": value,
        "half_width": None,
        "interval": None,
        "known": known,
        "unknown": unknown,
        "seeds": 1,
        "seeds_unknown": 0,
        "problems": known,
        "places": 1,
    }


def measured(run: str, **more: Any) -> dict[str, Any]:
    """A run of four problems, three of them right, that did nothing special."""
    metrics = {**dict.fromkeys(MEASURED), "accuracy": of(75.0), "coverage": of(100.0)}
    metrics |= {"calls": of(1.0), "tokens": of(30.0), "cut_off": of(0.0), "unread": None}
    said = {"commission": 1, "omission": 0, "undecided": 0, "not_graded": 0}
    plain: dict[str, Any] = {
        "data": "sums",
        "run": run,
        "episodes": 4,
        "metrics": metrics,
        "outcomes": said,
        "accuracy_interval": None,
        "learning": {"calls": 0, "tokens": 0, "consolidations": {}},
        "probes": {"episodes": 0, "calls": 0, "tokens": 0},
        "confidence": {},
        "batches": None,
        "passes": None,
        "memory": None,
        "arms": None,
        "rewards": [],
        "backbones": "m",
    }
    return plain | more


def point(run: str, **more: Any) -> dict[str, Any]:
    plain = {"run": run, "calls": 1.0, "tokens": 30.0, "accuracy": 75.0, "coverage": 100.0}
    return {**plain, "unknown": 0, "problems": 4, "best": True, **more}


def plain() -> dict[str, Any]:
    """A report in which nothing special happened."""
    run: dict[str, Any] = {"policy": "cot", "settings": {}, "limits": {}, "note": "", "passes": 1}
    data = {"name": "sums", "wanted": "jsonl", "read": "a.jsonl", "problems": 4, "note": ""}
    return {
        "recipe": "mine", "about": "", "differs": "", "paper": "", "profile": "paper",
        "absent": [], "unfinished": 0, "tables": [], "ours": [],
        "provenance": {
            "changed": {}, "command": "metalogue bench", "backbones": "m", "models": [],
            "embedder": "hashed-256", "seeds": [0], "version": "0.1", "commit": "abc",
            "data": [{**data, "sha256": "0123456789abcdef0123", "stands_in": False}],
        },
        "runs": {"one": {**run, "order": "released"}},
        "measured": [measured("one")],
        "comparisons": {"sums": {
            "by_calls": [point("one")], "by_tokens": [point("one")], "mcnemar": {}, "pairs": [],
        }},
    }  # fmt: skip


STEPS: dict[str, Any] = {
    "points": [
        {"at": 1, "problems": 2, "graded": 2, "accuracy": 50.0, "restarts": None},
        {"at": 2, "problems": 3, "graded": 2, "accuracy": None, "restarts": 25.0},
    ],
    "accuracy": {"slope": 12.5, "p": 0.03125},
    "restarts": None,
}
ARMS: dict[str, Any] = {
    "arms": {"a1": {"pulls": 3, "mean": 0.5}, "a2": {"pulls": 1, "mean": 0.25}},
    "unknown": 2, "cumulative_reward": [0.5, 1.75], "regret": [0.0, 0.25],
}  # fmt: skip
CONFIDENCE: dict[str, Any] = {"stated": {
    "selective_accuracy": {"50 %": 1.0, "100 %": None}, "left_out": 1, "answers": 3, "ece": 0.125,
    "risk_coverage": [[0.5, 0.0], [1.0, 0.25]],
}}  # fmt: skip


def eventful() -> dict[str, Any]:
    """A report in which everything happened."""
    made = plain()
    made |= {"about": "Sums", "differs": "All of it.", "paper": "P", "unfinished": 3}
    made["absent"] = ["nope", "other"]
    made["provenance"] |= {
        "changed": {"problems": 4, "seeds": 1}, "models": ["m1", "m2"], "seeds": [0, 2],
    }  # fmt: skip
    [data] = made["provenance"]["data"]
    made["provenance"]["data"] = [
        {**data, "read": "game24", "stands_in": True, "note": "Fewer."},
        {**data, "name": "away", "read": None, "sha256": None},
    ]
    made["runs"]["two"] = {
        "policy": "mc2",
        "settings": {"samples": 2},
        "limits": {"calls": 8},
        "note": "Ours.",
        "matched": "calls of one, problem by problem",
        "warm_from": "one on sums",
        "continues": "one on away",
        "beside": "one",
        "audit": True,
        "passes": 2,
        "per_data": {"sums": {"samples": 3}},
        "order": "shuffled",
    }
    lost = {"cut_off": of(12.5, 1_600), "unread": of(0.0, 7, 1_200), "unguided": of(0.0)}
    two = measured(
        "two", data="sums", batches=STEPS, memory={"asked": 3, "found": 0}, arms=ARMS, confidence=CONFIDENCE,
        accuracy_interval=(30.0, 95.0), rewards=[0.5, 1.0],
        probes={"episodes": 2, "calls": 7, "tokens": 0}, backbones="SIMULATED m",
        judge={"right": 1, "wrong": 2, "unclear": 0, "by": ["j1", "j2"], "accuracy": 0.5, "coverage": 1.0},
    )  # fmt: skip
    two["metrics"] |= lost
    made["measured"] = [measured("one"), two, measured("one", data="other")]
    test = {"wins": 1, "losses": 2, "p": 0.987654, "left_out": 0}
    made["comparisons"]["sums"] = {
        "by_calls": [
            point("one", calls=1_234.5, coverage=87.5, accuracy=66.6, problems=8),
            point("two", best=False, calls=8.0),
            point("three", best=False),
        ],
        "by_tokens": [point("two", unknown=1)],
        "mcnemar": {"one": {"two": test, "three": test | {"left_out": 4}}},
        "pairs": [],
    }
    return made


def test_what_must_be_read_comes_before_how_it_was_made_and_every_figure() -> None:
    said = markdown(eventful())
    assert said.split("\n\n## ")[0].splitlines() == [
        "# mine: Sums",
        "",
        "> **Simulated: no model answered. These figures say nothing about any method.**",
        "",
        "> **Reduced (problems 4, seeds 1): this is no reproduction of the paper's figure.**",
        "",
        "> **Not in this build: nope, other. Their rows are not measured.**",
        "",
        "> **3 problems have no answer yet.**",
        "",
        "All of it.",
        "",
        "- command: `metalogue bench`",
        "- backbones: m; models that answered: m1, m2",
        "- embedder hashed-256; profile paper; seeds 0, 2",
        "- metalogue 0.1, commit abc",
        "- data sums (jsonl, where game24 stands in): 4 problems, sha256 0123456789abcdef; Fewer.",
        "- data away (jsonl): not read",
        "- run one: cot",
        "- run two: mc2 samples=2 calls ≤ 8 limit: calls of one, problem by problem warm start from one on sums "
        "continues one on away goes on with each episode of one spares in side runs what it pruned "
        "per data {'sums': {'samples': 3}} 2 passes shuffled; Ours.",
    ]


def test_details_tell_what_happened_and_to_whom() -> None:
    said = markdown(eventful())
    assert said.split("\n\n### ", 1)[1].splitlines() == [
        "sums: policies beside each other",
        "",
        "- not beaten by calls: one (66.6 % of the 87.5 % graded at 1,234.5)",
        "- not beaten by tokens: two (75.0 % at 30.0, 3 of 4); tokens unknown of one, three",
        "- McNemar, one against two 1:2 p 0.988; three 1:2 p 0.988 (4 not graded in both)",
        "",
        "### sums, two",
        "",
        "- by batches: 1:50.0 2:– (of 2/3); accuracy +12.50 points a step, p 0.0312 ",
        "- memory: asked in 3 episodes, held something for 0 of them",
        "- arms: a1 ×3 mean 0.500, a2 ×1 mean 0.250; reward 1.75, regret 0.25 "
        "(2 pulls brought no reward that could be read)",
        "- confidence (stated, claimed, 3 answers, 1 not graded): ECE 0.125, "
        "accuracy by coverage 100.0 % at 50 %, – at 100 %",
        "- lost: replies cut off by their length 12.5 % of 1,600; "
        "replies that a default stands in for 0.0 % of 7 (1,200 unknown)",
        "- a judge of undecided answers: right 1, wrong 2, unclear 0 (j1; j2)",
        "- probes: 2 with 7 calls",
    ]


def test_what_did_not_happen_is_not_said() -> None:
    assert markdown(plain()).splitlines() == [
        "# mine",
        "",
        "- command: `metalogue bench`",
        "- backbones: m; models that answered: none",
        "- embedder hashed-256; profile paper; seeds 0",
        "- metalogue 0.1, commit abc",
        "- data sums (jsonl): 4 problems, sha256 0123456789abcdef",
        "- run one: cot",
        "",
        "## Measured",
        "",
        "| data | run | n | right % | graded % | wrong | withheld | undecided | not graded "
        "| calls | tokens | learning |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
        "| sums | one | 4 | 75.0 | 100.0 | 1 | 0 | 0 | 0 | 1.0 | 30 | 0 calls |",
        "",
        "Not known of any: 95 %, ECE, AURC, F1.",
        "",
        "### sums: policies beside each other",
        "",
        "- not beaten by calls: one (75.0 % at 1.0)",
        "- not beaten by tokens: one (75.0 % at 30.0)",
    ]


def test_a_smaller_run_of_one_s_own_is_reduced_and_reproduces_nothing_either_way() -> None:
    made = plain()
    made["provenance"]["changed"] = {"calls": 2}
    assert markdown(made).splitlines()[2] == "> **Reduced (calls 2).**"


def test_where_nobody_s_cost_is_known_nobody_is_called_unbeaten() -> None:
    made = plain()
    made["comparisons"]["sums"]["by_tokens"] = []
    [(_, lines)] = sections(made)
    assert lines[1] == "not beaten by tokens: unknown; tokens unknown of one"


def test_both_trends_are_told_where_both_are_known_and_certainty_of_arms_is_not_doubted() -> None:
    made = plain()
    steps = deepcopy(STEPS) | {"restarts": {"slope": -3.0, "p": 1.0}}
    made["measured"] = [measured("one", passes=steps, arms=ARMS | {"unknown": 0})]
    *_, (title, lines) = sections(made)
    assert title == "sums, one"
    assert lines == [
        "by passes: 1:50.0 2:– (of 2/3); accuracy +12.50 points a step, p 0.0312 "
        "restarts -3.00 points a step, p 1 ",
        "arms: a1 ×3 mean 0.500, a2 ×1 mean 0.250; reward 1.75, regret 0.25",
    ]


def test_plots_show_runs_beside_each_other_and_leave_out_what_is_unknown() -> None:
    made = eventful()
    del made["measured"][2], made["comparisons"]["sums"]["by_calls"][2]
    round_, reward = "round with advice", "cumulative reward"
    assert [*figures(made)] == [
        Plot(
            "sums: right % by calls",
            {"one": [[1_234.5, 66.6]], "two": [[8.0, 75.0, 30.0, 95.0]]},
            "calls a problem",
            "right %",
            joined=False,
        ),
        Plot("sums: right % by batches", {"two": [[1, 50.0]]}, "batches", "right %"),
        Plot("sums: RESTART % by batches", {"two": [[2, 25.0]]}, "batches", "RESTART %"),
        Plot("sums: right % by passes", {}, "passes", "right %"),
        Plot("sums: RESTART % by passes", {}, "passes", "RESTART %"),
        Plot(
            f"sums: {reward} by {round_}",
            {"two": [[1.0, 0.5], [2.0, 1.0]]},
            round_,
            reward,
            dots=False,
        ),
        Plot(
            "sums: regret by choice",
            {"two": [[1.0, 0.0], [2.0, 0.25]]},
            "choice",
            "regret",
            dots=False,
        ),
        curves(
            "sums: risk by coverage",
            {"two, stated, claimed": [[0.5, 0.0], [1.0, 0.25]]},
            x="coverage",
            y="share wrong",
        ),
    ]


def test_a_run_stands_in_the_plots_of_its_own_data_set_alone() -> None:
    made = eventful()
    del made["comparisons"]["sums"]["by_calls"][2]
    before = {each.title for each in figures(made) if each.series}
    made["comparisons"]["other"] = {"by_calls": [], "by_tokens": []}
    assert {each.title for each in figures(made) if each.series} == before


def test_the_page_says_what_the_lines_say() -> None:
    page = html(eventful() | {"about": "Sums & <more>"}, plots=False)
    order = [
        "<h1>mine: Sums &amp; &lt;more&gt;</h1>",
        "Simulated: no model answered.",
        '<p class="prose">All of it.</p>',
        "<h2>Measured</h2>",
        "<h2>Details</h2>",
        "sums: policies beside each other",
        "<h2>How it was made</h2>",
        "command: <code>metalogue bench</code>",
    ]
    places = [page.index(each) for each in order]
    assert places == sorted(places)
    assert "<title>mine" in page
    bare = html(plain(), plots=False)
    assert '<p class="prose">' not in bare
    assert '<p class="dim small prose">Not known of any: 95 %, ECE, AURC, F1.</p>' in bare
    nothing: dict[str, Any] = plain() | {"measured": [], "comparisons": {}}
    assert "Not known of any" not in html(nothing, plots=False)
    assert "<h2>Details</h2>" not in html(nothing, plots=False)


def test_a_page_has_its_plots_unless_none_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    def titles(plots: Iterable[Plot]) -> list[str]:
        return [plot.title for plot in plots]

    monkeypatch.setattr(pages, "in_page", titles)
    made = plain()
    assert "sums: regret by choice" in html(made)
    assert "sums: regret by choice" not in html(made, plots=False)


@pytest.mark.parametrize("paper", ["", "P"])
def test_pairs_have_a_table_of_their_own_where_no_paper_says_what_to_compare(paper: str) -> None:
    made: dict[str, Any] = plain() | {"paper": paper}
    gains = dict.fromkeys(("accuracy", "calls", "tokens"))
    made["comparisons"]["sums"] |= {
        "pairs": [
            {"run": "two", "over": "one", **gains, "only_run": 1, "only_over": 0, "p": 1.0, "left_out": 0}
        ],
        "mcnemar": {"one": {"two": {"wins": 0, "losses": 1, "p": 1.0, "left_out": 0}}},
    }  # fmt: skip
    said = markdown(made)
    assert ("## Pairs" in said) is (not paper)
    assert ("McNemar, one against two 0:1 p 1" in said) is bool(paper)
