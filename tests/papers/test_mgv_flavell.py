"""Algorithm 1 and what is common to all three: order, levels, ⊕, copies, regulation, giving up."""

from __future__ import annotations

from itertools import count

import pytest

from handlers.learning.beliefs import Evidence, after, update
from handlers.learning.measured import Measured
from handlers.policies.mgv.abandon import Gone, criterion
from handlers.policies.mgv.settings import MgvSettings, rule_constants
from handlers.policies.mgv.signals import Result, evaluative, exclusive
from handlers.policies.mgv.strategies import CHECKS, PRESCRIBED, Diagnosis, check_for, ranked
from schemas.events.episode import Completed, Embedded
from schemas.events.monitoring import (
    CasesReached,
    EpisodeAbandoned,
    ExperienceFelt,
    ExperienceKept,
    StrategyMatched,
)
from schemas.identity import hash01
from schemas.questions import Check, Complete, Embed
from tests.papers.mc2_says import solved
from tests.papers.mgv_says import (
    PROBLEM,
    TASK,
    Model,
    acquisition,
    belief,
    case,
    checked,
    episode,
    felt,
    flavell,
    reflected,
    remembering,
    retrieval,
    sure,
)

SETTINGS: list[MgvSettings] = [flavell(), acquisition(), retrieval()]
FAILING = Model(["1", "2", "3", "4"], [0.2], ["FAIL"])


@pytest.mark.claim("mgv-order")
@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: type(s).__name__)
def test_monitoring_comes_before_generation_in_every_round(settings: MgvSettings) -> None:
    ran = episode(settings, Model(["1", "2", "3", "4"], [0.2], ["FAIL"]), calls=30)
    monitored: set[int] = set()
    for _, event in ran.events:
        if isinstance(event, ExperienceFelt) and event.experience in ("difficulty", "EOL", "FOK"):
            monitored.add(event.round)
        if event.kind == "generated":
            assert getattr(event, "round") in monitored  # noqa: B009
    first = next(at for at, (_, e) in enumerate(ran.events) if isinstance(e, Completed))
    assert any(isinstance(e, ExperienceFelt) for _, e in ran.events[:first])


@pytest.mark.claim("mgv-levels")
@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: type(s).__name__)
def test_attempts_know_nothing_of_the_meta_level(settings: MgvSettings) -> None:
    """Other feelings, confidences and limits, the same decision: the same question."""
    one = episode(settings, Model(["5", "96"], [0.3, 0.9]), calls=9)
    other = episode(settings, Model(["5", "96"], [0.31, 0.95]), calls=30)
    pairs = list(zip(one.asks("reasoner"), other.asks("reasoner"), strict=False))
    assert pairs
    assert all(a.fingerprint() == b.fingerprint() for a, b in pairs)


@pytest.mark.claim("mgv-xor")
def test_exclusive_or_takes_one_source() -> None:
    assert exclusive(0.2, 0.8, True, "xor").source == "assess"
    assert exclusive(0.2, 0.8, False, "xor").source == "feel"
    assert exclusive(0.2, 0.8, True, "feel").value == 0.2
    assert exclusive(0.2, 0.8, False, "assess").value == 0.8
    assert exclusive(0.2, 0.8, True, "blend").value == pytest.approx(0.5)


@pytest.mark.claim("mgv-xor")
@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: type(s).__name__)
def test_one_source_a_signal_and_round_and_only_feelings_without_memory(
    settings: MgvSettings,
) -> None:
    empty = episode(settings, Model(["1", "2"], [0.2], ["FAIL"]), calls=20)
    assert {each.source for each in empty.of(ExperienceFelt) if each.experience != "FOK"} == {
        "feel"
    }
    memory = remembering(case("a"), case("b", "wrong"))
    knowing = episode(settings, Model(["1", "2"], [0.2], ["FAIL"]), memory=memory, calls=20)
    for ran in (empty, knowing):
        named = [(e.experience, e.round) for e in ran.of(ExperienceFelt)]
        assert len(named) == len(set(named))
    first = knowing.of(ExperienceFelt)[0]
    assert first.source == "assess"


@pytest.mark.claim("mgv-theta")
def test_access_is_a_draw_of_its_own_for_each_case() -> None:
    memory = remembering(case("a"), case("b"), case("c"))
    for reach, held in ((0.0, 0), (1.0, 3)):
        ran = episode(flavell(reach=reach), Model(), memory=memory)
        assert ran.of(CasesReached)[0].held == held
        assert ran.of(CasesReached)[0].near == 3
    share = sum(hash01(7, "reach.0", f"case {at}") < 0.3 for at in range(10_000)) / 10_000
    assert 0.28 <= share <= 0.32


