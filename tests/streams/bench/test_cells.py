"""Cells of a paper's tables in worlds set by hand: differences, means of columns, and whose figure it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import hypot
from types import SimpleNamespace
from typing import Any

import pytest

from schemas.events.episode import Completed
from schemas.outcome import Outcome
from schemas.problem import Limits
from schemas.usage import Usage
from streams.research.analysis.intervals import wilson
from streams.research.analysis.statistics import mcnemar, paired_interval
from streams.research.bench.answered import Answers, same_model
from streams.research.bench.cells import ours
from streams.research.bench.recipe import Place, Recipe
from streams.research.bench.report import used
from streams.research.bench.results import Episode, Results
from streams.research.bench.tables import paper_tables
from tests.streams.bench.worlds import case, episodes

OUT: Mapping[str, Outcome] = {"+": "right", "-": "wrong", "?": "unknown"}
DATA = ("d", "e")


def walk(marks: str, *, seed: int = 0, model: str = "m", tokens: int = 100) -> list[Episode]:
    """One problem a mark: right, wrong or unknown; each took one call of so many tokens."""
    reply = Completed(asked="complete thinker x", text="t", finish="stop", model=model)
    usage = Usage(calls=1, prompt_tokens=tokens, completion_tokens=0)
    cases = [
        case(str(at), OUT[mark], [reply], seed=seed, usage=usage) for at, mark in enumerate(marks)
    ]
    return episodes(*cases, seed=seed)


def recipe(
    *runs: str,
    tables: Sequence[Mapping[str, Any]] = (),
    before: Mapping[str, str] | None = None,
) -> Recipe:
    return Recipe.model_validate(
        {
            "recipe": "r",
            "claims": [],
            "paper": "p",
            "about": "a",
            "differs": "d",
            "data": {name: {"source": "jsonl"} for name in DATA},
            "runs": {
                run: {"policy": "cot", "continues": None if at else before}
                for at, run in enumerate(runs)
            },
            "tables": tables,
        }
    )


HERE: Any = {name: SimpleNamespace(read="file", stands_in=False) for name in DATA}


def figure(place: Place, groups: Mapping[tuple[str, str], list[Episode]], here: Any = HERE) -> Any:
    results = Results((), groups=dict(groups))
    made = recipe(*dict.fromkeys(run for run, _ in groups))
    return ours(place, made, results, here)


def test_a_gain_is_taken_problem_by_problem_with_its_interval() -> None:
    groups = {("a", "d"): walk("+++-?"), ("b", "d"): walk("+--+-")}
    found = figure(Place(run="a", data="d", metric="accuracy", less=("b",)), groups)["ours"]
    assert (found["value"], found["known"], found["unknown"]) == (25.0, 4, 1)
    low, high = paired_interval(2, 1, 4) or (0, 0)
    assert found["interval"] == (pytest.approx(100 * low), pytest.approx(100 * high))
    p = figure(Place(run="a", data="d", metric="p_value", less=("b",)), groups)["ours"]
    assert (p["value"], p["known"], p["unknown"]) == (mcnemar(2, 1), 4, 1)


def test_a_gain_is_over_the_strongest_and_of_nothing_over_itself() -> None:
    groups = {("a", "d"): walk("++++"), ("b", "d"): walk("+---"), ("c", "d"): walk("+++-")}
    best = Place(run="a", data="d", metric="accuracy", less=("a", "b", "c"))
    assert figure(best, groups)["ours"]["value"] == 25.0
    assert (
        figure(Place(best_of=("b", "c"), data="d", metric="accuracy"), groups)["ours"]["value"]
        == 75.0
    )
    alone = figure(Place(run="a", data="d", metric="accuracy", less=("a",)), groups)
    assert (alone["ours"], "compared with" in alone["why"]) == (None, True)


def test_a_run_that_learned_from_what_is_not_here_has_no_figure() -> None:
    groups = {("a", "d"): walk("++")}
    made = recipe("a", "b", before={"run": "b", "data": "e"})
    for away in (None, "game24:1-2"):
        here: Any = {**HERE, "e": SimpleNamespace(read=away, stands_in=away is not None)}
        place = Place(run="a", data="d", metric="accuracy")
        found = ours(place, made, Results((), groups=groups), here)
        assert found == {"ours": None, "why": "not measured: e, which it learns from, is not here"}


def test_an_average_of_columns_is_measured_where_all_of_them_are() -> None:
    """The headline column was empty, whatever was run."""
    groups = {("a", "d"): walk("+++-"), ("a", "e"): walk("+-" * 8)}
    place = Place(run="a", over=DATA, metric="accuracy")
    found = figure(place, groups)["ours"]
    assert (found["value"], found["known"], found["unknown"]) == (62.5, 20, 0)
    one, two = wilson(0.75, 4), wilson(0.5, 16)
    low = 62.5 - 50 * hypot(0.75 - one[0], 0.5 - two[0])
    high = 62.5 + 50 * hypot(one[1] - 0.75, two[1] - 0.5)
    assert found["interval"] == (pytest.approx(low), pytest.approx(high))
    away = {**HERE, "e": SimpleNamespace(read=None, stands_in=False)}
    assert figure(place, groups, away) == {"ours": None, "why": "not measured: e is not here"}
    mixed = figure(Place(run="a", over=("d", "e by omission"), metric="accuracy"), groups)["ours"]
    assert mixed["value"] == 37.5


def test_a_mean_of_gains_is_over_the_same_sets() -> None:
    groups = {
        ("a", "d"): walk("++"), ("b", "d"): walk("--"),
        ("a", "e"): walk("+-"), ("b", "e"): walk("+-"),
    }  # fmt: skip
    place = Place(run="a", over=DATA, metric="accuracy", less=("b",))
    assert figure(place, groups)["ours"]["value"] == 50.0


def test_tokens_for_each_point_gained() -> None:
    groups = {("a", "d"): walk("++--", tokens=300), ("b", "d"): walk("+---", tokens=100)}
    place = Place(run="a", data="d", metric="tokens_per_point", less=("b",))
    assert figure(place, groups)["ours"]["value"] == 8.0
    assert figure(place, {**groups, ("a", "d"): walk("+---")})["why"].endswith("nothing was gained")


def test_a_difference_over_seeds_has_both_intervals() -> None:
    mine = [*walk("++", seed=0), *walk("+-", seed=1), *walk("+-", seed=2)]
    other = [*walk("--", seed=0), *walk("--", seed=1), *walk("+-", seed=2)]
    found = figure(
        Place(run="a", data="d", metric="accuracy", less=("b",)),
        {("a", "d"): mine, ("b", "d"): other},
    )["ours"]
    assert found["value"] == 50.0
    assert found["seeds"] == 3
    assert found["half_width"] is not None


def test_a_table_says_how_many_calls_its_methods_used_of_those_granted() -> None:
    """Trees that answer early stop below the limit: beside one that uses it all, that must be seen."""
    made = recipe("a", "b", tables=[block("", mine={})]).model_copy(
        update={"limits": Limits(calls=16)}
    )
    results = Results((), groups={("a", "d"): walk("+-"), ("b", "d"): walk("+-")})
    found = used(made.tables[0], made, results)
    assert found == {"a": {"calls": 1.0, "granted": 16}}
    cells = {"columns": ["right"], "rows": [], "title": "T", "model": "", "note": "", "used": found}
    [table] = paper_tables({"tables": [cells], "ours": []})
    assert table.under == "Calls used in the mean: a 1.0 of 16."
    assert used(made.tables[0], recipe("a", tables=[block("", mine={})]), results) == {}


def test_a_p_value_is_against_the_most_accurate_of_several() -> None:
    groups = {("a", "d"): walk("++++"), ("b", "d"): walk("+---"), ("c", "d"): walk("+++-")}
    place = Place(run="a", data="d", metric="p_value", less=("b", "c"))
    assert figure(place, groups)["ours"]["value"] == mcnemar(1, 0)
    against_itself = Place(run="a", data="d", metric="p_value", less=("b", "a"))
    assert figure(against_itself, groups)["ours"]["value"] == mcnemar(3, 0)


@pytest.mark.parametrize("metric", ["p_value", "tokens_per_point"])
def test_what_compares_runs_has_no_figure_where_none_is_named(metric: str) -> None:
    told = figure(Place(run="a", data="d", metric=metric), {("a", "d"): walk("++")})
    assert told == {
        "ours": None,
        "why": "not measured: it compares a run with another, and none is named",
    }


def test_tokens_for_a_point_are_over_the_most_accurate_of_several() -> None:
    groups = {
        ("a", "d"): walk("++++", tokens=400),
        ("b", "d"): walk("+---", tokens=100),
        ("c", "d"): walk("+++-", tokens=200),
    }
    for less in (("b", "c"), ("c", "b")):
        place = Place(run="a", data="d", metric="tokens_per_point", less=less)
        assert figure(place, groups)["ours"]["value"] == (400 - 200) / 25


def test_of_runs_that_do_equally_well_the_first_is_the_strongest() -> None:
    groups = {("a", "d"): walk("++++"), ("b", "d"): walk("+-+-"), ("c", "d"): walk("-+-+")}
    place = Place(run="a", data="d", metric="p_value", less=("b", "c"))
    assert figure(place, groups)["ours"]["known"] == 4
    best = Place(best_of=("b", "c"), data="d", metric="accuracy", less=("a",))
    assert figure(best, groups)["ours"]["value"] == -50.0
    unknown = {**groups, ("c", "d"): walk("????")}
    assert figure(place, unknown) == {
        "ours": None,
        "why": "not measured: one of the runs that it is compared with has no figure",
    }


def test_a_p_value_counts_a_problem_that_most_seeds_solved() -> None:
    mine = [*walk("+++?", seed=0), *walk("++-?", seed=1), *walk("-+-+", seed=2)]
    groups = {("a", "d"): mine, ("b", "d"): walk("--+-")}
    found = figure(Place(run="a", data="d", metric="p_value", less=("b",)), groups)["ours"]
    assert found == {
        "value": 0.625, "half_width": None, "interval": None, "known": 4, "unknown": 0, "seeds": 1,
        "seeds_unknown": 0, "problems": 4, "places": 4,
    }  # fmt: skip
    half = [*walk("+-", seed=0), *walk("-+", seed=1)]
    tied = {("a", "d"): half, ("b", "d"): walk("--")}
    even = figure(Place(run="a", data="d", metric="p_value", less=("b",)), tied)["ours"]
    assert (even["value"], even["known"]) == (1.0, 2), "what half of the seeds solved is not solved"
    turned = {("a", "d"): walk("--"), ("b", "d"): half}
    even = figure(Place(run="a", data="d", metric="p_value", less=("b",)), turned)["ours"]
    assert even["value"] == 1.0, "nor is it for the other side"
    nothing = {("a", "d"): walk("??"), ("b", "d"): walk("+?")}
    told = figure(Place(run="a", data="d", metric="p_value", less=("b",)), nothing)
    assert told["why"] == "not measured: nothing to compare it on"


def test_a_difference_of_other_seeds_is_of_the_same_problems() -> None:
    """No seed has both sides, so there is no spread over seeds, and one pair more weighs as one of them."""
    groups = {("a", "d"): walk("+++-", seed=0), ("b", "d"): walk("+---", seed=1)}
    found = figure(Place(run="a", data="d", metric="accuracy", less=("b",)), groups)["ours"]
    low, high = paired_interval(2, 0, 4) or (0, 0)
    assert (found["value"], found["half_width"], found["seeds"]) == (50.0, None, 0)
    assert found["interval"] == (pytest.approx(100 * low), pytest.approx(100 * high))


def test_a_difference_of_what_is_no_share_is_that_of_means() -> None:
    groups = {("a", "d"): walk("+-+", tokens=300), ("b", "d"): walk("+--", tokens=100)}
    found = figure(Place(run="a", data="d", metric="tokens", less=("b",)), groups)["ours"]
    assert (found["value"], found["interval"], found["places"]) == (200.0, (200.0, 200.0), 0)
    more = {("a", "d"): walk("+-+?"), ("b", "d"): walk("+-")}
    one = figure(Place(run="a", data="d", metric="accuracy", less=("b",)), more)["ours"]
    assert (one["known"], one["unknown"]) == (2, 2), "also what only one side was asked"
    apart = {("a", "d"): walk("+-+"), ("b", "d"): walk("????")}
    told = figure(Place(run="a", data="d", metric="accuracy", less=("b",)), apart)
    assert told["why"] == "not measured: nothing to compare it on"


def test_a_mean_has_a_spread_where_each_part_has_one() -> None:
    def seeds(one: str, two: str) -> list[Episode]:
        return [*walk(one, seed=0), *walk(two, seed=1)]

    place = Place(run="a", over=DATA, metric="accuracy")
    both = {("a", "d"): seeds("++", "+-"), ("a", "e"): seeds("++--", "+---")}
    found = figure(place, both)["ours"]
    parts = [figure(Place(run="a", data=data, metric="accuracy"), both)["ours"] for data in DATA]
    one, two = (part["half_width"] for part in parts)
    assert found["half_width"] == pytest.approx(hypot(one, two) / 2, abs=1e-5)
    assert (found["seeds"], found["places"]) == (2, parts[0]["places"])
    uneven = {("a", "d"): seeds("++", "+-"), ("a", "e"): walk("++--")}
    found = figure(place, uneven)["ours"]
    assert (found["half_width"], found["seeds"]) == (None, 1)
    assert found["interval"] is not None
    rho = Place(run="a", over=("d by regret", "e"), metric="accuracy")
    assert figure(rho, both)["why"] == "not measured: nothing to measure it on"


def test_why_there_is_no_figure_is_told_before_anything_is_run() -> None:
    groups = {("a", "d"): walk("+")}
    for place in (
        Place(data="d", metric="accuracy"),
        Place(run="a", metric="accuracy"),
        Place(run="a", data="d"),
    ):
        assert figure(place, groups)["why"] == "not measured: nothing in this build measures it"
    made, place = recipe("a"), Place(run="a", data="d", metric="accuracy")
    absent = Results((), groups=groups, absent=frozenset({"cot"}))
    assert ours(place, made, absent, HERE)["why"] == "not measured: no policy cot in this build"
    stands = {**HERE, "d": SimpleNamespace(read="game24", stands_in=True)}
    assert figure(place, groups, stands)["why"] == "not measured: d is not here"
    several = Place(run="a", over=("d by accuracy", "e by calls"))
    assert figure(several, {**groups, ("a", "e"): walk("+")})["ours"]["value"] == 50.5


def test_tokens_for_a_point_are_against_the_first_that_is_another() -> None:
    groups = {
        ("a", "d"): walk("++--", tokens=300), ("b", "d"): walk("+---", tokens=100), ("c", "d"): walk("?"),
    }  # fmt: skip
    place = Place(run="a", data="d", metric="tokens_per_point", less=("a", "b"))
    found = figure(place, groups)["ours"]
    assert (found["value"], found["places"], found["seeds"], found["known"]) == (8.0, 0, 1, 4)
    none = Place(run="a", data="d", metric="tokens_per_point", less=("c",))
    assert figure(none, groups)["why"] == "not measured: nothing to compare it on"


# ── Whose figure it is ───────────────────────────────────────────────────────────────────────


def test_models_are_told_apart_by_their_names_whoever_serves_them() -> None:
    assert same_model("Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-8B-Instruct")
    assert same_model("GPT-4o-mini", "gpt-4o-mini-2024-07-18")
    assert same_model("Qwen-3-8B", "Qwen3-8B")
    assert not same_model("GPT-4o", "gpt-4o-mini")
    assert not same_model("Qwen3-8B", "Qwen3-4B")


def printed(tables: Sequence[Mapping[str, Any]], model: str) -> tuple[list[Any], list[Any]]:
    """Our figures in the paper's tables, and in those of our own."""
    made = recipe("a", tables=tables)
    results = Results((), groups={("a", "d"): walk("+-", model=model)})
    answers = Answers.of(made, results, HERE)
    theirs = [
        answers.cell(place, table)["ours"] is not None
        for table in made.tables
        for row in table.rows.values()
        for place in [row.joined(column) for column in table.columns.values()]
    ]
    return theirs, [*answers.alone()]


