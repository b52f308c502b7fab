"""Whole episodes of Algorithm 1, told from the first question on: what is felt, decided, shown and kept."""

from __future__ import annotations

from functools import partial
from typing import Any

from schemas.questions import Complete
from tests.papers.mc2_says import solved
from tests.papers.mgv_says import SHORT, Model, answered, belief, past, remembering
from tests.papers.told import lines, served, told, wrapped

flavell = partial(served, "mgv_flavell", task=SHORT, logprob=None)

TRIED = """\
0 embed: 12 trays of 8 rolls?
1 cases.reached round=0 near=0 held=0 subject=stories/r1
2 experience.felt experience=difficulty source=feel value=0.5 inputs=[[h 0.5] [cases 0]] round=0
3 strategy.matched level=cognitive strategy=direct diagnosis=plain rates=[[direct 0.5] [decompose 0.5] [define
        0.5] [example 0.5] [plan 0.5] [simplify 0.5]] round=0
4 reasoner attempt.direct max_tokens=8192 logprobs=True
    problem: 12 trays of 8 rolls?
"""
"""How it is told that nothing is remembered, and the first strategy is tried."""


def doubted(answer: str, *, sure: float, doubt: float, progress: float) -> str:
    """How it is told that the first answer is doubted, and a monitor asked whether it is plausible."""
    found = f"[fragmented 0] [doubtful {doubt}] [unexpected 0] [uncertain progress {progress}]"
    return (
        TRIED.rstrip()
        + answered("5", answer, sure, in_round=0)
        + wrapped(f"""\
10 experience.felt experience=evaluative source=feel value={doubt} inputs=[{found}] round=0
11 strategy.matched level=metacognitive strategy=plausibility diagnosis=doubtful round=0
12 monitor check.plausibility temperature=0 max_tokens=8192 (problem, trajectory as before)
    goal: An answer of the type asked for, that was checked and can be relied upon.
    candidate: {answer}
""")
    )


def test_regulation_without_memory_changes_its_strategy_after_a_failure() -> None:
    ran = flavell(Model(["95", "96"], [0.9, 0.8], ["FAIL", "PASS"]))
    assert told(ran) == doubted("95", sure=0.9, doubt=0.1, progress=0) + lines(r"""
    13 monitor.reported round=0 flag=YES source=12 parse=ok
    14 experience.felt experience=difficulty source=feel value=0.3 inputs=[[h 0.5] [cases 0]] round=1
    15 strategy.matched level=cognitive strategy=decompose diagnosis=plain rates=[[decompose 0.5] [define 0.5]
            [example 0.5] [plan 0.5] [simplify 0.5] [direct 0.3333]] round=1
    16 reasoner attempt.decompose max_tokens=8192 logprobs=True (problem as before)
        earlier_answer: 95
        finding: as it looks from here.
    """) + answered("17", "96", 0.8, in_round=1) + lines(r"""
    22 experience.felt experience=evaluative source=feel value=0.2 inputs=[[fragmented 0] [doubtful 0.2] [unexpected
            0] [uncertain progress 0]] round=1
    23 strategy.matched level=metacognitive strategy=plausibility diagnosis=doubtful round=1
    24 monitor check.plausibility temperature=0 max_tokens=8192 (problem, goal, trajectory as before)
        candidate: 96
    25 monitor.reported round=1 flag=NO source=24 parse=ok
    26 experience.kept rounds=[0 1] of=2
    = (answer=96 ended_by=goal confidence=0.8 confidence_source=stated)
    """)


