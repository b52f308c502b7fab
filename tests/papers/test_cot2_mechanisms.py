"""CoT2-Meta: whole thoughts, calls kept for an answer, refuted answers, repair that sees; and what would be wrong."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from handlers.limits import Ledger, Reservation
from handlers.policies.base import Conclusion, Trace
from handlers.policies.cot2_meta import solve
from handlers.policies.cot2_meta.diagnose import Audit, repairs, spared
from handlers.policies.cot2_meta.settings import Cot2Settings
from handlers.policies.cot2_meta.trace import tree_of
from schemas.asking import Ask
from schemas.events.base import AnswerEvent
from schemas.events.episode import Forked
from schemas.events.reasoning import Generated
from schemas.events.search import (
    ConfidenceStated,
    NodeExpanded,
    NodePruned,
    NodeRepaired,
    OracleScored,
    SearchDecided,
)
from schemas.questions import Complete
from streams.core.drive import Run
from tests.papers.cot2_says import (
    GOOD,
    HALF,
    POOR,
    TASK,
    always,
    chained,
    ran,
    scores,
    steps_asked,
    sure,
    thought,
)
from tests.scripted import Driver, Ran, Script, run, shown


def served(script: Script, calls: int | None = None, **values: Any) -> Ran[Conclusion]:
    """An episode in the default profile."""
    return run(solve(TASK, Cot2Settings.resolve("service", values)), script, calls=calls)


# ── Thoughts as long as they need ────────────────────────────────────────────────────────────


def test_thinkers_are_told_to_go_as_far_as_they_can_and_to_say_what_is_left() -> None:
    done = ran(always(step=GOOD), calls=16)
    direct, decompose, *_ = map(shown, done.asks("thinker"))
    for text in (direct, decompose):
        assert "as far as you can" in " ".join(text.split())
        assert "what remains to be done" in text
        assert "one thought at a time" not in text
    check = next(q for q in done.asks("thinker") if q.template.name == "thinker.verify")
    assert "leaves the problem open" in shown(check)


# ── Calls kept for an answer ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("calls", range(2, 20))
def test_open_thoughts_leave_calls_for_an_answer_and_the_confidence_in_it(calls: int) -> None:
    """With C = 3, 6 and 12 nothing was answered; with one call kept its confidence was unknown."""
    done = served(always(step=HALF, trust=0.6, answer=None), calls=calls)
    assert done.roles.count("reasoner") == 1
    assert len(done.requests) <= calls
    assert (done.result.answer, done.result.confidence) == ("none", 0.6)


def test_the_last_lane_is_scored_no_further_than_its_kept_calls_allow() -> None:
    """Four calls: a thought and its scores, then the answer and the confidence in it."""
    assert served(always(step=HALF, trust=0.6), calls=4).roles == [
        "thinker",
        "oracle",
        "reasoner",
        "confidence",
    ]
    paper = ran(always(step=HALF, trust=0.6), calls=4).roles
    assert paper == ["thinker", "oracle", "confidence", "reasoner"]


# ── Oracle and confidence side by side ───────────────────────────────────────────────────────


def test_oracle_and_confidence_are_asked_at_once() -> None:
    """As many calls as one after the other, and the same facts; only nobody waits."""
    one = served(settled_at(0.6), calls=16, max_depth=1)
    other = served(settled_at(0.6), calls=16, max_depth=1, judging="in_turn")
    forks = [event.lanes for event in one.of(Forked)]
    assert forks[:3] == [2, 2, 2], "two children, and in each the oracle beside the confidence"
    assert next(event.lanes for event in other.of(Forked)) == 2
    assert len(one.requests) == len(other.requests)
    assert [e.value for e in one.of(OracleScored)] == [e.value for e in other.of(OracleScored)]
    assert [e.value for e in one.of(ConfidenceStated)] == [0.6] * len(one.of(ConfidenceStated))
    assert one.result.answer == other.result.answer


def settled_at(trust: float) -> Any:
    """A model that answers at once, and never is sure enough to stop."""
    return always(step=HALF, trust=trust, answer="24")


def test_a_limit_that_strikes_one_of_both_ends_the_lane_and_keeps_the_other() -> None:
    """Seconds may run out anywhere; calls never do, since a lane is granted its need."""
    for calls in range(1, 24):
        done = served(always(step=HALF, trust=0.5, answer="24"), calls=calls)
        assert len(done.requests) <= calls
        assert done.result.answer is not None
        assert done.result.limit is None


# ── Refuted answers ──────────────────────────────────────────────────────────────────────────


def refuting(said: str) -> Any:
    """Both thoughts answer 80, with little trust; the check speaks, and is much trusted."""

    def reply(question: Complete) -> str:
        steps = steps_asked(question) if question.role in ("oracle", "confidence") else 0
        match question.role:
            case "oracle":
                return scores(*[GOOD] * steps)
            case "confidence":
                return sure(0.9 if steps > 1 else 0.2)
            case "thinker" if question.template.name == "thinker.verify":
                return said
            case _:
                return thought(f"by {question.template.name}", "80")

    return reply


OPEN = "Thought: 80 cannot be right, for the parts do not add up.\nState: OPEN"


@pytest.mark.parametrize("profile", ["service", "paper"])
def test_a_check_that_leaves_the_problem_open_inherits_no_answer(profile: Any) -> None:
    settings = Cot2Settings.resolve(profile, {"max_depth": 2})
    done = run(solve(TASK, settings), refuting(OPEN), calls=9)
    tree = tree_of(done.trace)
    [check] = [twig for twig in tree.nodes.values() if twig.strategy == "verify"]
    assert check.answer is None
    assert done.result.confidence == 0.2, "the trust in the refutation is no trust in 80"
    assert done.of(SearchDecided)[-1].node != check.id


def test_a_check_without_a_form_or_with_the_answer_stands_for_it() -> None:
    for said in ("All is well.", thought("all is well", "80")):
        done = served(refuting(said), calls=9, max_depth=2)
        assert (done.result.answer, done.result.confidence) == ("80", 0.9)


def test_an_answer_that_a_check_confirmed_is_not_checked_again_in_service() -> None:
    """Checks of checks took calls that other branches need."""
    model = always(step=(0.8, 0.8, 0.8), trust=0.7, answer="24")
    for again, most in ((False, 2), (True, 8)):
        done = served(model, calls=40, primary_calls=40, verify_again=again)
        depths = {grown.depth for event in done.of(NodeExpanded) for grown in event.children}
        assert max(depths) <= most
        assert (max(depths) > 2) is again


# ── Repair ───────────────────────────────────────────────────────────────────────────────────

SICK = "The second step takes ten for five.\n\n"


def ailing(first: str = "six times ten is thirty", answer: str | None = "30 - 6") -> Any:
    """Thoughts whose second step, or first where it is given so, is sick; the repair is healthy."""

    def reply(question: Complete) -> str:
        steps = dict(question.variables).get("trajectory", "")
        match question.role:
            case "oracle":
                marks = steps.count("[Step ")
                low = "ten for five" in steps or first in steps
                said = [GOOD] * (marks - 1) + [(0.4, 0.4, 0.4) if low else GOOD]
                return SICK + "Scores:\n" + scores(*said)
            case "confidence":
                return sure(0.6)
            case "repairer":
                return thought("anew: six times five is thirty", answer)
            case _:
                return thought(first if not steps else "and ten for five it is", "80")

    return reply


def test_a_repair_sees_the_rejected_step_and_what_was_thought_of_it() -> None:
    """Also where the first step is the sick one, and nothing stands before it."""
    done = served(ailing(), calls=16)
    [question, *_] = done.asks("repairer")
    text = shown(question)
    assert "### Rejected steps\n[Step 1]\nsix times ten is thirty" in text
    assert "### Assessment\nThe second step takes ten for five." in text
    assert "Step 1: Semantic=0.40" in text
    assert "### Trajectory" not in text
    blind = shown(ran(ailing(), calls=16).asks("repairer")[0])
    assert "### Rejected steps" not in blind, "the paper keeps the prefix alone"
    assert "### Assessment" not in blind


@pytest.mark.parametrize("profile", ["service", "paper"])
def test_a_repair_without_an_answer_never_takes_the_place_of_an_answer(profile: Any) -> None:
    settings = Cot2Settings.resolve(profile, {})
    done = run(solve(TASK, settings), ailing(answer=None), calls=12)
    [repaired, *_] = done.of(NodeRepaired)
    assert (repaired.value or 0) > repaired.before
    assert repaired.kept == "old"
    assert done.result.answer == "80"
    counted = repairs(tree_of(done.trace), lambda answer: answer == "80")
    assert counted.hurt == 0 or counted.right_before


class Slow(Driver):
    """Every repair takes a minute."""

    async def answer(
        self, run: Run, question: Ask[Any], asked: str, address: str, reserved: Reservation
    ) -> AnswerEvent:
        said = await super().answer(run, question, asked, address, reserved)
        slow = isinstance(question, Complete) and question.role == "repairer"
        return structs.replace(said, seconds=60.0) if slow else said


@pytest.mark.parametrize(("first", "answered"), [(None, "24"), ("80", "80")])
def test_a_repair_that_no_time_is_left_to_score_stays_where_it_alone_has_an_answer(
    first: str | None, answered: str
) -> None:
    model = ailing(answer="24")

    def reply(question: Complete) -> str:
        said = str(model(question))
        return said.replace("80", "none") if first is None and question.role == "thinker" else said

    driver = Slow(reply)
    steps = solve(TASK, Cot2Settings.resolve("service", {}))
    end = driver.drive(steps, Ledger(seconds=50.0))
    asked = [question.role for _, question in driver.asked if isinstance(question, Complete)]
    assert asked[-1] == "repairer"
    assert (end.answer, end.limit) == (answered, "seconds")
    tree = tree_of(Trace(driver.events))
    assert tree.decided is not None
    assert tree.nodes[tree.path(tree.decided.node)[-1]].answer == answered


# ── Changes that would be wrong ──────────────────────────────────────────────────────────────


def test_repair_begins_at_the_earliest_low_step_not_at_the_lowest() -> None:
    """i* = min{i : r_i < θ}: step 2 is low, step 3 is lower; what is shown ends before step 2."""
    script = {
        "thinker": [thought("Step 1: fine\nStep 2: a slip\nStep 3: nonsense"), thought("goals")],
        "oracle": [
            scores(GOOD, (0.45, 0.45, 0.45), (0.4, 0.4, 0.4)),
            scores(GOOD),
            scores(GOOD, GOOD),
        ],
        "confidence": [sure(0.6), sure(0.6), sure(0.6)],
        "repairer": [thought("Step 2: put right", "24")],
    }
    done = ran(script, calls=9, segment="marked", primary_calls=9)
    [repaired] = done.of(NodeRepaired)
    assert repaired.step == 2
    [question] = done.asks("repairer")
    seen = dict(question.variables)
    assert seen["trajectory"] == "[Step 1]\nStep 1: fine"
    assert seen["fault"].startswith("Step 2: ")


def test_the_best_survivor_is_the_one_of_the_highest_value_not_of_the_highest_confidence() -> None:
    """v fuses both: .4 · .9 + .6 · .4 = .6 is less than .4 · .5 + .6 · .9 = .74."""
    script = {
        "thinker": [thought("trusted", "1"), thought("sound", "2")],
        "oracle": [scores((0.4, 0.4, 0.4)), scores((0.9, 0.9, 0.9))],
        "confidence": [sure(0.9), sure(0.5)],
    }
    done = ran(script, calls=6, repair="none")
    assert (done.result.answer, done.result.confidence) == ("2", 0.5)
    [decided] = done.of(SearchDecided)
    assert decided.value == pytest.approx(0.74)


def test_what_grows_from_a_repair_is_of_its_lineage_and_not_repaired_again() -> None:
    """``max_repairs`` is a lineage's: children of the repaired leaf have had theirs."""
    done = ran(always(step=(0.45, 0.45, 0.45), trust=0.9), calls=60, primary_calls=60)
    tree = tree_of(done.trace)
    mended = {fact.into for fact in done.of(NodeRepaired) if fact.kept == "new"}
    below = {at for at, twig in tree.nodes.items() if mended & set(tree.path(twig.parent))}
    assert below, "children grew from a repaired leaf"
    assert not below & {fact.node for fact in done.of(NodeRepaired)}


