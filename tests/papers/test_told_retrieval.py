"""Whole episodes of Algorithm 3, told from the first question on."""

from __future__ import annotations

from functools import partial

from tests.papers.mgv_says import SHORT, Model, answered, past, remembering
from tests.papers.told import lines, served, told

retrieve = partial(served, "mgv_retrieval", task=SHORT, logprob=None)


def test_a_search_widens_until_a_threshold_that_fell_is_met() -> None:
    names = ("nine", "four", "five", "ten", "two")
    memory = remembering(*(past(name, knowing=(0.4, 0.2)) for name in names))
    model = Model(["95", None, "96"], [0.4, 0.5])
    ran = retrieve(model, memory, recall_k=1, fok_threshold=9, min_labels=9)
    assert told(ran) == lines(r"""
    0 embed: 12 trays of 8 rolls?
    1 recall query=12 trays of 8 rolls? top=1
    2 cases.reached round=0 items=[[four 0.8452]] near=1 held=1 subject=stories/r1
    3 thresholds.set round=0 confidence=0.7 knowing=9 factor=1 history=[default default]
    4 experience.felt experience=FOK source=assess value=0.6485 inputs=[[known 0.8452] [unknown 0]] round=0
    5 search.steered round=0 intensity=intensive known=0.8452 unknown=0 threshold=9
    6 reasoner attempt.restate max_tokens=8192 logprobs=True
        similar_cases: 12 trays of four rolls? / Answer given: 96 (right)
        problem: 12 trays of 8 rolls?
    """) + answered("7", "95", 0.4, in_round=0) + lines(r"""
    12 thresholds.set round=1 confidence=0.6334 knowing=8.144 factor=0.9048
    13 embed: 12 trays of 8 rolls? / 95
    14 cases.reached round=1 items=[[nine 0.7715] [ten 0.7715]] near=3 held=3
    15 experience.felt experience=FOK source=assess value=0.7031 inputs=[[known 2.788] [unknown 0.6]] round=1
    16 search.steered round=1 intensity=intensive known=2.788 unknown=0.6 threshold=8.144
    17 reasoner attempt.restate max_tokens=8192 logprobs=True (problem as before)
        similar_cases: 12 trays of four rolls? / Answer given: 96 (right) /  / 12 trays of nine rolls? / Answer
            given: 96 (right) /  / 12 trays of ten rolls? / Answer given: 96 (right)
    18 generated round=1 role=reasoner source=17 parse=unreadable
    19 experience.felt experience=confidence source=feel value=0 round=1
    20 thresholds.set round=2 confidence=0.5186 knowing=6.667 factor=0.7408
    21 embed: 12 trays of 8 rolls? / no answer
    22 cases.reached round=2 near=3 held=3
    23 experience.felt experience=FOK source=assess value=0.593 inputs=[[known 2.788] [unknown 1.6]] round=2
    24 search.steered round=2 intensity=intensive known=2.788 unknown=1.6 threshold=6.667
    25 reasoner attempt.restate#1 max_tokens=8192 logprobs=True (similar_cases, problem as before)
    """) + answered("26", "96", 0.5, in_round=2) + lines(r"""
    31 thresholds.set round=3 confidence=0.4246 knowing=5.459 factor=0.6065
    32 embed: 12 trays of 8 rolls? / 96
    33 cases.reached round=3 items=[[two 0.9129]] near=3 held=4
    34 experience.felt experience=FOK source=assess value=0.6266 inputs=[[known 4.201] [unknown 2.1]] round=3
    35 search.steered round=3 intensity=standard known=4.201 unknown=2.1 threshold=5.459
    36 reasoner attempt.direct max_tokens=8192 logprobs=True (problem as before)
        similar_cases: 12 trays of two rolls? / Answer given: 96 (right)
    """) + answered("37", "96", 0.5, in_round=3, known=True) + lines(r"""
    42 experience.kept rounds=[0 1 2 3] of=4
    = (answer=96 ended_by=output confidence=0.5 confidence_source=stated)
    """)


def test_a_search_that_its_limit_ends() -> None:
    ran = retrieve(Model([None, "96"], [0.2]), calls=3)
    assert told(ran) == lines(r"""
    0 embed: 12 trays of 8 rolls?
    1 cases.reached round=0 near=0 held=0 subject=stories/r1
    2 thresholds.set round=0 confidence=0.7 knowing=2 factor=1 history=[default default]
    3 experience.felt experience=FOK source=feel value=0.5 inputs=[[known 0] [unknown 0]] round=0
    4 search.steered round=0 intensity=intensive known=0 unknown=0 threshold=2
    5 reasoner attempt.restate max_tokens=8192 logprobs=True
        problem: 12 trays of 8 rolls?
    6 generated round=0 role=reasoner source=5 parse=unreadable
    7 experience.felt experience=confidence source=feel value=0 round=0
    8 thresholds.set round=1 confidence=0.6334 knowing=1.81 factor=0.9048
    9 experience.felt experience=FOK source=feel value=0.3333 inputs=[[known 0] [unknown 1]] round=1
    10 search.steered round=1 intensity=intensive known=0 unknown=1 threshold=1.81
    11 reasoner attempt.restate#1 max_tokens=8192 logprobs=True (problem as before)
    """) + answered("12", "96", 0.2, in_round=1) + lines(r"""
    17 thresholds.set round=2 confidence=0.5186 knowing=1.482 factor=0.7408
    18 experience.felt experience=FOK source=feel value=0.3 inputs=[[known 0.2] [unknown 1.8]] round=2
    19 search.steered round=2 intensity=stop known=0.2 unknown=1.8 threshold=1.482
    20 experience.kept rounds=[0 1] of=2
    = (answer=96 ended_by=omission confidence=0.2 confidence_source=stated)
    """)


def test_a_search_that_hopes_for_nothing_looks_once() -> None:
    memory = remembering(past("nine", "wrong"), past("four", "wrong"))
    ran = retrieve(Model([None]), memory, fok_threshold=0)
    assert told(ran) == lines(r"""
    0 embed: 12 trays of 8 rolls?
    1 recall query=12 trays of 8 rolls? top=1
    2 cases.reached round=0 items=[[four 0.8452] [nine 0.8452]] near=2 held=2 subject=stories/r1
    3 thresholds.set round=0 confidence=0.7 knowing=0 factor=1 history=[default default]
    4 experience.felt experience=FOK source=assess value=0.271 inputs=[[known 0] [unknown 1.69]] round=0
    5 search.steered round=0 intensity=standard known=0 unknown=1.69 threshold=0
    6 reasoner attempt.direct max_tokens=8192 logprobs=True
        problem: 12 trays of 8 rolls?
    7 generated round=0 role=reasoner source=6 parse=unreadable
    8 experience.felt experience=confidence source=feel value=0 round=0
    9 experience.kept rounds=[0] of=1
    = (ended_by=omission)
    """)
