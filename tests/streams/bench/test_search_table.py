"""`bench search`: which runs are announced, with what limits, and how a command that fails ends it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from streams.engine.policies import find
from streams.research.bench.search_table import Command, must, produce, runs, said, work
from tests.streams.cli.calling import call


def option(words: Sequence[str], name: str) -> str:
    return words[words.index(name) + 1]


def heard(asked: list[list[str]]) -> Command:
    """A command that ends well and remembers its words."""

    def command(words: Sequence[str]) -> int:
        asked.append([*words])
        return 0

    return command


def test_every_method_is_announced_under_each_limit() -> None:
    asked: list[list[str]] = []
    produce(heard(asked), "sqlite:a.db", 12)
    assert {tuple(words[:2]) for words in asked} == {("produce", "game24:901-912")}
    assert {option(words, "--log") for words in asked} == {"sqlite:a.db"}
    assert {option(words, "--profile") for words in asked} == {"paper"}
    assert all("--json" in words for words in asked)
    limits = Counter(option(words, "--call-limit") for words in asked)
    assert limits == dict.fromkeys(("4", "8", "16", "32"), 14)
    assert all(option(words, "--series") == f"c{option(words, '--call-limit')}" for words in asked)
    told = [" ".join(words[3:-9]) for words in asked if option(words, "--call-limit") == "8"]
    assert told == [
        "greedy",
        "best_of_n --set samples=8 --set pick=vote",
        "best_of_n --set samples=8 --set pick=verifier",
        "self_consistency --set samples=8",
        "tot",
        "rest_mcts --set primary_calls=8",
        *(f"cot2_meta --set primary_calls=8{more}" for more in (
            "", " --set tree=false", " --set evaluator=false", " --set pruning=false", " --set outcome_share=0.0",
            " --set outcome_share=1.0", " --set repair=all", " --set repair=none",
        )),
    ]  # fmt: skip


@pytest.mark.parametrize("calls", [4, 32])
def test_settings_are_those_that_the_policies_take(calls: int) -> None:
    for name, values in runs(calls):
        resolved = find(name).settings.resolve("paper", values).model_dump()
        assert {at: resolved[at] for at in values} == values


def test_all_of_them_are_worked_on_to_the_end() -> None:
    asked: list[list[str]] = []
    work(heard(asked), "sqlite:a.db", "rehearsal")
    assert asked == [
        ["worker", "--backbone", "rehearsal", "--until-idle", "--settle", "--log", "sqlite:a.db"]
    ]


def test_a_bench_whose_command_fails_ends_with_its_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ended as a defect of ours, whoever had misspelt a backbone."""
    monkeypatch.chdir(tmp_path)
    done = call(
        "bench", "search", "--log", "a.db", "--limit", "1", "--backbone", "nobody", "--json"
    )
    codes = [json.loads(line)["error"] for line in done.err.splitlines() if line.startswith("{")]
    assert (done.code, codes) == (2, ["usage", "bench.stopped"])


def test_a_command_that_fails_ends_the_bench_unless_its_code_is_fine() -> None:
    asked: list[Sequence[str]] = []

    def fails(words: Sequence[str]) -> int:
        asked.append(words)
        return 4

    with pytest.raises(RuntimeError, match=r"^worker --log a\.db: exit 4$"):
        must(fails, ["worker", "--log", "a.db"])
    must(fails, ["worker"], fine=(0, 4))
    with pytest.raises(RuntimeError, match="exit 4"):
        produce(fails, "sqlite:a.db", 1)
    with pytest.raises(RuntimeError, match="exit 4"):
        work(fails, "sqlite:a.db", "rehearsal")
    assert len(asked) == 4


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "true"), (False, "false"), (0.5, "0.5"), ("All", "All"), (None, "None")],
)
def test_a_value_is_said_as_set_takes_it(value: object, text: str) -> None:
    assert said(value) == text
