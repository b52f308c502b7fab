"""Qwen2.5-Coder-0.5B, held to grammars and not: `make test-models` fetches it and runs these alone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import closing
from functools import cache
from hashlib import file_digest
from pathlib import Path

import pytest

from schemas.events.episode import Completed
from schemas.questions import Sampling
from streams.answering.backbones.llamacpp import LlamaCpp, Options
from streams.answering.backbones.spelling import BackboneConfig, build
from streams.answering.models import ggufs
from streams.core.backbone import ModelReply, ModelRequest
from streams.interfaces.cli.demo.local import PROBLEMS
from streams.interfaces.cli.main import main
from streams.interfaces.cli.models import home
from streams.interfaces.cli.opening import open_log
from streams.replay.unread import Unread, unread
from streams.research.analysis.cases import Case, read

NAME = "qwen2.5-coder-0.5b"
MODEL = next(each for each in ggufs() if each.name == NAME)
ROOM = "slots=6&context=2048&max_tokens=320"

pytestmark = [pytest.mark.models, pytest.mark.timeout(900)]


@cache
def where() -> Path:
    """The folder of pulled models, before a test moves it."""
    return home()


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not MODEL.path(where()).is_file():
        pytest.skip(f"{NAME} is not here: make test-models")
    monkeypatch.chdir(tmp_path)


def worked(policy: str, problems: int, options: str = ROOM) -> tuple[list[Case], list[Unread]]:
    """Closed episodes of the demo's first problems, and the replies that were not read at once."""
    lines = PROBLEMS.read_text(encoding="utf-8").splitlines(keepends=True)[:problems]
    Path("in.jsonl").write_text("".join(lines), encoding="utf-8")
    limits = ["--domain", "words", "--log", "run.db"]
    assert main(["produce", "in.jsonl", "--policy", policy, *limits]) == 0
    backbone = f"llamacpp:{MODEL.path(where())}?{options}"
    assert main(["worker", "--backbone", backbone, "--until-idle", "--log", "run.db"]) == 0
    with closing(open_log("run.db")) as log:
        return list(read(log).cases()), list(unread(log))


def replies_of(cases: Sequence[Case]) -> list[Completed]:
    return [
        event for case in cases for _, event in case.trace.events if isinstance(event, Completed)
    ]


def test_it_is_the_publishers_file_byte_for_byte() -> None:
    with MODEL.path(where()).open("rb") as file:
        assert file_digest(file, "sha256").hexdigest() == MODEL.sha256


def test_llama_cpp_runs_it_where_openvino_was_named() -> None:
    pytest.importorskip("openvino_genai", reason="the extra openvino is not installed")
    asked = build(f"openvino:{NAME}?context=512&slots=1", BackboneConfig(models=where()))
    assert isinstance(asked, LlamaCpp)


def test_chains_of_thought_that_end_by_themselves_are_read_and_most_do() -> None:
    """A model of this size now and then reckons on without an end; nothing else is left unread."""
    cases, unread_ones = worked("greedy", 6)
    replies = replies_of(cases)
    ended = [reply for reply in replies if reply.finish == "stop"]
    assert {each.finish for each in unread_ones} <= {"length"}
    assert len(replies) == len(cases) == 6
    assert len(ended) >= 4
    assert sum(case.closed.answer is not None for case in cases) >= len(ended)
    assert any(case.outcome == "right" for case in cases)


def test_the_same_seed_and_prompt_give_the_same_reply() -> None:
    async def use() -> list[ModelReply]:
        backbone = LlamaCpp(MODEL.path(where()), Options(slots=1, context=512, cache=False))
        request = ModelRequest(
            messages=(("user", "What is 17 + 25?"),), sampling=Sampling(max_tokens=60), seed=7
        )
        try:
            return [await backbone.complete(request) for _ in range(2)]
        finally:
            await backbone.close()

    first, again = asyncio.run(use())
    assert first.text == again.text
    assert "42" in first.text