@pytest.mark.claim("mgv-psi")
def test_tuples_are_kept_at_the_encoding_rate() -> None:
    for keep, rounds in ((0.0, ()), (1.0, (0, 1))):
        ran = episode(flavell(keep=keep), Model(["5", "96"], [0.9], ["FAIL", "PASS"]))
        assert ran.of(ExperienceKept)[0].rounds == rounds
        assert len(reflected(ran, flavell())["tuples"]) == len(rounds)
    share = sum(hash01(7, "keep", "s", at) < 0.3 for at in range(10_000)) / 10_000
    assert 0.28 <= share <= 0.32


@pytest.mark.claim("mgv-alg1-l04")
def test_retrieval_begins_with_the_task_alone_and_only_adds() -> None:
    memory = remembering(*(case(f"c{at}", problem=f"{PROBLEM} {at}") for at in range(8)))
    ran = episode(flavell(), Model(["1", "2", "3", "96"], [0.4], ["FAIL"]), memory=memory)
    asked = [question.texts[0] for _, question in ran.asked if isinstance(question, Embed)]
    assert asked[0] == PROBLEM
    assert all(PROBLEM in text and text != PROBLEM for text in asked[1:])
    assert "plain" in asked[1]
    assert "1" in asked[1].splitlines()
    held = [event.held for event in ran.of(CasesReached)]
    assert held == sorted(held)
    names = [name for event in ran.of(CasesReached) for name, _ in event.items]
    assert len(names) == len(set(names))


@pytest.mark.claim("mgv-alg1-l06")
def test_outcomes_change_later_difficulty_only() -> None:
    levels = [
        [each.value for each in felt(episode(flavell(), Model(["1"], [q], ["FAIL"])), "difficulty")]
        for q in (0.2, 0.6)
    ]
    assert levels[0][0] == levels[1][0]
    assert levels[0][1] != levels[1][1]


@pytest.mark.claim("mgv-alg1-l08")
@pytest.mark.parametrize("diagnosis", PRESCRIBED)
def test_each_row_of_the_table(diagnosis: Diagnosis) -> None:
    assert ranked(diagnosis, "stories", {}, ())[0][0] == PRESCRIBED[diagnosis]


@pytest.mark.claim("mgv-alg1-l08")
def test_beliefs_decide_among_those_admitted_and_what_failed_comes_last() -> None:
    trusted = belief("plain", "plan", 9, 10) | belief("complex", "simplify", 9, 10)
    assert [name for name, _ in ranked("plain", "stories", trusted, ())][:2] == ["plan", "direct"]
    assert ranked("plain", "stories", trusted, ("plan",))[-1][0] == "plan"
    assert ranked("plain", "stories", {}, ("direct",))[-1][0] == "direct"
    ran = episode(flavell(), Model(["1", "2"], [0.9], ["FAIL", "PASS"]))
    chosen = [e.strategy for e in ran.of(StrategyMatched) if e.level == "cognitive"]
    assert chosen[0] == "direct"
    assert chosen[1] != "direct"


@pytest.mark.claim("mgv-alg1-l12")
@pytest.mark.parametrize(("scores", "check"), [
    ((1, 0, 0, 0), "coherence"),
    ((0, 1, 0, 0), "plausibility"),
    ((0, 0, 1, 0), "consistency"),
    ((0, 0, 0, 1), "goal-conduciveness"),
    ((0.5, 0.5, 0.5, 0.5), "coherence"),
    ((0.1, 0.5, 0.5, 0.5), "plausibility"),
    ((0.1, 0.2, 0.5, 0.5), "consistency"),
])  # fmt: skip
def test_the_strongest_evaluation_chooses_the_check(scores: list[float], check: str) -> None:
    assert check_for(scores) == check
    assert check in CHECKS


