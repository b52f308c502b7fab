"""A cascade whose memory starts from another policy's: MC²'s rules for the Reasoner, or a graph memory's principles."""

from __future__ import annotations

from dataclasses import replace

import pytest

from handlers.learning.graph import PRINCIPLE
from handlers.policies.cascade import CASCADE
from handlers.policies.cascade.warm import warm_start
from schemas.events.graph import ExperienceShown
from schemas.events.learning import LessonDistilled
from schemas.identity import text_digest
from schemas.memory import Memory, MemoryItem
from schemas.questions import Recall
from state.folds.learned import Learned
from state.folds.succession import next_memory
from tests.handlers.policies.cascade.says import episode, says, settings
from tests.handlers.policies.cascade.test_arms import taught
from tests.papers.mc2_says import full_memory, knowing
from tests.scripted import NO_MEMORY

SOURCE = "words/mc2/main/0"


def started(source: Memory) -> Memory:
    """Version 0 of a cascade's scope that starts from this memory."""
    said = Learned()
    for at, fact in enumerate(warm_start(source)):
        said.feed(str(at), fact)
    return next_memory(Memory("mine", 0), said, 0, 1)


def principle(name: str, text: str) -> MemoryItem:
    return MemoryItem(name, "rule", PRINCIPLE, text, text_digest(text), 1)


def graph(scores: dict[str, int]) -> Memory:
    items = (principle(name, f"Principle {name}.") for name in scores)
    told = {name: {"score": score} for name, score in scores.items()}
    return replace(knowing(*items), learned={"principles": told})


def test_rules_of_mc2_for_the_reasoner_are_taken_over_without_its_lessons_and_those_of_others() -> (
    None
):
    source = full_memory()
    zero = started(source)
    assert [(item.kind, item.role, item.id, item.text) for item in zero.items] == [
        ("rule", "reasoner", item.id, item.text) for item in source.of("reasoner", "rule")
    ]
    assert len(zero.items) == 6
    assert CASCADE.warm_source(settings(warm_start=SOURCE)) == SOURCE


def test_of_a_graph_memory_the_six_strongest_principles_are_taken_over_but_none_that_is_retired() -> (
    None
):
    held = graph({"m1": 3, "m2": 9, "m3": 5, "m4": 5, "m5": 1, "m6": 4, "m7": 2, "m8": 8})
    retired = next(item for item in held.items if item.id == "m2")
    source = replace(
        held,
        items=tuple(item for item in held.items if item is not retired),
        aside=((1, retired),),
    )
    [fact] = warm_start(source)
    assert [name for name, _ in fact.rules] == ["m8", "m3", "m4", "m6", "m1", "m7"]
    assert {item.id for item in started(source).items} == {name for name, _ in fact.rules}
    assert {item.role for item in started(source).items} == {"reasoner"}


def test_a_memory_that_knows_neither_teaches_nothing() -> None:
    assert warm_start(NO_MEMORY) == ()
    assert warm_start(taught(0.9)) == (), "lessons stay with the scope that learned them"


@pytest.mark.parametrize("source", [full_memory(), graph({"m1": 3, "m2": 9})])
def test_the_guided_chain_of_the_first_problem_is_given_them(source: Memory) -> None:
    own = settings(arms=("guided",), warm_start=SOURCE)
    zero = started(source)
    ran = episode([says(1), says(2), says(31)], own, memory=zero)
    [recall] = [question for _, question in ran.asked if isinstance(question, Recall)]
    assert recall.kinds == ("rule", "lesson")
    [fact] = ran.of(ExperienceShown)
    assert (fact.items, fact.scores) == (tuple(item.id for item in zero.items), ())
    guidance = dict(ran.requests[2].variables)["guidance"]
    assert guidance == "\n".join(f"{item.id}: {item.text}" for item in zero.items)
    cold = episode([says(1), says(2)], settings(arms=("guided",)), memory=zero)
    assert cold.of(ExperienceShown) == [], "without the setting nothing is looked up in version 0"


def test_they_stay_when_its_own_lessons_come_and_stand_before_them() -> None:
    said = Learned()
    lesson = next(item for item in taught(0.9).items if item.kind == "lesson")
    fact = LessonDistilled(
        id=lesson.id, role=lesson.role, subject=lesson.subject, text=lesson.text,
        polarity="do",
        evidence=("e",),
        source="0",
        vector=lesson.vector,
    )  # fmt: skip
    said.feed("0", fact)
    zero = started(graph({"m1": 3}))
    one = next_memory(zero, said, 1, 1)
    own = settings(arms=("guided",), warm_start=SOURCE)
    ran = episode(
        [says(1), says(2), says(31)], own, memory=replace(one, learned=taught(0.9).learned)
    )
    assert dict(ran.requests[2].variables)["guidance"] == (
        f"m1: Principle m1.\n\n[{lesson.id}]\n{lesson.text}"
    )
