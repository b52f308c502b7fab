"""MC² where the truth is known: SIMULATED worlds in which a lesson harms, or helps, whoever is shown it.

Whether an answer is right is drawn by world and problem, at other odds where the Reasoner's prompt holds the lesson.
It shows that what harms is retired; it says nothing of any model.
"""

from __future__ import annotations

import pytest

from handlers.learning.retire import shared, tallied
from handlers.policies.base import Task
from handlers.policies.mc2 import MC2
from handlers.policies.mc2.settings import Mc2Settings
from schemas.events.learning import LessonDistilled
from schemas.events.reasoning import KnowledgeReached
from schemas.identity import hash01, text_digest
from schemas.memory import Memory, MemoryItem
from schemas.questions import Complete
from schemas.vectors import as_kept, pack
from state.folds.learned import Learned
from state.folds.succession import Measures, next_memory
from tests.papers.mc2_says import audited, coached, solved
from tests.papers.worlds import LEAST, MANY
from tests.scripted import hashed, run

UNHARMED, HARMFUL, HELPFUL = 0.8, 0.2, 1.0
MEMBERS = 10

# ── A lesson in episodes ─────────────────────────────────────────────────────────────────────

LESSON, OTHER = "Guess early.", "Check the units."
KINDS = (
    "How many pens does a shop sell in {} days?",
    "Which word of row {} rhymes with moon?",
)
"""Problems in turn: the lesson is near to the first kind, another one to the second."""
SETTINGS = Mc2Settings.resolve(
    "service", {"guidance": "lessons", "lessons_shown": 1, "relevance_floor": None}
)
BATCHES = 3


def lesson(name: str, text: str, about: str) -> MemoryItem:
    vector = pack(as_kept(hashed(about)))
    return MemoryItem(name, "lesson", "reasoner", text, text_digest(text), 1, vector=vector)


BEGUN = Memory("s", 1, (lesson("L1.R1", LESSON, KINDS[0]), lesson("L1.R2", OTHER, KINDS[1])))


def lived(world: int, at: int, memory: Memory, with_it: float) -> tuple[tuple[str, ...], str, str]:
    """Marks of the lessons that an episode had in its prompts, its outcome, and the Reasoner's guidance."""

    def said(question: Complete) -> str:
        seen = dict(question.variables)
        match question.role:
            case "composer":
                return coached(question, seen["lessons"].partition("\n")[2])
            case "reasoner":
                odds = with_it if LESSON in seen["guidance"] else UNHARMED
                return solved("right" if hash01(world, at) < odds else "wrong")
            case _:
                return audited("NO")

    task = Task(f"q{at}", KINDS[at % 2].format(at), "d", world, memory.number)
    ran = run(MC2.solve(task, SETTINGS), said, memory=memory)
    items = [item for fact in ran.of(KnowledgeReached) for item in fact.items]
    marks = tuple(item.mark for item in memory.items if item.id in items)
    return (
        marks,
        ran.result.answer or "withheld",
        dict(ran.asks("reasoner")[0].variables)["guidance"],
    )


def after_batches(world: int, with_it: float) -> Memory:
    """The memory that batches of labelled problems leave."""
    memory = BEGUN
    for batch in range(BATCHES):
        members = range(batch * MEMBERS, (batch + 1) * MEMBERS)
        episodes = [lived(world, at, memory, with_it)[:2] for at in members]
        assert all(marks for marks, _ in episodes), "a lesson stands in every prompt"
        standing = tallied(memory.standing, shared(memory.standing, episodes))
        measures = Measures(memory.learned, standing, None, MC2.retirement)
        memory = next_memory(memory, Learned(), memory.number + 1, 1, measures)
    return memory


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_where_a_lesson_harms_it_is_retired_and_shown_no_more() -> None:
    assert LESSON in lived(0, 0, BEGUN, HARMFUL)[2], "it is shown until then"
    memories = [after_batches(world, HARMFUL) for world in range(MANY)]
    gone = sum(LESSON not in lived(0, 1_000, memory, HARMFUL)[2] for memory in memories)
    assert gone >= LEAST, gone
    assert all(OTHER in [item.text for item in memory.items] for memory in memories)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_where_a_lesson_helps_it_stays() -> None:
    memories = [after_batches(world, HELPFUL) for world in range(MANY)]
    stays = sum(LESSON in lived(0, 1_000, memory, HELPFUL)[2] for memory in memories)
    assert stays >= LEAST, stays


# ── In other words ───────────────────────────────────────────────────────────────────────────

REWORDED = ("Guess early.", "Guess, and early.", "Early on, guess.", "Guess, early.")


def relearned(seed: int, batch: int, rule: str, memory: Memory) -> Memory:
    """The next version of a memory to which each batch brings the harmful lesson in other words, with one that is not.

    Lessons live for three batches; whichever of them are in service are shown in turn, every other time.
    """
    live = [item for item in memory.items if item.text in REWORDED]
    episodes: list[tuple[tuple[str, ...], str]] = []
    for at in range(MEMBERS):
        shown = live[at // 2 % len(live)] if live and at % 2 == 0 else None
        chance = UNHARMED if shown is None else HARMFUL
        right = hash01(seed, batch, at) < chance
        marks = () if shown is None else (shown.mark,)
        episodes.append((marks, "right" if right else "wrong"))
    alike = rule == "opportunities@2"
    standing = tallied(memory.standing, shared(memory.standing, episodes) if alike else episodes)
    learned, number = Learned(), memory.number + 1
    text = REWORDED[batch % len(REWORDED)]
    said = LessonDistilled(
        id=f"L{number}.R1", role="reasoner", polarity="do", text=text, subject="d/x",
        evidence=(), source="0", vector=pack(as_kept(hashed("guess early"))),
    )  # fmt: skip
    learned.feed("0", said)
    return next_memory(memory, learned, number, number - 2, Measures({}, standing, None, rule))


def test_a_lesson_that_harms_does_not_come_back_in_other_words() -> None:
    """Each of its names is gone before it was seen ten times; together they are seen often enough."""
    gone = dict.fromkeys(("opportunities@1", "opportunities@2"), 0)
    for seed in range(MANY):
        for rule in gone:
            memory = Memory("s", 0)
            for batch in range(12):
                memory = relearned(seed, batch, rule, memory)
            gone[rule] += not any(item.text in REWORDED for item in memory.items)
    assert gone["opportunities@2"] >= LEAST, gone
    assert gone["opportunities@1"] <= 0.2 * MANY, gone
