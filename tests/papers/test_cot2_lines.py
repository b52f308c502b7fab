"""CoT2-Meta, Algorithm 2 line by line: scripted episodes and the facts that they must leave."""

from __future__ import annotations

import pytest

from handlers.policies.cot2_meta.trace import tree_of
from schemas.events.base import Event
from schemas.events.episode import Completed, Forked
from schemas.events.reasoning import Generated, Voted
from schemas.events.search import (
    ConfidenceStated,
    FrontierScored,
    Grown,
    NodeExpanded,
    NodePruned,
    NodeRepaired,
    OracleScored,
    SearchDecided,
)
from tests.papers.cot2_says import GOOD, HALF, POOR, always, chained, ran, scores, sure, thought
from tests.scripted import shown

SIX = {
    "thinker": [thought("six times five"), thought("goals: thirty, then six less")],
    "oracle": [scores((0.9, 0.8, 0.5)), scores((0.6, 0.6, 0.6))],
    "confidence": [sure(0.6), sure(0.4)],
}
"""One expansion of the root under a limit of six calls."""
CLOSED = SIX | {"reasoner": [chained("24")]}


@pytest.mark.claim("cot2-l03")
def test_the_open_node_of_the_highest_score_is_selected_and_its_visits_count() -> None:
    done = ran(always(step=GOOD, trust=0.5), calls=16)
    first, second = done.of(FrontierScored)[:2]
    assert first.scores == (("opened", 0.0),)
    assert (first.round, first.chosen, first.left) == (0, "opened", 16)
    [child, other] = [grown.node for grown in done.of(NodeExpanded)[0].children]
    value = 0.4 * 0.5 + 0.6
    fresh = round(value + 1.25 * 0.6931471805599453**0.5, 9)
    root = round(1.25 * (0.6931471805599453 / 2) ** 0.5, 9)
    assert second.scores == ((child, fresh), (other, fresh), ("opened", root))
    assert second.chosen == child


@pytest.mark.claim("cot2-l04")
def test_children_grow_in_parallel_under_up_to_three_strategies() -> None:
    done = ran(always(step=GOOD, trust=0.5), calls=17, primary_calls=17)  # one is kept
    lanes = [(event.lanes, event.allow) for event in done.of(Forked)]
    assert lanes == [(2, (5, 5)), (3, (4, 3, 3))]
    expanded = done.of(NodeExpanded)[:2]
    strategies = [[g.strategy for g in event.children] for event in expanded]
    assert strategies == [["direct", "decompose"], ["direct", "decompose", "verify"]]
    names = [question.template.name for question in done.asks("thinker")]
    assert names[2:] == ["thinker.direct", "thinker.decompose", "thinker.verify"]
    [child, _] = done.of(NodeExpanded)[0].children
    texts = [shown(question) for question in done.asks("thinker")]
    assert all("[Step 1]\nthought 1" in text for text in texts[2:])
    assert all("[Step 1]" not in text for text in texts[:2])
    assert child.node == done.of(Generated)[0].source


@pytest.mark.claim("cot2-l04")
def test_the_last_expansion_may_be_partial() -> None:
    done = ran(always(step=GOOD, trust=0.5), calls=9)
    assert [event.lanes for event in done.of(Forked)] == [2, 1]
    assert len(done.requests) == 9


BLANK = {"reasoner": ["?"]}
"""The call that is kept for an answer brings none."""


@pytest.mark.claim("cot2-l05", "cot2-l06", "cot2-l07", "cot2-l08")
def test_a_child_is_scored_by_oracle_then_confidence_then_fused() -> None:
    done = ran(SIX | BLANK, calls=7)
    assert done.roles == [*["thinker", "oracle", "confidence"] * 2, "reasoner"]
    one, other = done.of(OracleScored)
    assert one.steps == ((0.9, 0.8, 0.5),)
    assert (one.rewards, one.value, one.low) == ((0.73,), 0.73, None)
    assert (other.value, other.parse) == (0.6, "first")
    stated = done.of(ConfidenceStated)
    assert [(fact.value, fact.parse) for fact in stated] == [(0.6, "first"), (0.4, "first")]
    assert [fact.node for fact in stated] == [one.node, other.node]
    assert done.of(NodeExpanded)[0].children == (
        Grown(node=one.node, strategy="direct", depth=1, value=0.678),
        Grown(node=other.node, strategy="decompose", depth=1, value=0.52),
    )


@pytest.mark.claim("cot2-l09")
def test_a_value_below_the_threshold_is_pruned_before_anything_is_repaired() -> None:
    script = SIX | {"oracle": [scores(POOR), scores((0.6, 0.6, 0.6))]}
    done = ran(script | BLANK, calls=7)
    [pruned] = done.of(NodePruned)
    assert pruned == NodePruned(round=0, node=done.of(OracleScored)[0].node, value=0.3)
    assert not done.of(NodeRepaired)
    assert "repairer" not in done.roles


