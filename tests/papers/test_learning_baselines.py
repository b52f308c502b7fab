"""Baselines with a memory of their own making: templates, thought cards, evolved instructions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import cos, radians, sin
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.policies.base import Batch, Conclusion, Member, Task
from handlers.policies.baselines.buffer_of_thought import GENERAL, novel
from handlers.policies.baselines.evo_prompt import FIRST, Instruction, fittest, parents
from handlers.policies.baselines.hiar_icl.cards import (
    STANDARD,
    Card,
    Path,
    cards_of,
    complexity,
    matched,
)
from handlers.policies.baselines.hiar_icl.offline import Node, Search, followers
from handlers.policies.baselines.hiar_icl.solve import affordable
from handlers.policies.registry import find
from handlers.roles.atomic import ACTIONS
from schemas.events.graph import ExperienceShown
from schemas.events.learning import (
    KnowledgeConsolidated,
    LessonDistilled,
    LessonDropped,
)
from schemas.events.search import ThoughtsKept, ValueBackedUp
from schemas.events.strategy import StrategyChosen
from schemas.identity import text_digest
from schemas.memory import Memory, MemoryItem
from schemas.questions import Complete
from schemas.vectors import pack
from state.folds.memory import Learned, next_memory
from tests.papers.mc2_says import solved
from tests.reflections import reflected
from tests.scripted import Ran, Script, Vectors, hashed, run, shown

EMPTY = Memory("s", 0)
GAME = "4 5 6 10"
RIGHT, WRONG = "(10 - 4) * 5 - 6", "4 + 5 + 6 + 10"


def solve(
    name: str,
    script: Script,
    memory: Memory = EMPTY,
    vectors: Vectors = hashed,
    calls: int | None = None,
    problem: str = GAME,
    **values: Any,
) -> Ran[Conclusion]:
    policy = find(name)
    task = Task("q1", problem, "game24", seed=1, memory_version=memory.number)
    settings = policy.settings.resolve("paper", values)
    return run(policy.solve(task, settings), script, memory=memory, vectors=vectors, calls=calls)


def member(name: str, problem: str = GAME, **summary: Any) -> Member:
    told = reflected(problem_id=name, domain="game24", problem=problem, summary=summary)
    return Member(f"p/game24/{name}/run", told, "unknown")


def learn(
    name: str,
    members: Sequence[Member],
    script: Script,
    memory: Memory = EMPTY,
    vectors: Vectors = hashed,
    calls: int | None = None,
    **values: Any,
) -> tuple[Memory, Ran[None]]:
    """The memory after a batch, as the fold makes it, and the learning episode."""
    policy = find(name)
    batch = Batch("s", memory.number + 1, tuple(members), memory, seed=7)
    settings = policy.settings.resolve("paper", values)
    ran = run(policy.learn(batch, settings), script, memory=memory, vectors=vectors, calls=calls)
    kept = Learned()
    for address, event in ran.events:
        kept.feed(address, event)
    return next_memory(memory, kept, batch.number, 1), ran


def rules(role: str, *texts: str) -> Memory:
    items = [
        MemoryItem(id=f"R{at}", kind="rule", role=role, text=t, text_digest=text_digest(t), batch=1)
        for at, t in enumerate(texts, 1)
    ]
    return Memory("s", 1, tuple(items))


# ── Buffer of thoughts ───────────────────────────────────────────────────────────────────────

DISTILLED = "Descriptor: pairs of numbers\nKey_facts:\n- four numbers\nGoal: make 24"
INSTANTIATED = {"distiller": [DISTILLED], "reasoner": [solved(RIGHT)]}


def turned(degrees: float) -> tuple[float, float]:
    """A vector at this angle to the query's: their cosine is that of the angle."""
    return cos(radians(degrees)), sin(radians(degrees))


def angled(text: str) -> tuple[float, float]:
    """Texts that end in an angle lie at it; all others are the query."""
    found = re.search(r"(?:at|kind) (\d+)", text)
    return turned(float(found[1])) if found else turned(0)


def buffer(*degrees: int) -> Memory:
    items = [
        MemoryItem(
            id=f"T1.{at}",
            kind="lesson",
            role="template",
            text=f"template at {angle}",
            text_digest=text_digest(f"template at {angle}"),
            batch=1,
            subject=f"game24/t{at}",
            vector=pack(turned(angle)),
        )
        for at, angle in enumerate(degrees, 1)
    ]
    return Memory("s", 1, tuple(items))


