"""MC²: the rules of one batch stand in the same prompts, and each of them is measured by itself all the same.

SIMULATED worlds in which one rule of a batch harms whoever is shown it: it is retired alone, and its siblings
stay. It says nothing of any model.

Source: design/mc2.md D13.
"""

from __future__ import annotations

from functools import cache

import pytest
from msgspec import structs

from handlers.learning.retire import ALIKE, BY_ITSELF
from handlers.learning.trials import tried_of
from handlers.policies.base import Conclusion, Task
from handlers.policies.mc2 import MC2
from handlers.policies.mc2.settings import Mc2Settings
from schemas.events.learning import BatchClosed, KnowledgeConsolidated, Reflected
from schemas.events.reasoning import KnowledgeOmitted, KnowledgeReached
from schemas.identity import hash01
from schemas.memory import Memory
from schemas.problem import Limits
from schemas.questions import Complete
from state.folds.learned import Learned
from state.folds.measuring import standing_after
from state.folds.succession import Measures, next_memory
from state.folds.versions import Versions
from streams.core.totals import EpisodeTotals
from tests.papers.mc2_says import (
    audited,
    coached,
    episode,
    full_memory,
    item,
    knowing,
    member,
    solved,
)
from tests.papers.worlds import LEAST, MANY
from tests.scripted import Ran, shown

UNHARMED, HARMED = 0.8, 0.2
MEMBERS, BATCHES = 10, 12
HARMFUL = "Guess before the whole problem is read."
RULES = (
    ("R1", "Name what is sought before the first step."),
    ("R2", "Check each sum by a second way."),
    ("R3", HARMFUL),
    ("R4", "Count what is used before the answer is given."),
    ("R5", "Draw what cannot be said in a line."),
    ("R6", "Read the question again before the answer."),
)
SERVICE = Mc2Settings.resolve("service", {})
ALONE = Mc2Settings.resolve("service", {"roles": "R"})
"""The Reasoner and its composer: what the others do changes nothing here."""


def task(world: int, at: int) -> Task:
    return Task(f"q{at}", f"How many pens are there in row {at}?", "d", world)


def begun() -> Memory:
    """What one batch wrote: six rules of the Reasoner."""
    learned = Learned()
    fact = KnowledgeConsolidated(role="reasoner", rules=RULES, result="consolidated", new=6)
    learned.feed("0", fact)
    return next_memory(Memory("s", 0), learned, 1, 1)


def lived(world: int, at: int, memory: Memory, settings: Mc2Settings) -> Ran[Conclusion]:
    """An episode whose guidance repeats every rule that its composer sees; one of the rules harms."""

    def said(question: Complete) -> str:
        match question.role:
            case "composer":
                return coached(question, *dict(question.variables)["rules"].split("\n"))
            case "reasoner":
                odds = HARMED if HARMFUL in shown(question) else UNHARMED
                return solved("right" if hash01(world, at) < odds else "wrong")
            case _:
                return audited("NO")

    return episode(said, settings, memory=memory, task=task(world, at))


def left(world: int, at: int, ran: Ran[Conclusion], memory: Memory) -> Reflected:
    """What an episode leaves to learn from: what it was shown, and what was held out."""
    tally = EpisodeTotals.of(dict(ran.events))
    return structs.replace(
        member(f"q{at}", {}).reflected,
        items=tally.items(),
        held_out=tally.held_out() or None,
        memory_version=memory.number,
    )


def after_batches(
    world: int,
    settings: Mc2Settings = ALONE,
    rule: str | None = MC2.retirement,
    batches: int = BATCHES,
) -> Memory:
    """The memory that batches of labelled problems leave; nothing new is learned."""
    versions = Versions()
    versions[1] = memory = begun()
    for batch in range(batches):
        ran = {
            f"e{at}": (at, lived(world, at, memory, settings))
            for at in range(batch * MEMBERS, (batch + 1) * MEMBERS)
        }
        found = {name: left(world, at, one, memory) for name, (at, one) in ran.items()}
        closed = BatchClosed(
            scope="s", batch=memory.number + 1, members=tuple(ran), previous=memory.number,
            outcomes=tuple("right" if one.result.answer == "right" else "wrong" for _, one in ran.values()),
            policy="mc2", policy_version=MC2.version, settings="", limits=Limits(),
            retirement=rule, seed=7,
        )  # fmt: skip
        standing = standing_after(memory.standing, closed, found.__getitem__, versions)
        measures = Measures({}, standing, None, rule)
        memory = next_memory(memory, Learned(), memory.number + 1, 1, measures)
        versions[memory.number] = memory
    return memory


@cache
def worlds() -> list[Memory]:
    return [after_batches(world) for world in range(MANY)]


def texts(memory: Memory) -> set[str]:
    return {rule.text for rule in memory.of("reasoner", "rule")}


