"""`metalogue compare`: from a file of problems to a table with intervals, tests in both directions, CSV and LaTeX."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.outcome import Outcome
from streams.research.analysis.statistics import mcnemar
from streams.research.bench.compare import paired
from streams.research.bench.comparison import (
    comparison,
    files_of,
    name_of,
    named,
    settings_of,
)
from streams.research.bench.exports import exports
from streams.research.bench.pages import html, markdown
from streams.research.bench.recipe import Data, Recipe, Runs
from streams.research.bench.tables import pairs_table
from tests.endpoint import Answer, Asked, serving, whole
from tests.streams.bench.worlds import case, episodes
from tests.streams.cli.calling import call

PROBLEMS = 6
HARD = range(2, PROBLEMS)
"""Problems that the endpoint gets right only where it is asked greedily."""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file of problems, in the folder that the commands run in."""
    monkeypatch.chdir(tmp_path)
    lines = [
        {"id": f"q{at}", "problem": f"What is {at} + 10?", "answer": str(at + 10)}
        for at in range(PROBLEMS)
    ]
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines))
    return "mine.jsonl"


def test_each_run_is_its_own_whatever_a_line_says_and_what_is_refused_or_repeated_is_not_awaited(
    mine: str,
) -> None:
    """A line's own policy had made episodes of a run that were another's, without a word."""
    lines = Path(mine).read_text().splitlines()
    own = json.loads(lines[0]) | {"policy": "self_consistency", "limits": {"calls": 2}, "seed": 5}
    lines = [json.dumps(own), *lines[1:], lines[1], "{", json.dumps({"id": "x", "problem": ""})]
    Path(mine).write_text("\n".join(lines) + "\n")
    with serving(adds) as endpoint:
        where = ("--base-url", endpoint.env()["OPENAI_BASE_URL"], "--backbone", "openai:check")
        ran = call("compare", mine, "--policies", "cot,greedy", "--seeds", "2", *where, "--json")
    assert ran.code == 1, "two lines were refused"
    assert "1 lines name their policy: here cot does" in ran.err
    made = ran.json
    assert made["unfinished"] == 0
    for each in made["measured"]:
        assert each["metrics"]["calls"]["value"] == 1.0
        assert each["episodes"] == 2 * PROBLEMS


def adds(asked: Asked) -> Answer:
    """The sum; of a hard problem one more, but to whoever asks at temperature 0."""
    text = json.dumps(asked.body["messages"])
    at = next(at for at in range(PROBLEMS) if f"What is {at} + 10?" in text)
    off = at in HARD and asked.body.get("temperature") != 0
    return whole(rf"Final_answer: \boxed{{{at + 10 + off}}}")


def compared(*words: str) -> Any:
    with serving(adds) as endpoint:
        more = ("--base-url", endpoint.env()["OPENAI_BASE_URL"], "--backbone", "openai:check")
        return call("compare", *words, *more, "--plots", "none")


def test_a_file_of_problems_becomes_a_table_of_pairs_with_intervals(mine: str) -> None:
    words = (mine, "--policies", "cot,greedy", "--seeds", "2", "--call-limit", "3")
    made = compared(*words, "--json")
    assert made.code == 0, made.err
    accuracy = {each["run"]: each["metrics"]["accuracy"]["value"] for each in made.json["measured"]}
    assert accuracy == {"cot": pytest.approx(100 * 2 / 6, abs=1e-5), "greedy": 100.0}
    [pair] = made.json["comparisons"]["mine"]["pairs"]
    assert (pair["run"], pair["over"]) == ("greedy", "cot")
    assert (pair["only_run"], pair["only_over"], pair["p"]) == (4, 0, mcnemar(4, 0))
    gained = pair["accuracy"]
    assert gained["value"] == pytest.approx(100 * 4 / 6, abs=1e-5)
    assert gained["interval"][0] < gained["value"] < gained["interval"][1] <= 100
    assert (gained["seeds"], pair["calls"]["value"], made.json["paper"]) == (2, 0.0, "")
    again = compared(*words, "--csv")
    assert again.code == 0, again.err
    rows = [*csv.DictReader(io.StringIO(again.out))]
    assert {row["run"]: float(row["value"]) for row in rows if row["metric"] == "accuracy"} == (
        accuracy
    )


