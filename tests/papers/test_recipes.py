"""Every table and figure of the papers has a recipe, whose figures are the paper's, and that runs.

Each runs reduced (one problem, one seed, twelve calls) on the simulator, over one log that they share;
its report must print the paper's figure beside ours, and ours must be what the log says.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from streams.research.bench.metrics import METRICS
from streams.research.bench.printed import read_printed
from streams.research.bench.recipe import COMPARED, Recipe, Row, Table, load, names
from streams.research.bench.uncovered import UNCOVERED
from tests.data import shared
from tests.streams.cli.calling import call

pytestmark = pytest.mark.slow
claim = pytest.mark.claim

PAPERS = {"MC²": "000", "Meta-Reasoner": "001", "Trainable": "002", "CoT2-Meta": "003"}
COMPUTED = {"93.35", "95.70", "77.70", "80.82", "87.40", "90.40"}
"""Figure 6 of CoT2-Meta prints no numbers: these are means of its table 1."""

NUMBER = re.compile(r"\d+(?:\.\d+)?")

# Recipe, its claim, and figures as the papers print them: table, row, column, figure.
RECIPES: list[tuple[str, pytest.MarkDecorator, list[tuple[int, str, str, Any]]]] = [
    (
        "mc2-tab-01",
        claim("mc2-tab-01"),
        [
            (0, "MC²", "Game of 24", "88.67 ± 8.72"),
            (3, "MC²", "Game of 24 tokens", "12808 ± 2935"),
            (1, "MC²", "GSM8K", "97.17 ± 0.57"),
        ],
    ),
    (
        "mc2-tab-02",
        claim("mc2-tab-02"),
        [(0, "R + M + C", "Math-500", "79.20"), (1, "Full Method", "TheoremQA", 64.88)],
    ),
    (
        "mc2-tab-04",
        claim("mc2-tab-04"),
        [
            (0, "level 5", "Grade A Rate", "73.63 %"),
            (1, "accuracy of grade C", "figure", "38.82 %"),
        ],
    ),
    (
        "mc2-tab-06",
        claim("mc2-tab-06", "mc2-fig-05"),
        [(0, "3", "Accuracy (%)", 85.8), (0, "6", "#Tokens", "1945.70")],
    ),
    ("mc2-tab-07", claim("mc2-tab-07"), [(0, "Monitor", "p(key operations)", 0.9618)]),
    (
        "mc2-tab-08",
        claim("mc2-tab-08"),
        [(0, "game-of-24", "Δ", -1.34), (1, "math500", "Δ", "+0.20")],
    ),
    (
        "mc2-tab-09",
        claim("mc2-tab-09"),
        [
            (0, "MATH-500 → GSM8K", "Transfer Warm-Start", 96.36),
            (0, "GSM8K → TheoremQA", "Transfer Warm-Start", "57.00"),
        ],
    ),
    (
        "mc2-fig-03",
        claim("mc2-fig-01", "mc2-fig-03"),
        [(0, "pass 1", "Action 3 of decisions (%)", 33.1), (0, "pass 5", "Accuracy (%)", 88)],
    ),
    (
        "mc2-fig-06",
        claim("mc2-fig-06"),
        [(0, "batches 2 to 10", "own guidance", "consistently higher")],
    ),
    (
        "cot2-fig-05",
        claim("cot2-fig-05"),
        [(1, "MATH", "False-prune rate (%)", "comparatively low")],
    ),
    (
        "cot2-tab-01",
        claim("cot2-tab-01"),
        [(0, "MATH", "Ours (CoT2-Meta)", 92.8), (0, "HotpotQA", "ReST-MCTS*", 87.4)],
    ),
    (
        "cot2-tab-02",
        claim("cot2-tab-02"),
        [(1, "Ours (CoT2-Meta)", "∆(Avg)", "+10.5"), (2, "Greedy CoT", "MATH", 50.4)],
    ),
    (
        "cot2-tab-03",
        claim("cot2-tab-03"),
        [(0, "w/o Metacognitive Pruning", "Avg Tokens", "9,850"), (0, "Repair-all", "MATH", 88.5)],
    ),
    ("cot2-tab-07", claim("cot2-tab-07"), [(0, "BBEH", "p-value", 0.002)]),
    ("cot2-tab-08", claim("cot2-tab-08"), [(3, "C = 8", "CoT2-Meta", "87.40")]),
    ("cot2-tab-09", claim("cot2-tab-09"), [(0, "LCB", "Ours C = 16", "56.70")]),
    (
        "cot2-tab-10",
        claim("cot2-tab-10"),
        [(0, "MATH (EM)", "Ours", "88.10"), (1, "GPQA (Acc.)", "S.B.M.B.", "75.60")],
    ),
    ("cot2-tab-11", claim("cot2-tab-11"), [(0, "Art & Design", "Ours", "71.40")]),
    (
        "cot2-tab-12",
        claim("cot2-tab-12"),
        [(6, "C = 16", "Accuracy (%)", 77.1), (3, "C = 16", "Accuracy (%)", 71.5)],
    ),
    ("cot2-tab-13", claim("cot2-tab-13"), [(0, "CoT2-Meta (Ours)", "Acc. / 1K Tok.", "14.60")]),
    ("cot2-tab-14", claim("cot2-tab-14"), [(0, "Hard (L5), 150", "CoT2-Meta (Ours)", "55.3 %")]),
    ("cot2-tab-15", claim("cot2-tab-15"), [(0, "F4: Base-Model Limit", "% of Fails", "58.2 %")]),
    (
        "cot2-tab-16",
        claim("cot2-tab-16"),
        [(0, "CoT2-Meta (Ours, C = 16)", "Combinatorics subset (n = 100)", "55.9 ± 0.4")],
    ),
    ("cot2-tab-17", claim("cot2-tab-17"), [(0, "Best-of-16", "AURC", "0.278 [0.258, 0.298]")]),
    ("cot2-tab-18", claim("cot2-tab-18"), [(0, "Variant C", "ECE", "0.032 [0.023, 0.042]")]),
    (
        "cot2-tab-19",
        claim("cot2-tab-19"),
        [(0, "Full Selective Repair (Ours)", "Net Trajectory Gain", "+275")],
    ),
    (
        "cot2-tab-20",
        claim("cot2-tab-20"),
        [(0, "No Repair + Extra Expansion (Matched)", "Avg. tokens", "5,290")],
    ),
    ("cot2-tab-21", claim("cot2-tab-21"), [(0, "Hybrid cascade (τ = 0.8)", "Avg. calls", 22.4)]),
    ("cot2-tab-25", claim("cot2-tab-25"), [(0, "First-pass success", "Value", "98.2 %")]),
    (
        "cot2-fig-06",
        claim("cot2-fig-06"),
        [(0, "Math-EM (GSM8K, MATH)", "Ours (CoT2-Meta)", "95.70")],
    ),
    (
        "cot2-fig-07",
        claim("cot2-fig-07"),
        [(0, "GSM8K", "SBMB C = 4", "95.10"), (3, "Science (Bio, Chem, Phys)", "Ours", "65.20")],
    ),
    ("cot2-fig-09", claim("cot2-fig-09"), [(0, "mean gain", "Gain", "+2.4")]),
    ("mr-app-e", claim("mr-app-e"), [(0, "embed and score", "share of the time", "< 3 %")]),
    (
        "mr-tab-02",
        claim("mr-tab-02"),
        [
            (0, "GPT-4o-mini + ToT (b = 5)", "Success (%)", 65),
            (0, "GPT-4o-mini + Meta-Reasoner", "Success (%)", 89),
        ],
    ),
    ("mr-tab-03", claim("mr-tab-03"), [(0, "GPT-4o-mini + Meta-Reasoner", "Accuracy (%)", 84.13)]),
    ("mr-tab-04", claim("mr-tab-04"), [(0, "GPT-4o-mini + MACM", "Stat (%)", 67.13)]),
    (
        "mr-tab-05",
        claim("mr-tab-05"),
        [(0, "Meta-Reasoner, GPT-4o-mini", "AIME 2024 (Pass@1)", 26.7)],
    ),
    ("mr-tab-06", claim("mr-tab-06"), [(0, "w/o Progress Report", "TheoremQA", 79.42)]),
    ("mr-tab-07", claim("mr-tab-07"), [(0, "Dynamic", "#US ", 21)]),
    ("mr-tab-08", claim("mr-tab-08"), [(0, "Meta-Reasoner", "GPT-4 Coherence Score", 7.68)]),
    ("mr-tab-09", claim("mr-tab-09"), [(4, "MACM", "Inference Time (s)", "24.30 ± 1.15")]),
    ("mr-tab-10", claim("mr-tab-10"), [(0, "HiAR-ICL", "Diff (%)", 57.42)]),
    ("mr-tab-11", claim("mr-tab-11"), [(0, "β = 0.5", "Game-of-24 Acc. (%)", "86.7 ± 1.4")]),
    ("mr-tab-12", claim("mr-tab-12"), [(0, "Gemini-2.5-Pro", "Cost/1K calls", "$0.125")]),
    ("mr-tab-13", claim("mr-tab-13"), [(0, "Full Method", "Game-of-24 Time (s)", 43.8)]),
    ("mr-fig-03", claim("mr-fig-03"), [(0, "LinUCB", "Game of 24", "highest")]),
    ("mr-fig-04", claim("mr-fig-04"), [(0, "Meta-Reasoner", "TheoremQA", "29–33 % less")]),
    ("mr-fig-05", claim("mr-fig-05"), [(0, "MACM", "Game of 24", 2266.78)]),
    ("gm-tab-01", claim("gm-tab-01"), [(0, "Ours", "HotpotQA", 0.358), (1, "ITR", "NQ", 0.298)]),
    (
        "gm-tab-02",
        claim("gm-tab-02"),
        [(0, "Ours", "HotpotQA", 0.387), (1, "Search-R1", "HotpotQA", 0.354)],
    ),
    ("gm-tab-03", claim("gm-tab-03"), [(0, "topk=5", "Avg.", 0.355)]),
    ("gm-tab-04", claim("gm-tab-04"), [(1, "Ours(gemini)", "HotpotQA", 0.314)]),
    ("gm-fig-03", claim("gm-fig-03"), [(0, "with memory", "reward at the end", "higher")]),
    ("gm-fig-04", claim("gm-fig-04"), [(1, "k = 1", "Avg.", 0.344)]),
    (
        "mgv-report",
        claim("mgv-report"),
        [(0, "loss from a bad start, cited", "accuracy", "about 20 %")],
    ),
    ("budgets", claim(), [(0, "greedy, C = 4", "calls", None)]),
    (
        "game24-recorded",
        claim(),
        [(0, "n = 1", "any of n (%)", "4.0"), (0, "n = 100", "any of n (%)", 49)],
    ),
]


@dataclass(frozen=True)
class Bench:
    """A folder in which all recipes run on one log."""

    log: Path
    data: tuple[str, ...]

    def run(self, name: str) -> dict[str, Any]:
        flags = (
            "--reduced",
            "--limit",
            "1",
            "--backbone",
            "rehearsal:seed=7",
            "--plots",
            "none",
            "--out",
            self.log.parent,
            "-q",
        )
        done = call("bench", "run", name, "--log", self.log, *flags, *self.data)
        assert done.code == 0, done.err
        made: dict[str, Any] = json.loads((self.log.parent / f"{name}.json").read_text())
        return made


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    folder = shared()
    files = {
        "gsm8k": "gsm8k/test_dev.jsonl",
        "math500": "math500/test_dev.jsonl",
        "theoremqa": "theoremqa/test_dev.json",
        "hotpotqa": "hotpotqa/dev_closedbook_1000.jsonl",
        "game24": "game24/24.csv",
    }
    data = [part for name, file in files.items() for part in ("--data", f"{name}={folder / file}")]
    return Bench(tmp_path_factory.mktemp("recipes") / "bench.db", tuple(data))


def cells(table: Table) -> Iterator[tuple[str, Row, str, Any]]:
    """Row, its place, column and figure of each cell."""
    for name, row in table.rows.items():
        for column, paper in zip(table.columns, row.paper, strict=True):
            yield name, row, column, paper


@pytest.mark.parametrize(
    ("name", "figures"),
    [pytest.param(name, figures, id=name, marks=marks) for name, marks, figures in RECIPES],
)
def test_a_recipe_prints_the_papers_figures_beside_ours(
    bench: Bench, name: str, figures: list[tuple[int, str, str, Any]]
) -> None:
    recipe = load(name)
    for table, row, column, figure in figures:
        found = {(r, c): paper for r, _, c, paper in cells(recipe.tables[table])}
        assert found[row, column] == figure
    made = bench.run(name)
    assert made["differs"]
    page = (bench.log.parent / f"{name}.md").read_text()
    assert "Simulated" in page
    assert f"`{made['provenance']['command']}`" in page
    check_page(recipe, made, page)
    check_ours(recipe, made, bench.log)


def check_page(recipe: Recipe, made: dict[str, Any], page: str) -> None:
    """Each row stands on the page with the paper's figures, ours and the difference, or that there is none of ours.

    A column for which the paper prints nothing shows ours alone.
    """
    for table, told in zip(recipe.tables, made["tables"], strict=True):
        numbers = [
            any(read_printed(row.paper[at]) is not None for row in table.rows.values())
            for at in range(len(table.columns))
        ]
        printed = [
            any(row.paper[at] is not None for row in table.rows.values())
            for at in range(len(table.columns))
        ]
        for (name, row), shown in zip(table.rows.items(), told["rows"], strict=True):
            parts: list[str] = []
            for paper, cell, said, number in zip(
                row.paper, shown["cells"], printed, numbers, strict=True
            ):
                parts += [re.escape("–" if paper is None else str(paper))] if said else []
                parts += [_figure(cell["ours"])]
                parts += [_apart(cell["difference"])] if number else []
            line = r" \| ".join([re.escape(name), *parts])
            assert re.search(rf"^\| {line} \|$", page, re.MULTILINE), line


def _figure(ours: dict[str, Any] | None) -> str:
    """How our figure is printed: over seeds, over problems, and of how many where some are unknown."""
    if ours is None:
        return r"not measured"
    number = r"-?[\d,.]+"
    half = "" if ours["half_width"] is None else f" ± {number}"
    spread = "" if ours["interval"] is None else rf" \[{number}, {number}\]"
    known, unknown = ours["known"], ours["unknown"]
    left = f", {known:,} of {known + unknown:,}" if unknown else ""
    return f"{number}{half}{spread}{left}"


def _apart(difference: dict[str, Any] | None) -> str:
    """How the difference is printed: with its sign, and over problems."""
    if difference is None:
        return "–"
    spread = "" if difference["interval"] is None else r" \[-?[\d,.]+, -?[\d,.]+\]"
    return rf"[+-][\d,.]+{spread}"


OURS = {
    "accuracy": "100.0 * sum(outcome = 'right') / sum(outcome is not 'unknown')",
    "exact_match": "1.0 * sum(outcome = 'right') / sum(outcome is not 'unknown')",
    "calls": "avg(calls)",
    "tokens": "avg(prompt + completion)",
    "completion_tokens": "avg(completion)",
}
"""What the log says of a series, asked for in SQL and not through the harness."""
EPISODES = """
with closed as (select c.episode, json_extract(a.body, '$.problem.policy') as policy,
    json_extract(c.body, '$.usage.calls') as calls,
    json_extract(c.body, '$.usage.prompt_tokens') as prompt,
    json_extract(c.body, '$.usage.completion_tokens') as completion,
    case when json_extract(c.body, '$.answer') is null then 'withheld' else (
      select json_extract(g.body, '$.outcome') from records g where g.episode = c.episode
        and g.kind = 'graded' order by g.offset desc limit 1) end as outcome
  from records c join records a on a.episode = c.episode and a.kind = 'problem.admitted'
  where c.kind = 'episode.closed' and json_extract(a.body, '$.problem.series') = ?)
