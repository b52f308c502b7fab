"""CoT2-Meta's numbers: rewards, process value, fusion, selection, thresholds, the meta-state."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.policies.base import Task
from handlers.policies.cot2_meta import controller
from handlers.policies.cot2_meta.scores import (
    earliest_low,
    fuse,
    process_value,
    reward,
    selection_score,
)
from handlers.policies.cot2_meta.settings import Cot2Settings
from handlers.policies.cot2_meta.state import Node, meta_state, root
from handlers.roles.oracle import Scores
from handlers.roles.thinker import STRATEGIES, Strategy
from tests.papers.cot2_says import always, fractions, node, ran, setting

PAPER = setting()
SERVICE = Cot2Settings.resolve("service", {})
UNIT = st.fractions(0, 1, max_denominator=200)
STEP = st.tuples(UNIT, UNIT, UNIT)


@pytest.mark.claim("cot2-eq-r")
def test_reward_weighs_semantic_logical_and_fix() -> None:
    assert reward(fractions("0.9", "0.8", "0.1"), PAPER) == Fraction("0.61")
    assert reward(fractions("0.5", "0.4", "0"), PAPER) == Fraction("0.30")


@pytest.mark.claim("cot2-eq-vproc", "cot2-eq-fusion")
def test_process_value_is_the_mean_and_fusion_weighs_it() -> None:
    rewards = [
        reward(fractions(*step), PAPER) for step in (("0.9", "0.8", "0.1"), ("0.5", "0.4", "0"))
    ]
    v_proc = process_value(rewards)
    assert v_proc == Fraction("0.455")
    assert fuse(Fraction("0.6"), v_proc, PAPER) == Fraction("0.513")


@pytest.mark.claim("cot2-eq-r", "cot2-eq-vproc", "cot2-eq-fusion")
@given(st.lists(STEP, min_size=1, max_size=5), UNIT, st.integers(0, 2), UNIT)
def test_scores_stay_in_the_unit_and_never_fall_when_a_part_rises(
    steps: list[Scores], v_out: Fraction, part: int, higher: Fraction
) -> None:
    for settings in (PAPER, SERVICE):
        raised = list(steps)
        first = list(raised[0])
        first[part] = max(first[part] or Fraction(0), higher)
        raised[0] = (first[0], first[1], first[2])
        values = [
            fuse(v_out, process_value([reward(step, settings) for step in each]), settings)
            for each in (steps, raised)
        ]
        assert 0 <= values[0] <= values[1] <= 1


@pytest.mark.claim("cot2-eq-ucb")
def test_selection_score_prefers_what_was_seldom_visited() -> None:
    fresh, visited = (
        selection_score(Fraction("0.7"), 0, 3, 1.25),
        selection_score(Fraction("0.9"), 1, 3, 1.25),
    )
    assert (round(fresh, 4), round(visited, 4)) == (2.1718, 1.9407)
    assert selection_score(Fraction("0.7"), 0, 0, 1.25) == 0.7
    nodes = [Node(at, root(), "direct", ("x",)) for at in ("4.1.0", "4.0.0")]
    nodes[0].value, nodes[1].value, nodes[1].visits = Fraction("0.7"), Fraction("0.9"), 1
    order = controller.ranked(nodes, 3, PAPER, 7)
    assert [each.id for each, _ in order] == ["4.1.0", "4.0.0"]


@pytest.mark.claim("cot2-eq-ucb")
def test_equal_scores_go_to_the_lowest_address_or_by_hash() -> None:
    nodes = [Node(at, root(), "direct", ("x",)) for at in ("10.0.0", "2.1.0", "2.0.0")]
    first = [each.id for each, _ in controller.ranked(nodes, 1, PAPER, 7)]
    assert first == ["2.0.0", "2.1.0", "10.0.0"]
    hashed = setting(ties="hash")
    orders = {
        tuple(each.id for each, _ in controller.ranked(nodes, 1, hashed, seed)) for seed in range(9)
    }
    assert len(orders) > 1


@pytest.mark.claim("cot2-eq-istar")
def test_the_earliest_low_step_is_where_repair_begins() -> None:
    assert (
        earliest_low([Fraction("0.7"), Fraction("0.5"), Fraction("0.49"), Fraction("0.2")], PAPER)
        == 3
    )
    assert earliest_low([Fraction("0.7"), Fraction("0.5")], PAPER) is None
    healthy = meta_state(node(("1", "1", "0"), v_out="1"), PAPER)
    assert controller.repair_step(healthy, PAPER) is None
    assert controller.decide(healthy, PAPER) == "keep"


@pytest.mark.claim("cot2-edges")
def test_thresholds_hold_at_equality() -> None:
    edge = node(("0.35", "0.35", "0.35"), v_out="0.35")
    assert edge.value == Fraction("0.35")
    assert controller.decide(meta_state(edge, PAPER), setting(repair="none")) == "keep"
    below = node(("0.35", "0.35", "0.35"), v_out="0.3499")
    assert controller.decide(meta_state(below, PAPER), PAPER) == "prune"
    assert earliest_low([Fraction("0.5")], PAPER) is None
    at_stop = node(("1", "1", "1"), v_out="0.75")
    assert at_stop.value == Fraction("0.9")
    assert controller.stops(at_stop, PAPER)
    hybrid = setting(abstain_threshold=0.6)
    assert not controller.abstains(node(("0", "0", "0"), v_out="0.6"), hybrid)
    assert controller.abstains(node(("1", "1", "1"), v_out="0.5999"), hybrid)
    assert controller.abstains(node(("1", "1", "1")), setting(abstain_threshold=0.6))


TENTHS = [Fraction(n, 10) for n in range(11)]


@pytest.mark.claim("cot2-reach")
def test_without_a_mended_step_the_value_ends_at_082() -> None:
    for sem, log, v_out in product(TENTHS, repeat=3):
        made = node((str(sem), str(log), "0"), v_out=str(v_out))
        assert made.value <= Fraction("0.82")
        assert not controller.stops(made, PAPER)


@pytest.mark.claim("cot2-reach")
@given(STEP, UNIT)
def test_a_stop_needs_a_process_value_of_five_sixths_and_confidence_of_three_quarters(
    step: Scores, v_out: Fraction
) -> None:
    made = node(tuple(map(str, step)), v_out=str(v_out))
    if controller.stops(made, PAPER):
        assert (made.v_proc or 0) >= Fraction(5, 6)
        assert v_out >= Fraction("0.75")


@pytest.mark.claim("cot2-reach")
@given(UNIT)
def test_a_wholly_defaulted_oracle_leaves_confidence_alone(v_out: Fraction) -> None:
    made = node((None, None, None), v_out=str(v_out))
    assert made.value == Fraction("0.4") * v_out
    pruned = controller.decide(meta_state(made, PAPER), setting(repair="none")) == "prune"
    assert pruned == (v_out < Fraction("0.875"))


@pytest.mark.claim("cot2-reach")
def test_the_service_profile_counts_nothing_that_is_unknown() -> None:
    unknown = node((None, None, None), v_out="0.6", settings=SERVICE)
    assert (unknown.v_proc, unknown.value) == (None, Fraction("0.6"))
    part = node(("0.8", "0.6", None), v_out=None, settings=SERVICE)
    assert part.value == (Fraction("0.16") + Fraction("0.3")) / Fraction("0.7")
    assert node((None, None, None), settings=SERVICE).value == 0
    nothing_to_fix = node(("1", "1", "0"), v_out="1", settings=SERVICE)
    assert nothing_to_fix.value == 1


# ── The meta-state ───────────────────────────────────────────────────────────────────────────


@pytest.mark.claim("cot2-phi")
@given(
    st.lists(st.tuples(*[st.none() | UNIT] * 3), max_size=8),
    st.none() | UNIT,
    st.sampled_from(STRATEGIES),
)
def test_the_meta_state_is_pure_and_holds_no_text(
    steps: list[Scores], v_out: Fraction | None, strategy: Strategy
) -> None:
    made = Node("1.0.0", root(), strategy, tuple("x" for _ in steps))
    made.scores, made.v_out = tuple(steps), v_out
    made.weigh(PAPER)
    one, two = meta_state(made, PAPER), meta_state(made, PAPER)
    assert one == two
    assert "'x'" not in repr(one), "never a text"


@pytest.mark.claim("cot2-phi")
def test_a_task_has_no_place_for_a_reference() -> None:
    assert {"answer", "label", "reference", "gold"}.isdisjoint(Task.__slots__)
    said = ran(always(trust=0.5, answer="24"), calls=16)
    assert {name for question in said.requests for name, _ in question.variables} <= {
        "problem",
        "trajectory",
        "scores",
        "steps_to_score",
    }
