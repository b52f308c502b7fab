"""Whole episodes of Algorithms 2 and 3, told from the first question on."""

from __future__ import annotations

from typing import Any

from handlers.policies.base import Conclusion, Task
from handlers.policies.mgv.acquisition import acquire
from handlers.policies.mgv.settings import AcquisitionSettings, MgvSettings, RetrievalSettings
from schemas.memory import Memory
from schemas.questions import Complete
from tests.papers.mc2_says import solved
from tests.papers.mgv_says import Model, case, episode, remembering
from tests.papers.told import lines, told
from tests.scripted import NO_MEMORY, Ran, Script, run

SHORT = Task("r1", "12 trays of 8 rolls?", "stories", seed=7)


def working(
    kind: type[MgvSettings],
    script: Script,
    memory: Memory = NO_MEMORY,
    calls: int | None = None,
    **values: Any,
) -> Ran[Conclusion]:
    """An episode as a service runs it."""
    settings = kind.resolve("service", values)
    return episode(settings, script, memory=memory, calls=calls, task=SHORT)


def past(name: str, outcome: str = "right", **more: Any) -> dict[str, Any]:
    """A case much like the problem."""
    return case(name, outcome, problem=f"12 trays of {name} rolls?", **more)


def test_acquisition_alone_studies_until_its_norm_is_met() -> None:
    ran = working(
        AcquisitionSettings,
        Model(["95", "96", "96", "96"], [0.95]),
        remembering(past("nine")),
        calls=7,
    )
    assert told(ran) == lines(r"""
    1 embed
        12 trays of 8 rolls?
    2 recall query=12 trays of 8 rolls? top=1
    3 cases.reached round=0 subject=stories/r1 items=[[nine 0.8452]] near=1 held=1
    4 thresholds.set round=0 confidence=0.99 factor=1.1 history=[default]
    5 experience.felt experience=EOL source=assess value=0.6485 inputs=[[h 0.5] [cases 1]] round=1
            subject=stories/r1
    6 allocated round=1 total=2 shares=[[stories/r1 2]]
    7 forked lanes=1 allow=[2]
    7.0.0 strategy.matched level=cognitive strategy=direct diagnosis=plain rates=[[direct 0.5]
            [decompose 0.5] [define 0.5] [example 0.5] [plan 0.5] [simplify 0.5]] round=1
            subject=stories/r1
    7.0.1 reasoner attempt.direct max_tokens=8192 logprobs=True
        problem: 12 trays of 8 rolls?
    7.0.2 generated round=1 role=reasoner answer=95 source=7.0.1 parse=ok
    7.0.4 confidence confidence.A temperature=0 max_tokens=8192
        problem: 12 trays of 8 rolls?
        trajectory: Step 1: try. / Final_answer: \boxed{95}
    7.0.5 confidence.stated node=7.0.1 value=0.95 source=7.0.4 wording=A parse=first
    7.0.6 experience.felt experience=confidence source=feel value=0.95 inputs=[[verbal 0.95]] round=1
            subject=stories/r1
    7.0.7 experience.felt experience=JOL source=feel value=0.95 inputs=[[confidence 0.95] [equal 0]]
            round=1 subject=stories/r1
    8 embed
        12 trays of 8 rolls? / 0.6 / 95
    9 cases.reached round=2 subject=stories/r1 near=1 held=1
    10 experience.felt experience=FOK source=assess value=0.7269 inputs=[[known 1.795] [unknown 0.05]]
            round=2 subject=stories/r1
    11 allocated round=2 total=2 shares=[[stories/r1 2]]
    12 forked lanes=1 allow=[2]
    12.0.0 strategy.matched level=cognitive strategy=direct diagnosis=plain rates=[[direct 0.5]
            [decompose 0.5] [define 0.5] [example 0.5] [plan 0.5] [simplify 0.5]] round=2
            subject=stories/r1
    12.0.1 reasoner attempt.direct#1 max_tokens=8192 logprobs=True
        problem: 12 trays of 8 rolls?
    12.0.2 generated round=2 role=reasoner answer=96 source=12.0.1 parse=ok
    12.0.4 confidence confidence.A temperature=0 max_tokens=8192
        problem: 12 trays of 8 rolls?
        trajectory: Step 1: try. / Final_answer: \boxed{96}
    12.0.5 confidence.stated node=12.0.1 value=0.95 source=12.0.4 wording=A parse=first
    12.0.6 experience.felt experience=confidence source=feel value=0.95 inputs=[[verbal 0.95]] round=2
            subject=stories/r1
    12.0.7 experience.felt experience=JOL source=feel value=0.95 inputs=[[confidence 0.95] [equal 0]]
            round=2 subject=stories/r1
    13 embed
        12 trays of 8 rolls? / 0.7 / 96
    14 cases.reached round=3 subject=stories/r1 near=1 held=1
    15 experience.felt experience=FOK source=assess value=0.773 inputs=[[known 2.745] [unknown 0.1]]
            round=3 subject=stories/r1
    16 allocated round=3 total=3 shares=[[stories/r1 3]]
    17 forked lanes=1 allow=[3]
    17.0.0 strategy.matched level=cognitive strategy=direct diagnosis=plain rates=[[direct 0.5]
            [decompose 0.5] [define 0.5] [example 0.5] [plan 0.5] [simplify 0.5]] round=3
            subject=stories/r1
    17.0.1 reasoner attempt.direct#2 max_tokens=8192 logprobs=True
        problem: 12 trays of 8 rolls?
    17.0.2 generated round=3 role=reasoner answer=96 source=17.0.1 parse=ok
    17.0.3 reasoner attempt.direct#3 max_tokens=8192 logprobs=True
        problem: 12 trays of 8 rolls?
    17.0.4 generated round=3 role=reasoner answer=96 source=17.0.3 parse=ok
    17.0.5 reasoner attempt.direct#4 max_tokens=8192 logprobs=True
        problem: 12 trays of 8 rolls?
    17.0.6 generated round=3 role=reasoner answer=96 source=17.0.5 parse=ok
    17.0.7 voted answer=96 votes=3 of=3 unreadable=0
    17.0.8 experience.felt experience=confidence source=feel value=1 inputs=[[agreement 1]] round=3
            subject=stories/r1
    17.0.9 experience.felt experience=JOL source=feel value=1.1 inputs=[[confidence 1] [equal 1]]
            round=3 subject=stories/r1
    18 experience.kept rounds=[1 2 3] of=3
    = (answer=96 ended_by=mastered confidence=1 confidence_source=vote_share)
    """)


