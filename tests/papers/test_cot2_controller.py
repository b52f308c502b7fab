"""What the controller of CoT2-Meta decides from values alone: a row for each setting that it reads."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from handlers.policies.cot2_meta.controller import (
    abstains,
    decide,
    frontier,
    repair_step,
    stops,
    strategies,
)
from handlers.policies.cot2_meta.scores import earliest_low, fuse, lowest, reward
from handlers.policies.cot2_meta.state import MetaState, Node, best, meta_state, root
from tests.papers.cot2_says import fractions, node, setting

GOOD, HALF, POOR = ("1", "1", "1"), ("0.5", "0.5", "0.5"), ("0.1", "0.1", "0.1")
UNKNOWN = {"defaulted": "unknown", "fix_absent": "neutral"}


@pytest.mark.parametrize(
    ("steps", "v_out", "values", "action"),
    [
        ([GOOD], "0.9", {}, "keep"),
        ([GOOD, POOR], "0.9", {}, "repair"),
        ([POOR], "0.1", {}, "prune"),
        ([POOR], "0.1", {"pruning": False}, "repair"),
        ([POOR], "0.1", {"pruning": False, "repair": "none"}, "keep"),
        ([POOR], "0.1", {"pruning": False, "evaluator": False}, "keep"),
        ([POOR], "0.1", {"pruning": False, "max_repairs": 0}, "keep"),
        ([GOOD, GOOD], "0.9", {"repair": "all"}, "repair"),
        ([("0.35",) * 3], "0.35", {"repair": "none"}, "keep"),
        ([("0.34",) * 3], "0.35", {"repair": "none"}, "prune"),
        ([(None, None, None)], None, {"repair": "none"}, "prune"),
        ([(None, None, None)], None, {"repair": "none", **UNKNOWN}, "keep"),
        ([(None, None, None)], "0.1", {"repair": "none", **UNKNOWN}, "prune"),
    ],
)
def test_prune_before_repair_before_keep(
    steps: Any, v_out: str | None, values: dict[str, Any], action: str
) -> None:
    settings = setting(**values)
    made = node(*steps, v_out=v_out, settings=settings)
    assert decide(meta_state(made, settings), settings) == action


@pytest.mark.parametrize(
    ("steps", "values", "step"),
    [
        ([GOOD, POOR, HALF, POOR], {}, 2),
        ([GOOD, HALF, GOOD], {}, None),
        ([GOOD, HALF, ("0.6",) * 3], {"repair": "all"}, 2),
        ([GOOD, HALF, HALF, POOR], {"health_threshold": 0.6}, 2),
        ([GOOD, POOR], {"repair": "none"}, None),
    ],
)
def test_where_a_repair_begins(steps: Any, values: dict[str, Any], step: int | None) -> None:
    settings = setting(**values)
    assert repair_step(meta_state(node(*steps, settings=settings), settings), settings) == step


def grown(parent: Node, strategy: Any = "direct", answer: str | None = None) -> Node:
    return Node("1.0.0", parent, strategy, (*parent.steps, "x"), answer)


def test_under_which_strategies_a_node_grows() -> None:
    settings = setting()
    top = root()
    thought = grown(top)
    answered = grown(top, answer="24")
    checked = grown(answered, "verify", "24")
    mended = grown(answered, "verify", "25")
    direct = grown(answered, "direct", "24")
    assert strategies(top, settings) == ("direct", "decompose")
    assert strategies(thought, settings) == ("direct", "decompose", "verify")
    assert strategies(thought, setting(strategies=("decompose",))) == ("decompose",)
    for each in (answered, checked, mended, direct):
        assert strategies(each, settings) == ("verify",)
    once = setting(verify_again=False)
    assert strategies(checked, once) == ()
    for each in (answered, mended, direct):
        assert strategies(each, once) == ("verify",)
    assert strategies(thought, setting(max_depth=1)) == ()
    assert strategies(grown(thought), setting(max_depth=3)) != ()
    thought.status, mended.status = "pruned", "closed"
    nodes = [top, thought, answered, checked, mended]
    assert frontier(nodes, once) == [top, answered]


@pytest.mark.parametrize(
    ("steps", "v_out", "values", "ends"),
    [
        ([GOOD], "0.75", {}, True),
        ([GOOD], "0.74", {}, False),
        ([(None,) * 3], "0.95", {**UNKNOWN}, False),
        ([(None,) * 3], "0.95", {**UNKNOWN, "evaluator": False}, True),
        ([(None,) * 3], "0.95", {**UNKNOWN, "outcome_share": 1.0}, True),
        ([GOOD], None, {**UNKNOWN}, False),
        ([GOOD], None, {**UNKNOWN, "outcome_share": 0.0}, True),
        ([GOOD], "0.95", {**UNKNOWN}, True),
        ([GOOD], None, {"outcome_share": 0.0}, True),
    ],
)
def test_what_is_good_enough_to_stop_for(
    steps: Any, v_out: str | None, values: dict[str, Any], ends: bool
) -> None:
    settings = setting(**values)
    made = node(*steps, v_out=v_out, settings=settings, answer="24")
    assert stops(made, settings) is ends
    assert not stops(None, settings)


@pytest.mark.parametrize(
    ("v_out", "values", "withheld"),
    [
        ("0.5", {}, False),
        ("0.5", {"abstain_threshold": 0.6}, True),
        ("0.6", {"abstain_threshold": 0.6}, False),
        ("0.5", {"abstain_threshold": 0.6, "terminal": "value"}, False),
        (None, {"abstain_threshold": 0.6}, True),
        (None, {"abstain_threshold": 0.6, **UNKNOWN}, False),
    ],
)
def test_what_is_trusted_too_little(
    v_out: str | None, values: dict[str, Any], withheld: bool
) -> None:
    settings = setting(**values)
    assert abstains(node(GOOD, v_out=v_out, settings=settings), settings) is withheld
    assert abstains(None, settings)


@pytest.mark.parametrize(
    ("scores", "values", "value"),
    [
        (("1", "0.5", "0"), {}, "0.45"),
        (("1", "0.5", "0"), {"fix_absent": "neutral"}, "9/14"),
        (("0", "0", "1"), {"fix_absent": "neutral"}, "0.3"),
        (("1", None, "0"), {}, "0.2"),
        (("1", None, "0"), {"defaulted": "unknown"}, "0.4"),
        (("1", None, None), UNKNOWN, "1"),
        ((None, None, "0.5"), UNKNOWN, "0.5"),
        ((None, None, None), UNKNOWN, None),
        ((None, None, None), {}, "0"),
    ],
)
def test_the_reward_of_a_step(
    scores: tuple[str | None, ...], values: dict[str, Any], value: str | None
) -> None:
    expected = None if value is None else Fraction(value)
    assert reward(fractions(*scores), setting(**values)) == expected


def test_values_are_fused_from_what_is_known() -> None:
    half, one = Fraction(1, 2), Fraction(1)
    unknown = setting(**UNKNOWN)
    assert fuse(half, one, setting()) == Fraction(4, 5)
    assert fuse(None, one, setting()) == Fraction(3, 5)
    assert fuse(half, None, setting()) == Fraction(1, 5)
    assert fuse(half, None, setting(evaluator=False)) == half
    assert [fuse(half, None, unknown), fuse(None, one, unknown)] == [half, one]
    assert fuse(None, None, unknown) == 0
    rewards = (None, one, half, Fraction(1, 4), Fraction(1, 4))
    assert (earliest_low(rewards, unknown), lowest(rewards)) == (4, 4)
    assert (earliest_low((half,), unknown), lowest((None,))) == (None, None)


def test_the_meta_state_of_a_trajectory() -> None:
    settings = setting(max_depth=4)
    made = node(GOOD, POOR, HALF, v_out="0.5", settings=settings, answer="24", repairs=1)
    mean = Fraction("1.6") / 3
    assert meta_state(made, settings) == MetaState(
        strategy="direct",
        depth=0.25,
        v_proc=mean,
        v_out=Fraction(1, 2),
        repairs=1,
        low_reward=Fraction(1, 10),
        low_step=Fraction(2, 3),
        means=(mean, mean, mean),
        parse="first",
        steps=3,
        lowest_step=2,
        answered=True,
    )
    bare = meta_state(root(), settings)
    assert (bare.depth, bare.low_step, bare.low_reward) == (0.0, Fraction(0), None)
    assert bare.means == (None, None, None)
    assert (bare.steps, bare.lowest_step, bare.answered) == (0, None, False)


def test_the_best_node_is_the_first_of_equals_by_address() -> None:
    nodes = [node(HALF, v_out="0.5"), node(GOOD, v_out="0.5"), node(GOOD, v_out="0.5")]
    for made, address in zip(nodes, ("1.0.0", "10.0.0", "9.0.0"), strict=True):
        made.id = address
    assert best(nodes) is nodes[2]
    assert best([]) is None