def test_direct_and_decompose_are_asked_for_what_they_are_named_after() -> None:
    done = ran(always(step=GOOD), calls=16)
    [first, *_] = done.of(NodeExpanded)
    thoughts = [fact.source for fact in done.of(Generated) if fact.role == "thinker"]
    said = dict(zip(thoughts, done.asks("thinker"), strict=True))
    for grown in first.children:
        text = shown(said[grown.node])
        assert ("Go straight for the final answer" in text) is (grown.strategy == "direct")
        assert ("name the smaller ones" in text) is (grown.strategy == "decompose")


def test_half_a_scratchpad_is_what_the_next_thinker_sees() -> None:
    """S4: the first half of the thought that stands in the tree."""
    model = always(step=GOOD)

    def longer(question: Complete) -> str:
        return str(model(question)).replace("thought ", "one two three four five six seven ")

    cut, whole = (ran(longer, calls=16, scratchpad=pad) for pad in ("half", "whole"))
    half, full = (dict(done.asks("thinker")[2].variables)["trajectory"] for done in (cut, whole))
    assert full.removeprefix("[Step 1]\n").startswith("one two three four five six seven")
    assert half == "[Step 1]\none two three four"


def test_the_false_prune_rate_is_the_share_that_a_shadow_run_brought_right() -> None:
    """Two branches are pruned; the shadow run finds the right answer under one of them."""
    script = {
        "thinker": [thought("a"), thought("b")],
        "oracle": [scores(POOR), scores(POOR)],
        "confidence": [sure(0.1), sure(0.1)],
        "reasoner": [chained("7")],
    }
    done = ran(script, calls=7)
    one, other = [fact.node for fact in done.of(NodePruned)]
    found = [spared(shadow(node), node, lambda answer: answer == "24") for node in (one, other)]
    assert found == [True, False]
    audit = Audit.of([*found, False])
    assert audit.false_prune_rate == pytest.approx(1 / 3)
    assert audit.prune_precision == pytest.approx(2 / 3)


def shadow(node: str) -> Any:
    """The tree of the shadow run that spares this node: only the first child comes to 24."""
    said: list[str] = []

    def reply(question: Complete) -> str:
        match question.role:
            case "oracle":
                return scores(*[POOR] * steps_asked(question))
            case "confidence":
                return sure(0.1)
            case "reasoner":
                return chained("7")
            case _:
                said.append(question.template.name)
                steps = dict(question.variables).get("trajectory", "")
                if not steps:
                    return thought("ab"[len(said) - 1] if len(said) < 3 else f"more {len(said)}")
                answer = "24" if steps.startswith("[Step 1]\na") else "25"
                return thought(f"on {len(said)}", answer)

    return tree_of(ran(reply, calls=19, shadow_from=node, primary_calls=7).trace)
