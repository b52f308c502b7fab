"""Roll-outs as groups for policy optimisation: prompts with memory, rewards, advantages; the loss."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from math import exp, isnan, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.learning.grpo import grpo_loss
from handlers.learning.reinforce import advantages, clipped_loss
from handlers.policies.registry import find
from schemas.questions import ToolResult, UseTool
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.core.backbone import ModelReply, ModelRequest
from streams.research.training.groups import Group, Rollout, Turn, groups, sequences
from streams.research.training.tokens import rows_of
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.worker import Worker
from tests.streams.cli.calling import call

# ── The loss ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.claim("gm-eq-12")
@pytest.mark.parametrize(("ratio", "advantage", "loss"), [
    (1.3, 1, -1.2), (1.3, -1, 1.3), (0.5, -1, 0.8), (1.0, 2.0, -2.0),
])  # fmt: skip
def test_golden_values_of_one_token(ratio: float, advantage: float, loss: float) -> None:
    found = grpo_loss([[log(ratio)]], [[0.0]], [advantage], [[1.0]])
    assert found == pytest.approx(loss)


@pytest.mark.claim("gm-eq-12")
def test_tool_text_is_masked_and_long_roll_outs_count_as_one() -> None:
    """Mean over a roll-out's own tokens, then over roll-outs: by hand, -(1.2 + 1) / 2 and 0.8."""
    new = [[log(1.3), 0.0, 5.0], [log(0.5), -9.0, -9.0]]
    old = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    mask = [[1, 1, 0], [1, 0, 0]]
    assert grpo_loss(new, old, [1, -1], mask) == pytest.approx((-(1.2 + 1) / 2 + 0.8) / 2)
    with pytest.raises(ValueError, match="no loss"):
        grpo_loss(new, old, [1, -1], [[0, 0, 0], [1, 0, 0]])


@pytest.mark.claim("gm-eq-11", "gm-eq-05")
def test_its_slope_at_the_old_policy_is_the_policy_gradient() -> None:
    """∂L/∂log π = -Â by finite differences, as eq. (5) has it."""
    gains, step = advantages([1.0, 0.0, 0.0, 1.0]), 1e-6
    old = np.log(np.array([[0.5], [0.2], [0.7], [0.1]]))
    for at, gain in enumerate(gains):
        moved = old.copy()
        moved[at, 0] += step
        up = grpo_loss(moved.tolist(), old.tolist(), gains, [[1.0]] * 4)
        base = grpo_loss(old.tolist(), old.tolist(), gains, [[1.0]] * 4)
        assert (up - base) / step == pytest.approx(-gain / 4, abs=1e-5)


@pytest.mark.claim("gm-eq-12")
@given(st.floats(-2, 2), st.floats(-3, 3), st.floats(0.05, 0.5))
def test_the_reference_is_the_scalar_rule(logratio: float, gain: float, clip: float) -> None:
    found = grpo_loss([[logratio]], [[0.0]], [gain], [[1.0]], clip)
    assert found == pytest.approx(clipped_loss(exp(logratio), gain, clip))


@pytest.mark.claim("gm-eq-12")
def test_equal_rewards_have_no_advantage_and_no_loss() -> None:
    assert advantages([1.0] * 8) == [0.0] * 8
    assert grpo_loss([[0.3]] * 8, [[0.0]] * 8, advantages([0.0] * 8), [[1.0]] * 8) == 0


# ── What the log holds ───────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Four walks over a few problems, exported."""
    folder = tmp_path_factory.mktemp("grpo")
    log, file = folder / "a.db", folder / "groups.jsonl"
    for walk in range(1, 5):
        produced = call("produce", "game24:1-8", "--policy", "cot", "--pass", walk, "--log", log)
        assert produced.code == 0
    worked = call("worker", "--backbone", "rehearsal:seed=7,lock_in=0.2", "--until-idle",
                  "--settle", "--no-tables", "--log", log)  # fmt: skip
    assert worked.code == 0
    told = call("export", "grpo", file, "--log", log, "--json")
    assert told.json == {"file": str(file), "groups": 8, "rollouts": 32}
    assert call("export", "grpo", "--log", log).raw == file.read_bytes()
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_groups_hold_prompts_rewards_and_normalised_advantages(
    exported: list[dict[str, Any]],
) -> None:
    mixed = 0
    for group in exported:
        rewards = [each["reward"] for each in group["rollouts"]]
        gains = [each["advantage"] for each in group["rollouts"]]
        assert gains == pytest.approx(advantages(rewards))
        mixed += len(set(rewards)) > 1
        [first] = {json.dumps(each["turns"][0]["prompt"]) for each in group["rollouts"]}
        assert [each["role"] for each in json.loads(first)] == ["system", "user"]
        assert len({each["seed"] for each in group["rollouts"]}) == 4
        assert all(each["turns"][0]["completion"] for each in group["rollouts"])
    assert mixed