def block(model: str, **row: Any) -> dict[str, Any]:
    return {
        "title": "T",
        "model": model,
        "columns": {"right": {"data": "d", "metric": "accuracy"}},
        "rows": {name: {"run": "a", "paper": [1], **each} for name, each in row.items()},
    }


def test_a_run_is_printed_in_the_block_of_the_model_that_answered() -> None:
    """One run stood as "ours" in three blocks."""
    tables = [block("GPT-4o", mine={}), block("Qwen3-8B", mine={})]
    assert printed(tables, "Qwen/Qwen3-8B") == ([False, True], [])
    theirs, own = printed(tables, "another")
    assert theirs == [False, False]
    [table] = own
    assert table["model"] == "another"
    [row] = table["rows"]
    assert row["cells"][0]["ours"]["value"] == 50.0
    assert row["cells"][0]["paper"] is None


def test_a_block_without_a_model_makes_a_run_nobody_s_own() -> None:
    tables = [block("GPT-4o", mine={}), block("", mine={})]
    assert printed(tables, "another") == ([True, True], [])


def test_a_run_is_printed_in_the_row_of_the_model_that_answered() -> None:
    tables = [block("", one={"model": "GPT-4o"}, two={"model": "GPT-4o-mini"})]
    assert printed(tables, "gpt-4o-mini-2024-07-18") == ([False, True], [])
    theirs, own = printed(tables, "another")
    assert theirs == [False, False]
    assert [row["name"] for row in own[0]["rows"]] == ["a"]


