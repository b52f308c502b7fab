"""CoT2-Meta's config block, its variants, and the perturbations of a run."""

from __future__ import annotations

import pytest

from handlers.policies.base import Conclusion
from handlers.policies.cot2_meta.perturb import halved, jittered, shuffled
from handlers.policies.cot2_meta.settings import VARIANTS, Cot2Settings
from schemas.events.search import (
    ConfidenceStated,
    NodeExpanded,
    NodePruned,
    NodeRepaired,
    OracleScored,
)
from schemas.questions import Complete
from schemas.settings import BadSetting
from tests.papers.cot2_says import GOOD, always, ran, scores, setting, sure, thought
from tests.scripted import Ran, shown


@pytest.mark.claim("cot2-i6")
def test_every_constant_has_a_name_and_the_paper_s_value() -> None:
    made = setting()
    assert made.step_weights == (0.2, 0.5, 0.3)
    assert (made.outcome_share, made.health_threshold, made.exploration) == (0.4, 0.5, 1.25)
    assert (made.prune_threshold, made.stop_threshold) == (0.35, 0.9)
    assert (made.abstain_threshold, made.primary_calls, made.fallback_samples) == (None, 16, 16)
    assert (made.max_depth, made.max_repairs, made.audit_leaves) == (8, 1, 3)
    assert made.overconfidence_cost == 0
    assert made.strategies == ("direct", "decompose", "verify")
    with pytest.raises(BadSetting, match="step_weights"):
        setting(step_weights=[0.5, 0.5, 0.5])


@pytest.mark.claim("cot2-i6")
def test_profiles_differ_where_the_page_says() -> None:
    service, paper = Cot2Settings.resolve("service", {}), setting()
    differing = {
        name: (getattr(service, name), getattr(paper, name))
        for name in Cot2Settings.model_fields
        if getattr(service, name) != getattr(paper, name)
    }
    every = ("confidence", "fallback", "oracle", "repairer", "thinker")
    caps = {role: {"max_tokens": 8192} for role in every}
    assert differing == {
        "parameters": (caps, {"*": {"timeout_s": 1_800.0}}),
        "keep_better": (True, False),
        "show_rejected": (True, False),
        "verify_again": (False, True),
        "judging": ("beside", "in_turn"),
        "reserved_calls": (2, 1),
        "fix_absent": ("neutral", "zero"),
        "defaulted": ("unknown", "zero"),
        "output_cap": (8192, None),
    }


def variant(name: str, step: tuple[float, float, float] = GOOD, **more: object) -> Ran[Conclusion]:
    values = {**VARIANTS[name], **more}
    return ran(always(step=step, trust=0.5, answer="24"), calls=16, **values)


LOW, SICK = (0.2, 0.2, 0.2), (0.45, 0.45, 0.45)


@pytest.mark.claim("cot2-variants")
def test_what_must_be_absent_is() -> None:
    assert variant("full", LOW).of(NodePruned)
    assert variant("full", SICK).of(NodeRepaired)
    alone = variant("no tree")
    assert (alone.roles, alone.facts) == (["reasoner"], ["generated"])
    blind = variant("no evaluator")
    assert not blind.of(OracleScored)
    assert not blind.of(NodeRepaired)
    assert [g.value for g in blind.of(NodeExpanded)[0].children] == [0.5, 0.5]
    assert not variant("no pruning", LOW, repair="none").of(NodePruned)
    assert not variant("no repair", SICK).of(NodeRepaired)


@pytest.mark.claim("cot2-variants")
def test_process_only_still_asks_for_confidence_and_outcome_only_still_asks_the_oracle() -> None:
    process = variant("process-only", SICK, repair="none")
    assert process.of(ConfidenceStated)
    assert process.of(NodeExpanded)[0].children[0].value == 0.45
    outcome = variant("outcome-only", SICK)
    assert outcome.of(NodeExpanded)[0].children[0].value == 0.5
    assert outcome.of(NodeRepaired)


@pytest.mark.claim("cot2-variants")
def test_repair_all_repairs_every_survivor_at_its_lowest_step() -> None:
    healthy = variant("repair-all")
    assert [fact.step for fact in healthy.of(NodeRepaired)] == [1, 1]
    assert not variant("full").of(NodeRepaired)


@pytest.mark.claim("cot2-variants")
def test_switches_of_the_decisions() -> None:
    marked = ran(
        {
            "thinker": [thought("Step 1: a\nStep 2: b"), thought("c")],
            "oracle": [scores(GOOD, GOOD), scores(GOOD)],
            "confidence": [sure(0.5)] * 2,
            "reasoner": ["?"],
        },
        calls=7,
        segment="marked",
    )
    assert [len(fact.steps) for fact in marked.of(OracleScored)] == [2, 1]
    newest = ran(always(step=GOOD), calls=9, oracle_scope="newest")
    assert dict(newest.asks("oracle")[2].variables)["steps_to_score"] == "Step 2"
    shut = ran(always(step=GOOD), calls=16, reopen=False)
    assert all(fact.node != "opened" for fact in shut.of(NodeExpanded)[1:])
    exposed = ran(always(step=GOOD), calls=9, expose_meta=True)
    assert "Step 1: Semantic=1.00" in dict(exposed.asks("thinker")[2].variables)["scores"]
    rejected = ran(always(step=SICK), calls=16, show_rejected=True)
    assert "thought 1" in shown(rejected.asks("repairer")[0])
    plain = ran(always(step=SICK), calls=16)
    assert "thought 1" not in shown(plain.asks("repairer")[0])