def test_acquisition_that_nobody_could_read() -> None:
    def unread(question: Complete) -> str:
        return solved("96") if question.role == "reasoner" else "Hm."

    ran = working(AcquisitionSettings, unread, calls=6, max_rounds=2, confidence="verbal")
    assert told(ran) == lines(r"""
    1 embed
        12 trays of 8 rolls?
    2 cases.reached round=0 subject=stories/r1 near=0 held=0
    3 thresholds.set round=0 confidence=0.99 factor=1.1 history=[default]
    4 experience.felt experience=EOL source=feel value=0.5 inputs=[[h 0.5] [cases 0]] round=1
            subject=stories/r1
    5 allocated round=1 total=3 shares=[[stories/r1 3]]
    6 forked lanes=1 allow=[3]
    6.0.0 strategy.matched level=cognitive strategy=direct diagnosis=plain rates=[[direct 0.5]
            [decompose 0.5] [define 0.5] [example 0.5] [plan 0.5] [simplify 0.5]] round=1
            subject=stories/r1
    6.0.1 reasoner attempt.direct max_tokens=8192
        problem: 12 trays of 8 rolls?
    6.0.2 generated round=1 role=reasoner answer=96 source=6.0.1 parse=ok
    6.0.4 confidence confidence.A temperature=0 max_tokens=8192
        problem: 12 trays of 8 rolls?
        trajectory: Step 1: try. / Final_answer: \boxed{96}
    6.0.5 reply.reparsed role=confidence source=6.0.4 reason=not in the format asked
    6.0.6 confidence confidence.A temperature=0 max_tokens=8192
        problem: 12 trays of 8 rolls?
        trajectory: Step 1: try. / Final_answer: \boxed{96}
        assistant: Hm.
        user: State it again in exactly this form, and write nothing else: / Confidence: 0.xx
    6.0.7 confidence.stated node=6.0.1 source=6.0.6 wording=A parse=defaulted
    6.0.8 experience.felt experience=confidence source=feel round=1 subject=stories/r1
    6.0.9 experience.felt experience=JOL source=feel round=1 subject=stories/r1
    7 experience.felt experience=FOK source=feel value=0.5 inputs=[[known 0] [unknown 0]] round=2
            subject=stories/r1
    8 allocated round=2 total=3 shares=[[stories/r1 3]]
    9 forked lanes=1 allow=[3]
    9.0.0 strategy.matched level=cognitive strategy=direct diagnosis=plain rates=[[direct 0.5]
            [decompose 0.5] [define 0.5] [example 0.5] [plan 0.5] [simplify 0.5]] round=2
            subject=stories/r1
    9.0.1 reasoner attempt.direct#1 max_tokens=8192
        problem: 12 trays of 8 rolls?
    9.0.2 generated round=2 role=reasoner answer=96 source=9.0.1 parse=ok
    9.0.4 confidence confidence.A temperature=0 max_tokens=8192
        problem: 12 trays of 8 rolls?
        trajectory: Step 1: try. / Final_answer: \boxed{96}
    9.0.5 reply.reparsed role=confidence source=9.0.4 reason=not in the format asked
    9.0.6 confidence confidence.A temperature=0 max_tokens=8192
        problem: 12 trays of 8 rolls?
        trajectory: Step 1: try. / Final_answer: \boxed{96}
        assistant: Hm.
        user: State it again in exactly this form, and write nothing else: / Confidence: 0.xx
    9.0.7 confidence.stated node=9.0.1 source=9.0.6 wording=A parse=defaulted
    9.0.8 experience.felt experience=confidence source=feel round=2 subject=stories/r1
    9.0.9 experience.felt experience=JOL source=feel round=2 subject=stories/r1
    10 experience.kept rounds=[1 2] of=2
    = (answer=96 ended_by=max_rounds)
    """)


