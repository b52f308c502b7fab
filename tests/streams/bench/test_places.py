"""A recipe as it is written: what a cell stands for, what is left unsaid, and what is refused by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from schemas.problem import Limits
from streams.research.bench import recipe
from streams.research.bench.recipe import BadRecipe, Place, Recipe, Row, Table, load, names, read
from streams.support.yamls import FILE_CHARS

# ── What a cell stands for ───────────────────────────────────────────────────────────────────


def test_a_place_of_another_run_hangs_on_that_run_alone() -> None:
    place = Place(run="a", data="d", metric="calls", less=("b",), best_of=("c",), walk=2)
    assert place.runs == ("a", "c", "b")
    assert place.by("x") == Place(run="x", data="d", metric="calls", walk=2)
    assert place.by("x").runs == ("x",)
    assert Place(less=("b",)).runs == ("b",)


def test_a_mean_is_of_each_set_by_its_own_metric_if_it_has_one() -> None:
    place = Place(run="a", over=("d", "e by calls"), metric="accuracy")
    assert place.parts == (
        Place(run="a", data="d", metric="accuracy"),
        Place(run="a", data="e", metric="calls"),
    )
    assert Place(run="a", data="d").parts == (Place(run="a", data="d"),)
    assert Place(run="a", data="x", over=("d",)).parts == (Place(run="a", data="d"),)
    assert Place(run="a").parts == ()


@pytest.mark.parametrize(
    ("row", "column", "joined"),
    [
        ({"run": "a"}, {"data": "d", "metric": "calls"}, {"run": "a", "data": "d", "metric": "calls"}),
        ({"run": "a", "data": "e"}, {"run": "b", "data": "d"}, {"run": "a", "data": "e"}),
        ({"only": {"x": "1"}}, {"only": {"y": "2", "x": "3"}}, {"only": {"x": "1", "y": "2"}}),
        ({"kind": "f1"}, {"metric": "failure"}, {"kind": "f1", "metric": "failure_f1"}),
        ({"kind": "f1", "metric": "own"}, {"metric": "failure"}, {"kind": "f1", "metric": "own"}),
        ({"kind": "f1"}, {}, {"kind": "f1"}),
        ({"metric": "calls"}, {"metric": "failure", "kind": "f1"}, {"metric": "calls", "kind": "f1"}),
        ({"less": ["a"]}, {"less": ["b"], "walk": 2}, {"less": ["a"], "walk": 2}),
        ({"model": "m"}, {"role": "judge"}, {"model": "m", "role": "judge"}),
    ],
)  # fmt: skip
def test_a_row_s_word_comes_before_its_column_s(
    row: dict[str, Any], column: dict[str, Any], joined: dict[str, Any]
) -> None:
    made = Row.model_validate(row | {"paper": [1]}).joined(Place.model_validate(column))
    assert made == Place.model_validate(joined)


def test_a_row_without_figures_prints_none_in_each_column() -> None:
    table = Table(
        title="T",
        columns={"a": Place(), "b": Place()},
        rows={"x": Row(paper=(1, "2 ± 1")), "y": Row()},
    )
    assert (table.printed("x"), table.printed("y")) == ((1, "2 ± 1"), (None, None))


# ── What is left unsaid, and what is refused ─────────────────────────────────────────────────

SAID: dict[str, Any] = {
    "recipe": "r",
    "data": {"d": {"source": "jsonl"}, "e": {"source": "jsonl"}, "f": {"source": "jsonl"}},
    "runs": {"a": {"policy": "cot"}, "b": {"policy": "mc2"}},
}


def with_run(**more: Any) -> dict[str, Any]:
    return SAID | {"runs": {**SAID["runs"], "c": {"policy": "cot", **more}}}


def with_table(column: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    return SAID | {"tables": [{"title": "T", "columns": {"C": column}, "rows": {"R": row}}]}


def test_what_a_recipe_does_not_say_is_the_plain_thing() -> None:
    made = Recipe.model_validate(SAID)
    assert made.seeds == (0, 1, 2)
    assert (made.profile, made.limits, made.tables, made.claims) == ("paper", Limits(), (), ())
    assert (made.paper, made.about, made.differs) == ("", "", "")
    data, run = made.data["d"], made.runs["a"]
    assert (data.hub, data.only, data.domain, data.perturb, data.sample, data.note) == (
        None, {}, None, None, None, "",
    )  # fmt: skip
    assert (run.data, run.passes, run.order, run.per_data, run.note) == ((), 1, "released", {}, "")
    with pytest.raises(ValidationError, match="frozen"):
        made.recipe = "other"
    with pytest.raises(ValidationError, match="finite"):
        Row.model_validate({"paper": [float("nan")]})


def test_sets_that_others_go_on_from_come_in_the_recipe_s_order() -> None:
    runs = {
        **SAID["runs"],
        "c": {"policy": "mc2", "warm_from": {"run": "a", "data": "f"}},
        "g": {"policy": "mc2", "continues": {"run": "a", "data": "d"}},
    }
    assert Recipe.model_validate(SAID | {"runs": runs}).learned_from == ("d", "f")
    assert Recipe.model_validate(SAID).learned_from == ()


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (with_run(data=["x", "d"]), "runs.c: the recipe has no x"),
        (with_run(per_data={"y": {}}), "runs.c: the recipe has no y"),
        (with_run(warm_from={"run": "a", "data": "z"}), "runs.c: the recipe has no z"),
        (with_run(continues={"run": "n", "data": "d"}), "runs.c: the recipe has no n"),
        (with_run(matched={"run": "m"}, data=["x"]), "runs.c: the recipe has no m, x"),
        (with_run(beside="o"), "runs.c: the recipe has no o"),
        (with_table({"run": "n"}, {}), "T: C: no run 'n'; there are a, b"),
        (with_table({}, {"less": ["a", "n"]}), "T: R: no run 'n'; there are a, b"),
        (with_table({}, {"best_of": ["n"]}), "T: R: no run 'n'; there are a, b"),
        (with_table({"data": "n"}, {}), "T: C: no data 'n'; there are d, e, f"),
        (with_table({"over": ["d", "n by calls"]}, {}), "T: C: no data 'n'; there are d, e, f"),
        (with_table({"over": ["d by luck"]}, {}), "T: C: no metric 'luck'; there are accuracy, "),
        (with_table({"metric": "luck"}, {}), "T: C: no metric 'luck'; there are accuracy, "),
        (with_table({"metric": "failures"}, {"kind": "f9"}), "T: R: no metric 'failures_f9'; there"),
        (with_table({}, {"paper": [1, 2]}), "T: row 'R' has 2 figures for 1 columns"),
        (SAID | {"data": {**SAID["data"], "s": {"source": "x", "sample": {"count": 1, "outside": ["q", "p"]}}}},
         "data.s: the recipe has no p, q"),
    ],
)  # fmt: skip
def test_a_name_that_the_recipe_does_not_have_is_told(
    said: dict[str, Any], why: str, tmp_path: Path
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(json.dumps(said))
    with pytest.raises(BadRecipe) as refused:
        read(file)
    assert why in str(refused.value)
    assert str(refused.value).startswith("mine.yaml: ")


def test_names_that_are_there_are_taken() -> None:
    row = {"run": "a", "less": ["b"], "over": ["d", "e by calls"], "metric": "p_value"}
    made = Recipe.model_validate(with_table({"metric": "tokens_per_point"}, row))
    assert made.tables[0].rows["R"].runs == ("a", "b")
    with_kind = with_table({"metric": "failures"}, {"kind": "f1"})
    assert Recipe.model_validate(with_kind).tables[0].rows["R"].kind == "f1"


# ── From a file ──────────────────────────────────────────────────────────────────────────────


def test_a_field_is_named_with_its_place_and_a_whole_that_is_none_with_the_recipe(
    tmp_path: Path,
) -> None:
    file = tmp_path / "mine.yaml"
    for text, why in (
        ("[1]", "mine.yaml: recipe: Input should be a valid dictionary"),
        (
            '{"recipe": "r", "runs": {}, "data": {"d": {"source": 5}}}',
            "mine.yaml: data.d.source: Input",
        ),
        ("a: [\n", "mine.yaml:2: "),
    ):
        file.write_text(text)
        with pytest.raises(BadRecipe) as refused:
            read(file)
        assert str(refused.value).startswith(why)
    file.write_bytes(b"\xff\xfe\xff")
    with pytest.raises(BadRecipe, match=r"^mine\.yaml: not YAML: "):
        read(file)
    file.write_text(json.dumps(SAID) + " " * (FILE_CHARS - len(json.dumps(SAID))))
    assert read(file) == Recipe.model_validate(SAID)
    file.write_text(json.dumps(SAID) + " " * FILE_CHARS)
    with pytest.raises(BadRecipe, match=r"mine\.yaml"):
        read(file)


@pytest.mark.parametrize("ending", ["yaml", "yml"])
def test_a_file_is_known_by_its_ending_and_ours_by_their_names(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, ours = tmp_path / f"mine.{ending}", tmp_path / "ours"
    mine.write_text(json.dumps(SAID))
    ours.mkdir()
    for name in ("b-2", "a-1"):
        (ours / f"{name}.yaml").write_text(json.dumps(SAID | {"recipe": name}))
    monkeypatch.setattr(recipe, "FOLDER", ours)
    assert names() == ["a-1", "b-2"]
    assert load(str(mine)).recipe == "r"
    assert load("b-2").recipe == "b-2"
    with pytest.raises(BadRecipe, match=r"^no recipe 'a-2'; .*a-1.*bench list names ours"):
        load("a-2")
    with pytest.raises(BadRecipe, match=rf"gone\.{ending}'"):
        load(str(tmp_path / f"gone.{ending}"))