select {} from closed
"""


def check_ours(recipe: Recipe, made: dict[str, Any], log: Path) -> None:
    """Our figures of plain metrics are what SQL says of the series that the report names."""
    series = {(m["run"], m["data"]): m["series"] for m in made["measured"]}
    with closing(sqlite3.connect(log)) as db:
        for table, told in zip(recipe.tables, made["tables"], strict=True):
            columns = list(table.columns.values())
            for row, shown in zip(table.rows.values(), told["rows"], strict=True):
                for column, cell in zip(columns, shown["cells"], strict=True):
                    place = row.joined(column)
                    metric = place.metric or ""
                    assert cell["ours"] is None or metric in (*METRICS, *COMPARED)
                    if (
                        cell["ours"] is None
                        or metric not in OURS
                        or column.only
                        or row.only
                        or row.walk
                        or place.over
                        or place.less
                        or place.best_of
                    ):
                        continue
                    key = (row.run or column.run or "", row.data or column.data or "")
                    (only,) = series[key]
                    (value,) = db.execute(EPISODES.format(OURS[metric]), (only,)).fetchone()
                    assert cell["ours"]["value"] == pytest.approx(value, abs=1e-6)


def test_every_recipe_is_here_with_its_claims() -> None:
    assert sorted(name for name, _, _ in RECIPES) == names()
    for name, marks, _ in RECIPES:
        assert load(name).claims == marks.args, name


@pytest.mark.parametrize("name", names())
def test_every_figure_stands_in_the_paper(name: str) -> None:
    recipe = load(name)
    papers = shared().parent / "papers"
    mine = [file for word, number in PAPERS.items() if recipe.paper.startswith(word)
            for file in papers.glob(f"{number}_*.txt")]  # fmt: skip
    if not mine:
        return
    printed = set(NUMBER.findall(mine[0].read_text().replace(",", ""))) | COMPUTED
    for table in recipe.tables:
        for row, _, column, paper in cells(table):
            for number in NUMBER.findall(str(paper or "").replace(",", "")):
                assert number in printed, (row, column, paper)


@cache
def printed_by() -> list[str]:
    """What each recipe prints, as its paper calls it."""
    return [load(name).paper for name in names()]


def named_in(text: str) -> list[tuple[str, str]]:
    """Tables and figures that a text speaks of, by kind and number."""
    return re.findall(r"\b(table|figure) (\d+)\b", text)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_table_and_figure_has_a_recipe_or_a_reason(paper: str) -> None:
    folder = shared().parent / "papers"
    texts = [file.read_text() for file in folder.glob(f"{PAPERS[paper]}_*.txt")]
    if not texts:
        return
    caption = re.compile(r"(?:^|>)(Table|Figure) (\d+):", re.MULTILINE)
    printed = {f"{kind.lower()} {number}" for kind, number in caption.findall(texts[0])}
    [name] = [each for each in UNCOVERED if each.startswith(paper)]
    ours = [each for each in printed_by() if each.startswith(paper)]
    named = re.compile(r"(table|figure)s? (\d+)(?: and (\d+))?")
    found = {
        f"{kind} {number}"
        for each in ours
        for kind, *numbers in named.findall(each)
        for number in numbers
        if number
    }
    assert printed - found - UNCOVERED[name].keys() == set()
    assert not found & UNCOVERED[name].keys()
    mentioned = {f"{kind} {number}" for kind, number in named_in(texts[0].casefold())}
    numbered = UNCOVERED[name].keys() - {"tables and figures"}
    assert numbered <= mentioned, "and no reason is for what the paper does not print"


def test_the_list_says_what_each_recipe_needs_and_what_has_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    some = ["mc2-tab-08", "mr-tab-08"]
    monkeypatch.setattr("streams.interfaces.cli.bench.listing.names", lambda: some)
    rows = {row.get("recipe"): row for row in call("bench", "list", "--json").rows}
    assert {*some} <= rows.keys()
    assert rows["mc2-tab-08"]["needs"] == {"math500": "hub:HuggingFaceH4/MATH-500"}
    assert (rows["mr-tab-08"]["measured"], rows["mr-tab-08"]["cells"]) == (0, 6)
    assert [rows[name]["runs"] for name in some] == [True, False]
    papers = {row["paper"] for row in call("bench", "list", "--json").rows}
    assert any(paper.startswith("Monitor") for paper in papers), (
        "it prints neither, and that is said"
    )
    told = call("bench", "list").out
    assert "needs math500" in told
    assert "MC², table 8 (App. F). Order of the problems" in told, "which table it is"
    assert "CoT2-Meta, figure 8: not measured" in told