def test_a_set_of_two_of_which_one_is_mastered_at_once() -> None:
    def model(question: Complete) -> str:
        hard = "hard" in dict(question.variables)["problem"]
        if question.role == "reasoner":
            return solved("7" if hard else "96")
        return f"Confidence={0.4 if hard else 1.0}"

    members = [(Task("a", "A hard one?", "stories", 7), 4), (SHORT, 4)]
    settings = AcquisitionSettings.resolve("service", {"max_rounds": 2, "confidence": "verbal"})
    ran = run(acquire(members, settings), model, calls=8)
    assert told(ran) == lines(r"""
    0 embed
        A hard one?
    1 cases.reached round=0 subject=stories/a near=0 held=0
    2 embed
        12 trays of 8 rolls?
    3 cases.reached round=0 subject=stories/r1 near=0 held=0
    4 thresholds.set round=0 confidence=0.99 factor=1.1 history=[default]
    5 experience.felt experience=EOL source=feel value=0.5 inputs=[[h 0.5] [cases 0]] round=1
            subject=stories/a
    6 experience.felt experience=EOL source=feel value=0.5 inputs=[[h 0.5] [cases 0]] round=1
            subject=stories/r1
    7 allocated round=1 total=4 shares=[[stories/a 2] [stories/r1 2]]
    8 forked lanes=2 allow=[2 2]
    8.0.0 strategy.matched level=cognitive strategy=direct diagnosis=plain rates=[[direct 0.5]
            [decompose 0.5] [define 0.5] [example 0.5] [plan 0.5] [simplify 0.5]] round=1
            subject=stories/a
    8.0.1 reasoner attempt.direct max_tokens=8192
        problem: A hard one?
    8.0.2 generated round=1 role=reasoner answer=7 source=8.0.1 parse=ok
    8.0.4 confidence confidence.A temperature=0 max_tokens=512
        problem: A hard one?
        trajectory: Step 1: try. / Final_answer: \boxed{7}
    8.0.5 confidence.stated node=8.0.1 value=0.4 source=8.0.4 wording=A parse=first
    8.0.6 experience.felt experience=confidence source=feel value=0.4 inputs=[[verbal 0.4]] round=1
            subject=stories/a
    8.0.7 experience.felt experience=JOL source=feel value=0.4 inputs=[[confidence 0.4] [equal 0]]
            round=1 subject=stories/a
    8.1.0 strategy.matched level=cognitive strategy=direct diagnosis=plain rates=[[direct 0.5]
            [decompose 0.5] [define 0.5] [example 0.5] [plan 0.5] [simplify 0.5]] round=1
            subject=stories/r1
    8.1.1 reasoner attempt.direct max_tokens=8192
        problem: 12 trays of 8 rolls?
    8.1.2 generated round=1 role=reasoner answer=96 source=8.1.1 parse=ok
    8.1.4 confidence confidence.A temperature=0 max_tokens=512
        problem: 12 trays of 8 rolls?
        trajectory: Step 1: try. / Final_answer: \boxed{96}
    8.1.5 confidence.stated node=8.1.1 value=1 source=8.1.4 wording=A parse=first
    8.1.6 experience.felt experience=confidence source=feel value=1 inputs=[[verbal 1]] round=1
            subject=stories/r1
    8.1.7 experience.felt experience=JOL source=feel value=1 inputs=[[confidence 1] [equal 0]] round=1
            subject=stories/r1
    9 experience.felt experience=FOK source=feel value=0.4667 inputs=[[known 0.4] [unknown 0.6]] round=2
            subject=stories/a
    10 allocated round=2 total=2 shares=[[stories/a 2]]
    11 forked lanes=1 allow=[2]
    11.0.0 strategy.matched level=cognitive strategy=direct diagnosis=plain rates=[[direct 0.5]
            [decompose 0.5] [define 0.5] [example 0.5] [plan 0.5] [simplify 0.5]] round=2
            subject=stories/a
    11.0.1 reasoner attempt.direct#1 max_tokens=8192
        problem: A hard one?
    11.0.2 generated round=2 role=reasoner answer=7 source=11.0.1 parse=ok
    11.0.4 confidence confidence.A temperature=0 max_tokens=512
        problem: A hard one?
        trajectory: Step 1: try. / Final_answer: \boxed{7}
    11.0.5 confidence.stated node=11.0.1 value=0.4 source=11.0.4 wording=A parse=first
    11.0.6 experience.felt experience=confidence source=feel value=0.4 inputs=[[verbal 0.4]] round=2
            subject=stories/a
    11.0.7 experience.felt experience=JOL source=feel value=0.44 inputs=[[confidence 0.4] [equal 1]]
            round=2 subject=stories/a
    12 experience.kept rounds=[1 2] of=2
    13 experience.kept rounds=[1] of=1
    = [(answer=7 ended_by=max_rounds confidence=0.4 confidence_source=stated) (answer=96
            ended_by=mastered confidence=1 confidence_source=stated)]
    """)


