"""Data sets as a recipe finds them: own files, hubs, samples, and no problem that was learned from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from handlers.policies.meta_reasoner.measure import training_sample
from streams.engine.policies import find
from streams.research.bench.plan import (
    STAND_IN,
    Options,
    Planner,
    Source,
    problem_of,
    sources,
    waits_for,
)
from streams.research.bench.recipe import Matched, Recipe, Sample

ITEMS = [f"What is {at}?" for at in range(40)]


def hotpot(path: Path, items: Sequence[str]) -> str:
    """A file in the distractor setting: the paragraphs hold the answer."""
    pages = {"title": ["T"], "sentences": [["The answer is 7."]]}
    lines = (json.dumps({"id": i, "question": i, "answer": "7", "context": pages}) for i in items)
    path.write_text("\n".join(lines))
    return str(path)


def recipe(data: Mapping[str, Any], **runs: Any) -> Recipe:
    said: dict[str, Any] = {
        "recipe": "r",
        "claims": [],
        "paper": "p",
        "about": "a",
        "differs": "d",
        "tables": [],
    }
    return Recipe.model_validate({**said, "data": data, "runs": runs})


LEARNING: dict[str, Any] = {
    "build": {"policy": "graph_memory", "data": ["mine-build"]},
    "use": {
        "policy": "graph_memory",
        "data": ["mine"],
        "continues": {"run": "build", "data": "mine-build"},
    },
}
OPEN = {
    "mine": {"source": "hotpotqa_open"},
    "mine-build": {"source": "hotpotqa_open:1-5", "note": "a note"},
}


def texts(source: Source) -> list[str]:
    return [problem_of(line) for line in source.lines()]


def test_a_file_of_its_own_is_the_set_and_a_hub_s_has_the_recipe_s_range(tmp_path: Path) -> None:
    """The paper's thousand were cut to the twenty that a recipe read of the reader's own file."""
    build, other = hotpot(tmp_path / "b", ITEMS[:12]), hotpot(tmp_path / "o", ITEMS[20:])
    made = recipe(OPEN, **LEARNING)
    files = {"mine": other, "mine-build": build}
    own = sources(made, Options(files=files))
    assert (own["mine-build"].problems, own["mine"].problems) == (12, 20)
    hub = sources(made, Options(files=files, hubs=frozenset({"mine-build"})))
    assert (hub["mine-build"].problems, hub["mine"].problems) == (5, 20)
    shared = sources(made, Options(files={"hotpotqa_open": build}))
    assert (shared["mine-build"].problems, shared["mine"].problems) == (5, 7)


def test_what_is_learned_from_is_no_problem_of_the_evaluation(tmp_path: Path) -> None:
    """One file for a reader put all that memory was built on into the evaluation set."""
    found = sources(
        recipe(OPEN, **LEARNING), Options(files={"hotpotqa_open": hotpot(tmp_path / "a", ITEMS)})
    )
    build, mine = found["mine-build"], found["mine"]
    assert not {*texts(build)} & {*texts(mine)}
    assert {*texts(build)} | {*texts(mine)} == {*ITEMS}
    assert mine.note.startswith("5 problems that are learned from are left out")
    assert build.note == "a note"
    few = sources(
        recipe(OPEN, **LEARNING),
        Options(files={"hotpotqa_open": hotpot(tmp_path / "a", ITEMS)}, problems=3),
    )
    assert texts(few["mine"]) == ITEMS[5:8]
    assert texts(few["mine-build"]) == ITEMS[:3]


def test_what_a_memory_is_weighed_on_is_not_what_it_was_built_on(tmp_path: Path) -> None:
    data = {**OPEN, "mine-weigh": {"source": "hotpotqa_open:4-9"}}
    runs = {
        **LEARNING,
        "weigh": {
            "policy": "graph_memory",
            "data": ["mine-weigh"],
            "continues": {"run": "build", "data": "mine-build"},
        },
        "last": {
            "policy": "graph_memory",
            "data": ["mine"],
            "continues": {"run": "weigh", "data": "mine-weigh"},
        },
    }
    files = {"hotpotqa_open": hotpot(tmp_path / "a", ITEMS)}
    found = sources(recipe(data, **runs), Options(files=files))
    assert texts(found["mine-weigh"]) == ITEMS[5:9]
    assert texts(found["mine"]) == ITEMS[9:]


def test_a_set_of_which_nothing_is_left_is_not_here(tmp_path: Path) -> None:
    file = hotpot(tmp_path / "a", ITEMS[:5])
    found = sources(recipe(OPEN, **LEARNING), Options(files={"hotpotqa_open": file}))
    assert found["mine"].read is None
    assert found["mine"].note.startswith("nothing of it is left")


def test_a_run_whose_memory_cannot_be_made_is_not_another_method(tmp_path: Path) -> None:
    """It ran with an empty memory, and stood as the paper's method."""
    files = {"mine": hotpot(tmp_path / "a", ITEMS)}
    made = recipe(OPEN, **LEARNING)
    found = sources(made, Options(files=files))
    assert found["mine-build"].read is None
    planner = Planner(made, found, Options(files=files), find, "m")
    assert planner.cells() == []
    assert planner.waits_for("use") == "mine-build"


