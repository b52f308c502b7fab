"""The harness around a bench: recipes that are wrong, data from a hub, limits that match, progress."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections import Counter
from contextlib import closing
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from schemas.events.episode import EpisodeClosed
from streams.interfaces.cli.bench.progress import BenchView
from streams.research.analysis.cases import read
from streams.research.bench.compare import arms
from streams.research.bench.curves import read as recorded
from streams.research.bench.curves import votes_by_n
from streams.research.bench.metrics import METRICS
from streams.research.bench.recipe import BadRecipe, load
from streams.research.bench.recipe import read as read_recipe
from streams.research.bench.sampled import samples
from streams.runtime.embedded.log import SqliteLog
from streams.support.datasets.hub import NoHub, fetch
from streams.telemetry.figures import Figures
from tests.data import shared
from tests.streams.cli.calling import call

RECIPE: dict[str, Any] = {
    "recipe": "mine",
    "claims": [],
    "paper": "none",
    "about": "Mine",
    "differs": "Everything",
    "seeds": [0],
    "data": {"game24": {"source": "game24:901-904"}},
    "runs": {"one": {"policy": "cot"}, "two": {"policy": "self_consistency"}},
    "tables": [
        {
            "title": "T",
            "columns": {"right": {"data": "game24", "metric": "accuracy"}},
            "rows": {"one": {"run": "one", "paper": [1]}},
        }
    ],
}


def changed(path: list[Any], value: Any) -> dict[str, Any]:
    recipe: dict[str, Any] = json.loads(json.dumps(RECIPE))
    part: Any = recipe
    for name in path[:-1]:
        part = part[name]
    part[path[-1]] = value
    return recipe


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (["runs", "one", "polcy"], "cot", "runs.one.polcy: Extra inputs"),
        (["tables", 0, "rows", "one", "run"], "three", "no run 'three'"),
        (["tables", 0, "columns", "right", "metric"], "luck", "no metric 'luck'"),
        (["tables", 0, "rows", "one", "paper"], [1, 2], "2 figures for 1 columns"),
        (["runs", "two", "matched"], {"run": "zero"}, "has no zero"),
        (["seeds"], [], "seeds"),
    ],
)
def test_what_is_wrong_in_a_recipe_is_named(
    tmp_path: Path, path: list[Any], value: Any, said: str
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(json.dumps(changed(path, value)))
    with pytest.raises(BadRecipe, match=said):
        read_recipe(file)


def test_what_a_recipe_says_twice_is_named_by_its_line(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("title: one\ndata:\n  a: {source: game24}\n  a: {source: gsm8k}\n")
    with pytest.raises(BadRecipe, match=r"^mine\.yaml:4: a: stands twice$"):
        read_recipe(file)


def test_an_unknown_recipe_and_missing_data_are_wrong_command_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadRecipe, match="bench list"):
        load("nothing")
    assert call("bench", "run", "nothing", "--backbone", "rehearsal").code == 2
    missing = call("bench", "run", "mc2-tab-06", "--backbone", "rehearsal")
    assert (missing.code, "--reduced" in missing.err) == (2, True)
    waiting = changed(["runs", "one", "matched"], {"run": "one"})
    Path("loop.yaml").write_text(json.dumps(waiting))
    looped = call("bench", "run", "loop.yaml", "--backbone", "rehearsal")
    assert (looped.code, "wait for each other" in looped.err) == (2, True)
    assert "mc2-tab-01" in call("bench", "list").out


def test_a_plan_says_what_would_be_done_and_makes_no_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    recipe = changed(["data", "away"], {"source": "jsonl"})
    recipe["limits"] = {"calls": 6}
    recipe["tables"][0]["columns"]["else"] = {"data": "away", "metric": "accuracy"}
    recipe["tables"][0]["rows"]["one"]["paper"] = [1, 2]
    Path("mine.yaml").write_text(json.dumps(recipe))
    words = ("bench", "run", "mine.yaml", "--backbone", "rehearsal:seed=2", "--log", "a.db")
    told = call(*words, "--plan", "--json")
    assert told.code == 0, told.err
    assert not Path("a.db").exists()
    assert not Path("bench").exists()
    made = told.json
    data = {each["name"]: each for each in made["data"]}
    assert (data["game24"]["problems"], data["away"]["read"]) == (4, None)
    assert len(data["game24"]["sha256"]) == 64
    assert [
        (row["run"], row["problems"], row["calls_at_most"], row["calls"]) for row in made["rows"]
    ] == [
        ("one", 4, 4, None),
        ("two", 4, 4 * 5, None),
    ], "the limit of six allows more than their settings do"
    assert made["total"]["calls_at_most"] == 24
    assert made["total"]["calls"] is None
    [gap] = made["not_measured"]
    assert (gap["cells"], gap["of"], gap["why"]) == (1, 2, "not measured: away is not here")
    assert gap["rows"] == ["one"]
    said = call(*words, "--plan").out
    assert "run one on game24, 1 walks: 4 problems, 0 closed; at most 4 calls" in said
    assert "expected unknown calls, unknown tokens, unknown cost" in said
    assert "1 of 2 cells (one): not measured: away is not here" in said
    assert call(*words, "--limit", "1").code == 0
    row = call(*words, "--plan", "--json", "--limit", "1").json["rows"][0]
    assert (row["closed"], row["calls_at_most"], row["calls"], row["tokens"]) == (1, 0, 0.0, 0.0)


def test_a_limit_of_the_command_line_bounds_each_episode_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(json.dumps(changed(["about"], "Bounded")))
    words = ("bench", "run", "mine.yaml", "--backbone", "rehearsal:seed=2", "--log", "a.db")
    done = call(*words, "--call-limit", 2, "--plots", "none")
    assert done.code == 0, done.err
    with closing(SqliteLog("a.db")) as log:
        closed = [record.event for record in log.records(kinds=["episode.closed"])]
    calls = Counter(each.usage.calls for each in closed if isinstance(each, EpisodeClosed))
    assert calls == {1: 4, 2: 4}, "four problems by one chain, and by five of which two are allowed"


@pytest.mark.parametrize(
    ("limits", "most"),
    [({}, [1, 3, None]), ({"calls": 2}, [1, 2, 2]), ({"calls": 40}, [1, 3, 40])],
)
def test_a_plan_bounds_calls_by_settings_and_by_limits(
    tmp_path: Path, limits: dict[str, int], most: list[int | None]
) -> None:
    """Without a limit it knew of no bound, not even of a single chain's."""
    recipe = changed(["runs"], {
        "one": {"policy": "cot"},
        "three": {"policy": "self_consistency", "settings": {"samples": 3}},
        "tree": {"policy": "rest_mcts"},
    })  # fmt: skip
    file = tmp_path / "mine.yaml"
    file.write_text(json.dumps(recipe | {"limits": limits}))
    words = ("bench", "run", file, "--backbone", "rehearsal", "--log", tmp_path / "a.db")
    made = call(*words, "--plan", "--json").json
    bounds = [row["calls_at_most"] for row in made["rows"]]
    assert bounds == [None if each is None else 4 * each for each in most]
    known = None if None in bounds else sum(bounds)
    assert made["total"]["calls_at_most"] == known
    assert ("calls not limited" in call(*words, "--plan").out) is (known is None)


