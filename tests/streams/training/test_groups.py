"""Roll-outs as groups for policy optimisation: prompts with memory, rewards, advantages; the loss."""

from __future__ import annotations

import json
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.learning.grpo import grpo_loss
from handlers.learning.reinforce import advantages, clipped_loss
from streams.training.rewards import exact_match, f1_reward, prompts, reward
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


# ── Rewards and prompts ──────────────────────────────────────────────────────────────────────


def test_a_reply_earns_by_the_answer_that_it_gives() -> None:
    said = ["<answer>The Rhine</answer>", "<answer>the Aare</answer>",
            '<tool_call>{"name":"search","arguments":{"query":"x"}}</tool_call>']  # fmt: skip
    assert reward(said, ["rhine"] * 3) == [1.0, 0.0, 0.0]
    chat = [[{"role": "assistant", "content": text}] for text in said]
    assert reward(chat, ["rhine"] * 3, problem=["p"] * 3) == [1.0, 0.0, 0.0]
    assert f1_reward(["<answer>the upper Rhine</answer>", *said[1:]], ["rhine"] * 3) == [
        pytest.approx(2 / 3), 0.0, 0.0,
    ]  # fmt: skip
    assert exact_match("Move: ANSWER\nFinal_answer: \\boxed{rhine}", "the Rhine") == 1.0


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


def test_only_labelled_groups_can_be_trained_on(exported: list[dict[str, Any]]) -> None:
    assert list(prompts(exported)) == []
    labelled = [{**group, "reference": "24"} for group in exported]
    rows = list(prompts(labelled))
    assert len(rows) == 8
    assert rows[0]["prompt"] == exported[0]["rollouts"][0]["turns"][-1]["prompt"]
    assert isinstance(Path(rows[0]["problem"]).name, str)
    assert rows[0]["reference"] == ["24"]


def test_the_best_alias_earns(exported: list[dict[str, Any]]) -> None:
    """A list of aliases became one text, in brackets and quotes, which no answer is."""
    aliases = ["New York City", "NYC"]
    rows = list(prompts([{**exported[0], "reference": aliases}]))
    assert rows[0]["reference"] == aliases
    said = [f"<answer>{each}</answer>" for each in ("NYC", "new york city", "Boston")]
    assert reward(said, [aliases] * 3) == [1.0, 1.0, 0.0]
    assert f1_reward(said, [aliases] * 3) == [1.0, 1.0, 0.0]