@pytest.mark.claim("mgv-alg1-l12")
def test_evaluative_scores_by_hand() -> None:
    result = Result("96", 0.7, goals=4, results=3, unmet=0.25)
    assert evaluative(result, 0.5) == pytest.approx((0.25, 0.3, 0.2, 0.25))
    assert evaluative(Result(None, 0.0), 0.5)[0] == 1.0
    assert evaluative(Result("a", 1.0, cut=True), 0.5)[0] == 1.0
    assert evaluative(Result("a", 1.0, other_type=True), 0.5)[2] == 1.0
    assert evaluative(Result("a", 1.0, repeats=True), 0.5)[3] == 1.0
    told = [evaluative(Result("a", 1.0, goals=4, results=each), 0.5)[0] for each in (1, 4, 6)]
    assert told == [0.75, 0.0, 0.0]


# ── Tuples and beliefs ───────────────────────────────────────────────────────────────────────


@pytest.mark.claim("mgv-eq-01")
def test_the_tuple_of_each_round() -> None:
    ran = episode(flavell(), Model(["5", "96"], [0.3, 0.9], ["FAIL", "PASS"]))
    summary = reflected(ran, flavell())
    first, second = summary["tuples"]
    assert first == {
        "round": 0,
        "diagnosis": "plain",
        "strategy": "direct",
        "check": "plausibility",
        "verdict": "FAIL",
        "answer": "5",
        "confidence": 0.3,
        "effort": 3,
    }
    assert (second["answer"], second["verdict"], second["confidence"]) == ("96", "PASS", 0.9)
    assert (summary["class"], summary["confidence"], summary["passed"]) == ("stories", 0.9, True)


@pytest.mark.claim("mgv-eq-02")
def test_beliefs_are_added_revised_and_retired() -> None:
    constants = rule_constants(flavell())
    beliefs: dict[str, object] = {}
    for trial in range(1, 8):
        beliefs = update(beliefs, Evidence("k", False, 2, 0.5), constants)
        held = beliefs["k"]
        assert isinstance(held, dict)
        assert (held["trials"], held["solved"], held["effort"]) == (trial, 0, 2 * trial)
        assert held["retired"] == (trial >= 5 and 1 / (trial + 2) < 0.2)
    assert update({}, Evidence("k", True, 1), constants)["k"]["solved"] == 1


@pytest.mark.claim("mgv-eq-02")
def test_folding_twice_is_folding_once() -> None:
    ran = episode(flavell(), Model(["5", "96"], [0.3, 0.9], ["FAIL", "PASS"]))
    member = Measured("p/1", "right", reflected(ran, flavell()), PROBLEM, "96", 6)
    constants = rule_constants(flavell())
    once = after({}, [member], constants)
    assert after(once, [member], constants) == once == after({}, [member, member], constants)
    assert [c["id"] for c in once["cases"]] == ["p/1"]
    told = {key: (b["solved"], b["trials"]) for key, b in once["beliefs"].items()}
    assert told["strategy|stories|complex|direct|low"] == (0, 1), "splitting it solved it"
    assert told["strategy|stories|complex|decompose|high"] == (1, 1)
    earlier = {name: said for name, said in constants.items() if name != "solved_by"}
    as_then = after({}, [member], earlier)["beliefs"]
    assert as_then["strategy|stories|plain|direct|low"]["trials"] == 1, "batches of earlier builds"
    assert told["agent|stories|||high"] == (1, 1)
    unlabelled = after({}, [Measured("p/2", "unknown", member.summary, PROBLEM)], constants)
    assert unlabelled["beliefs"] == {}
    assert len(unlabelled["cases"]) == 1


@pytest.mark.claim("mgv-alg1-l15")
def test_stopping() -> None:
    two = episode(flavell(), Model(["5", "96"], [0.9], ["FAIL", "PASS"]))
    assert (two.result.ended_by, two.result.answer, len(two.asks("reasoner"))) == ("goal", "96", 2)
    doubtful = Model(["96"], [0.3], ["FAIL"])
    assert len(episode(flavell(goal="speed"), doubtful).asks("reasoner")) == 1
    slow = episode(flavell(), Model(["96"], [0.3], ["FAIL"]))
    assert len(slow.asks("reasoner")) == 4
    assert (slow.result.ended_by, slow.result.answer) == ("max_rounds", None)
    assert not [question for _, question in two.asked if isinstance(question, Check)]


# ── Giving up ────────────────────────────────────────────────────────────────────────────────

FAIL, PASS = Gone(False, "1", 0.0), Gone(True, "1", 0.0)
ON = flavell(abandon="on")