def test_the_page_has_no_column_of_dashes_and_tells_each_pair_once(mine: str) -> None:
    made = compared(mine, "--policies", "cot,greedy,again=cot", "--limit", "3")
    assert made.code == 0, made.err
    tables = [line for line in made.lines if line.startswith("| mine")]
    assert len(tables) == 3 + 3
    assert not any("| – |" in line for line in tables)
    assert "Not known of any: ECE, AURC, F1." in made.lines
    assert "McNemar, cot against" not in made.out
    assert "> **Reduced (problems 3).**" in made.lines
    assert {each.name for each in Path("compare/mine").iterdir()} == {
        *("measured.csv", "measured.tex", "pairs.csv", "pairs.tex")
    }
    assert "metalogue compare mine.jsonl --policies cot,greedy,again=cot --seeds 1" in made.out
    printed = compared(mine, "--policies", "cot,greedy,again=cot", "--limit", "3", "--latex")
    assert printed.out.count(r"\begin{table}") == 2
    assert "written compare/mine.md" in printed.err


def test_runs_of_one_policy_differ_by_their_settings(mine: str) -> None:
    words = ("--policies", "two=self_consistency,three=self_consistency", "--limit", "1")
    made = compared(mine, *words, "--set", "two.samples=2", "--set", "three.samples=3", "--json")
    assert made.code == 0, made.err
    assert {e["run"]: e["metrics"]["calls"]["value"] for e in made.json["measured"]} == {
        "two": 2.0,
        "three": 3.0,
    }


def test_a_plan_makes_no_call_and_no_log(mine: str) -> None:
    made = call("compare", mine, "--policies", "cot,greedy", "--backbone", "rehearsal", "--plan")
    assert made.code == 0, made.err
    assert "in all: 12 problems, 0 closed; at most 12 calls" in made.out
    assert not Path("compare.db").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["mine.jsonl", "--policies", "cot"], "--policies: one policy alone"),
        (["mine.jsonl", "--policies", "cot,cot"], "two runs are called 'cot'"),
        (["mine.jsonl", "--policies", "cot,,greedy"], "names nothing between two commas"),
        (["mine.jsonl", "--policies", "cot,nope"], "--policies: no policy 'nope'"),
        (["mine.jsonl", "--policies", "cot,greedy", "--set", "x=1"], "'x' is a setting of no run"),
        (["mine.jsonl", "--policies", "cot,greedy", "--set", "cot.x=1"], "settings.x: no such"),
        (["mine.jsonl", "--policies", "cot,greedy", "--csv", "--latex"], "one form is printed"),
        (["gone.jsonl", "--policies", "cot,greedy"], "SOURCE: gone.jsonl: No such file"),
        (["-", "--policies", "cot,greedy"], "standard input can be read once"),
    ],
)
def test_what_cannot_be_compared_is_said_before_a_call(
    mine: str, words: list[str], said: str
) -> None:
    made = call("compare", *words)
    assert (made.code, said in made.err) == (2, True), made.err
    assert not Path("compare.db").exists()


def test_what_was_refused_of_a_file_shows_in_the_exit_code(mine: str) -> None:
    with Path(mine).open("ab") as lines:
        lines.write(b"no json\n")
    made = compared(mine, "--policies", "cot,greedy", "--json")
    assert made.code == 1
    assert [each["metrics"]["accuracy"]["value"] for each in made.json["measured"]] != [None] * 2
    assert "no json" not in made.err
    assert "mine" in made.err


def test_a_file_without_answers_is_said_so_beforehand(mine: str) -> None:
    Path("bare.jsonl").write_text('{"id": "a", "problem": "What is 1 + 10?"}\n')
    made = compared("bare.jsonl", "--policies", "cot,greedy")
    assert made.code == 0, made.err
    assert "bare.jsonl: no problem has an answer" in made.err
    assert "Not known of any: right %, 95 %, ECE, AURC, F1." in made.lines


# ── Pairs ────────────────────────────────────────────────────────────────────────────────────

OUTCOMES: st.SearchStrategy[list[tuple[Outcome, Outcome]]] = st.lists(
    st.tuples(*[st.sampled_from(("right", "wrong", "withheld", "unknown"))] * 2),
    min_size=1,
    max_size=12,
)


@given(OUTCOMES)
def test_a_gain_is_what_one_solves_alone_less_what_the_other_does(
    outcomes: list[tuple[Outcome, Outcome]],
) -> None:
    """Over the problems that are graded on both sides, and those only."""
    groups = {
        name: episodes(*(case(f"q{at}", each[side]) for at, each in enumerate(outcomes)))
        for side, name in enumerate(("over", "run"))
    }
    both = [each for each in outcomes if "unknown" not in each]
    [pair] = paired(groups)
    only = [sum((e[at] == "right") > (e[1 - at] == "right") for e in both) for at in (1, 0)]
    assert [pair["only_run"], pair["only_over"]] == only
    assert pair["p"] == pytest.approx(mcnemar(*only), abs=1e-9)
    assert pair["left_out"] == len(outcomes) - len(both)
    if not both:
        assert pair["accuracy"] is None
        return
    found = pair["accuracy"]
    assert found["value"] == pytest.approx(100 * (only[0] - only[1]) / len(both), abs=1e-5)
    assert (found["known"], found["unknown"]) == (len(both), pair["left_out"])
    assert found["interval"][0] <= found["value"] <= found["interval"][1]


