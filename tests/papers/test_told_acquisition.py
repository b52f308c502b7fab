"""Whole episodes of Algorithm 2, told from the first question on."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from handlers.policies.base import Task
from handlers.policies.mgv import MGV_ACQUISITION
from handlers.policies.mgv.acquisition import acquire
from handlers.policies.mgv.parts import part
from handlers.policies.mgv.settings import AcquisitionSettings
from schemas.answer_type import AnswerType
from schemas.questions import Complete
from tests.papers.mc2_says import solved
from tests.papers.mgv_says import SHORT, Model, answered, case, past, remembering
from tests.papers.told import lines, served, told
from tests.scripted import run

acquire_alone = partial(served, "mgv_acquisition", task=SHORT, logprob=None)


def test_acquisition_alone_studies_until_its_norm_is_met() -> None:
    ran = acquire_alone(
        Model(["95", "96", "96", "96"], [0.95]),
        remembering(past("nine")),
        calls=7,
    )
    assert told(ran) == lines(r"""
    1 embed: 12 trays of 8 rolls?
    2 recall query=12 trays of 8 rolls? top=1
    3 cases.reached round=0 items=[[nine 0.8452]] near=1 held=1 subject=stories/r1
    4 thresholds.set round=0 confidence=0.99 factor=1.1 history=[default]
    5 experience.felt experience=EOL source=assess value=0.6485 inputs=[[h 0.5] [cases 1]] round=1
    6 allocated round=1 total=2 shares=[[stories/r1 2]]
    7 forked lanes=1 allow=[2]
    7.0.0 strategy.matched level=cognitive strategy=direct diagnosis=plain rates=[[direct 0.5] [decompose 0.5]
            [define 0.5] [example 0.5] [plan 0.5] [simplify 0.5]] round=1
    7.0.1 reasoner attempt.direct max_tokens=8192 logprobs=True
        problem: 12 trays of 8 rolls?
    """) + answered("7.0.2", "95", 0.95, in_round=1) + lines(r"""
    7.0.7 experience.felt experience=JOL source=feel value=0.95 inputs=[[confidence 0.95] [equal 0]] round=1
    8 embed: 12 trays of 8 rolls? / 0.6 / 95
    9 cases.reached round=2 near=1 held=1
    10 experience.felt experience=FOK source=assess value=0.7269 inputs=[[known 1.795] [unknown 0.05]] round=2
    11 allocated round=2 total=2 shares=[[stories/r1 2]]
    12 forked lanes=1 allow=[2]
    12.0.0 strategy.matched level=cognitive strategy=direct diagnosis=plain rates=as before round=2
    12.0.1 reasoner attempt.direct#1 max_tokens=8192 logprobs=True (problem as before)
    """) + answered("12.0.2", "96", 0.95, in_round=2) + lines(r"""
    12.0.7 experience.felt experience=JOL source=feel value=0.95 inputs=[[confidence 0.95] [equal 0]] round=2
    13 embed: 12 trays of 8 rolls? / 0.7 / 96
    14 cases.reached round=3 near=1 held=1
    15 experience.felt experience=FOK source=assess value=0.773 inputs=[[known 2.745] [unknown 0.1]] round=3
    16 allocated round=3 total=3 shares=[[stories/r1 3]]
    17 forked lanes=1 allow=[3]
    17.0.0 strategy.matched level=cognitive strategy=direct diagnosis=plain rates=as before round=3
    17.0.1 reasoner attempt.direct#2 max_tokens=8192 logprobs=True (problem as before)
    17.0.2 generated round=3 role=reasoner answer=96 source=17.0.1 parse=ok
    17.0.3 reasoner attempt.direct#3 max_tokens=8192 logprobs=True (problem as before)
    17.0.4 generated round=3 role=reasoner answer=96 source=17.0.3 parse=ok
    17.0.5 reasoner attempt.direct#4 max_tokens=8192 logprobs=True (problem as before)
    17.0.6 generated round=3 role=reasoner answer=96 source=17.0.5 parse=ok
    17.0.7 voted answer=96 votes=3 of=3 unreadable=0
    17.0.8 experience.felt experience=confidence source=feel value=1 inputs=[[agreement 1]] round=3
    17.0.9 experience.felt experience=JOL source=feel value=1.1 inputs=[[confidence 1] [equal 1]] round=3
    18 experience.kept rounds=[1 2 3] of=3
    = (answer=96 ended_by=mastered confidence=1 confidence_source=vote_share)
    """)


def test_acquisition_that_nobody_could_read() -> None:
    def unread(question: Complete) -> str:
        return solved("96") if question.role == "reasoner" else "Hm."

    ran = acquire_alone(unread, calls=6, max_rounds=2, confidence="verbal")
    assert told(ran) == lines(r"""
    1 embed: 12 trays of 8 rolls?
    2 cases.reached round=0 near=0 held=0 subject=stories/r1
    3 thresholds.set round=0 confidence=0.99 factor=1.1 history=[default]
    4 experience.felt experience=EOL source=feel value=0.5 inputs=[[h 0.5] [cases 0]] round=1
    5 allocated round=1 total=3 shares=[[stories/r1 3]]
    6 forked lanes=1 allow=[3]
    6.0.0 strategy.matched level=cognitive strategy=direct diagnosis=plain rates=[[direct 0.5] [decompose 0.5]
            [define 0.5] [example 0.5] [plan 0.5] [simplify 0.5]] round=1
    6.0.1 reasoner attempt.direct max_tokens=8192
        problem: 12 trays of 8 rolls?
    6.0.2 generated round=1 role=reasoner answer=96 source=6.0.1 parse=ok
    6.0.4 confidence confidence.A temperature=0 max_tokens=8192 (problem as before)
        trajectory: Step 1: try. / Final_answer: \boxed{96}
    6.0.5 reply.reparsed role=confidence source=6.0.4 reason=not in the format asked
    6.0.6 confidence confidence.A temperature=0 max_tokens=8192 (problem, trajectory as before)
        assistant: Hm.
        user: State it again in exactly this form, and write nothing else: / Confidence: 0.xx
    6.0.7 confidence.stated node=6.0.1 source=6.0.6 wording=A parse=defaulted
    6.0.8 experience.felt experience=confidence source=feel round=1
    6.0.9 experience.felt experience=JOL source=feel round=1
    7 experience.felt experience=FOK source=feel value=0.5 inputs=[[known 0] [unknown 0]] round=2
    8 allocated round=2 total=3 shares=[[stories/r1 3]]
    9 forked lanes=1 allow=[3]
    9.0.0 strategy.matched level=cognitive strategy=direct diagnosis=plain rates=as before round=2
    9.0.1 reasoner attempt.direct#1 max_tokens=8192 (problem as before)
    9.0.2 generated round=2 role=reasoner answer=96 source=9.0.1 parse=ok
    9.0.4 confidence confidence.A temperature=0 max_tokens=8192 (problem, trajectory as before)
    9.0.5 reply.reparsed role=confidence source=9.0.4 reason=not in the format asked
    9.0.6 confidence confidence.A temperature=0 max_tokens=8192 (problem, trajectory as before)
        assistant: Hm.
        user: State it again in exactly this form, and write nothing else: / Confidence: 0.xx
    9.0.7 confidence.stated node=9.0.1 source=9.0.6 wording=A parse=defaulted
    9.0.8 experience.felt experience=confidence source=feel round=2
    9.0.9 experience.felt experience=JOL source=feel round=2
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
    0 embed: A hard one?
    1 cases.reached round=0 near=0 held=0 subject=stories/a
    2 embed: 12 trays of 8 rolls?
    3 cases.reached round=0 near=0 held=0 subject=stories/r1
    4 thresholds.set round=0 confidence=0.99 factor=1.1 history=[default]
    5 experience.felt experience=EOL source=feel value=0.5 inputs=[[h 0.5] [cases 0]] round=1 subject=stories/a
    6 experience.felt experience=EOL source=feel value=0.5 inputs=[[h 0.5] [cases 0]] round=1 subject=stories/r1
    7 allocated round=1 total=4 shares=[[stories/a 2] [stories/r1 2]]
    8 forked lanes=2 allow=[2 2]
    8.0.0 strategy.matched level=cognitive strategy=direct diagnosis=plain rates=[[direct 0.5] [decompose 0.5]
            [define 0.5] [example 0.5] [plan 0.5] [simplify 0.5]] round=1 subject=stories/a
    8.0.1 reasoner attempt.direct max_tokens=8192
        problem: A hard one?
    """) + answered("8.0.2", "7", 0.4, in_round=1, cap=512) + lines(r"""
    8.0.7 experience.felt experience=JOL source=feel value=0.4 inputs=[[confidence 0.4] [equal 0]] round=1
    8.1.0 strategy.matched level=cognitive strategy=direct diagnosis=plain rates=as before round=1
            subject=stories/r1
    8.1.1 reasoner attempt.direct max_tokens=8192
        problem: 12 trays of 8 rolls?
    """) + answered("8.1.2", "96", 1, in_round=1, cap=512) + lines(r"""
    8.1.7 experience.felt experience=JOL source=feel value=1 inputs=[[confidence 1] [equal 0]] round=1
    9 experience.felt experience=FOK source=feel value=0.4667 inputs=[[known 0.4] [unknown 0.6]] round=2
            subject=stories/a
    10 allocated round=2 total=2 shares=[[stories/a 2]]
    11 forked lanes=1 allow=[2]
    11.0.0 strategy.matched level=cognitive strategy=direct diagnosis=plain rates=as before round=2
    11.0.1 reasoner attempt.direct#1 max_tokens=8192
        problem: A hard one?
    """) + answered("11.0.2", "7", 0.4, in_round=2, cap=512) + lines(r"""
    11.0.7 experience.felt experience=JOL source=feel value=0.44 inputs=[[confidence 0.4] [equal 1]] round=2
    12 experience.kept rounds=[1 2] of=2
    13 experience.kept rounds=[1] of=1
    = [(answer=7 ended_by=max_rounds confidence=0.4 confidence_source=stated) (answer=96 ended_by=mastered
            confidence=1 confidence_source=stated)]
    """)


def test_a_norm_that_was_learned_from_how_much_was_lost_by_the_test() -> None:
    outcomes = ("right", "right", "right", "wrong", "wrong")
    memory = remembering(
        *(case(f"c{at}", each, confidence=0.7) for at, each in enumerate(outcomes))
    )
    ran = acquire_alone(Model(["96"], [0.9]), memory, calls=2, max_rounds=1)
    assert told(ran) == lines(r"""
    1 embed: 12 trays of 8 rolls?
    2 recall query=12 trays of 8 rolls? top=1
    3 cases.reached round=0 items=[[c0 0.5] [c1 0.5] [c2 0.5]] near=3 held=3 subject=stories/r1
    4 thresholds.set round=0 confidence=1.05 factor=1.167 history=[domain]
    5 experience.felt experience=EOL source=assess value=0.7143 inputs=[[h 0.5] [cases 3]] round=1
    6 allocated round=1 total=2 shares=[[stories/r1 2]]
    7 forked lanes=1 allow=[2]
    7.0.0 strategy.matched level=cognitive strategy=direct diagnosis=plain rates=[[direct 0.5] [decompose 0.5]
            [define 0.5] [example 0.5] [plan 0.5] [simplify 0.5]] round=1
    7.0.1 reasoner attempt.direct max_tokens=8192 logprobs=True
        problem: 12 trays of 8 rolls?
    """) + answered("7.0.2", "96", 0.9, in_round=1) + lines(r"""
    7.0.7 experience.felt experience=JOL source=feel value=0.9 inputs=[[confidence 0.9] [equal 0]] round=1
    8 experience.kept rounds=[1] of=1
    = (answer=96 ended_by=max_rounds confidence=0.9 confidence_source=stated)
    """)


def test_a_strategy_that_led_to_no_answer_comes_last() -> None:
    ran = acquire_alone(Model([None, "96"], [1.0]), calls=2, max_rounds=2)
    assert told(ran) == lines(r"""
    1 embed: 12 trays of 8 rolls?
    2 cases.reached round=0 near=0 held=0 subject=stories/r1
    3 thresholds.set round=0 confidence=0.99 factor=1.1 history=[default]
    4 experience.felt experience=EOL source=feel value=0.5 inputs=[[h 0.5] [cases 0]] round=1
    5 allocated round=1 total=1 shares=[[stories/r1 1]]
    6 forked lanes=1 allow=[1]
    6.0.0 strategy.matched level=cognitive strategy=direct diagnosis=plain rates=[[direct 0.5] [decompose 0.5]
            [define 0.5] [example 0.5] [plan 0.5] [simplify 0.5]] round=1
    6.0.1 reasoner attempt.direct max_tokens=8192 logprobs=True
        problem: 12 trays of 8 rolls?
    6.0.2 generated round=1 role=reasoner source=6.0.1 parse=unreadable
    6.0.3 experience.felt experience=JOL source=feel value=0 inputs=[[confidence 0] [equal 0]] round=1
    7 experience.felt experience=FOK source=feel value=0.3333 inputs=[[known 0] [unknown 1]] round=2
    8 allocated round=2 total=1 shares=[[stories/r1 1]]
    9 forked lanes=1 allow=[1]
    9.0.0 strategy.matched level=cognitive strategy=direct diagnosis=complex rates=[[decompose 0.5] [define 0.5]
            [example 0.5] [plan 0.5] [simplify 0.5] [direct 0.5]] round=2
    9.0.1 reasoner attempt.direct#1 max_tokens=8192 logprobs=True (problem as before)
    9.0.2 generated round=2 role=reasoner answer=96 source=9.0.1 parse=ok
    9.0.3 experience.felt experience=JOL source=feel value=0 inputs=[[confidence 0] [equal 0]] round=2
    10 experience.kept rounds=[1 2] of=2
    = (answer=96 ended_by=max_rounds confidence=0)
    """)


def test_a_form_that_is_mended_takes_the_call_of_the_judgement_and_stops_nobody() -> None:
    task = replace(SHORT, answer_type=AnswerType(type="number"))
    settings = AcquisitionSettings.resolve("service", {"max_rounds": 2})
    said = {"reasoner": [solved("many"), solved("96")] * 2, "confidence": []}
    ran = run(MGV_ACQUISITION.solve(task, settings), said, calls=4)
    assert told(ran) == lines(r"""
    1 embed: 12 trays of 8 rolls?
    2 cases.reached round=0 near=0 held=0 subject=stories/r1
    3 thresholds.set round=0 confidence=0.99 factor=1.1 history=[default]
    4 experience.felt experience=EOL source=feel value=0.5 inputs=[[h 0.5] [cases 0]] round=1
    5 allocated round=1 total=2 shares=[[stories/r1 2]]
    6 forked lanes=1 allow=[2]
    6.0.0 strategy.matched level=cognitive strategy=direct diagnosis=plain rates=[[direct 0.5] [decompose 0.5]
            [define 0.5] [example 0.5] [plan 0.5] [simplify 0.5]] round=1
    6.0.1 reasoner attempt.direct max_tokens=8192 logprobs=True
        problem: The answer is one number, without its unit. /  / 12 trays of 8 rolls?
    6.0.2 reply.reparsed role=reasoner source=6.0.1 reason=Final_answer: is no number
    6.0.3 reasoner attempt.direct max_tokens=8192 logprobs=True (problem as before)
        assistant: Step 1: try. / Final_answer: \boxed{many}
        user: This reply could not be read. Final_answer: is no number. Write the whole reply [...]
    6.0.4 generated round=1 role=reasoner answer=96 source=6.0.3 parse=ok
    6.0.6 limit.reached which=calls
    6.0.7 experience.felt experience=JOL source=feel value=0 inputs=[[confidence 0] [equal 0]] round=1
    7 experience.felt experience=FOK source=feel value=0.3333 inputs=[[known 0] [unknown 1]] round=2
    8 allocated round=2 total=2 shares=[[stories/r1 2]]
    9 forked lanes=1 allow=[2]
    9.0.0 strategy.matched level=cognitive strategy=decompose diagnosis=complex rates=[[decompose 0.5] [direct 0.5]
            [define 0.5] [example 0.5] [plan 0.5] [simplify 0.5]] round=2
    9.0.1 reasoner attempt.decompose#1 max_tokens=8192 logprobs=True (problem as before)
    9.0.2 reply.reparsed role=reasoner source=9.0.1 reason=Final_answer: is no number
    9.0.3 reasoner attempt.decompose#1 max_tokens=8192 logprobs=True (problem as before)
        assistant: Step 1: try. / Final_answer: \boxed{many}
        user: This reply could not be read. Final_answer: is no number. Write the whole reply [...]
    9.0.4 generated round=2 role=reasoner answer=96 source=9.0.3 parse=ok
    9.0.6 limit.reached which=calls
    9.0.7 experience.felt experience=JOL source=feel value=0 inputs=[[confidence 0] [equal 1]] round=2
    10 experience.kept rounds=[1 2] of=2
    = (answer=96 ended_by=max_rounds confidence=0)
    """)


def test_each_member_s_part_of_a_set_is_what_was_asked_felt_and_done_for_it() -> None:
    memory = remembering(past("nine"), case("hard", "wrong", problem="A hard one?"))
    tasks = [(replace(SHORT, memory_version=1), 4), (Task("a", "A hard one?", "stories", 7, 1), 4)]
    settings = AcquisitionSettings.resolve("service", {"max_rounds": 2, "confidence": "verbal"})
    model = Model(["1", "2", "3", "4"], [0.4])
    ran = run(acquire(tasks, settings), model, memory=memory, calls=8)
    both = {6, 9, 10, 17, 18}  # the norm, what was shared out, and where lanes begin
    for member, lane, own in (
        ("r1", 0, {0, 1, 2, 7, 11, 12, 13, 19}),
        ("a", 1, {3, 4, 5, 8, 14, 15, 16, 20}),
    ):
        found = [at for at, _ in part(ran.trace, f"stories/{member}").events]
        assert {int(at) for at in found if "." not in at} == both | own
        lanes = [at for at in found if "." in at]
        assert lanes == [
            at for at, _ in ran.events if at.startswith((f"10.{lane}.", f"18.{lane}."))
        ]
        assert lanes
