"""The table on the real model: its problems, its rows, and that a broken file is named."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from streams.interfaces.cli.bench.local import table_of
from streams.interfaces.cli.main import main
from streams.research.bench import local
from streams.research.bench.sums import mixed, sums
from tests.data import shared

WALKS = local.WALKS[:1]


def call(arguments: Sequence[str]) -> int:
    return main(list(arguments))


def test_sums_are_right_graded_and_the_same_for_everyone() -> None:
    made = list(sums(30, 135, "sum"))
    assert made == list(sums(30, 135, "sum"))
    assert made != list(sums(30, 136, "sum"))
    for each in made:
        left, sign, right = each["problem"].removeprefix("What is ").rstrip("?").split()
        made_of = int(left) + int(right) if sign == "+" else int(left) * int(right)
        assert made_of == int(each["answer"])
    asked = [len(each["problem"]) for each in made[:20:2]]
    assert asked == sorted(asked)


def test_kinds_are_spread_evenly() -> None:
    numbers, words = (
        [{"id": f"{kind}{at}"} for at in range(size)] for kind, size in (("n", 6), ("w", 2))
    )
    assert "".join(each["id"][0] for each in mixed(numbers, words)) == "nnwnnnwn"


def test_a_walk_is_made_read_and_gone_on_with(tmp_path: Path) -> None:
    data = str(shared() / "gsm8k" / "test_dev.jsonl")
    for _ in range(2):
        local.run(call, WALKS, data=data, folder=tmp_path, backbone="rehearsal:seed=7", minutes=5)
    [(name, found)] = table_of(tmp_path, WALKS)
    assert name == "cot"
    assert found is not None
    assert (found["problems"], found["calls"], found["learning_calls"]) == (40, 40, 0)
    assert found["accuracy_interval"][0] <= found["accuracy"] <= found["accuracy_interval"][1]
    assert "| cot | 40 |" in local.markdown([(name, found)])
    assert "not run" in local.markdown([("mc2", None)])


def test_a_file_that_is_not_there_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "local", "--data", f"{tmp_path}/none.jsonl", "--out", str(tmp_path)]) == 2
    assert "gsm8k: no file at" in capsys.readouterr().err