def test_no_run_alone_has_a_pair() -> None:
    assert paired({"alone": episodes(case("q", "right"))}) == []
    assert pairs_table({"comparisons": {"d": {"pairs": []}}}) is None


# ── The recipe in memory, and ones of your own ───────────────────────────────────────────────


def test_runs_are_called_by_their_policies_or_as_you_say() -> None:
    runs = named("mc2, a=cot,own.py:mine,b=own.py:mine")
    assert [(one.run, one.policy) for one in runs] == [
        *(("mc2", "mc2"), ("a", "cot")),
        *(("mine", "own.py:mine"), ("b", "own.py:mine")),
    ]
    assert [one.run for one in named("own:mine,cot")] == ["own:mine", "cot"], "no file of yours"
    assert settings_of(runs, {"mc2.rounds": 1, "b.c": 2}) == {
        "mc2": {"rounds": 1},
        "a": {},
        "mine": {},
        "b": {"c": 2},
    }


def test_a_comparison_is_a_recipe_of_the_runs_on_the_source_alone() -> None:
    runs = named("mc2,a=cot")
    told = {"mc2": {"rounds": 1}, "a": {}}
    made = comparison("some/my sums.jsonl", runs, told, seeds=2, profile="service")
    assert made == Recipe(
        recipe="my-sums", about="mc2, a on some/my sums.jsonl", profile="service", seeds=(0, 1),
        data={"my-sums": Data(source="jsonl")},
        runs={"mc2": Runs(policy="mc2", settings={"rounds": 1}), "a": Runs(policy="cot")},
    )  # fmt: skip
    built_in = comparison("game24:901-910", runs, told, seeds=1, profile="paper")
    assert (built_in.recipe, built_in.seeds) == ("game24-901-910", (0,))
    assert built_in.data == {"game24-901-910": Data(source="game24:901-910")}


def test_a_source_is_read_from_its_file_or_by_its_reader() -> None:
    assert files_of("some/my sums.jsonl", None) == {"my-sums": "some/my sums.jsonl"}
    assert files_of("gsm8k:1-5", "test.jsonl") == {"gsm8k": "test.jsonl"}
    assert files_of("game24:1-5", None) == {}


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("a b/c d.jsonl", "c-d"),
        ("-._x_.-.jsonl", "x"),
        ("???.jsonl", "problems"),
        (f"{'x' * 70}.jsonl", "x" * 64),
        ("gsm8k:1-5", "gsm8k-1-5"),
    ],
)
def test_a_name_has_the_signs_of_a_name_alone(source: str, name: str) -> None:
    assert name_of(source) == name


def test_a_setting_may_stand_behind_a_name_with_a_dot() -> None:
    runs = named("v1.5=cot,b=cot")
    assert settings_of(runs, {"v1.5.x": 1}) == {"v1.5": {"x": 1}, "b": {}}
    for wrong in ("v1.x", "x", ".x"):
        with pytest.raises(ValueError, match=r"a setting of no run.*RUN of v1\.5, b$"):
            settings_of(runs, {wrong: 1})


@given(st.text(min_size=1))
def test_a_source_has_a_name_whatever_its_file_is_called(file: str) -> None:
    name = name_of(file)
    data = {name: {"source": "jsonl"}}
    Recipe.model_validate({"recipe": name, "data": data, "runs": {"a": {"policy": "cot"}}})


def test_a_recipe_of_your_own_needs_no_paper(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    rows = {"one": {"run": "one"}, "two": {"run": "two"}}
    columns = {"right": {"data": "game24", "metric": "accuracy"}}
    recipe = {
        "recipe": "mine",
        "seeds": [0],
        "data": {"game24": {"source": "game24:901-902"}},
        "runs": {"one": {"policy": "cot"}, "two": {"policy": "self_consistency"}},
        "tables": [{"title": "T", "columns": columns, "rows": rows}],
    }
    Path("mine.yaml").write_text(json.dumps(recipe))
    words = ("bench", "run", "mine.yaml", "--backbone", "rehearsal:seed=2", "--log", "a.db")
    made = call(*words, "--json", "--plots", "none")
    assert made.code == 0, made.err
    page = markdown(made.json)
    assert page.startswith("# mine\n")
    assert "|  | right |" in page, "no column for a paper that is none"
    assert "## Pairs" in page
    assert "<h2>Pairs</h2>" in html(made.json, plots=False)
    assert "pairs.csv" in dict(exports(made.json))
