"""CoT2-Meta's diagnostics: the tree and its flow from the log alone; failures, audit, repairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handlers.learning.metrics import aurc, brier, ece, per_thousand_tokens, tokens_per_point
from handlers.policies.base import Trace
from handlers.policies.cot2_meta import solve
from handlers.policies.cot2_meta.conclude import close, decide
from handlers.policies.cot2_meta.diagnose import (
    Audit,
    Failed,
    Repairs,
    failure,
    flow,
    inverted,
    misjudged,
    oracle_gap,
    parse_rates,
    repairs,
    spared,
    top_leaves,
)
from handlers.policies.cot2_meta.search import Search
from handlers.policies.cot2_meta.search import run as search
from handlers.policies.cot2_meta.trace import Tree, Twig, actions_by_depth, tree_of
from schemas.asking import Steps
from schemas.events.search import FrontierScored, NodePruned
from schemas.questions import Complete
from tests.papers.cot2_says import (
    GOOD,
    TASK,
    always,
    ran,
    scores,
    setting,
    steps_asked,
    sure,
    thought,
)
from tests.papers.test_cot2_ledger import fickle
from tests.scripted import run


def whole(seen: list[Search], **values: Any) -> Steps[Any]:
    """The policy, with its own tree kept for comparison."""
    made = Search(TASK, setting(**values))
    seen.append(made)
    yield from search(made)
    if made.limit is None:
        yield from close(made)
    return (yield from decide(made))


@pytest.mark.claim("cot2-fig-05", "cot2-i5")
@given(st.integers(0, 10**6), st.integers(1, 40), st.booleans())
@settings(max_examples=80)
def test_the_tree_of_the_log_is_the_tree_of_the_policy(seed: int, c: int, better: bool) -> None:
    seen: list[Search] = []
    done = run(whole(seen, primary_calls=c, keep_better=better), fickle(seed))
    tree = tree_of(done.trace)
    mine = {node.id: node for node in seen[0].nodes}
    assert tree.nodes.keys() == mine.keys()
    for at, twig in tree.nodes.items():
        node = mine[at]
        assert twig.parent == (None if node.parent is None else node.parent.id)
        assert (twig.strategy or "") in (node.strategy or "", "closing")
        assert (twig.depth, twig.answer, twig.visits) == (node.depth, node.answer, node.visits)
        assert twig.status == node.status
        if twig.value is not None and at != "opened":
            assert twig.value == float(node.value)
    assert tree.decided is not None
    best = seen[0].best
    assert tree.decided.node == (None if best is None else best.id)


@pytest.mark.claim("cot2-fig-05", "cot2-i5")
def test_actions_stand_at_the_depth_they_were_taken_at() -> None:
    done = ran(always(step=(0.2, 0.2, 0.2), trust=0.2), calls=10)
    taken = {0: {"expand": 1 + 1 + 1}, 1: {"prune": 3, "return": 1}}  # the kept call, too
    assert actions_by_depth(done.trace) == taken


def tree(*twigs: Twig) -> Tree:
    made = Tree()
    for twig in twigs:
        twig.parent = twig.parent or "opened"
        made.nodes[twig.id] = twig
    return made


def leaf(at: str, answer: str | None, v_proc: float | None, value: float, **other: Any) -> Twig:
    return Twig(at, "opened", "direct", 1, value, v_proc, 0.5, answer=answer, **other)


def right(answer: str | None) -> bool:
    return answer == "24"


@pytest.mark.claim("cot2-fig-05", "cot2-i5")
def test_flow_from_root_to_outcome() -> None:
    done = ran(
        {
            "thinker": [thought("a", "24"), thought("b", "25")],
            "oracle": [scores(GOOD), scores((0.1, 0.1, 0.1))],
            "confidence": [sure(0.8), sure(0.1)],
        },
        calls=6,
    )
    assert flow(tree_of(done.trace), done.result.answer, right) == "correct"
    over = tree(leaf("1.0.0", "24", 0.2, 0.2, status="pruned"), leaf("1.1.0", "25", 0.6, 0.6))
    assert flow(over, "25", right) == "over-pruned"
    assert flow(over, None, right) == "abstained"
    assert flow(tree(leaf("1.1.0", "25", 0.6, 0.6)), "25", right) == "incorrect"
    mended = ran(
        {
            "thinker": [thought("a", "25"), thought("b", "26")],
            "oracle": [scores((0.45, 0.45, 0.45)), scores((0.1, 0.1, 0.1)), scores(GOOD)],
            "confidence": [sure(0.5), sure(0.1), sure(0.9)],
            "repairer": [thought("c", "24")],
        },
        calls=9,
    )
    assert flow(tree_of(mended.trace), mended.result.answer, right) == "repaired"
    assert repairs(tree_of(mended.trace), right) == Repairs(1, 1, 0, 0)


@pytest.mark.claim("cot2-repairs")
def test_rescue_and_hurt_have_their_own_denominators() -> None:
    def mended(before: str, after: str) -> Tree:
        old, new = (
            leaf("1.0.0", before, 0.4, 0.4, status="repaired"),
            leaf("3.0.0", after, 0.8, 0.8),
        )
        new.repairs = "1.0.0"
        return tree(old, new)

    cases = [("25", "24")] * 3 + [("25", "26")] + [("24", "25")] + [("24", "24")] * 4
    total = sum((repairs(mended(*case), right) for case in cases), Repairs())
    assert total == Repairs(wrong_before=4, rescued=3, right_before=5, hurt=1)
    assert (total.rescue, total.harm, total.net) == (0.75, 0.2, 2)
    assert (Repairs().rescue, Repairs().harm) == (None, None)


@pytest.mark.claim("cot2-repairs")
def test_parse_rates_are_counted_over_oracle_readings() -> None:
    script = {
        "thinker": [thought("a"), thought("b")],
        "oracle": ["?", scores(GOOD), scores(GOOD)],
        "confidence": [sure(0.5)] * 2,
        "reasoner": ["?"],
    }
    done = ran(script, calls=8, primary_calls=8)
    rates = parse_rates([tree_of(done.trace)])
    assert rates == {"first": 0.5, "recovered": 0.5, "defaulted": 0.0}


# ── Failures and audit ───────────────────────────────────────────────────────────────────────

SPREAD = tree(
    leaf("1.0.0", "20", 0.6, 0.6), leaf("1.1.0", "21", 0.6, 0.5), leaf("1.2.0", "22", 0.6, 0.5)
)
CERTAIN = tree(leaf("1.0.0", "20", 0.6, 0.6), leaf("1.1.0", "20", 0.6, 0.5))
MISLED = tree(leaf("1.0.0", "20", 0.8, 0.8), leaf("1.1.0", "24", 0.5, 0.5))


@pytest.mark.claim("cot2-failures")
@pytest.mark.parametrize(
    ("case", "kind"),
    [
        (Failed(SPREAD, right, spent=True), "F1"),
        (Failed(MISLED, right, spent=True, shadow_solves=True), "F2"),
        (Failed(SPREAD, right, spent=True, shadow_solves=True, baselines_fail=True), "F3"),
        (Failed(SPREAD, right, spent=True, shadow_solves=False, baselines_fail=True), "F4"),
        (Failed(CERTAIN, right, spent=True), "unclassified"),
        (Failed(SPREAD, right, spent=False), "unclassified"),
    ],
)
def test_every_failure_has_one_class(case: Failed, kind: str) -> None:
    assert failure(case) == kind


@pytest.mark.claim("cot2-failures")
def test_inverted_pairs() -> None:
    assert inverted(MISLED, right) == 1
    assert inverted(SPREAD, right) == 0


@pytest.mark.claim("cot2-g2")
def test_a_false_prune_and_a_right_one_are_shares_of_what_was_pruned() -> None:
    audit = Audit(pruned=8, brought_right=3)
    assert (audit.false_prune_rate, audit.prune_precision) == (3 / 8, 5 / 8)
    assert Audit(0, 0).prune_precision is None


def judge(answer: str | None) -> bool | None:
    """24 is right, the twenties are wrong; of other answers and of none nobody can tell."""
    return None if answer is None or not answer.startswith("2") else answer == "24"


def under(parent: str, id: str, answer: str | None, **more: Any) -> Twig:
    made = leaf(id, answer, 0.5, 0.5, **more)
    made.parent = parent
    return made


@pytest.mark.claim("cot2-g2")
@pytest.mark.parametrize(
    ("grown", "found"),
    [
        ((), None),
        ((under("1.0.0", "2", None),), False),
        ((under("1.0.0", "2", "21"),), False),
        ((under("1.0.0", "2", "24"),), True),
        ((under("1.0.0", "2", "x"),), None),
        ((under("1.0.0", "2", "x"), under("2", "3", "24")), True),
        ((under("1.0.0", "2", "21"), under("opened", "3", "24")), False),
        ((under("1.0.0", "2", "21"), under("opened", "3", "24", repairs="2")), True),
    ],
)
def test_a_spared_branch_is_judged_by_what_grew_under_it(
    grown: tuple[Twig, ...], found: bool | None
) -> None:
    relaxed = tree(leaf("1.0.0", None, 0.2, 0.2), *grown)
    assert spared(relaxed, "1.0.0", judge) is found
    answered = tree(leaf("1.0.0", "21", 0.2, 0.2))
    assert spared(answered, "1.0.0", judge) is False


@pytest.mark.claim("cot2-g2")
def test_what_nobody_can_judge_is_in_no_share() -> None:
    audit = Audit.of([True, False, None, False, None])
    assert audit == Audit(pruned=3, brought_right=1, unknown=2)
    doubtful = tree(leaf("1.0.0", "x", 0.9, 0.9), leaf("1.1.0", "24", 0.5, 0.5))
    assert oracle_gap([(MISLED, doubtful)], [judge], k=1) is None
    assert oracle_gap([(MISLED, doubtful)], [judge], k=2) == 1.0
    assert oracle_gap([(doubtful, MISLED), (MISLED, MISLED)], [judge, judge], k=3) == 1.0


@pytest.mark.claim("cot2-failures")
def test_only_answers_that_were_scored_and_can_be_judged_are_inverted() -> None:
    unscored = tree(leaf("1.0.0", "20", None, 0.8), leaf("1.1.0", "24", 0.5, 0.5))
    unjudged = tree(leaf("1.0.0", "x", 0.8, 0.8), leaf("1.1.0", "24", 0.5, 0.5))
    level = tree(leaf("1.0.0", "20", 0.5, 0.8), leaf("1.1.0", "24", 0.5, 0.5))
    assert [inverted(each, judge) for each in (MISLED, unscored, unjudged, level)] == [1, 0, 0, 0]
    told = [misjudged(each, judge) for each in (MISLED, unscored, unjudged, level)]
    assert told == [True, False, None, False]


@pytest.mark.claim("cot2-g2")
def test_a_shadow_run_goes_on_with_the_spared_node_first() -> None:
    """By value the worst branch came last or never, and a branch that nobody went on with counted as well pruned."""

    def poor_first() -> Callable[[Complete], str]:
        model = always(trust=0.5)

        def reply(question: Complete) -> str:
            bad = "thought 1" in dict(question.variables).get("trajectory", "")
            if question.role == "oracle" and bad:
                return scores(*[(0.1, 0.1, 0.1)] * steps_asked(question))
            return sure(0.1) if question.role == "confidence" and bad else str(model(question))

        return reply

    own = ran(poor_first(), primary_calls=16)
    first = own.of(NodePruned)[0].node
    relaxed = ran(poor_first(), primary_calls=16, shadow_from=first)
    chosen = [event.chosen for event in relaxed.of(FrontierScored)]
    assert chosen[1] == first
    assert chosen.count(first) == 1
    twigs = tree_of(relaxed.trace).nodes
    assert any(twig.parent == first for twig in twigs.values())


@pytest.mark.claim("cot2-g2")
def test_the_oracle_gap_compares_top_leaves_of_both_runs() -> None:
    assert [twig.id for twig in top_leaves(MISLED, 1)] == ["1.0.0"]
    assert oracle_gap([(MISLED, MISLED)], [right], k=3) == 1.0
    assert oracle_gap([(MISLED, MISLED)], [right], k=1) == 0.0
    assert oracle_gap([], [], k=3) is None


@pytest.mark.claim("cot2-metrics")
def test_efficiency_of_the_printed_figures() -> None:
    assert round(per_thousand_tokens(77.1, 5_280), 2) == 14.60
    assert round(tokens_per_point(5_280, 77.1, 1_929, 50.2) or 0, 1) == 124.6
    assert tokens_per_point(5_280, 50.2, 1_929, 50.2) is None


@pytest.mark.claim("cot2-metrics")
def test_calibration_of_three_answers() -> None:
    pairs = [(0.95, True), (0.90, False), (0.10, False)]
    assert round(ece(pairs), 2) == 0.35
    assert round(brier(pairs), 4) == 0.2742
    assert round(aurc(pairs), 4) == 0.3889


def test_an_empty_record_is_an_empty_tree() -> None:
    assert tree_of(Trace(())).leaves == []
    assert solve(TASK, setting()) is not None
