"""Speeds of backbones beside each other: what is asked, counted, told, and left unknown."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from schemas.questions import Sampling
from streams.core.backbone import ModelReply, ModelRequest, SetupBroken
from streams.interfaces.cli.bench.pace import backbones
from streams.interfaces.cli.main import main
from streams.research.bench import pace
from tests.streams.bench.worlds import always

TOLD = pace.Round(10.0, 16 * 150, 16 * 200, 0)


class Scripted:
    """Replies of a given length, and what was asked."""

    simulated = False
    name = "scripted"

    def __init__(self, finish: str = "length") -> None:
        self.asked: list[ModelRequest] = []
        self.finish, self.closed = finish, False

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.asked.append(request)
        await asyncio.sleep(0)
        return ModelReply(
            text="one",
            finish=self.finish,
            model="m",
            prompt_tokens=150,
            completion_tokens=request.sampling.max_tokens,
        )

    async def close(self) -> None:
        self.closed = True


def measured(backbone: Scripted, busy_loops: int = 0) -> pace.Measured:
    return asyncio.run(pace.measure("scripted", lambda: backbone, busy_loops))


def test_the_model_is_loaded_before_the_clock_runs_and_freed_afterwards() -> None:
    backbone = Scripted()
    found = measured(backbone)
    assert backbone.closed
    lengths = [request.sampling.max_tokens for request in backbone.asked]
    assert lengths == [1, *[200] * 16, *[1] * 32]
    assert found.round is not None
    assert (found.round.prompt_tokens, found.round.completion_tokens) == (16 * 150, 16 * 200)
    assert found.beside is None
    assert found.kept is None


def test_prompts_begin_alike_unless_it_is_measured_what_that_saves() -> None:
    backbone = Scripted()
    measured(backbone)
    rules = [request.messages[0][1] for request in backbone.asked]
    assert set(rules[:33]) == {pace.RULES}
    anew = rules[33:]
    assert len(set(anew)) == 16
    assert all(len(each) - len(pace.RULES) < 10 for each in anew)
    assert len({request.messages for request in backbone.asked}) == len(backbone.asked)


def test_busy_loops_run_beside_the_last_round_alone_and_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Loop:
        def __init__(self, command: list[str]) -> None:
            assert pace.LOOP in command
            begun.append(len(backbone.asked))

        def kill(self) -> None:
            ended.append(len(backbone.asked))

        def wait(self) -> None:
            """It has ended."""

    begun: list[int] = []
    ended: list[int] = []
    backbone = Scripted()
    monkeypatch.setattr("subprocess.Popen", Loop)
    found = measured(backbone, busy_loops=2)
    assert (begun, ended) == ([49, 49], [65, 65])
    assert found.beside is not None
    assert found.kept is not None


def test_a_call_that_failed_leaves_the_pace_unknown() -> None:
    found = measured(Scripted("error"))
    assert found.round is not None
    assert (found.round.failed, found.round.pace) == (16, None)
    text = pace.markdown([found])
    assert "scripted: 16 of its calls failed" in text


def test_what_nobody_counted_stays_unknown() -> None:
    reply = ModelReply(text="", finish="stop", model="m")
    counted = ModelReply(text="", finish="stop", model="m", prompt_tokens=1, completion_tokens=1)
    found = pace.round_of([reply, counted], 1.0)
    assert (found.prompt_tokens, found.completion_tokens, found.pace) == (None, None, None)


def test_the_table_says_how_many_times_the_first_and_what_is_left_beside_loops() -> None:
    slow = pace.Measured("llamacpp:m", TOLD, 8.0, 1.0, pace.Round(50.0, 2400, 3200, 0))
    fast = pace.Measured("openvino:m", pace.Round(5.0, 2400, 3200, 0), 4.0, 0.5)
    absent = pace.Measured("other:m", why="not installed")
    lines = pace.markdown([slow, fast, absent]).splitlines()
    assert (
        "| llamacpp:m | 150 | 200 | 10.0 | 320.0 | 1.00 | 8.0 s / 1.0 s | 64.0 | 20.0 % |" in lines
    )
    assert "| openvino:m | 150 | 200 | 5.0 | 640.0 | 2.00 | 4.0 s / 0.5 s | – | – |" in lines
    assert lines[-1] == "other:m: not measured: not installed"


def test_sixteen_count_from_numbers_of_their_own_and_draw_apart() -> None:
    asked = pace.requests("upwards", 7)
    assert len(asked) == 16
    assert asked[2] == ModelRequest(
        messages=(("system", pace.RULES), ("user", "Count in words, upwards, from 201 on, without an end.")),
        sampling=Sampling(max_tokens=7),
        seed=2,
    )  # fmt: skip
    assert [each.seed for each in pace.requests("x", 1, "rules", 3)] == [0, 1, 2]


def test_each_round_is_timed_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter((0.0, 10.0, 20.0, 21.0, 30.0, 38.0, 40.0, 90.0))
    monkeypatch.setattr(pace, "perf_counter", lambda: next(looks))
    loop = SimpleNamespace(kill=always(None), wait=always(None))
    monkeypatch.setattr("subprocess.Popen", always(loop))
    found = measured(Scripted(), busy_loops=1)
    assert found == pace.Measured("scripted", TOLD, 8.0, 1.0, pace.Round(50.0, 2400, 3200, 0))
    assert (TOLD.pace, found.kept) == (320.0, 0.2)


@pytest.mark.parametrize(
    ("finish", "failed"), [("stop", 0), ("length", 0), ("content_filter", 1), ("error", 1)]
)
def test_a_reply_that_ended_otherwise_has_failed(finish: str, failed: int) -> None:
    reply = ModelReply(text="", finish=finish, model="m", prompt_tokens=3, completion_tokens=4)
    found = pace.round_of([reply], 2.0)
    assert found == pace.Round(2.0, 3, 4, failed)
    assert found.pace == (None if failed else 2.0)
    assert pace.Round(0.0, 3, 4, 0).pace is None


def test_what_is_unknown_of_a_backbone_is_a_dash() -> None:
    rows = [
        pace.Measured("none", why="not installed"),
        pace.Measured("uncounted", pace.Round(2.0, None, None, 0), 1.0, 1.0, TOLD),
        pace.Measured("failed", pace.Round(2.0, 1600, 3200, 3), 1.0, 1.0),
        pace.Measured("known", TOLD),
    ]
    assert pace.markdown(rows).splitlines() == [
        "| backbone | prompt | reply | seconds | tokens/s | ratio | prompts anew / alike | beside | share of idle |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
        "| none | – | – | – | – | – | – | – | – |",
        "| uncounted | – | – | 2.0 | – | – | 1.0 s / 1.0 s | 320.0 | – |",
        "| failed | 100 | 200 | 2.0 | – | – | 1.0 s / 1.0 s | – | – |",
        "| known | 150 | 200 | 10.0 | 320.0 | – | – s / – s | – | – |",
        "",
        "none: not measured: not installed",
        "",
        "failed: 3 of its calls failed",
    ]


def test_a_model_that_cannot_be_loaded_is_told_and_freed() -> None:
    class Broken(Scripted):
        async def complete(self, request: ModelRequest) -> ModelReply:
            raise SetupBroken("model", "m", "no such file: m.gguf")

    backbone = Broken()
    assert measured(backbone) == pace.Measured("scripted", why="no such file: m.gguf")
    assert backbone.closed


def test_busy_loops_end_whatever_happens_beside_them(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[str] = []
    loop = SimpleNamespace(kill=lambda: ended.append("killed"), wait=lambda: ended.append("gone"))
    monkeypatch.setattr("subprocess.Popen", always(loop))
    with pytest.raises(ZeroDivisionError), pace.busy(2):
        raise ZeroDivisionError
    assert ended == ["killed", "gone"] * 2


def test_a_set_up_that_is_broken_is_told() -> None:
    def build() -> Scripted:
        raise SetupBroken("extra", "openvino", "OpenVINO is not installed: make openvino")

    found = asyncio.run(pace.measure("openvino:m", build, 0))
    assert (found.round, found.why) == (None, "OpenVINO is not installed: make openvino")


def test_the_command_measures_both_ways_to_run_a_model(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("METALOGUE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    spelled = backbones("m")
    assert [each.partition(":")[0] for each in spelled] == ["llamacpp", "openvino"]
    assert all("slots=16" in each for each in spelled)
    assert main(["bench", "local"]) == 1
    assert capsys.readouterr().out.count("not measured") == 2
    fake = ["--backbone", "rehearsal:seed=7", "--backbone", "rehearsal:seed=8"]
    assert main(["bench", "local", *fake, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in told["rows"]] == ["rehearsal:seed=7", "rehearsal:seed=8"]
    assert told["rows"][0]["round"]["completion_tokens"] > 0
    assert main(["bench", "local", "--data", "x", *fake]) == 2