@pytest.mark.claim("mgv-abandon-1")
def test_failures() -> None:
    assert criterion([FAIL] * 3, 0, None, ON) == "failures"
    assert criterion([FAIL] * 2, 0, None, ON) is None
    assert criterion([FAIL, FAIL, PASS], 0, None, ON) is None
    ran = episode(ON, Model(["1", "1", "1"], [0.8], ["FAIL"]))
    assert [e.criterion for e in ran.of(EpisodeAbandoned)] == ["failures"]
    assert ran.result.ended_by == "abandoned: failures"
    assert episode(flavell(), Model(["1"], [0.8], ["FAIL"])).of(EpisodeAbandoned) == []


@pytest.mark.claim("mgv-abandon-2")
def test_effort() -> None:
    assert criterion([PASS], 7, 3.0, ON) == "effort"
    assert criterion([PASS], 6, 3.0, ON) is None
    assert criterion([PASS], 7, None, ON) is None
    memory = remembering(*(case(f"c{at}", calls=1) for at in range(5)))
    ran = episode(ON, Model(["1"], [0.4], ["PASS"]), memory=memory)
    assert [e.criterion for e in ran.of(EpisodeAbandoned)] == ["effort"]


@pytest.mark.claim("mgv-abandon-2")
@pytest.mark.parametrize(("usual", "calls"), [((4,) * 6, 9), ((4, 4, 4, 5, 5, 5), 12)])
def test_effort_is_every_call_of_the_problem_and_none_before(
    usual: tuple[int, ...], calls: int
) -> None:
    """Three calls a round: of a median of 4 calls nine are more than twice as many, of one of 4.5 they are not."""
    memory = remembering(*(case(f"c{at}", calls=each) for at, each in enumerate(usual)))
    ran = episode(ON, Model(["1"], [0.4], ["PASS"]), memory=memory)
    assert len(ran.requests) == calls


@pytest.mark.claim("mgv-abandon-3")
def test_displacement() -> None:
    away, near = Gone(True, "1", 0.0, 0.2, 0.3), Gone(True, "1", 0.0, 0.3, 0.2)
    assert criterion([away, away], 0, None, ON) == "displacement"
    assert criterion([away], 0, None, ON) is None
    assert criterion([away, near], 0, None, ON) is None
    assert criterion([PASS, PASS], 0, None, ON) is None


@pytest.mark.claim("mgv-abandon-4")
def test_discrepancy() -> None:
    def far(*unmet: float, answers: str = "1234") -> list[Gone]:
        return [Gone(True, a, d) for d, a in zip(unmet, answers, strict=False)]

    assert criterion(far(0.5, 0.5, 0.5), 0, None, ON) == "discrepancy"
    assert criterion(far(0.5, 0.5), 0, None, ON) is None
    assert criterion(far(0.75, 0.5, 0.5), 0, None, ON) is None
    assert criterion(far(0.5, 0.4, 0.5), 0, None, ON) is None
    assert criterion(far(0.5, 0.5, 0.5, answers="112"), 0, None, ON) is None


@pytest.mark.claim("mgv-prefix")
def test_monitoring_recovers_from_a_wrong_first_strategy() -> None:
    """The simulator fails whatever is tried first."""

    def locked(question: Complete) -> str:
        right = question.template.name != "attempt.direct"
        work = dict(question.variables).get("candidate", "") == "96"
        match question.role:
            case "reasoner":
                return solved("96" if right else "5")
            case "confidence":
                return sure(0.9)
            case _:
                return checked("PASS" if work else "FAIL")

    assert episode(flavell(), locked).result.answer == "96"
    off = episode(flavell(monitor="off"), locked)
    assert off.result.answer is None
    assert {q.template.name for q in off.asks("reasoner")} == {"attempt.direct"}
    assert [q.draw for q in off.asks("reasoner")] == list(range(4))


@pytest.mark.claim("mgv-levels")
def test_the_meta_level_may_ask_how_hard_it_is() -> None:
    """One counted call, about features or all of the problem."""
    turn = count()

    def model(question: Complete) -> str:
        if question.template.name == "appraise":
            next(turn)
            shown = dict(question.variables)
            assert bool(shown["features"]) != bool(shown["problem"])
            return "Difficulty: 0.9\nSource: unclear sequence"
        return Model()(question)

    for view in ("features", "full"):
        ran = episode(flavell(assess="verbal", monitor_view=view), model)
        assert ran.of(StrategyMatched)[0].strategy == "plan"
    assert next(turn) == 2
    assert len(ran.of(Embedded)) == 1
    assert TASK.problem == PROBLEM