def test_a_row_of_a_judge_is_measured_where_that_one_judged() -> None:
    tables = [
        block("", one={"model": "GPT-4o", "role": "judge"}, two={"model": "m", "role": "thinker"})
    ]
    assert printed(tables, "m")[0] == [False, True]


def test_a_table_of_one_model_is_measured_whoever_answered() -> None:
    assert printed([block("Claude-4.5", mine={})], "another") == ([True], [])


def test_a_cell_of_another_model_says_who_answered() -> None:
    tables = [block("GPT-4o", mine={}), block("Qwen3-8B", mine={})]
    made = recipe("a", tables=tables)
    row, column = made.tables[0].rows["mine"], made.tables[0].columns["right"]
    place = row.joined(column)

    def said(groups: Mapping[tuple[str, str], list[Episode]]) -> Any:
        return Answers.of(made, Results((), groups=dict(groups)), HERE).cell(place, made.tables[0])

    both = [*walk("+-", model="z"), *walk("+-", model="b", seed=1)]
    assert said({("a", "d"): both}) == {"ours": None, "why": "not measured: b, z answered"}
    assert said({("a", "d"): []}) == {"ours": None, "why": "not measured: nobody answered"}


def test_a_table_of_ours_has_the_paper_s_columns_and_each_run_once() -> None:
    rows = {"x": {"run": "a", "paper": [1, 2]}, "y": {"run": "a", "paper": [3, 4]}}
    columns = {
        "right": {"data": "d", "metric": "accuracy"},
        "calls": {"data": "d", "metric": "calls"},
    }
    tables = [
        {"title": f"T{at}", "model": model, "note": "Noted.", "columns": columns, "rows": rows}
        for at, model in enumerate(("GPT-4o", "Qwen3-8B"))
    ]
    made = recipe("a", tables=tables)
    results = Results((), groups={("a", "d"): walk("+-", model="another")})
    [table] = Answers.of(made, results, HERE).alone()
    assert {name: table[name] for name in ("title", "model", "note", "columns")} == {
        "title": "T0, ours", "model": "another", "note": "", "columns": ["right", "calls"],
    }  # fmt: skip
    [row] = table["rows"]
    assert (row["name"], [cell["ours"]["value"] for cell in row["cells"]]) == ("x", [50.0, 1.0])
    assert [(cell["paper"], cell["difference"], cell["why"]) for cell in row["cells"]] == [
        (None, None, "")
    ] * 2