DEEP = {
    "thinker": [
        thought("six times five is thirty"),
        thought("thirty less six"),
        thought("so 24", "30 - 6"),
        thought("goals again"),
        thought("all is well"),
    ],
    "repairer": [thought("the last one anew", "5 * 6 - 6")],
    "oracle": [
        scores(GOOD),
        scores(GOOD),
        scores(GOOD, (0.4, 0.4, 0.4)),
        scores(GOOD, GOOD),
        scores(GOOD, GOOD),
        scores(GOOD, GOOD),
    ],
    "confidence": [sure(v) for v in (0.7, 0.6, 0.5, 0.6, 0.6, 0.7)],
}


@pytest.mark.claim("cot2-l10")
def test_repair_rewrites_the_suffix_and_leaves_the_nodes_before_it_alone() -> None:
    done = ran(DEEP, calls=18, primary_calls=18)
    [repaired] = done.of(NodeRepaired)
    first = done.of(NodeExpanded)[0].children[0].node
    old = done.of(NodeExpanded)[1].children[0].node
    assert repaired == NodeRepaired(
        round=1,
        node=old,
        into=done.asked[-3][0],
        parent=first,
        step=2,
        depth=2,
        before=0.62,
        value=0.88,
    )
    [question] = done.asks("repairer")
    said = shown(question)
    assert "[Step 1]\nsix times five is thirty" in said
    assert "so 24" not in said
    assert "Step 2: Semantic=0.40, Logical=0.40, Fix=0.40" in said
    asked = done.asks("oracle")[-1]
    assert "[Step 1]\nsix times five is thirty\n\n[Step 2]\nthe last one anew" in shown(asked)
    assert done.result.answer == "5 * 6 - 6"


@pytest.mark.claim("cot2-l10")
def test_a_repair_that_scores_lower_is_not_kept_where_the_better_is() -> None:
    script = DEEP | {"confidence": [sure(v) for v in (0.7, 0.6, 0.5, 0.6, 0.6, 0.0)]}
    script = script | {"oracle": [*DEEP["oracle"][:5], scores(GOOD, (0.6, 0.6, 0.6))]}
    kept = [
        ran(script, calls=18, primary_calls=18, keep_better=better).of(NodeRepaired)[0].kept
        for better in (True, False)
    ]
    assert kept == ["old", "new"]


@pytest.mark.claim("cot2-l10")
def test_a_lineage_is_repaired_once() -> None:
    done = ran(always(step=(0.4, 0.4, 0.4), trust=0.9), calls=40, primary_calls=40)
    repaired = [fact.node for fact in done.of(NodeRepaired)]
    into = {fact.into for fact in done.of(NodeRepaired)}
    assert repaired
    assert not into & set(repaired)


@pytest.mark.claim("cot2-l11")
def test_what_is_neither_pruned_nor_repaired_joins_the_frontier() -> None:
    done = ran(always(step=GOOD, trust=0.5), calls=16)
    children = {grown.node for grown in done.of(NodeExpanded)[0].children}
    assert children < {node for node, _ in done.of(FrontierScored)[1].scores}


def settled(v_proc: float, v_out: float) -> dict[str, list[str]]:
    """An episode whose second child answers."""
    step = (v_proc, v_proc, v_proc)
    return {
        "thinker": [thought("six"), thought("it is 24", "30 - 6")],
        "oracle": [scores(HALF), scores(step)],
        "confidence": [sure(0.5), sure(v_out)],
    }


@pytest.mark.claim("cot2-l12")
def test_a_good_enough_survivor_stops_the_search_and_is_never_sent_to_the_fallback() -> None:
    done = ran(settled(1, 0.75), calls=16, abstain_threshold=0.8)
    assert (done.result.answer, done.result.ended_by) == ("30 - 6", "stopped")
    assert (done.result.confidence, done.result.confidence_source) == (0.75, "stated")
    assert len(done.requests) == 6
    assert "fallback" not in done.roles
    assert done.of(SearchDecided)[0].action == "stop"


@pytest.mark.claim("cot2-l12")
def test_an_answer_is_needed_to_stop() -> None:
    done = ran(always(step=GOOD, trust=1), calls=9)
    assert done.result.ended_by != "stopped"


FEW = {"calls": 22, "primary_calls": 6}


@pytest.mark.claim("cot2-l13")
def test_too_little_confidence_abstains_and_sixteen_chains_vote() -> None:
    votes = [chained("24")] * 9 + [chained("25")] * 6 + ["no idea"]
    done = ran(settled(0.9, 0.7) | {"fallback": votes}, abstain_threshold=0.8, **FEW)
    assert [fact.action for fact in done.of(SearchDecided)] == ["fallback"]
    assert done.of(Voted) == [Voted(answer="24", votes=9, of=16, unreadable=1)]
    assert (done.result.answer, done.result.ended_by) == ("24", "fallback")
    assert (done.result.confidence, done.result.confidence_source) == (9 / 16, "vote_share")
    assert [question.draw for question in done.asks("fallback")] == list(range(16))
    assert all("[Step 1]" not in shown(question) for question in done.asks("fallback"))