@pytest.mark.claim("bl-bot")
def test_a_problem_is_distilled_and_a_template_instantiated() -> None:
    ran = solve("buffer_of_thought", INSTANTIATED)
    assert ran.roles == ["distiller", "reasoner"]
    assert GENERAL in shown(ran.requests[1])
    assert "Goal: make 24" in shown(ran.requests[1])
    assert (ran.result.answer, ran.result.ended_by) == (RIGHT, "answered")


SIMILARITY = [((50, 70), None), ((60,), "template at 60"), ((70, 30, 50), "template at 30")]


@pytest.mark.claim("bl-bot")
@pytest.mark.parametrize(("angles", "expected"), SIMILARITY)
def test_a_template_is_retrieved_from_the_threshold_on(
    angles: tuple[int, ...], expected: str | None
) -> None:
    """cos 50° = .643, 60° = .5, 30° = .866; as near as the threshold is near enough."""
    threshold = 0.65 if expected is None else 0.4999
    ran = solve("buffer_of_thought", INSTANTIATED, buffer(*angles), angled, threshold=threshold)
    assert (expected or GENERAL) in shown(ran.requests[1])
    assert len(ran.of(ExperienceShown)) == (expected is not None)


@pytest.mark.claim("bl-bot")
def test_no_problem_is_shown_its_own_template() -> None:
    own = buffer(0).items[0]._replace(subject="game24/q1")
    ran = solve("buffer_of_thought", INSTANTIATED, Memory("s", 1, (own,)), angled)
    assert GENERAL in shown(ran.requests[1])


@pytest.mark.claim("bl-bot")
def test_only_novel_templates_are_kept() -> None:
    """Against what is held, and against what the same batch has kept before."""
    members = [member(str(at), answer=RIGHT, solution="I combined.") for at in (20, 100, 140, 190)]

    def manage(question: Complete) -> str:
        at = len(asked)
        asked.append(question)
        return f"Descriptor: kind {(20, 100, 140, 190)[at]}\nRecipe:\n- combine"

    asked: list[Complete] = []
    memory, ran = learn("buffer_of_thought", members, manage, buffer(0), angled, threshold=0.6)
    assert [event.id for event in ran.of(LessonDistilled)] == ["T2.2", "T2.4"]
    assert len(ran.of(LessonDropped)) == 2  # 20° is near 0°, 140° near 100°
    kept = {item.id: item for item in memory.items}
    assert kept["T2.4"].vector == pack(turned(190))
    assert "Recipe:\n- combine" in kept["T2.4"].text
    found = solve("buffer_of_thought", INSTANTIATED, memory, lambda text: turned(188))
    assert "kind 190" in shown(found.requests[1])


@pytest.mark.claim("bl-bot")
def test_only_solved_problems_leave_a_template() -> None:
    _, ran = learn("buffer_of_thought", [member("a", answer=None, solution="")], [])
    assert ran.events == []


@given(st.lists(st.floats(0, 360), max_size=8), st.floats(0.1, 0.95))
def test_kept_templates_are_unlike_each_other(angles: list[float], threshold: float) -> None:
    vectors = [turned(angle) for angle in angles]
    kept = novel([], vectors, threshold)
    pairs = [(vectors[a], vectors[b]) for a in kept for b in kept if a < b]
    assert all(x[0] * y[0] + x[1] * y[1] < threshold + 1e-8 for x, y in pairs)
    assert (0 in kept) == bool(angles)


# ── HiAR-ICL ─────────────────────────────────────────────────────────────────────────────────


def thought(text: str, answer: str | None = None) -> str:
    state = "OPEN" if answer is None else f"ANSWERED\nFinal_answer: ### {answer} ###"
    return f"Thought: {text}\nState: {state}"


def action_of(question: Complete) -> str:
    return question.template.name.removeprefix("atomic.")


@pytest.mark.claim("bl-hiar")
def test_until_there_are_cards_standard_ones_vote() -> None:
    ran = solve("hiar_icl", lambda q: thought("well", RIGHT if q.draw else WRONG))
    assert [action_of(question) for question in ran.requests] == ["reason", "analyse", "reason"]
    assert [fact.arm for fact in ran.of(StrategyChosen)] == [card.name for card in STANDARD]
    assert (ran.result.answer, ran.result.confidence) == (WRONG, 0.5)


@pytest.mark.claim("bl-hiar")
@pytest.mark.parametrize("profile", ["paper", "service"])
def test_a_step_that_cannot_be_read_is_taken_as_it_is(profile: str) -> None:
    """Each action is one call, whatever comes back: the budget of a way is its length."""
    policy = find("hiar_icl")
    task = Task("q1", GAME, "game24", seed=1)
    settings = policy.settings.resolve(profile, {"matched": 1})
    ran = run(policy.solve(task, settings), lambda q: "Well." if q.role == "thinker" else RIGHT)
    roles = [question.role for question in ran.requests]
    assert roles.count("thinker") == len(STANDARD[0].path)