def test_a_matched_run_has_the_others_tokens_as_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    recipe = changed(["runs", "one", "matched"], {"run": "two", "of": "tokens"})
    Path("mine.yaml").write_text(json.dumps(recipe))
    done = call("bench", "run", "mine.yaml", "--backbone", "rehearsal:seed=2", "--log", "a.db")
    assert done.code == 0, done.err
    cases = list(read(SqliteLog("a.db")).cases())
    spent = {c.problem.id: c.closed.usage.tokens for c in cases if c.opened.policy != "cot"}
    limits = {c.problem.id: c.opened.limits.tokens for c in cases if c.opened.policy == "cot"}
    assert limits == spent
    assert len(limits) == 4
    page = Path("bench/mine.html").read_text()
    assert "<script" not in page
    assert "<code>metalogue bench run mine.yaml --backbone rehearsal:seed=2</code>" in page
    cells = re.sub(r'<td class="\w+">', "<td>", page)
    for each in json.loads(Path("bench/mine.json").read_text())["measured"]:
        said = each["outcomes"]
        counted = [said[name] for name in ("right", "commission", "omission", "unknown")]
        assert sum(counted) == each["episodes"]
        assert f"<td>{each['episodes']}</td>" in cells
        assert "".join(f"<td>{number}</td>" for number in counted[1:]) in cells
    assert not re.findall(r'(?:src|srcset|href)="(?!data:)', page), "nothing comes from elsewhere"
    beside = {path.name for path in Path("bench/mine").iterdir()}
    assert {"table-1.csv", "table-1.tex", "measured.csv", "measured.tex"} <= beside
    assert {name for name in beside if name.endswith(".svg")} >= {
        f"figure-1-game24-right-by-calls-{theme}.svg" for theme in ("light", "dark")
    }
    with Path("bench/mine/table-1.csv").open(encoding="utf-8", newline="") as file:
        [cell] = csv.DictReader(file)
    figure = json.loads(Path("bench/mine.json").read_text())["tables"][0]["rows"][0]["cells"][0]
    assert float(cell["ours"]) == figure["ours"]["value"]
    assert float(cell["difference"]) == pytest.approx(figure["ours"]["value"] - 1)
    assert (
        call("bench", "run", "mine.yaml", "--backbone", "rehearsal:seed=2", "--log", "a.db").code
        == 0
    )
    assert len(list(read(SqliteLog("a.db")).cases())) == len(cases)