def test_regulation_with_cases_knows_what_to_expect() -> None:
    cases = past("nine"), past("four", "wrong", answer=None)
    memory = remembering(*cases, beliefs=belief("plain", "plan", 9, 10))
    ran = flavell(Model(["many", "96"], [0.6, 0.8], ["FAIL", "PASS"]), memory)
    assert told(ran) == lines(r"""
    0 embed: 12 trays of 8 rolls?
    1 recall query=12 trays of 8 rolls? top=1
    2 cases.reached round=0 items=[[four 0.8452] [nine 0.8452]] near=2 held=2 subject=stories/r1
    3 experience.felt experience=difficulty source=assess value=0.5 inputs=[[h 0.5] [cases 2]] round=0
    4 strategy.matched level=cognitive strategy=plan diagnosis=plain rates=[[plan 0.8333] [direct 0.5] [decompose
            0.5] [define 0.5] [example 0.5] [simplify 0.5]] round=0
    5 reasoner attempt.plan max_tokens=8192 logprobs=True
        problem: 12 trays of 8 rolls?
    """) + answered("6", "many", 0.6, in_round=0) + lines(r"""
    11 experience.felt experience=evaluative source=assess value=1 inputs=[[fragmented 0] [doubtful 0.4] [unexpected
            1] [uncertain progress 0.6667]] round=0
    12 strategy.matched level=metacognitive strategy=consistency diagnosis=unexpected round=0
    13 monitor check.consistency temperature=0 max_tokens=8192 (problem, trajectory as before)
        goal: An answer of the type asked for, that was checked and can be relied upon.
        candidate: many
        similar_cases: 12 trays of four rolls? / Answer given: none (wrong) /  / 12 trays of nine rolls? / Answer
            given: 96 (right)
    14 monitor.reported round=0 flag=YES source=13 parse=ok
    15 embed: Step 1: try. / Final_answer: \boxed{many}
    16 embed: 12 trays of 8 rolls? / plain / unexpected / many
    17 cases.reached round=1 near=2 held=2
    18 experience.felt experience=difficulty source=assess value=0.4787 inputs=[[h 0.5] [cases 2]] round=1
    19 strategy.matched level=cognitive strategy=direct diagnosis=plain rates=[[direct 0.5] [decompose 0.5] [define
            0.5] [example 0.5] [simplify 0.5] [plan 0.7692]] round=1
    20 reasoner attempt.direct max_tokens=8192 logprobs=True (problem as before)
        earlier_answer: many
        finding: as it looks from here.
    """) + answered("21", "96", 0.8, in_round=1) + lines(r"""
    26 experience.felt experience=evaluative source=assess value=0.3 inputs=[[fragmented 0] [doubtful 0.2]
            [unexpected 0.3] [uncertain progress 0]] round=1
    27 strategy.matched level=metacognitive strategy=consistency diagnosis=unexpected round=1
    28 monitor check.consistency temperature=0 max_tokens=8192 (problem, goal, trajectory, similar_cases as before)
        candidate: 96
    29 monitor.reported round=1 flag=NO source=28 parse=ok
    30 experience.kept rounds=[0 1] of=2
    = (answer=96 ended_by=goal confidence=0.8 confidence_source=stated)
    """)