def test_a_search_widens_until_a_threshold_that_fell_is_met() -> None:
    names = ("nine", "four", "five", "ten", "two")
    memory = remembering(*(past(name, knowing=(0.4, 0.2)) for name in names))
    model = Model(["95", None, "96"], [0.4, 0.5])
    ran = working(RetrievalSettings, model, memory, recall_k=1, fok_threshold=9, min_labels=9)
    assert told(ran) == lines(r"""
    0 embed
        12 trays of 8 rolls?
    1 recall query=12 trays of 8 rolls? top=1
    2 cases.reached round=0 subject=stories/r1 items=[[four 0.8452]] near=1 held=1
    3 thresholds.set round=0 confidence=0.7 knowing=9 factor=1 history=[default default]
    4 experience.felt experience=FOK source=assess value=0.6485 inputs=[[known 0.8452] [unknown 0]]
            round=0 subject=stories/r1
    5 search.steered round=0 intensity=intensive known=0.8452 unknown=0 threshold=9
    6 reasoner attempt.restate max_tokens=8192 logprobs=True
        problem: 12 trays of 8 rolls?
        similar_cases: 12 trays of four rolls? / Answer given: 96 (right)
    7 generated round=0 role=reasoner answer=95 source=6 parse=ok
    9 confidence confidence.A temperature=0 max_tokens=8192
        problem: 12 trays of 8 rolls?
        trajectory: Step 1: try. / Final_answer: \boxed{95}
    10 confidence.stated node=6 value=0.4 source=9 wording=A parse=first
    11 experience.felt experience=confidence source=feel value=0.4 inputs=[[verbal 0.4]] round=0
            subject=stories/r1
    12 thresholds.set round=1 confidence=0.6334 knowing=8.144 factor=0.9048
    13 embed
        12 trays of 8 rolls? / 95
    14 cases.reached round=1 subject=stories/r1 items=[[nine 0.7715] [ten 0.7715]] near=3 held=3
    15 experience.felt experience=FOK source=assess value=0.7031 inputs=[[known 2.788] [unknown 0.6]]
            round=1 subject=stories/r1
    16 search.steered round=1 intensity=intensive known=2.788 unknown=0.6 threshold=8.144
    17 reasoner attempt.restate max_tokens=8192 logprobs=True
        problem: 12 trays of 8 rolls?
        similar_cases: 12 trays of four rolls? / Answer given: 96 (right) /  / 12 trays of nine rolls? /
            Answer given: 96 (right) /  / 12 trays of ten rolls? / Answer given: 96 (right)
    18 generated round=1 role=reasoner source=17 parse=unreadable
    19 experience.felt experience=confidence source=feel value=0 round=1 subject=stories/r1
    20 thresholds.set round=2 confidence=0.5186 knowing=6.667 factor=0.7408
    21 embed
        12 trays of 8 rolls? / no answer
    22 cases.reached round=2 subject=stories/r1 near=3 held=3
    23 experience.felt experience=FOK source=assess value=0.593 inputs=[[known 2.788] [unknown 1.6]]
            round=2 subject=stories/r1
    24 search.steered round=2 intensity=intensive known=2.788 unknown=1.6 threshold=6.667
    25 reasoner attempt.restate#1 max_tokens=8192 logprobs=True
        problem: 12 trays of 8 rolls?
        similar_cases: 12 trays of four rolls? / Answer given: 96 (right) /  / 12 trays of nine rolls? /
            Answer given: 96 (right) /  / 12 trays of ten rolls? / Answer given: 96 (right)
    26 generated round=2 role=reasoner answer=96 source=25 parse=ok
    28 confidence confidence.A temperature=0 max_tokens=8192
        problem: 12 trays of 8 rolls?
        trajectory: Step 1: try. / Final_answer: \boxed{96}
    29 confidence.stated node=25 value=0.5 source=28 wording=A parse=first
    30 experience.felt experience=confidence source=feel value=0.5 inputs=[[verbal 0.5]] round=2
            subject=stories/r1
    31 thresholds.set round=3 confidence=0.4246 knowing=5.459 factor=0.6065
    32 embed
        12 trays of 8 rolls? / 96
    33 cases.reached round=3 subject=stories/r1 items=[[two 0.9129]] near=3 held=4
    34 experience.felt experience=FOK source=assess value=0.6266 inputs=[[known 4.201] [unknown 2.1]]
            round=3 subject=stories/r1
    35 search.steered round=3 intensity=standard known=4.201 unknown=2.1 threshold=5.459
    36 reasoner attempt.direct max_tokens=8192 logprobs=True
        problem: 12 trays of 8 rolls?
        similar_cases: 12 trays of two rolls? / Answer given: 96 (right)
    37 generated round=3 role=reasoner answer=96 source=36 parse=ok
    39 confidence confidence.A temperature=0 max_tokens=8192
        problem: 12 trays of 8 rolls?
        trajectory: Step 1: try. / Final_answer: \boxed{96}
    40 confidence.stated node=36 value=0.5 source=39 wording=A parse=first
    41 experience.felt experience=confidence source=feel value=0.5 inputs=[[verbal 0.5]] round=3
            subject=stories/r1
    42 experience.kept rounds=[0 1 2 3] of=4
    = (answer=96 ended_by=output confidence=0.5 confidence_source=stated)
    """)