# ── One of them harms ────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_rule_that_harms_is_retired_alone_and_its_siblings_stay() -> None:
    siblings = {text for _, text in RULES} - {HARMFUL}
    gone = sum(HARMFUL not in texts(memory) for memory in worlds())
    alone = sum(texts(memory) == siblings for memory in worlds())
    assert gone >= LEAST, gone
    assert alone >= LEAST, alone


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_each_rule_has_its_own_effect_near_to_the_truth() -> None:
    """Over all worlds: the harmful one takes .6 of the answers, the others nothing that its harm could not hide."""
    for _, text in RULES:
        found = [
            tried_of(memory.standing, rule.mark)
            for memory in worlds()
            for rule in memory.whole()
            if rule.text == text
        ]
        effects = [each.effect for each in found if each is not None and each.effect is not None]
        assert len(effects) == MANY
        truth = HARMED - UNHARMED if text == HARMFUL else 0.0
        assert abs(sum(effects) / MANY - truth) < 0.06, (text, sum(effects) / MANY)


def test_shown_together_none_of_them_could_be_told_from_the_others() -> None:
    """The rule before: all episodes had all six, so nobody did without the one that harms."""
    for rule in (ALIKE, BY_ITSELF):
        settings = Mc2Settings.resolve("service", {"roles": "R", "held_out": 0})
        memory = after_batches(0, settings, rule, batches=4)
        assert texts(memory) == {text for _, text in RULES}
        assert "tally" not in memory.standing


# ── Who does without ─────────────────────────────────────────────────────────────────────────


def test_about_a_fifth_of_a_rule_s_episodes_do_without_it_and_no_draw_hangs_on_another() -> None:
    memory = begun()
    held: list[tuple[str, ...]] = []
    for at in range(400):
        ran = lived(0, at, memory, ALONE)
        out = tuple(name for fact in ran.of(KnowledgeOmitted) for name in fact.items)
        had = tuple(name for fact in ran.of(KnowledgeReached) for name in fact.items)
        assert sorted(out + had) == [name for name, _ in RULES]
        seen = shown(ran.asks("composer")[0])
        assert all((text in seen) == (name in had) for name, text in RULES)
        held.append(out)
    for name, _ in RULES:
        assert 0.14 < sum(name in out for out in held) / len(held) < 0.26
    both = sum("R1" in out and "R2" in out for out in held) / len(held)
    assert 0.01 < both < 0.08, "a fifth of a fifth"


def test_a_rule_is_held_out_of_a_whole_episode_by_its_text_and_of_no_other_one_s_account() -> None:
    """A lesson learned since, another rule gone: who did without it does so again."""
    memory = begun()
    out = [lived(0, at, memory, ALONE).of(KnowledgeOmitted) for at in range(30)]
    fewer = knowing(*(rule for rule in memory.items if rule.id != "R1"))
    again = [lived(0, at, fewer, ALONE).of(KnowledgeOmitted) for at in range(30)]
    without = [[name for fact in facts for name in fact.items] for facts in out]
    assert [[name for name in names if name != "R1"] for names in without] == [
        [name for fact in facts for name in fact.items] for facts in again
    ]


def test_every_role_says_what_it_did_without_once_and_only_if_it_was_asked() -> None:
    memory, settings = full_memory(()), Mc2Settings.resolve("service", {"held_out": 0.5})

    def said(question: Complete) -> str:
        if question.role == "composer":
            return coached(question)
        return solved("24") if question.role == "reasoner" else audited("NO")

    ran = episode(said, settings, memory=memory)
    assert [fact.role for fact in ran.of(KnowledgeOmitted)] == ["reasoner", "monitor"]
    for fact in ran.of(KnowledgeOmitted):
        assert fact.items
        assert all(name.startswith(fact.role[0].upper()) for name in fact.items)


def test_who_does_without_its_only_rule_asks_no_coach_and_says_so() -> None:
    memory = knowing(item("R1", "reasoner", HARMFUL, kind="rule"))
    settings = Mc2Settings.resolve("service", {"roles": "R", "held_out": 0.5})
    ran = [lived(0, at, memory, settings) for at in range(20)]
    for one in ran:
        assert bool(one.asks("composer")) != bool(one.of(KnowledgeOmitted))
    assert 0 < sum(bool(one.of(KnowledgeOmitted)) for one in ran) < len(ran)


def test_lessons_and_the_paper_s_profile_hold_nothing_out() -> None:
    paper = Mc2Settings.resolve("paper", {})
    assert paper.held_out == 0
    assert SERVICE.held_out == 0.2
    taught = knowing(*(item(f"L1.R{at}", "reasoner", f"lesson {at}") for at in range(6)))
    none = Mc2Settings.resolve("service", {"held_out": 0.5, "relevance_floor": None})
    for at in range(10):
        assert lived(0, at, taught, none).of(KnowledgeOmitted) == []
        [reached] = lived(0, at, begun(), Mc2Settings.resolve("paper", {"roles": "R"})).of(
            KnowledgeReached
        )
        assert reached.items == tuple(name for name, _ in RULES)