def test_learning_is_counted_whatever_domains_the_lines_carry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a scope spent counts for the run whose problems fell into it, by their own domain or the source's."""
    monkeypatch.chdir(tmp_path)
    lines = [
        {"id": f"q{n}", "problem": f"What is {n} + {n}?", "answer": str(n + n)} for n in range(8)
    ]
    for at, line in enumerate(lines[:6]):
        line["domain"] = ("sums", "doubles")[at % 2]
    Path("lines.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    recipe = changed(["runs"], {"one": {"policy": "mc2"}, "two": {"policy": "cot"}})
    recipe["data"] = {"mine": {"source": "jsonl:mine"}}
    recipe["tables"][0]["columns"]["right"]["data"] = "mine"
    Path("mine.yaml").write_text(json.dumps(recipe))
    run = ("bench", "run", "mine.yaml", "--backbone", "rehearsal:seed=2", "--log", "a.db")
    done = call(*run, "--data", "mine=lines.jsonl", "--json")
    assert done.code == 0, done.err
    query = "select count(*) from records where kind = 'completed' and episode like 'b/%'"
    with closing(SqliteLog("a.db")) as log:
        (spent,) = log.db.execute(query).fetchone()
    assert spent > 0
    told = {each["run"]: each["learning"]["calls"] for each in done.json["measured"]}
    assert told == {"one": spent, "two": 0}


def test_learning_of_a_memory_that_runs_share_counts_for_the_one_whose_problems_taught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of the runs was told all of it, so that their sum was a multiple of what was paid."""
    monkeypatch.chdir(tmp_path)
    recipe = changed(
        ["data"], {"first": {"source": "game24:901-906"}, "then": {"source": "game24:911-913"}}
    )
    mc2 = {"policy": "mc2", "settings": {"batch_size": 3}}
    recipe["runs"] = {
        "learn": {**mc2, "data": ["first"], "passes": 2},
        "after": {**mc2, "data": ["then"], "continues": {"run": "learn", "data": "first"}},
    }
    recipe["tables"] = []
    Path("mine.yaml").write_text(json.dumps(recipe))
    done = call(
        "bench", "run", "mine.yaml", "--backbone", "rehearsal:seed=2", "--log", "a.db", "--json"
    )
    assert done.code == 0, done.err
    query = """select cast(substr(episode, length(rtrim(episode, '0123456789')) + 1) as integer) > 4, count(*)
      from records where kind = 'completed' and episode like 'b/%' group by 1 order by 1"""
    with closing(SqliteLog("a.db")) as log:
        (_, first), (_, later) = log.db.execute(query).fetchall()
    told = {each["run"]: each["learning"]["calls"] for each in done.json["measured"]}
    assert told == {"learn": first, "after": later}
    ruled = {
        each["run"]: sum(each["learning"]["consolidations"].values())
        for each in done.json["measured"]
    }
    assert ruled["learn"] > ruled["after"] > 0


def test_rules_that_a_fallback_kept_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A consolidation whose reply cannot be read keeps the rules that were there, which no figure showed."""
    monkeypatch.chdir(tmp_path)
    recipe = changed(["runs"], {"one": {"policy": "mc2"}, "two": {"policy": "cot"}})
    Path("mine.yaml").write_text(json.dumps(recipe))
    backbone = "rehearsal:seed=5,truncated=0.5"
    done = call("bench", "run", "mine.yaml", "--log", "a.db", "--backbone", backbone, "--json")
    assert done.code == 0, done.err
    query = (
        "select json_extract(body, '$.result') from records where kind = 'knowledge.consolidated'"
    )
    with closing(SqliteLog("a.db")) as log:
        came = Counter(result for (result,) in log.db.execute(query))
    assert came["fallback"] > 0
    told = {each["run"]: each["learning"]["consolidations"] for each in done.json["measured"]}
    assert told == {"one": came, "two": {}}
    said = f"{came['fallback']} of {came.total()} consolidations by fallback"
    assert said in Path("bench/mine.md").read_text()


def test_a_spent_total_says_how_the_bench_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(json.dumps(RECIPE))
    run = ("bench", "run", "mine.yaml", "--backbone", "rehearsal:seed=2", "--log", "a.db")
    done = call(*run, "--total-calls", 2)
    assert done.code == 4
    assert "calls spent [budget.spent, exit 4]" in done.err
    assert (
        "Give the same command again with a higher --total-calls: what is open goes on." in done.err
    )
    assert "worker" not in done.err
    assert call(*run, "--total-calls", 1_000).code == 0


def test_rows_of_a_hub_become_a_file_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []

    def load_dataset(name: str, config: str | None, *, split: str) -> list[dict[str, str]]:
        asked.append((name, config, split))
        return [{"question": "1 + 1?", "answer": "#### 2"}]

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    path = fetch("hub:openai/gsm8k#main/test", tmp_path)
    assert fetch("hub:openai/gsm8k#main/test", tmp_path) == path
    assert asked == [("openai/gsm8k", "main", "test")]
    assert json.loads(path.read_text()) == {"question": "1 + 1?", "answer": "#### 2"}
    with pytest.raises(NoHub, match="is not hub:"):
        fetch("hub:nowhere", tmp_path)
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(NoHub, match="extra"):
        fetch("hub:openai/other", tmp_path)


def has_datasets() -> bool:
    try:
        import_module("datasets")
    except ImportError:
        return False
    return True


@pytest.mark.skipif(not has_datasets(), reason="the extra datasets is not installed")
def test_the_real_library_s_rows_are_a_reader_s_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its loader takes a folder of that name for the hub's, so nothing leaves this machine."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("METALOGUE_HOME", str(tmp_path / "home"))
    folder = tmp_path / "openai" / "gsm8k"
    folder.mkdir(parents=True)
    (folder / "test.jsonl").write_text('{"question": "1 + 1?", "answer": "so\\n#### 2"}\n' * 3)
    words = ("--data", "gsm8k=hub:openai/gsm8k", "--log", "a.db")
    recipe = changed(["data"], {"game24": {"source": "gsm8k"}})
    Path("mine.yaml").write_text(json.dumps(recipe).replace('"game24"', '"gsm8k"'))
    done = call("bench", "run", "mine.yaml", "--backbone", "rehearsal", *words)
    assert done.code == 0, done.err
    cases = list(read(SqliteLog("a.db")).cases())
    assert {case.problem.problem for case in cases} == {"1 + 1?"}
    assert {case.reference for case in cases} == {"2"}
    absent = ("--data", "gsm8k=hub:nobody/nothing", "--log", "b.db")
    missing = call("bench", "run", "mine.yaml", "--backbone", "rehearsal", *absent)
    assert (missing.code, "nobody/nothing" in missing.err) == (2, True)


@pytest.mark.slow
def test_the_recorded_samples_are_measured_through_a_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data = shared() / "game24"
    words = ("--data", f"game24={data / '24.csv'}", "--limit", "12", "--log", "a.db")
    done = call("bench", "run", "game24-recorded", "--backbone", f"recorded:{data}", *words)
    assert done.code == 0, done.err
    ours = list(read(SqliteLog("a.db")).cases())
    theirs = {each.problem: each for each in recorded(data)}
    for case in ours:
        assert samples(case).right == theirs[case.problem.problem].right
    alike = [theirs[case.problem.problem] for case in ours]
    for n in (1, 10, 100):
        votes = [votes_by_n(each)[n - 1] for each in alike]
        assert METRICS[f"vote_of_{n}"].of(ours) == pytest.approx(100 * sum(votes) / len(votes))
    one = METRICS["any_of_1"].of(ours)
    right = [sum(samples(case).right) / 100 for case in ours]
    assert one == pytest.approx(100 * sum(right) / len(right))
    assert METRICS["any_of_100"].of(ours) == pytest.approx(100 * sum(map(bool, right)) / len(right))
    assert arms([]) is None


def test_progress_says_how_long_the_rest_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    said = io.StringIO()
    monkeypatch.setattr("sys.stderr", said)
    view = BenchView(over=False)
    view.draw(Figures(problems=100, closed=20), 8, 10.0)
    view.draw(Figures(problems=100, closed=60), 8, 30.0)
    first, second = said.getvalue().splitlines()
    assert "closed 20/100" in first
    assert first.endswith("left unknown")
    assert second.endswith("left 0:20")