@pytest.mark.claim("cot2-l13")
def test_confidence_at_the_threshold_answers() -> None:
    done = ran(settled(0.5, 0.8), abstain_threshold=0.8, **FEW)
    assert (done.result.answer, done.result.ended_by) == ("30 - 6", "budget")


@pytest.mark.claim("cot2-l13")
def test_without_a_fallback_the_answer_is_withheld() -> None:
    done = ran(settled(0.9, 0.7), abstain_threshold=0.8, fallback_samples=0, **FEW)
    assert (done.result.answer, done.result.ended_by) == (None, "abstained")
    assert done.result.confidence == 0.7


@pytest.mark.claim("cot2-l13")
def test_standalone_it_abstains_only_without_any_answer() -> None:
    done = ran(settled(0.5, 0.35), **FEW)
    assert done.result.answer == "30 - 6"
    nothing = ran(SIX | BLANK, calls=7)
    assert (nothing.result.answer, nothing.result.ended_by) == (None, "abstained")


@pytest.mark.claim("cot2-l14")
def test_the_best_survivor_is_returned_with_its_confidence() -> None:
    script = settled(0.6, 0.6) | {"thinker": [thought("a", "1"), thought("b", "2")]}
    done = ran(script, calls=6)
    assert (done.result.answer, done.result.confidence) == ("2", 0.6)
    [decided] = done.of(SearchDecided)
    node = done.of(NodeExpanded)[0].children[1].node
    assert decided == SearchDecided(action="return", node=node, value=0.6, confidence=0.6, calls=6)


@pytest.mark.claim("cot2-l14")
def test_unparseable_votes_leave_the_primary_answer() -> None:
    done = ran(settled(0.9, 0.7) | {"fallback": ["?"] * 16}, abstain_threshold=0.8, **FEW)
    assert (done.result.answer, done.result.confidence_source) == ("30 - 6", "stated")


@pytest.mark.claim("cot2-l14")
def test_a_pruned_answer_is_never_returned() -> None:
    script = SIX | {
        "thinker": [thought("a", "1"), thought("b", "2")],
        "oracle": [scores(POOR), scores(HALF)],
    }
    assert ran(script, calls=6).result.answer == "2"


# ── Strategies, repeats, the closing call ────────────────────────────────────────────────────


@pytest.mark.claim("cot2-l04")
def test_an_answered_node_is_only_verified_and_a_check_leaves_its_answer_standing() -> None:
    script = {
        "thinker": [thought("a", "24"), thought("b", "25"), "All is well."],
        "oracle": [scores(GOOD), scores(HALF), scores(GOOD, HALF)],
        "confidence": [sure(0.5), sure(0.5), sure(1)],
    }
    done = ran(script, calls=9)
    [child] = done.of(NodeExpanded)[1].children
    assert child.strategy == "verify"
    assert (done.result.answer, done.result.confidence) == ("24", 1.0)
    assert done.of(SearchDecided)[-1].node == child.node
    assert tree_of(done.trace).nodes[child.node].answer == "24"


@pytest.mark.claim("cot2-l05")
def test_a_repeated_thought_is_not_scored_twice() -> None:
    def reply(question: object) -> str:
        role = getattr(question, "role", "")
        if role == "oracle":
            return scores((0.4, 0.4, 1))
        return sure(0.1) if role == "confidence" else thought("always the same")

    done = ran(reply, calls=16, repair="none", max_depth=1)
    again = done.of(NodeExpanded)[1].children
    assert {grown.repeats for grown in again} == {done.of(NodeExpanded)[0].children[0].node}
    assert len(done.asks("oracle")) == 2


@pytest.mark.claim("cot2-l14")
def test_a_closing_call_carries_the_best_trajectory_when_too_few_calls_are_left() -> None:
    for calls, closing in ((7, ["reasoner"]), (8, ["reasoner", "confidence"])):
        script = CLOSED | {"confidence": [sure(0.6), sure(0.4), sure(0.3)]}
        done = ran(script, calls=calls)
        assert done.roles[6:] == closing
        [question] = done.asks("reasoner")
        assert "[Step 1]\nsix times five" in shown(question)
        assert question.sampling.temperature == 0.0
        assert (done.result.answer, done.result.ended_by) == ("24", "closed")
        assert done.result.confidence == (0.3 if calls == 8 else None)


def kinds(events: list[tuple[str, Event]]) -> list[str]:
    return [event.kind for _, event in events if not isinstance(event, Completed)]


@pytest.mark.claim("cot2-l03", "cot2-l09", "cot2-l11", "cot2-l14")
def test_the_whole_record_of_a_short_episode() -> None:
    script = SIX | {"oracle": [scores(POOR), scores((0.6, 0.6, 0.6))]}
    done = ran(script | BLANK, calls=7)
    lane = ["generated", "oracle.scored", "confidence.stated"]
    expected = ["frontier.scored", "forked", *lane, *lane, "node.expanded", "node.pruned"]
    assert kinds(done.events) == [*expected, "generated", "search.decided"]