@pytest.mark.claim("cot2-variants")
def test_a_verify_thought_s_own_confidence_is_ignored_unless_it_is_to_count() -> None:
    own = thought("all is well", "24") + "\nConfidence: 0.3"
    script = {
        "thinker": [thought("a", "24"), thought("b", "24"), own],
        "oracle": [scores(GOOD), scores((0.5, 0.5, 0.5)), scores(GOOD, GOOD)],
        "confidence": [sure(0.5)] * 3,
    }
    assert [f.value for f in ran(script, calls=9).of(ConfidenceStated)] == [0.5, 0.5, 0.5]
    counted = ran(script, calls=9, own_confidence=True).of(ConfidenceStated)
    assert [fact.value for fact in counted] == [0.5, 0.5, 0.3]
    assert counted[-1].wording == "own"


@pytest.mark.claim("cot2-hybrid")
@pytest.mark.parametrize("name", ["hybrid 0.6", "hybrid 0.8"])
def test_a_hybrid_pays_its_vote_where_it_trusts_its_answer_too_little(name: str) -> None:
    """Table 21: where a fifth of the problems falls back, sixteen calls become 19.2 in the mean."""
    paid: dict[float, int] = {}
    for confidence in (0.5, 0.85):
        alone = ran(always(trust=confidence, answer="24"), calls=32)
        hybrid = ran(always(trust=confidence, answer="24"), calls=32, **VARIANTS[name])
        paid[confidence] = len(hybrid.requests) - len(alone.requests)
    assert paid == {0.5: 16, 0.85: 0}
    mean = 16 + 0.2 * paid[0.5] + 0.8 * paid[0.85]
    assert mean == pytest.approx(19.2)


# ── Perturbations ────────────────────────────────────────────────────────────────────────────


@pytest.mark.claim("cot2-perturb")
def test_half_a_scratchpad_keeps_the_step_count() -> None:
    assert halved(("abcdef", "abcde", "newest")) == ("abc", "abc", "new")
    cut = ran(always(step=GOOD), calls=15, scratchpad="half")
    whole = ran(always(step=GOOD), calls=15)
    for one, other in zip(cut.asks("thinker"), whole.asks("thinker"), strict=True):
        steps = [dict(q.variables)["trajectory"].count("[Step ") for q in (one, other)]
        assert steps[0] == steps[1]


@pytest.mark.claim("cot2-perturb")
def test_half_a_scratchpad_changes_every_prompt_that_shows_one() -> None:
    """With the newest thought whole, none or one of five prompts was another than without S4."""
    model = always(step=GOOD)

    def longer(question: Complete) -> str:
        return str(model(question)).replace("thought ", "a thought of many words, the number ")

    cut = ran(longer, calls=16, scratchpad="half")
    seen = [dict(q.variables)["trajectory"] for q in cut.asks("thinker")]
    grown = [trajectory for trajectory in seen if trajectory]
    assert grown
    assert not any("words, the number" in trajectory for trajectory in grown)


OPTIONS = "Which holds?\nA) \\frac{1}{2}\nB) two\nC) \\left(3\\right)\nD) four"


@pytest.mark.claim("cot2-perturb")
def test_shuffled_options_are_seeded_and_the_reference_follows() -> None:
    texts = dict(zip("ABCD", ("1", "two", "3", "four"), strict=True))
    moved = 0
    for seed in range(8):
        one = shuffled(OPTIONS, seed)
        assert one == shuffled(OPTIONS, seed)
        assert sorted(one.letters.values()) == list("ABCD")
        lines = {line[0]: line for line in one.problem.splitlines()[1:]}
        for was, text in texts.items():
            assert text in lines[one.gold(was)]
        assert one.gold("(B)") == one.letters["B"]
        assert one.gold("42") == "42"
        moved += one.letters != {letter: letter for letter in "ABCD"}
    assert moved > 4


@pytest.mark.claim("cot2-perturb")
def test_latex_jitter_is_seeded_and_leaves_plain_text_alone() -> None:
    formula = "\\frac{1}{2} + \\frac{3}{4} \\cdot \\left(5\\right)"
    assert len({jittered(formula, seed) for seed in range(12)}) > 3
    assert jittered(formula, 3) == jittered(formula, 3)
    assert jittered("plain 1/2", 3) == "plain 1/2"


def test_brackets_are_jittered_before_letters_and_longer_commands_are_not() -> None:
    """``\\left(x`` was never respelt, and stands in most formulas with brackets."""
    brackets = {jittered(r"\left(x+1\right)y", seed) for seed in range(12)}
    assert brackets == {
        left + "x+1" + right + "y" for left in (r"\left(", "(") for right in (r"\right)", ")")
    }
    assert {jittered(r"\cdots \fraction \cdotX", seed) for seed in range(12)} == {
        r"\cdots \fraction \cdotX"
    }
    assert shuffled("no options here", 1).letters == {}