def test_a_search_that_its_limit_ends() -> None:
    ran = working(RetrievalSettings, Model([None, "96"], [0.2]), calls=3)
    assert told(ran) == lines(r"""
    0 embed
        12 trays of 8 rolls?
    1 cases.reached round=0 subject=stories/r1 near=0 held=0
    2 thresholds.set round=0 confidence=0.7 knowing=2 factor=1 history=[default default]
    3 experience.felt experience=FOK source=feel value=0.5 inputs=[[known 0] [unknown 0]] round=0
            subject=stories/r1
    4 search.steered round=0 intensity=intensive known=0 unknown=0 threshold=2
    5 reasoner attempt.restate max_tokens=8192 logprobs=True
        problem: 12 trays of 8 rolls?
    6 generated round=0 role=reasoner source=5 parse=unreadable
    7 experience.felt experience=confidence source=feel value=0 round=0 subject=stories/r1
    8 thresholds.set round=1 confidence=0.6334 knowing=1.81 factor=0.9048
    9 experience.felt experience=FOK source=feel value=0.3333 inputs=[[known 0] [unknown 1]] round=1
            subject=stories/r1
    10 search.steered round=1 intensity=intensive known=0 unknown=1 threshold=1.81
    11 reasoner attempt.restate#1 max_tokens=8192 logprobs=True
        problem: 12 trays of 8 rolls?
    12 generated round=1 role=reasoner answer=96 source=11 parse=ok
    14 confidence confidence.A temperature=0 max_tokens=8192
        problem: 12 trays of 8 rolls?
        trajectory: Step 1: try. / Final_answer: \boxed{96}
    15 confidence.stated node=11 value=0.2 source=14 wording=A parse=first
    16 experience.felt experience=confidence source=feel value=0.2 inputs=[[verbal 0.2]] round=1
            subject=stories/r1
    17 thresholds.set round=2 confidence=0.5186 knowing=1.482 factor=0.7408
    18 experience.felt experience=FOK source=feel value=0.3 inputs=[[known 0.2] [unknown 1.8]] round=2
            subject=stories/r1
    19 search.steered round=2 intensity=stop known=0.2 unknown=1.8 threshold=1.482
    20 experience.kept rounds=[0 1] of=2
    = (answer=96 ended_by=omission confidence=0.2 confidence_source=stated)
    """)