# ── Conversations ────────────────────────────────────────────────────────────────────────────


class Calling:
    """Searches once and answers; says how likely each of its tokens was."""

    name, simulated = "calling", False

    async def complete(self, request: ModelRequest) -> ModelReply:
        text = " <answer>7</answer>\n"
        if len(request.messages) == 2:
            text = ' <tool_call>{"name": "search", "arguments": {"query": "x"}}</tool_call>'
        kept = tuple((letter, -0.5) for letter in text)
        return ModelReply(text=text, finish="stop", model="m", token_logprobs=kept)

    async def close(self) -> None:
        pass


class Seven:
    """A tool that finds one thing."""

    async def call(self, question: UseTool) -> ToolResult:
        return ToolResult("It is seven.", "found")

    async def close(self) -> None:
        pass


def test_a_roll_out_of_several_turns_is_one_conversation_with_what_a_tool_said_between(
    tmp_path: Path,
) -> None:
    log, file = tmp_path / "a.db", tmp_path / "a.jsonl"
    file.write_text(json.dumps({"id": "q", "problem": "How many?", "answer": "7"}) + "\n")
    for walk in (1, 2):
        call("produce", file, "--domain", "d", "--policy", "tool_reasoning", "--pass", walk,
             "--log", log)  # fmt: skip
    world = World({"*": Calling()}, HashedEmbedder())
    world.tools = Seven()
    with closing(SqliteLog(log)) as opened:
        asyncio.run(Worker(opened, world, find).run(until_idle=True, settle=True))
        [group] = groups(opened)
    assert [each["reward"] for each in group["rollouts"]] == [1.0, 1.0]
    for each in group["rollouts"]:
        first, second = each["turns"]
        came = [{"role": "user", "content": "<tool_response>It is seven.</tool_response>"}]
        assert each["sequences"] == [{"turns": [0, 1], "between": [came]}]
        said = {"role": "assistant", "content": first["completion"].strip()}
        assert second["prompt"] == [*first["prompt"], said, *came]
        for turn in each["turns"]:
            assert "".join(token for token, _ in turn["token_logprobs"]) == turn["completion"]
            assert {value for _, value in turn["token_logprobs"]} == {-0.5}


def turn(*messages: tuple[str, str], said: str) -> Turn:
    return Turn("a", messages, said, None, None)


def test_what_begins_anew_is_a_conversation_of_its_own() -> None:
    """Roles that each see a fresh prompt; a reply that is asked for again goes on with its own."""
    turns = (
        turn(("system", "s"), ("user", "solve"), said="x"),
        turn(("system", "s"), ("user", "judge"), said=""),
        turn(("system", "s"), ("user", "solve"), ("assistant", "x"), ("user", "again"), said="y"),
        turn(
            ("system", "s"), ("user", "judge"), ("assistant", "(no reply)"), ("user", "a"), said="z"
        ),
        turn(("system", "s"), ("user", "solve"), ("assistant", "other"), ("user", "b"), said="w"),
    )
    found = [(each.turns, each.between) for each in sequences(turns)]
    assert found == [
        ([0, 2], [(("user", "again"),)]),
        ([1, 3], [(("user", "a"),)]),
        ([4], []),
    ]


class Letters:
    """A tokenizer of letters; ``forgets`` writes earlier replies without what they thought."""

    def __init__(self, forgets: bool = False) -> None:
        self.forgets = forgets

    def apply_chat_template(self, messages: list[dict[str, str]], **how: Any) -> str:
        assert how == {"tokenize": False, "add_generation_prompt": True}
        texts = [
            each["content"].rpartition("|")[2] if self.forgets and each["role"] == "assistant"
            else each["content"]
            for each in messages
        ]  # fmt: skip
        return "".join(f"[{text}]" for text in texts) + "["

    def __call__(self, text: str, **how: Any) -> dict[str, list[int]]:
        assert how == {"add_special_tokens": False}
        return {"input_ids": list(map(ord, text))}

    def decode(self, ids: list[int]) -> str:
        return "".join(map(chr, ids))