def test_a_row_that_has_its_home_hides_none_below_it() -> None:
    rows = {"x": {"run": "a", "paper": [1]}, "y": {"run": "b", "model": "GPT-4o", "paper": [1]}}
    tables = [
        {"title": "T", "columns": {"right": {"data": "d", "metric": "accuracy"}}, "rows": rows}
    ]
    made = recipe("a", "b", tables=tables)
    results = Results((), groups={(run, "d"): walk("+-", model="another") for run in "ab"})
    [table] = Answers.of(made, results, HERE).alone()
    assert [row["name"] for row in table["rows"]] == ["b"]


def test_a_row_of_a_role_is_measured_by_who_had_that_role_and_by_the_table_s_model() -> None:
    replies = [
        Completed(asked=f"complete {role} x", text="t", finish="stop", model=model)
        for role, model in (("thinker", "m"), ("judge", "j"))
    ]
    groups = {("a", "d"): episodes(case("0", "right", replies))}

    def measured(named: str, **row: Any) -> bool:
        tables = [block(named, one={"role": "judge", **row}, two={"model": "n", "role": "judge"})]
        made = recipe("a", tables=tables)
        answers = Answers.of(made, Results((), groups=groups), HERE)
        place = made.tables[0].rows["one"].joined(made.tables[0].columns["right"])
        return answers.cell(place, made.tables[0])["ours"] is not None

    assert measured("", model="j")
    assert not measured("", model="m"), "it answered, and judged nothing"
    assert measured("m", model="j")
    assert not measured("j", model="j"), "who judges is not who answers"
