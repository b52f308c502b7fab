"""MGV in whole episodes: what its signals are made of, what they decide, and what is not paid for."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from handlers.policies.mgv import MGV_FLAVELL
from handlers.policies.mgv.settings import FlavellSettings, RetrievalSettings
from schemas.events.monitoring import Allocated, CasesReached, StrategyMatched, ThresholdsSet
from schemas.events.search import ConfidenceStated
from schemas.questions import Complete
from schemas.vectors import pack
from tests.papers.mc2_says import near_to, solved
from tests.papers.mgv_says import (
    TASK,
    Model,
    acquisition,
    belief,
    case,
    checked,
    episode,
    felt,
    flavell,
    remembering,
    retrieval,
    sure,
)
from tests.scripted import Ran, hashed, run, shown

OTHER = "Which of these words rhymes with moon: spoon, lamp, table or window pane?"


def strategies(ran: Ran[Any], level: str = "cognitive") -> list[str]:
    return [each.strategy for each in ran.of(StrategyMatched) if each.level == level]


# ── Calibration from what is like the problem ────────────────────────────────────────────────


def test_thresholds_come_from_cases_that_are_alike_and_not_from_the_whole_domain() -> None:
    """Three are in mind and five are needed: the fifteen nearest are looked at."""
    alike = [case(f"a{at:02}", confidence=0.95, knowing=(0.4, 0.1)) for at in range(12)]
    unlike = [
        case(f"u{at:02}", problem=OTHER, confidence=0.2, knowing=(3.0, 0.1)) for at in range(40)
    ]
    memory = remembering(*unlike, *alike)
    for least in (5, 12):
        ran = episode(retrieval(min_labels=least), Model(), memory=memory)
        first = ran.of(ThresholdsSet)[0]
        assert first.history == ("recalled", "recalled")
        assert (first.confidence, first.knowing) == pytest.approx((0.95, 0.5))
        assert ran.of(CasesReached)[0].held == 3
    narrow = episode(retrieval(calibrate_k=3), Model(), memory=memory).of(ThresholdsSet)[0]
    assert narrow.history == ("domain", "domain")
    assert narrow.confidence == pytest.approx(0.2)


def test_a_case_that_is_not_reached_calibrates_nothing() -> None:
    memory = remembering(*(case(f"a{at:02}", confidence=0.95) for at in range(12)))
    ran = episode(retrieval(reach=0.0), Model(), memory=memory)
    assert ran.of(ThresholdsSet)[0].history == ("domain", "domain")


def test_no_case_comes_to_mind_that_has_nothing_to_do_with_the_problem() -> None:
    """The nearest of what is known may be far: in ``service`` it is neither shown nor reckoned with."""
    alike = case("a", answer="96")
    far = {"vector": pack(near_to(hashed(TASK.problem), 0.05))}
    unlike = [case(f"u{at}", problem=OTHER, answer="spoon") | far for at in range(3)]
    memory = remembering(alike, *unlike)
    ran = episode(RetrievalSettings.resolve("service", {}), Model(), memory=memory)
    reached = [name for each in ran.of(CasesReached) for name, _ in each.items]
    assert reached == ["a"]
    [first, *_] = ran.asks("reasoner")
    assert "Answer given: 96" in shown(first)
    assert "spoon" not in shown(first)
    paper = episode(retrieval(), Model(), memory=memory)
    assert "spoon" in shown(paper.asks("reasoner")[0]), "the paper shows the nearest, however far"


@pytest.mark.parametrize(
    ("floor", "made", "held"),
    [
        ("embedder", "minilm-53aa5117-256", 0),
        ("embedder", "hashed-256", 1),
        (0.19, None, 0),
        (None, None, 1),
    ],
)
def test_what_is_near_enough_hangs_on_the_embedder(
    floor: str | float | None, made: str | None, held: int
) -> None:
    near = near_to(hashed(TASK.problem), 0.17)
    memory = replace(remembering(case("a") | {"vector": pack(near)}), embedder=made)
    settings = FlavellSettings.resolve("service", {"relevance_floor": floor})
    assert episode(settings, Model(), memory=memory).of(CasesReached)[0].held == held


# ── ⊕ of evaluative experiences ──────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("signal", "source", "unexpected"), [
    ("feel", "feel", 0.4),  # of a problem that looks middling 0.5 was to be expected
    ("assess", "assess", 0.1),  # of one whose like were right three times 0.8
    ("xor", "assess", 0.1),
    ("blend", "blend", 0.25),
])  # fmt: skip
def test_what_is_unexpected_is_felt_or_known(signal: str, source: str, unexpected: float) -> None:
    memory = remembering(*(case(f"r{at}") for at in range(3)))
    ran = episode(flavell(signal=signal), Model(["96"], [0.9]), memory=memory)
    [each] = felt(ran, "evaluative")
    assert each.source == source
    assert dict(each.inputs)["unexpected"] == pytest.approx(unexpected, abs=1e-6)


def test_without_knowledge_an_evaluation_is_a_feeling() -> None:
    [each] = felt(episode(flavell(), Model(["96"], [0.9])), "evaluative")
    assert each.source == "feel"
    assert dict(each.inputs)["unexpected"] == pytest.approx(0.4)


@pytest.mark.parametrize(("signal", "unexpected"), [("assess", 0.4), ("blend", 0.4)])
def test_the_paper_s_knowledge_expects_one_half_before_it_knows_a_case(
    signal: str, unexpected: float
) -> None:
    """Where knowledge alone is asked, or asked as well; in ``service`` it expects nothing then."""
    said = ["96"], [0.9]
    [each] = felt(episode(flavell(signal=signal), Model(*said)), "evaluative")
    assert dict(each.inputs)["unexpected"] == pytest.approx(unexpected)
    [each] = felt(episode(service(signal=signal), Model(*said)), "evaluative")
    assert dict(each.inputs)["unexpected"] == 0


def test_where_nothing_could_be_expected_a_sure_answer_is_not_unexpected() -> None:
    """A difficulty of 0.5 that stands for not knowing is none to hold an answer against; the paper does."""
    said = ["96"], [0.98]
    cold = episode(service(max_rounds=1), Model(*said))
    assert dict(felt(cold, "evaluative")[0].inputs)["unexpected"] == 0
    assert strategies(cold, "metacognitive") == ["plausibility"]
    written = episode(flavell(max_rounds=1), Model(*said))
    assert dict(felt(written, "evaluative")[0].inputs)["unexpected"] == pytest.approx(0.48)
    assert strategies(written, "metacognitive") == ["consistency"]
    beside_others = remembering(*(case(f"u{at}", "unknown") for at in range(10)))
    known = episode(service(max_rounds=1), Model(*said), memory=beside_others)
    assert dict(felt(known, "evaluative")[0].inputs)["unexpected"] > 0.4
    few = remembering(*(case(f"u{at}", "unknown") for at in range(9)))
    felt_few = felt(episode(service(max_rounds=1), Model(*said), memory=few), "evaluative")
    assert dict(felt_few[0].inputs)["unexpected"] == 0


def test_similar_cases_are_told_from_the_problem_to_solve() -> None:
    memory = remembering(case("a", answer="17"))
    [attempt, *_] = episode(retrieval(), Model(), memory=memory).asks("reasoner")
    assert "Answer given: 17 (right)" in shown(attempt)
    assert "They are done with" in shown(attempt)
    assert shown(attempt).index("### Similar cases") < shown(attempt).index("### Problem"), (
        "what is read last is worked on"
    )
    ran = episode(flavell(assess="verbal", max_rounds=2), Model(["95"], [0.2]), memory=memory)
    looked = [question for question in ran.asks("monitor") if question.template.name != "appraise"]
    assert all("and are not what you examine" in shown(question) for question in looked)
    first, *_, last = [q for q in ran.asks("monitor") if q.template.name == "appraise"]
    assert "Last result" not in shown(first)
    assert 'Section "Last result" is what the last attempt at it came to' in shown(last)
    assert "before anyone works on it" not in shown(last)
    cold = episode(retrieval(), Model()).asks("reasoner")[0]
    assert "Similar cases" not in shown(cold)


def test_an_answer_of_another_type_than_similar_right_ones_is_unexpected_to_who_knows() -> None:
    """It is looked at for consistency; by feeling alone nothing is odd about it."""
    memory = remembering(*(case(f"r{at}") for at in range(3)))
    known = episode(flavell(max_rounds=1), Model(["Paris"], [0.9]), memory=memory)
    assert strategies(known, "metacognitive") == ["consistency"]
    felt_only = episode(
        flavell(max_rounds=1, signal="feel"), Model(["Paris"], [0.9]), memory=memory
    )
    assert dict(felt(felt_only, "evaluative")[0].inputs)["unexpected"] < 1


# ── What is not paid for ─────────────────────────────────────────────────────────────────────


def service(**values: Any) -> FlavellSettings:
    return FlavellSettings.resolve("service", values)


def test_with_speed_as_its_goal_an_answer_ends_the_work_unjudged() -> None:
    """One call; in ``paper`` it is judged all the same. Nobody asked how sure it is: unknown, not 0."""
    ran = episode(service(goal="speed"), Model(["96"]))
    assert ran.roles == ["reasoner"]
    assert (ran.result.answer, ran.result.ended_by) == ("96", "goal")
    assert (ran.result.confidence, ran.result.confidence_source) == (None, None)
    written = episode(flavell(goal="speed"), Model(["96"]))
    assert written.roles == ["reasoner", "confidence", "monitor"]
    assert written.result.ended_by == "goal"


def test_an_attempt_without_an_answer_is_not_checked_and_has_failed() -> None:
    """The next strategy is another one; in ``paper`` a check of nothing is paid."""
    ran = episode(service(), Model([None, "96"]))
    assert ran.roles == ["reasoner", "reasoner", "confidence", "monitor"]
    first, second = strategies(ran)
    assert first != second
    assert ran.result.answer == "96"
    written = episode(flavell(), Model([None, "96"]))
    assert written.roles[:2] == ["reasoner", "monitor"]


@pytest.mark.parametrize(("values", "samples", "source"), [
    ({}, 1, "stated"), ({"confidence": "verbal"}, 1, "stated"), ({}, 5, "vote_share"),
])  # fmt: skip
def test_a_conclusion_says_what_its_confidence_was_made_of(
    values: dict[str, Any], samples: int, source: str
) -> None:
    """Of acquisition it depends on how many calls there were: samples that agree, or what was stated."""
    calls = 2 if samples == 1 else 15
    ran = episode(acquisition(max_rounds=1, **values), Model(["96"], [0.9]), calls=calls)
    assert ran.result.confidence_source == source
    searched = episode(retrieval(), Model(["96"], [0.9]))
    assert searched.result.confidence_source == "stated"


# ── Wrong changes that an episode has to notice ──────────────────────────────────────────────


def test_a_problem_that_feels_hard_is_split_and_an_easy_one_is_not() -> None:
    """A diagnosis that were always plain, or a difficulty turned round, would go straight for both."""
    short = [case(f"s{at}", problem="What is 2 + 2?") for at in range(12)]
    for each in short:
        each["features"] = [5, 2, 1]
    long = [{**each, "features": [60, 9, 9]} for each in short]
    hard = episode(flavell(signal="feel"), Model(), memory=remembering(*short))
    easy = episode(flavell(signal="feel"), Model(), memory=remembering(*long))
    assert (felt(hard, "difficulty")[0].value or 0.0) > 0.8
    assert felt(easy, "difficulty")[0].value == 0.0
    assert (strategies(hard)[0], strategies(easy)[0]) == ("decompose", "direct")


def test_after_a_doubtful_attempt_a_problem_is_harder() -> None:
    """1 - p: an attempt that is sure of itself makes it easier."""
    memory = remembering(*(case(f"r{at}") for at in range(2)), case("w", "wrong"))
    unsure = episode(flavell(max_rounds=2), Model(["1", "2"], [0.05]), memory=memory)
    certain = episode(
        flavell(max_rounds=2), Model(["1", "2"], [0.95], ["FAIL", "PASS"]), memory=memory
    )
    for ran, rises in ((unsure, True), (certain, False)):
        before, after = (each.value or 0.0 for each in felt(ran, "difficulty"))
        assert (after > before) is rises


def test_the_check_answers_the_strongest_evaluation() -> None:
    """Doubt asks whether it is plausible, a broken-off attempt whether it hangs together."""

    def said(question: Complete) -> str:
        if question.role == "reasoner":
            return (
                "Sub_goals:\n- one\n- two\n- three\nResults:\n- 1\nFinal_answer: \\boxed{96}"
                if "fragment" in mode
                else solved("96")
            )
        return sure(0.1 if "doubt" in mode else 0.9) if question.role == "confidence" else checked()

    found = dict[str, str]()
    for mode in ("doubt", "fragment"):
        ran = episode(flavell(max_rounds=1, complex_above=0.4), said)
        [found[mode]] = strategies(ran, "metacognitive")
        [question] = ran.asks("monitor")
        assert question.template.name == f"check.{found[mode]}"
    assert found == {"doubt": "plausibility", "fragment": "coherence"}


def test_a_calibrator_changes_what_a_confidence_counts_for() -> None:
    """Thirty cases that said .9 and were wrong as often as not: .9 no longer ends the work."""
    mixed = [
        case(f"c{at:02}", "right" if at % 2 else "wrong", verbal=0.9, problem=OTHER)
        for at in range(40)
    ]
    ran = episode(flavell(max_rounds=1), Model(["96"], [0.9]), memory=remembering(*mixed))
    [each] = felt(ran, "confidence")
    assert each.source == "assess"
    assert each.value == pytest.approx(0.5, abs=0.05)
    assert ran.of(ConfidenceStated)[0].value == 0.9
    assert ran.result.ended_by == "max_rounds"
    raw = episode(
        flavell(max_rounds=1, signal="feel"), Model(["96"], [0.9]), memory=remembering(*mixed)
    )
    assert (felt(raw, "confidence")[0].value, raw.result.ended_by) == (0.9, "goal")


@pytest.mark.parametrize(("own", "told"), [(-1.0, math.exp(-1.0)), (None, math.exp(-0.01))])
def test_how_sure_tokens_are_is_said_of_the_answer_s_where_they_can_be_told(
    own: float | None, told: float
) -> None:
    """Sure steps say nothing of an unsure answer; once a calibrator is fitted, it decides."""
    wrong = [
        case(f"c{at:02}", "right" if at % 2 else "wrong", implicit=told, problem=OTHER)
        for at in range(40)
    ]
    memory = remembering(*wrong)
    pinned = replace(TASK, memory_version=memory.number)
    steps = MGV_FLAVELL.solve(pinned, flavell(max_rounds=1, on_stop="best"))
    ran = run(steps, Model(["96"]), memory=memory, logprob=-0.01, answer_logprob=own)
    [each] = felt(ran, "confidence")
    assert dict(each.inputs)["implicit"] == pytest.approx(told)
    assert (each.source, ran.result.confidence_source) == ("assess", "logprob")
    assert ran.roles == ["reasoner", "monitor"], "nobody had to be asked how sure it is"


def test_without_monitoring_a_search_is_always_the_same_wide() -> None:
    against = remembering(*(case(f"w{at}", "wrong") for at in range(3)))
    values = {"fok_threshold": 0.0, "reconsider": "off"}
    on = episode(retrieval(**values), Model(), memory=against)
    off = episode(retrieval(monitor="off", **values), Model(), memory=against)
    assert (on.result.ended_by, on.result.answer) == ("omission", None)
    assert (off.result.ended_by, off.result.answer) == ("output", "96")


def test_a_strategy_that_is_too_dear_for_its_share_is_not_begun() -> None:
    """Of one call nothing is split up, however well splitting did; of three it is."""
    beliefs = belief("plain", "decompose", 9, 9)
    memory = remembering(case("r"), beliefs=beliefs)
    chosen = [
        (
            ran.of(Allocated)[0].shares[0][1],
            strategies(ran)[0],
        )
        for ran in (
            episode(acquisition(max_rounds=1), Model(), memory=memory, calls=calls)
            for calls in (1, 3)
        )
    ]
    assert chosen == [(1, "direct"), (3, "decompose")]


def test_after_a_wide_search_more_comes_to_mind() -> None:
    """``intensive_factor`` times as many cases as before, where the last round was intensive."""
    memory = remembering(*(case(f"c{at:02}", "unknown") for at in range(20)))
    held = dict[int, list[int]]()
    for factor in (1, 4):
        settings = RetrievalSettings.resolve("paper", {"intensive_factor": factor, "max_rounds": 2})
        ran = episode(settings, Model(["1", "2"], [0.1]), memory=memory)
        held[factor] = [each.held for each in ran.of(CasesReached)]
    assert held == {1: [3, 3], 4: [3, 12]}


@pytest.mark.parametrize(("signal", "value"), [("feel", 0.5), ("assess", 0.8), ("blend", 0.65)])
def test_ease_is_felt_or_known_as_the_signal_says(signal: str, value: float) -> None:
    memory = remembering(*(case(f"r{at}") for at in range(3)))
    ran = episode(acquisition(signal=signal, max_rounds=1), Model(), memory=memory, calls=2)
    [each] = felt(ran, "EOL")
    assert each.value == pytest.approx(value)