def rolled(*turns: Turn) -> list[dict[str, Any]]:
    group = Group("d", "p", "x@1", [Rollout("e1", 1, turns, 1.0), Rollout("e2", 2, turns, 0.0)])
    found: list[dict[str, Any]] = json.loads(json.dumps([group.as_json(None)]))
    return found


CHAT = (
    Turn("a", (("user", "q"),), "t|c", None, 3, (("t", -1.0), ("|", -2.0), ("c", -3.0))),
    Turn("b", (("user", "q"), ("assistant", "t|c"), ("user", "r")), "d", None, 1, (("D", -1.0),)),
)


def test_rows_mask_what_came_between_and_take_only_tokens_that_are_the_tokenizers() -> None:
    one, other = rows_of(rolled(*CHAT), Letters())
    assert (one["advantage"], other["advantage"]) == (1.0, -1.0)
    letters = Letters()
    assert letters.decode(one["prompt_ids"]) == one["prompt"] == "[q]["
    assert letters.decode(one["completion_ids"]) == "t|c][r][d"
    assert one["own"] == [1, 1, 1, 0, 0, 0, 0, 0, 1]
    assert one["logprobs"][:8] == [-1.0, -2.0, -3.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    assert isnan(one["logprobs"][8])  # kept as "D", which this tokenizer reads otherwise


def test_where_a_template_forgets_thoughts_each_part_is_a_row() -> None:
    rows = list(rows_of(rolled(*CHAT), Letters(forgets=True)))
    letters = Letters()
    told = [
        (letters.decode(row["prompt_ids"]), letters.decode(row["completion_ids"])) for row in rows
    ]
    assert told == [("[q][", "t|c"), ("[q][c][r][", "d")] * 2
    assert [row["advantage"] for row in rows] == [1.0, 1.0, -1.0, -1.0]


BROKEN = """
from handlers.policies.base import Policy
from handlers.policies.baselines.chain import ChainSettings, think
from schemas.questions import DEFAULT_SAMPLING

def solve(task, settings):
    yield from think(task.problem, DEFAULT_SAMPLING, 0)
    raise ValueError("none of its problems is solved")

BROKEN = Policy(
    name="broken", version="1", about="errs", settings=ChainSettings, roles=("reasoner",), solve=solve
)
"""


def test_a_policy_that_failed_and_words_that_nobody_can_read_keep_no_group_from_its_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("broken.py").write_text(BROKEN)
    problem = {"id": "p", "problem": "2 + 2?", "answer": "4"}
    lines = [json.dumps({**problem, "seed": seed}) for seed in (1, 2)]
    Path("in.jsonl").write_text("\n".join(lines) + "\n")
    for policy in ("cot", "broken.py:BROKEN"):
        assert call("produce", "in.jsonl", "--policy", policy, "--log", "a.db").code == 0
    with closing(SqliteLog("a.db")) as opened:
        opened.publish([("feedback", "a", {}, b"no JSON"), ("feedback", "b", {}, b'{"x": 1}')])
    words = ("--policy", "broken.py:BROKEN", "--log", "a.db")
    done = call("worker", "--backbone", "rehearsal", "--until-idle", "--no-tables", *words)
    assert done.code == 0, done.err
    done = call("export", "grpo", "-", *words)
    assert done.code == 0, done.err
    found = {row["policy"].partition("@")[0]: len(row["rollouts"]) for row in done.rows}
    assert found == {"cot": 2, "broken.py:BROKEN": 2}
    assert call("analyse", "--log", "a.db").code == 0


def test_a_reference_of_an_episodes_own_rewards_its_roll_out(tmp_path: Path) -> None:
    log = tmp_path / "a.db"
    given = (
        b'{"id": "p", "problem": "Who?", "domain": "hotpotqa", "seed": %d}\n' % seed
        for seed in (1, 2)
    )
    produced = call(
        "produce", "-", "--follow", "--policy", "cot", "--log", log, given=b"".join(given)
    )
    assert produced.code == 0
    call("worker", "--backbone", "rehearsal", "--until-idle", "--no-tables", "--log", log)
    with closing(SqliteLog(log)) as opened:
        names = [each.episode for each in opened.records(kinds=("episode.closed",))]
        words = [{"episode": name, "reference": "nobody at all"} for name in names]
        opened.publish([("feedback", w["episode"], {}, json.dumps(w).encode()) for w in words])
    rows = call("export", "grpo", "-", "--reward", "f1", "--log", log).rows
    assert [len(row["rollouts"]) for row in rows] == [2]