CARDS = [Card(4, ("reason",)), Card(9, ("analyse", "divide")), Card(6, ("divide", "refine"))]
MATCHES = [
    (4, 1, ["reason"]),
    (5, 1, ["reason"]),  # a tie: the first seen
    (9, 2, ["analyse > divide", "divide > refine"]),
    (30, 3, ["analyse > divide", "divide > refine", "reason"]),
]


@pytest.mark.claim("bl-hiar")
@pytest.mark.parametrize(("wanted", "count", "names"), MATCHES)
def test_cards_are_matched_by_complexity(wanted: int, count: int, names: list[str]) -> None:
    assert [card.name for card in matched(CARDS, wanted, count)] == names
    twice = [*CARDS, Card(wanted, ("divide", "refine"))]
    assert [card.path for card in matched(twice, wanted, 9)].count(("divide", "refine")) == 1


@pytest.mark.claim("bl-hiar")
def test_matched_cards_are_carried_out_and_vote() -> None:
    memory = rules("card", "(complexity 5) analyse > reason", "(complexity 90) divide")
    ran = solve("hiar_icl", lambda q: thought("so", RIGHT), memory, matched=1)
    assert [action_of(question) for question in ran.requests] == ["analyse", "reason"]
    assert "[Step 1]\nso" in shown(ran.requests[1])
    assert ran.of(StrategyChosen)[0].scores == (("analyse > reason", 0.0),)
    assert ran.result.answer == RIGHT


@pytest.mark.claim("bl-hiar")
def test_complexity_is_read_off_the_text() -> None:
    assert complexity(GAME) == 5  # four quantities, one clause
    assert complexity("Ada has 3 boxes, and each holds 12 eggs.") == 2 + 4
    assert cards_of([Card(5, ("analyse", "reason")).text]) == [Card(5, ("analyse", "reason"))]
    assert cards_of(["(complexity 5) guess", "no card"]) == []


@pytest.mark.claim("bl-hiar")
def test_the_offline_search_keeps_the_shortest_way_that_came_out_right() -> None:
    """Only what is reasoned after an analysis is right here; each way is carried to its end."""

    def model(question: Complete) -> str:
        if action_of(question) != "reason":
            return thought(f"{action_of(question)} done")
        analysed = "analyse done" in shown(question)
        return thought("reasoned", RIGHT if analysed else WRONG)

    memory, ran = learn("hiar_icl", [member("a"), member("b")], model)
    first = [action_of(question) for question in ran.requests[:7]]
    assert first == ["analyse", "reason", "step", "reason", "reason", "divide", "reason"]
    assert [item.text for item in memory.items] == ["(complexity 5) analyse > reason"]
    backed = ran.of(ValueBackedUp)
    assert backed[0].path == (("analyse", 1, 1.0), ("analyse > reason", 1, 1.0))
    assert backed[1].path[0] == ("step", 1, 0.0)
    assert backed[4].path[0][0] == "analyse"  # the best so far is gone into further


@pytest.mark.claim("bl-hiar")
def test_later_batches_leave_the_cards_alone() -> None:
    cards = rules("card", "(complexity 5) analyse > reason")
    memory, ran = learn("hiar_icl", [member("a")], [], cards)
    assert ran.events == []
    assert [item.text for item in memory.items] == ["(complexity 5) analyse > reason"]


@pytest.mark.claim("bl-hiar")
def test_a_limit_of_the_offline_phase_keeps_the_cards_found_by_then() -> None:
    memory, ran = learn("hiar_icl", [member("a")], lambda q: thought("so", RIGHT), calls=1)
    assert len(ran.requests) == 1
    assert [item.text for item in memory.items] == ["(complexity 5) analyse"]


def test_cards_that_the_limit_does_not_cover_are_left_out() -> None:
    assert affordable(CARDS, 3) == CARDS[:2]
    assert affordable(CARDS, 4) == CARDS[:2]
    assert affordable(CARDS[1:], 1) == CARDS[1:2]
    assert affordable(CARDS, None) == CARDS


@pytest.mark.claim("bl-hiar")
def test_what_may_follow_an_action() -> None:
    settings = find("hiar_icl").settings.resolve("service", {"depth": 3})
    search = Search(member("a"), settings)
    ways: dict[Path, str | None] = {
        ("analyse",): None,
        ("reason",): RIGHT,
        ("reason", "refine"): RIGHT,
        ("analyse", "step"): None,
    }
    search.nodes |= {path: Node("so", answer) for path, answer in ways.items()}
    every = list(ACTIONS)
    assert followers((), search) == [action for action in every if action != "refine"]
    assert followers(("analyse",), search) == [each for each in every if each != "analyse"]
    assert followers(("analyse", "step"), search) == [each for each in every if each != "step"]
    assert followers(("reason",), search) == ["refine"]
    assert followers(("reason", "refine"), search) == []
    assert followers(("analyse", "step", "reason"), search) == []