def test_regulation_that_asks_for_features_of_the_difficulty() -> None:
    def appraised(question: Complete) -> str:
        if question.template.name == "appraise":
            return "Difficulty: 0.8\nSource: unknown terms"
        said = {"reasoner": solved("96"), "confidence": "Confidence=0.9"}
        return said.get(question.role, "Verdict: PASS\nFinding: fine.")

    ways: dict[str, Any] = {
        "assess": "verbal",
        "monitor_view": "features",
        "signal": "blend",
        "imposed": "external",
    }
    ran = flavell(appraised, remembering(past("nine")), **ways)
    assert told(ran) == lines(r"""
    0 embed: 12 trays of 8 rolls?
    1 recall query=12 trays of 8 rolls? top=1
    2 cases.reached round=0 items=[[nine 0.8452]] near=1 held=1 subject=stories/r1
    3 monitor appraise temperature=0 max_tokens=8192
        features: 5 words, 2 quantities, 2 clauses
        similar_cases: 12 trays of nine rolls? / Answer given: 96 (right)
    4 experience.felt experience=difficulty source=blend value=0.6129 inputs=[[h 0.5] [cases 1]] round=0
    5 strategy.matched level=cognitive strategy=define diagnosis=unknown terms rates=[[define 0.5] [direct 0.5]
            [decompose 0.5] [example 0.5] [plan 0.5] [simplify 0.5]] round=0
    6 reasoner attempt.define max_tokens=8192 logprobs=True
        problem: 12 trays of 8 rolls?
    7 generated round=0 role=reasoner answer=96 source=6 parse=ok
    9 confidence confidence.A temperature=0 max_tokens=8192 (problem as before)
        trajectory: Step 1: try. / Final_answer: \boxed{96}
    10 confidence.stated node=6 value=0.9 source=9 wording=A parse=first
    11 experience.felt experience=confidence source=blend value=0.9 inputs=[[verbal 0.9]] round=0
    12 experience.felt experience=evaluative source=blend value=0.1257 inputs=[[fragmented 0] [doubtful 0.1]
            [unexpected 0.1257] [uncertain progress 0]] round=0
    13 strategy.matched level=metacognitive strategy=consistency diagnosis=unexpected round=0
    14 monitor check.consistency temperature=0 max_tokens=8192 (problem, trajectory, similar_cases as before)
        goal: This goal was set from outside. An answer of the type asked for, that was checked and can be relied
            upon.
        candidate: 96
    15 monitor.reported round=0 flag=NO source=14 parse=ok
    16 experience.kept rounds=[0] of=1
    = (answer=96 ended_by=goal confidence=0.9 confidence_source=stated)
    """)


def test_regulation_spares_the_check_of_what_has_no_answer() -> None:
    ran = flavell(Model([None, None, None]), max_rounds=3, fail_run=2)
    assert told(ran) == TRIED + lines(r"""
    5 generated round=0 role=reasoner source=4 parse=unreadable
    6 experience.felt experience=difficulty source=feel value=0.75 inputs=[[h 0.5] [cases 0]] round=1
    7 strategy.matched level=cognitive strategy=decompose diagnosis=complex rates=[[decompose 0.5] [define 0.5]
            [example 0.5] [plan 0.5] [simplify 0.5] [direct 0.5]] round=1
    8 reasoner attempt.decompose max_tokens=8192 logprobs=True (problem as before)
    9 generated round=1 role=reasoner source=8 parse=unreadable
    10 episode.abandoned round=1 criterion=failures
    11 experience.kept rounds=[0 1] of=2
    = (ended_by=abandoned: failures)
    """)


DOUBTED_AND_FAILED = (
    doubted("95", sure=0.6, doubt=0.4, progress=0.3333)
    + lines("""
    13 monitor.reported round=0 flag=YES source=12 parse=ok
    14 experience.felt experience=difficulty source=feel value=0.45 inputs=[[h 0.5] [cases 0]] round=1
    15 strategy.matched level=cognitive strategy=decompose diagnosis=plain rates=[[decompose 0.5] [define 0.5]
            [example 0.5] [plan 0.5] [simplify 0.5] [direct 0.3333]] round=1
    """)
    + "\n"
)


def test_regulation_that_its_limit_ends_gives_the_best() -> None:
    ran = flavell(Model(["95", "96"], [0.6, 0.5], ["FAIL"]), calls=5)
    assert told(ran) == DOUBTED_AND_FAILED + lines(r"""
    16 reasoner attempt.decompose max_tokens=8192 logprobs=True (problem as before)
        earlier_answer: 95
        finding: as it looks from here.
    """) + answered("17", "96", 0.5, in_round=1) + lines(r"""
    22 experience.felt experience=evaluative source=feel value=0.5 inputs=[[fragmented 0] [doubtful 0.5] [unexpected
            0] [uncertain progress 0.3333]] round=1
    23 strategy.matched level=metacognitive strategy=plausibility diagnosis=doubtful round=1
    24 limit.reached which=calls
    25 experience.kept rounds=[0 1] of=2
    = (answer=95 ended_by=limit confidence=0.6 confidence_source=stated limit=calls)
    """)


