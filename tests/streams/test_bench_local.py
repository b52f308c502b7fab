"""The table on the real model: its problems, its rows, and that a broken file is named."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from schemas.usage import Usage
from streams.interfaces.cli.bench.local import table_of
from streams.interfaces.cli.main import main
from streams.research.bench import local
from streams.research.bench.sums import mixed, sums
from tests.data import shared
from tests.streams.bench.worlds import case

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


def test_the_command_prints_the_rows_of_what_it_worked_on(
    gsm8k: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = ["bench", "local", "--data", gsm8k, "--out", str(tmp_path), "--policy", "cot"]
    told += ["--backbone", "rehearsal:seed=7"]
    assert main([*told, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["backbone"], said["call_limit"]) == ("rehearsal:seed=7", local.CALLS)
    assert {name: row["problems"] for name, row in said["rows"].items()} == {"cot": 40}
    assert main(told) == 0
    assert "| cot | 40 |" in capsys.readouterr().out


def test_a_file_that_is_not_there_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "local", "--data", f"{tmp_path}/none.jsonl", "--out", str(tmp_path)]) == 2
    assert "gsm8k: no file at" in capsys.readouterr().err


def test_sums_grow_by_the_digits_of_both_kinds() -> None:
    made = [*sums(20, 7, "sum")]
    assert [each["id"] for each in made] == [f"sum-{at}" for at in range(1, 21)]
    asked = [each["problem"].removeprefix("What is ").rstrip("?").split() for each in made]
    assert [sign for _, sign, _ in asked] == ["+", "*"] * 10
    digits = [(len(left), len(right)) for left, _, right in asked]
    assert digits[::2] == [(at, at) for at in (1, 1, 2, 2, 3, 3, 4, 4, 5, 5)]
    assert digits[1::2] == [(1, 1)] * 3 + [(1, 2)] * 3 + [(2, 2)] * 2 + [(1, 3), (2, 3)]
    again = [*sums(41, 7, "sum")]
    assert again[:20] == made, "however many are asked for"
    assert [len(each["problem"]) for each in again[20:40]] == [len(e["problem"]) for e in made]
    numbers = {int(each) for one in range(40) for sum_ in sums(20, one, "x")
               for each in sum_["problem"][8:-1].split()[::2]}  # fmt: skip
    assert min(numbers) == 2, "a factor of 1 asks for nothing"
    assert {*range(2, 10)} <= numbers
    assert max(numbers) < 100_000


def test_sums_are_the_same_in_every_build() -> None:
    """Tables that were published are of these."""
    assert [(each["problem"], each["answer"]) for each in sums(6, 135, "sum")] == [
        ("What is 4 + 8?", "12"), ("What is 2 * 7?", "14"), ("What is 8 + 2?", "10"),
        ("What is 5 * 7?", "35"), ("What is 94 + 99?", "193"), ("What is 3 * 8?", "24"),
    ]  # fmt: skip


def test_of_problems_at_one_place_the_id_decides() -> None:
    one, other = ([{"id": f"{kind}{at}"} for at in range(3)] for kind in "ba")
    assert [each["id"] for each in mixed(one, other)] == ["a0", "b0", "a1", "b1", "a2", "b2"]
    alike = [[{"id": "a", "problem": said}] for said in "yx"]
    assert [each["problem"] for each in mixed(*alike)] == ["y", "x"], "else as they were given"


# ── Made by commands, told of what was closed ────────────────────────────────────────────────


@pytest.fixture
def gsm8k(tmp_path: Path) -> str:
    lines = [{"question": f"Take {at}?", "answer": f"#### {at}"} for at in range(12)]
    path = tmp_path / "gsm8k.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    return str(path)


def test_forty_problems_are_thirty_sums_and_ten_of_the_file_spread_evenly(gsm8k: str) -> None:
    made = local.problems(gsm8k)
    own = [each for each in made if each["id"].startswith("sum-")]
    given = [each for each in made if each["id"].startswith("gsm8k-")]
    assert (len(made), own) == (40, [*sums(30, 135, "sum")])
    assert given == [
        {"id": f"gsm8k-{at}", "problem": f"Take {at - 1}?", "answer": f"{at - 1}"}
        for at in range(1, 11)
    ]
    for at in range(0, 40, 8):
        assert sum(each in given for each in made[at : at + 8]) == 2


def test_each_walk_is_announced_and_worked_on_a_log_of_its_own(
    gsm8k: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []
    now = iter((0.0, *range(0, 900, 100)))

    def command(words: Sequence[str]) -> int:
        asked.append([*words])
        return 4 if words[0] == "worker" else 0

    walks = (
        local.Walk("plain", "cot"),
        local.Walk("mc2, so to say", "mc2", ("a=1", "b=2"), experienced=True),
        local.Walk("never", "tot"),
    )
    out = tmp_path / "made" / "here"
    monkeypatch.setattr(local, "time", SimpleNamespace(monotonic=lambda: next(now)))
    local.run(command, walks, data=gsm8k, folder=out, backbone="b", minutes=5)
    fine = ["--call-limit", "16", "--seed", "135", "--log"]

    def announced(source: str, policy: str, log: str, *more: str) -> list[str]:
        file = f"{out}/{source}.jsonl"
        head = ["produce", file, "--domain", "local", "--policy", policy, *more]
        return [*head, *fine, f"{out}/{log}.db", "--json"]

    def worked(log: str, seconds: str) -> list[str]:
        head = ["worker", "--backbone", "b", "--until-idle", "--settle", "--no-tables"]
        flight = ["--max-concurrency", "8", "--total-time", seconds, "--log", f"{out}/{log}.db"]
        return [*head, *flight]

    mc2 = "mc2-so-to-say"
    assert asked == [
        announced("problems", "cot", "plain"),
        worked("plain", "300"),
        announced("before", "mc2", mc2, "--set", "a=1", "--set", "b=2"),
        worked(mc2, "200"),
        announced("problems", "mc2", mc2, "--set", "a=1", "--set", "b=2"),
        worked(mc2, "100"),
    ], "and then the time was up"
    before = [json.loads(line) for line in (out / "before.jsonl").read_text().splitlines()]
    assert before == [*sums(20, 136, "before")]
    problems = [json.loads(line) for line in (out / "problems.jsonl").read_text().splitlines()]
    assert problems == local.problems(gsm8k)
    with pytest.raises(RuntimeError, match="exit 1"):
        local.work(lambda _: 1, "b", "a.db", 1)
    with pytest.raises(RuntimeError, match="exit 4"):
        local.produce(lambda _: 4, walks[0], out, "problems")


def test_one_walk_learns_from_others_before_and_one_has_no_guidance(
    gsm8k: str, tmp_path: Path
) -> None:
    asked: list[list[str]] = []

    def command(words: Sequence[str]) -> int:
        asked.append([*words])
        return 0

    local.run(command, local.WALKS, data=gsm8k, folder=tmp_path, backbone="b", minutes=5)
    announced = [words for words in asked if words[0] == "produce"]
    logs = [Path(words[words.index("--log") + 1]).stem for words in announced]
    assert [log for log, words in zip(logs, announced, strict=True) if "before" in words[1]] == [
        "mc2-with-experience"
    ]
    assert len({*logs}) == len(local.WALKS) == len(announced) - 1
    chosen = {
        log: words[words.index("--set") + 1]
        for log, words in zip(logs, announced, strict=True)
        if "--set" in words
    }
    assert chosen == {"mc2-cold": "guidance=none", "mc2-with-experience": "lessons_per_batch=5"}


def test_what_only_makes_experience_is_in_no_row() -> None:
    usage = Usage(calls=3, prompt_tokens=1_000, completion_tokens=234, cached_tokens=5, seconds=1.5)
    cases = [
        case("sum-1", "right", usage=usage), case("sum-2", "wrong", usage=usage),
        case("sum-3", "unknown", usage=usage), case("before-1", "wrong", usage=usage),
    ]  # fmt: skip
    found = local.figures(cases, 7) or {}
    shown = {
        name: found[name] for name in ("problems", "right", "not_graded", "omission", "accuracy")
    }
    assert shown == {"problems": 3, "right": 1, "not_graded": 1, "omission": 0, "accuracy": 0.5}
    used = ("calls", "learning_calls", "tokens", "cached_tokens", "seconds")
    assert [found[name] for name in used] == [9, 7, 3_702, 15, 4.5]
    assert local.figures(cases[3:], 7) is None
    low, high = found["accuracy_interval"]
    assert local.markdown([("mc2, cold", found), ("cot", None)]).splitlines() == [
        "| run | n | right | undecided | accuracy | 95 % | graded | calls | learning calls | tokens | seconds |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
        f"| mc2, cold | 3 | 1 | 0 | 50.0 % | {100 * low:.1f} %–{100 * high:.1f} % | 66.7 % | 9 | 7 | 3,702 | 4 |",
        "| cot | not run |  |  |  |  |  |  |  |  |  |",
    ]
    ungraded = local.figures(cases[2:3], 0)
    assert "| – | ––– | 0.0 % |" in local.markdown([("cot", ungraded)])
