"""Graph memory around every other policy, and what it is around where nobody says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from handlers.policies.base import Batch, Member, Task
from handlers.policies.bases import BASES
from handlers.policies.graph_memory import GRAPH_MEMORY, GraphSettings
from handlers.policies.registry import POLICIES, find
from schemas.events.graph import ExperienceShown, PairCompared, PathGrounded
from schemas.outcome import Outcome
from schemas.settings import BadSetting
from tests.papers.gm_says import GOOD, member, rehearsed, remembering
from tests.scripted import run
from tests.streams.cli.calling import call

PUZZLE, NEAR = "4 5 6 10", "4 5 6 12"
MEMORY = remembering({NEAR: {GOOD: "right"}}, {GOOD: {"m1": 1.0, "m2": 1.0}})
TASK = Task("1", PUZZLE, "game24", 7, 1)


def around(base: str, **values: Any) -> GraphSettings:
    return GraphSettings.resolve("service", {"base": base, "rollouts": 2, **values})


def batch(outcome: Outcome, phase: str) -> Batch:
    one = member(outcome, GOOD, PUZZLE, phase)
    told = structs.replace(one.reflected, domain="game24")
    return Batch("s", 2, (Member(one.episode, told, one.outcome),), MEMORY, seed=7)


@pytest.mark.parametrize("base", sorted(BASES))
def test_any_policy_is_guided_built_from_and_weighed(base: str) -> None:
    """A base that learns reads nothing of the graph as its own."""
    ran = run(GRAPH_MEMORY.solve(TASK, around(base)), rehearsed, memory=MEMORY)
    [shown] = ran.of(ExperienceShown)
    assert shown.items == ("m1", "m2")
    assert any("advice m1" in dict(q.variables).get("guidance", "") for q in ran.requests)
    built = run(GRAPH_MEMORY.learn(batch("wrong", "build"), around(base)), rehearsed, memory=MEMORY)
    assert len(built.of(PathGrounded)) == 2
    weighed = run(
        GRAPH_MEMORY.learn(batch("right", "weigh"), around(base)), rehearsed, memory=MEMORY
    )
    assert len(weighed.of(PairCompared)) == 1


@pytest.mark.parametrize("base", sorted(BASES))
def test_without_principles_it_is_the_base_word_for_word(base: str) -> None:
    bare = find(base)
    alone = run(bare.solve(TASK, bare.settings.resolve("service", {})), rehearsed)
    ran = run(GRAPH_MEMORY.solve(TASK, around(base, principles_shown=0)), rehearsed, memory=MEMORY)
    assert [q.messages() for q in ran.requests] == [q.messages() for q in alone.requests]
    assert ran.result == alone.result


def test_every_policy_can_be_guided_but_itself_and_those_that_wait_for_a_person() -> None:
    assert POLICIES.keys() - BASES.keys() == {"graph_memory", "reviewed"}
    with pytest.raises(BadSetting, match=r"settings\.base: .*works by itself"):
        around("reviewed")


@pytest.mark.parametrize(("tools", "base"), [(None, "mc2"), ("corpus:somewhere", None)])
def test_nobody_said_what_is_guided(
    tools: str | None, base: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What calls tools where tools are configured, which is the default; mc2 else."""
    if tools is not None:
        monkeypatch.setenv("METALOGUE_TOOLS", tools)
    log = tmp_path / "a.db"
    assert call("produce", "game24:1", "--policy", "graph_memory", "--log", log).code == 0
    rows = call("log", "cat", "--topic", "problems", "--json", "--log", log).rows
    said = [row["value"] for row in rows if "value" in row]
    settings = [(json.loads(v) if isinstance(v, str) else v).get("settings", {}) for v in said]
    assert [each.get("base") for each in settings] == [base]
    assert GraphSettings().base == "tool_reasoning"


def test_one_problem_is_guided_in_rounds_without_tools(tmp_path: Path) -> None:
    said = call(
        "solve", PUZZLE, "--log", tmp_path / "a.db", "--domain", "game24", "--policy", "graph_memory", "--json",
        "--backbone", "rehearsal:seed=2,specificity=1,sensitivity=1,malformed=0,truncated=0,empty=0",
    )  # fmt: skip
    assert said.code == 0
    assert said.json["ended_by"] == "accepted"