def test_regulation_whose_limit_strikes_before_the_second_attempt() -> None:
    ran = flavell(Model(["95"], [0.6], ["FAIL"]), calls=3)
    assert told(ran) == DOUBTED_AND_FAILED + lines(r"""
    16 limit.reached which=calls
    17 experience.kept rounds=[0 1] of=2
    = (answer=95 ended_by=limit confidence=0.6 confidence_source=stated limit=calls)
    """)


def test_regulation_without_monitoring() -> None:
    ran = flavell(Model(["95"], [0.6], ["FAIL"]), monitor="off", max_rounds=1, goal="speed")
    assert told(ran) == lines(r"""
    0 embed: 12 trays of 8 rolls?
    1 cases.reached round=0 near=0 held=0 subject=stories/r1
    2 strategy.matched level=cognitive strategy=direct diagnosis=plain rates=[[direct 0.5]] round=0
    3 reasoner attempt.direct max_tokens=8192 logprobs=True
        problem: 12 trays of 8 rolls?
    """) + answered("4", "95", 0.6, in_round=0) + lines(r"""
    9 experience.felt experience=evaluative source=feel value=0.4 inputs=[[fragmented 0] [doubtful 0.4] [unexpected
            0] [uncertain progress 0]] round=0
    10 strategy.matched level=metacognitive strategy=plausibility diagnosis=doubtful round=0
    11 monitor check.plausibility temperature=0 max_tokens=8192 (problem, trajectory as before)
        goal: An answer of the type asked for, soon.
        candidate: 95
    12 monitor.reported round=0 flag=YES source=11 parse=ok
    13 experience.kept rounds=[0] of=1
    = (answer=95 ended_by=goal confidence=0.6 confidence_source=stated)
    """)


def test_regulation_where_a_check_that_cannot_be_read_counts_as_a_failure() -> None:
    def mute(question: Complete) -> str:
        said = {"reasoner": solved("96"), "confidence": "Confidence=0.9"}
        return said.get(question.role, "Hm.")

    ran = flavell(mute, unread="zero", max_rounds=2)
    assert told(ran) == doubted("96", sure=0.9, doubt=0.1, progress=0) + lines(r"""
    13 reply.reparsed role=monitor source=12 reason=Finding: missing
    14 monitor check.plausibility temperature=0 max_tokens=8192 (problem, goal, candidate, trajectory as before)
        assistant: Hm.
        user: This reply could not be read. Finding: missing. Write the whole reply again, in the [...]
    15 monitor.reported round=0 source=14 parse=fallback
    16 experience.felt experience=difficulty source=feel value=0.3 inputs=[[h 0.5] [cases 0]] round=1
    17 strategy.matched level=cognitive strategy=decompose diagnosis=plain rates=[[decompose 0.5] [define 0.5]
            [example 0.5] [plan 0.5] [simplify 0.5] [direct 0.3333]] round=1
    18 reasoner attempt.decompose max_tokens=8192 logprobs=True (problem as before)
    """) + answered("19", "96", 0.9, in_round=1, known=True) + lines(r"""
    24 experience.felt experience=evaluative source=feel value=1 inputs=[[fragmented 0] [doubtful 0.1] [unexpected
            0] [uncertain progress 1]] round=1
    25 strategy.matched level=metacognitive strategy=goal-conduciveness diagnosis=uncertain progress round=1
    26 monitor check.goal-conduciveness temperature=0 max_tokens=8192 (problem, goal, candidate, trajectory as
            before)
    27 reply.reparsed role=monitor source=26 reason=Finding: missing
    28 monitor check.goal-conduciveness temperature=0 max_tokens=8192 (problem, goal, candidate, trajectory as
            before)
        assistant: Hm.
        user: This reply could not be read. Finding: missing. Write the whole reply again, in the [...]
    29 monitor.reported round=1 source=28 parse=fallback
    30 experience.kept rounds=[0 1] of=2
    = (answer=96 ended_by=max_rounds confidence=0.9 confidence_source=stated)
    """)