def test_what_stands_in_is_not_here_however_far_back_it_was_learned_from() -> None:
    """The last run goes on from one that is here, which went on from one whose set is another."""
    runs: dict[str, Any] = {
        name: {
            "policy": "graph_memory",
            "data": [name],
            **({"continues": {"run": before, "data": before}} if before else {}),
        }
        for name, before in (("first", ""), ("second", "first"), ("third", "second"))
    }
    made = recipe({name: {"source": "hotpotqa_open"} for name in runs}, **runs)
    here = {name: Source(name, "hotpotqa_open", "hotpotqa_open") for name in runs}
    away = here | {"first": Source("first", "hotpotqa_open", STAND_IN)}
    for name, missing in (("first", None), ("second", "first"), ("third", "first")):
        assert waits_for(made, away, name, itself=True) == missing
        assert waits_for(made, away, name) is None
        assert waits_for(made, here, name, itself=True) is None


def test_open_questions_do_not_hold_their_paragraphs(tmp_path: Path) -> None:
    file = hotpot(tmp_path / "a", ITEMS[:2])
    found = sources(recipe({"mine": OPEN["mine"]}), Options(files={"mine": file}))
    assert texts(found["mine"]) == ITEMS[:2]


def test_training_problems_are_drawn_from_those_that_nobody_is_tested_on() -> None:
    """The first fifty ranks are the fifty easiest."""
    data: dict[str, Any] = {
        "game24": {"source": "game24:901-1000"},
        "train": {"source": "game24", "sample": {"count": 50, "outside": ["game24"]}},
    }
    found = sources(recipe(data), Options())
    drawn, test = texts(found["train"]), texts(found["game24"])
    assert len(drawn) == 50
    assert not {*drawn} & {*test}
    every = texts(sources(recipe({"all": {"source": "game24"}}), Options())["all"])
    assert {*drawn} == {*training_sample(every, test, 50, 0)}
    short = sources(recipe(data), Options(problems=2))
    assert texts(short["train"]) == drawn[:2]
    with pytest.raises(ValueError, match="1300 are to be drawn, and there are 1262"):
        sources(
            recipe(
                {
                    **data,
                    "train": {"source": "game24", "sample": {"count": 1300, "outside": ["game24"]}},
                }
            ),
            Options(),
        )
    with pytest.raises(ValueError, match="the recipe has no other"):
        recipe({"train": {"source": "game24", "sample": {"count": 5, "outside": ["other"]}}})


def test_traits_that_no_item_has_are_said(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    book = [{"problem_text": "How far?", "answer_number": "1.5", "source": " calculus "}]
    file.write_text(json.dumps(book))
    data = {
        "calc": {"source": "scibench", "only": {"book": "calculus"}},
        "stat": {"source": "scibench", "only": {"book": "stat"}},
        "either": {"source": "scibench", "only": {"book": "stat,calculus"}},
    }
    found = sources(recipe(data), Options(files={"scibench": str(file)}))
    assert (found["calc"].problems, found["stat"].read) == (1, None)
    assert found["either"].problems == 1
    assert found["stat"].note.startswith("no item of it has these traits (book: stat)")


def test_what_a_run_does_not_say_is_the_plain_thing() -> None:
    """One walk in the released order, over every set, from an empty memory, and no side runs."""
    data: dict[str, Any] = {name: {"source": f"game24:{at}"} for at, name in enumerate("ab", 901)}
    made = recipe(data, plain={"policy": "mc2"}, twice={"policy": "mc2", "passes": 2})
    few = Options(seeds=1)
    planner = Planner(made, sources(made, few), few, find, "m")
    cells = [cell for cell in planner.cells() if cell.run == "plain"]
    assert [(cell.data, cell.walk) for cell in cells] == [("a", 1), ("b", 1)]
    assert [(cell.plan.order, cell.plan.values) for cell in cells] == [("released", {})] * 2
    assert len([cell for cell in planner.cells() if cell.run == "twice"]) == 4
    run = made.runs["plain"]
    assert (run.audit, run.after, run.beside, run.matched) == (False, set(), None, None)
    assert Matched(run="plain").of == "tokens"
    assert Sample(count=1).seed == 0


def test_a_run_comes_after_every_run_that_it_hangs_on() -> None:
    data: dict[str, Any] = {"a": {"source": "game24:901"}}
    named = {"run": "first", "data": "a"}
    made = recipe(
        data,
        first={"policy": "mc2"},
        matched={"policy": "cot", "matched": {"run": "first"}},
        warm={"policy": "mc2", "warm_from": named},
        on={"policy": "mc2", "continues": named},
        beside={"policy": "cot", "beside": "first"},
        both={"policy": "mc2", "matched": {"run": "warm"}, "continues": named},
    )
    after = {name: run.after for name, run in made.runs.items()}
    assert after == {
        "first": set(),
        "matched": {"first"},
        "warm": {"first"},
        "on": {"first"},
        "beside": {"first"},
        "both": {"first", "warm"},
    }