def test_a_search_that_hopes_for_nothing_looks_once() -> None:
    memory = remembering(past("nine", "wrong"), past("four", "wrong"))
    ran = working(RetrievalSettings, Model([None]), memory, fok_threshold=0)
    assert told(ran) == lines(r"""
    0 embed
        12 trays of 8 rolls?
    1 recall query=12 trays of 8 rolls? top=1
    2 cases.reached round=0 subject=stories/r1 items=[[four 0.8452] [nine 0.8452]] near=2 held=2
    3 thresholds.set round=0 confidence=0.7 knowing=0 factor=1 history=[default default]
    4 experience.felt experience=FOK source=assess value=0.271 inputs=[[known 0] [unknown 1.69]] round=0
            subject=stories/r1
    5 search.steered round=0 intensity=standard known=0 unknown=1.69 threshold=0
    6 reasoner attempt.direct max_tokens=8192 logprobs=True
        problem: 12 trays of 8 rolls?
        similar_cases: 12 trays of four rolls? / Answer given: 96 (wrong) /  / 12 trays of nine rolls? /
            Answer given: 96 (wrong)
    7 generated round=0 role=reasoner source=6 parse=unreadable
    8 experience.felt experience=confidence source=feel value=0 round=0 subject=stories/r1
    9 experience.kept rounds=[0] of=1
    = (ended_by=omission)
    """)