# ── EvoPrompt ────────────────────────────────────────────────────────────────────────────────


def instruction_of(question: Complete) -> str:
    return dict(question.variables)["instruction"]


@pytest.mark.claim("bl-evo")
def test_one_call_under_the_best_instruction() -> None:
    ran = solve("evo_prompt", [solved(RIGHT)])
    assert instruction_of(ran.requests[0]) == FIRST[0]
    memory = rules("instruction", "Try products first.", "Guess.")
    ran = solve("evo_prompt", [solved(RIGHT)], memory)
    assert len(ran.requests) == 1
    assert instruction_of(ran.requests[0]) == "Try products first."
    assert (ran.result.answer, ran.result.ended_by) == (RIGHT, "answered")


def breeding(question: Complete) -> str:
    """Of all instructions only a bred one leads to the answer, and one of the first in part."""
    if question.role == "consolidator":
        return f"New_wording: bred {question.draw}"
    words = instruction_of(question)
    return solved(RIGHT if words.startswith("bred 5") or words == FIRST[2] else WRONG)


@pytest.mark.claim("bl-evo")
def test_a_population_evolves_on_a_sample() -> None:
    members = [member(str(at)) for at in range(3)]
    memory, ran = learn("evo_prompt", members, breeding, sample=2, generations=1)
    first, second = ran.of(ThoughtsKept)
    assert first.values == (("I1", 0.0), ("I2", 0.0), ("I3", 1.0), ("I4", 0.0))
    assert [value for _, value in second.values] == [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]
    assert [item.text for item in memory.items][:2] == [FIRST[2], "bred 5"]
    scored = [q for q in ran.requests if q.role == "reasoner"]
    bred = [q for q in ran.requests if q.role == "consolidator"]
    assert (len(scored), len(bred)) == ((4 + 4) * 2, 4)  # two problems each, a child a place
    assert all(FIRST[2] in shown(question) for question in bred)  # the only parent with a score


WHEELS = [
    ((1.0, 0.0, 0.0), 0.99, 0.0, (0, 1)),
    ((1.0, 0.0, 0.0), 0.99, 0.6, (0, 2)),
    ((0.25, 0.75, 0.0), 0.24, 0.5, (0, 1)),
    ((0.25, 0.75, 0.0), 0.26, 0.5, (1, 0)),
    ((0.0, 0.0, 0.0), 0.5, 0.9, (1, 2)),
    ((0.5,), 0.5, 0.5, (0, 0)),
]


@pytest.mark.claim("bl-evo")
@pytest.mark.parametrize(("scores", "one", "other", "places"), WHEELS)
def test_parents_by_roulette_wheel(
    scores: tuple[float, ...], one: float, other: float, places: tuple[int, int]
) -> None:
    assert parents([Instruction("", "", score) for score in scores], one, other) == places


@pytest.mark.claim("bl-evo")
def test_the_fittest_survive_ties_first_seen() -> None:
    rivals = [Instruction(name, name, s) for name, s in (("a", 0.5), ("b", 0.7), ("c", 0.5))]
    assert [each.name for each in fittest(rivals, 2)] == ["b", "a"]


@pytest.mark.claim("bl-evo")
def test_a_limit_of_the_offline_phase_keeps_what_was_scored_by_then() -> None:
    memory, ran = learn("evo_prompt", [member("a")], breeding, calls=4)
    assert len(ran.requests) == 4
    assert memory.items[0].text == FIRST[2]
    again, later = learn("evo_prompt", [member("a")], [], memory)
    assert later.of(KnowledgeConsolidated) == []
    assert again.items == memory.items


@pytest.mark.claim("bl-evo")
def test_each_child_has_parents_of_its_own_draws() -> None:
    """Where no instruction has a score all are as likely; the draws are the batch's and the child's."""

    def failing(question: Complete) -> str:
        return "New_wording: other" if question.role == "consolidator" else solved(WRONG)

    _, ran = learn("evo_prompt", [member("a")], failing, sample=1, generations=2)
    pairs = [
        tuple(FIRST.index(dict(q.variables)[f"{at}_instruction"]) for at in ("first", "second"))
        for q in ran.asks("consolidator")
    ]
    assert pairs[:4] == [(1, 2), (0, 1), (1, 2), (0, 3)]
    assert pairs[4:] != pairs[:4], "later generations draw anew"
    assert all(one != other for one, other in pairs)
