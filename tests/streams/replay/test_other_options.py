"""A fork takes its parent's replies over only where the same model would be asked in the same way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from streams.answering.backbones.llamacpp import LlamaCpp
from streams.answering.backbones.openai import OpenAIBackbone
from streams.answering.backbones.openai import Options as OpenAIOptions
from streams.answering.backbones.rehearsal import Options, Rehearsal
from streams.answering.backbones.shape import description
from streams.answering.backbones.spelling import build
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.replay.change import by_role
from tests.streams.cli.calling import Called, call
from tests.streams.cli.conftest import folder as folder

PLAIN = "rehearsal:seed=7"


def fork(episode: str, backbone: str) -> dict[str, int]:
    words = ("--at", "2", "--backbone", backbone, "--log", "a.db", "--json")
    called: Called = call("fork", episode, *words)
    assert called.code in (0, 4), called.err
    return {name: called.json[name] for name in ("kept_calls", "reused_calls", "made_calls")}


def test_options_that_change_replies_make_another_model(folder: Path) -> None:
    solved = call("solve", "4 5 6 10", "--domain", "game24", "--policy", "mc2", "--log", "a.db",
                  "--backbone", PLAIN, "--json")  # fmt: skip
    episode = solved.json["episode"]
    same = fork(episode, PLAIN)
    slower = fork(episode, f"{PLAIN},latency_ms=1")
    other = fork(episode, f"{PLAIN},specificity=0")
    assert same["made_calls"] == slower["made_calls"] == 0
    assert same["reused_calls"] > 0
    assert other["reused_calls"] == 0
    assert other["made_calls"] > 0


def test_a_description_holds_what_replies_hang_on() -> None:
    def openai(**options: Any) -> str:
        said = OpenAIOptions(**options)
        site = "http://127.0.0.1:1"
        made = OpenAIBackbone("m", base_url=site, api_key="k", options=said, environ={})
        return description(made)

    assert openai(timeout_s=7.0, stream=True, max_connections=2) == "openai:m"
    assert openai(reasoning_effort="high", structured=True) == (
        "openai:m(structured=True,reasoning_effort=high)"
    )
    one, two = (openai(extra_body=f'{{"top_k": {k}, "x": "a, b: c("}}') for k in (1, 2))
    assert one != two
    assert one.startswith("openai:m(extra_body=")
    assert description(Rehearsal(Options(seed=3, specificity=0.0))) == (
        "rehearsal(seed=3,specificity=0)"
    )
    assert description(build("llamacpp?threads=1")).startswith("llamacpp:")
    assert description(build("llamacpp?max_tokens=9")).endswith("(max_tokens=9)")
    assert isinstance(build("llamacpp"), LlamaCpp)


@pytest.mark.parametrize("roles", [("*",), ("*", "judge"), ("*", "judge", "monitor")])
def test_descriptions_are_read_by_role_again(roles: tuple[str, ...]) -> None:
    named = {
        role: Rehearsal(Options(seed=at, specificity=0.0, heed=0.25))
        for at, role in enumerate(roles)
    }
    world = World(named, HashedEmbedder())
    assert by_role(world.description) == {role: description(each) for role, each in named.items()}
    assert all("heed=0.25" in each for each in by_role(world.description).values())
