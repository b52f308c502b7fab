"""MC² eq. (10) to (12), (17), (18), Algorithm 1, § C.4, § C.5: from batches to rules.

Source: design/mc2.md D6, D7.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from handlers.answers.stated import posed
from handlers.limits import Ledger, Reservation
from handlers.policies.base import Task
from handlers.policies.mc2 import MC2
from handlers.policies.mc2.settings import batches
from handlers.roles.distiller import DISTILLERS
from handlers.roles.form import Unreadable
from schemas.asking import Ask, Unanswered
from schemas.events.base import AnswerEvent
from schemas.events.episode import QuestionAbandoned
from schemas.events.learning import KnowledgeConsolidated, LessonDistilled, LessonDropped
from schemas.problem import ProblemRecord
from schemas.questions import Complete, Embed, Recall
from streams.core.drive import Run
from tests.papers.mc2_says import (
    PAPER,
    PROBLEM,
    ROLES,
    answering,
    batch,
    best,
    episode,
    full_memory,
    item,
    knowing,
    learn,
    learned,
    lesson,
    setting,
    worst,
)
from tests.papers.mc2_stream import Stream
from tests.scripted import Driver, Refused, shown

NEEDED = tuple(
    section.variable
    for section in DISTILLERS["monitor"].role.template.sections
    if not section.optional
)
"""The sections that a distiller's prompt cannot do without."""

# ── Lessons ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.claim("mc2-eq-10")
def test_calls_and_order_of_lessons() -> None:
    """3·(S⁺+S⁻) calls; lessons are stated by role and member, then embedded in that order."""
    members = [best("a"), worst("b"), best("c"), best("d")]
    ran = learn(batch(members, number=2))
    assert len(ran.asks("distiller")) == 3 * 4
    lessons = ran.of(LessonDistilled)
    assert [one.id for one in lessons] == [f"L2.{r}{k}" for r in "RMC" for k in (1, 2, 3, 4)]
    assert [one.polarity for one in lessons] == ["do", "avoid", "do", "do"] * 3
    assert lessons[1].subject == "game24/b"
    assert lessons[1].evidence == ("p/game24/b/run",)
    [embed] = [question for _, question in ran.asked if isinstance(question, Embed)]
    assert [text.split("\n")[0] for text in embed.texts] == [
        one.text.split("\n")[1].removeprefix("Descriptor: ") for one in lessons
    ]


@pytest.mark.claim("mc2-eq-10")
def test_distillers_read_the_reflection_only() -> None:
    [first, *_] = learn(batch([best("a")])).asks("distiller")
    seen = dict(first.variables)
    found = best("a").reflected.summary["excerpts"]
    assert seen["problem"] == posed("game24", "The problem called a.")
    assert seen["trajectory"] == found["trajectory"]
    assert (seen["report"], seen["decision"]) == (found["report"], found["decision"])
    assert seen["polarity"].startswith("DO")
    assert seen["outcome"] == ""


BROKEN = [
    ("reasoner", "Descriptor: factor pairs", "Descriptor: 3 factor pairs"),
    ("reasoner", "has few divisors", "has 8 divisors"),
    ("reasoner", "Failure_mode_to_avoid:\n- stopping at a near miss", ""),
    ("monitor", "Descriptor: a total", "Descriptor: 1 total"),
    ("monitor", "Error_found: YES", "Error_found: maybe"),
    ("controller", "Descriptor: a flagged", "Descriptor: 2 flagged"),
    ("controller", "IF the report", "Once the report"),
    ("controller", "Action_taken: RESTART", "Action_taken: PATCH"),
    ("controller", "- Begin from the target and work backwards.", ""),
]


@pytest.mark.claim("mc2-eq-10")
@pytest.mark.parametrize("role", ROLES)
def test_good_lessons(role: str) -> None:
    distiller = DISTILLERS[role]
    values = distiller.role.read(lesson(role, 3), distiller.check(3))
    assert not isinstance(values, Unreadable), values
    text = distiller.text(values, "avoid")
    assert text.startswith("Polarity: AVOID\nDescriptor: ")
    assert distiller.role.read(text, distiller.check(3)) == values, "canonical text reads back"


@pytest.mark.claim("mc2-eq-10")
@pytest.mark.parametrize(("role", "good", "bad"), BROKEN)
def test_broken_lessons_are_mended_or_dropped(role: str, good: str, bad: str) -> None:
    whole = lesson(role, 3)
    assert good in whole
    distiller = DISTILLERS[role]
    broken = whole.replace(good, bad)
    assert isinstance(distiller.role.read(broken, distiller.check(3)), Unreadable)

    def reply(question: Complete) -> str:
        mine = question.role == "distiller" and question.template.name.endswith(role)
        return broken if mine else learned(question)

    ran = learn(batch([worst("b")]), reply)
    assert [one.role for one in ran.of(LessonDropped)] == [role]
    assert {one.role for one in ran.of(LessonDistilled)} == set(ROLES) - {role}
    assert len(ran.asks("distiller")) == 4, "asked once more, then dropped"


@pytest.mark.claim("mc2-eq-10")
def test_one_lesson_a_batch() -> None:
    """D6, per_batch: one call a role with a DO and an AVOID list."""
    said = "Descriptor: what recurs\nDo:\n- factor first\nAvoid:\n- adding first"

    def reply(question: Complete) -> str:
        return said if question.role == "distiller" else learned(question)

    ran = learn(batch([best("a"), worst("b")]), reply, setting(distil="per_batch"))
    assert len(ran.asks("distiller")) == 3
    assert [(one.id, one.polarity) for one in ran.of(LessonDistilled)] == [
        ("L1.R1", "both"), ("L1.M1", "both"), ("L1.C1", "both"),
    ]  # fmt: skip
    seen = shown(ran.asks("distiller")[0])
    do, _, avoid = seen.partition("### Avoid")
    assert "called a" in do
    assert "called b" in avoid


@pytest.mark.claim("mc2-eq-10")
def test_a_spent_limit_drops_lessons_and_keeps_rules() -> None:
    memory = full_memory()
    ran = learn(batch([best("a"), best("b")], 2, memory), calls=4)
    assert len(ran.of(LessonDistilled)) == 4
    assert {one.reason for one in ran.of(LessonDropped)} == {"limit: calls"}
    assert {one.result for one in ran.of(KnowledgeConsolidated)} == {"fallback"}


class Silent(Driver):
    """An endpoint that never answers the Monitor's distiller, until whoever asks has given up."""

    async def answer(
        self, run: Run, question: Ask[Any], asked: str, address: str, reserved: Reservation
    ) -> AnswerEvent:
        """Nothing to that one, a scripted reply to any other."""
        if isinstance(question, Complete) and question.template.name == "distiller.monitor":
            return QuestionAbandoned(asked=asked, reason="here: no route")
        return await super().answer(run, question, asked, address, reserved)


def test_a_question_that_was_given_up_costs_its_lesson_alone_and_is_told_from_a_spent_limit() -> (
    None
):
    driver = Silent(learned)
    driver.drive(MC2.learn(batch([best("a")]), PAPER), Ledger())
    facts = [event for _, event in driver.events]
    assert [(one.role, one.reason) for one in facts if isinstance(one, LessonDropped)] == [
        ("monitor", "limit: patience")
    ]
    assert [one.role for one in facts if isinstance(one, LessonDistilled)] == [
        "reasoner",
        "controller",
    ]
    alone = Silent(learned).drive
    with pytest.raises(Unanswered) as given_up:
        alone(DISTILLERS["monitor"].role.put(dict.fromkeys(NEEDED, "x")), Ledger())
    assert (given_up.value.which, given_up.value.reason) == ("patience", "here: no route")


# ── Windows ──────────────────────────────────────────────────────────────────────────────────


def _shown_lessons(question: Complete) -> set[str]:
    lessons = dict(question.variables)["lessons"]
    return {line[1:-1] for line in lessons.splitlines() if line.startswith("[L")}


@pytest.mark.claim("mc2-eq-11", "mc2-eq-12")
def test_windows_of_consolidation_and_retrieval() -> None:
    """w = 3: batch 5 consolidates from 3, 4, 5; its episodes retrieve from 2, 3, 4."""
    stream = Stream()
    for number in range(1, 6):
        stream.batch([f"p{number}"])
    last = stream.learning[-1].asks("consolidator")[0]
    assert _shown_lessons(last) == {"L3.R1", "L4.R1", "L5.R1"}
    composer = stream.episodes["p5"].asks("composer")[0]
    assert _shown_lessons(composer) == {"L2.R1", "L3.R1", "L4.R1"}
    assert {i.batch for i in stream.versions[5].items if i.kind == "lesson"} == {3, 4, 5}


@pytest.mark.claim("mc2-eq-11", "mc2-eq-12")
@pytest.mark.parametrize(("pool", "shown_ones"), [(2, 2), (3, 3), (5, 3)])
def test_top_k_or_all_if_fewer(pool: int, shown_ones: int) -> None:
    memory = full_memory([f"number{at}" for at in range(pool)])
    ran = episode(answering, memory=memory)
    assert [len(_shown_lessons(question)) for question in ran.asks("composer")] == [shown_ones] * 3
    assert len([q for _, q in ran.asked if isinstance(q, Recall)]) == 1, "one recall an episode"


@pytest.mark.claim("mc2-eq-11", "mc2-eq-12")
def test_the_nearest_lessons_are_shown_and_never_ones_own() -> None:
    near = [item(f"L1.R{k}", "reasoner", PROBLEM + f" {k}") for k in (1, 2, 3)]
    far = item("L1.R4", "reasoner", "something else altogether")
    own = item("L1.R5", "reasoner", PROBLEM, subject="game24/r938")
    [composer] = episode(answering, memory=knowing(far, *near, own)).asks("composer")
    assert _shown_lessons(composer) == {"L1.R1", "L1.R2", "L1.R3"}
    [composer] = episode(
        answering, setting(exclude_self=False, lessons_shown=1), memory=knowing(far, *near, own)
    ).asks("composer")
    assert _shown_lessons(composer) == {"L1.R5"}


@pytest.mark.claim("mc2-eq-11", "mc2-eq-12")
def test_empty_batches_age_the_window() -> None:
    stream = Stream()
    stream.batch(["p1"])
    for _ in range(3):
        stream.batch([])
    kept = stream.learning[-1]
    assert kept.requests == [], "no lessons in the window, no call"
    assert [one.result for one in kept.of(KnowledgeConsolidated)] == ["kept"] * 3
    assert {i.kind for i in stream.versions[-1].items} == {"rule"}


@pytest.mark.claim("mc2-eq-11", "mc2-eq-12")
def test_a_window_that_is_too_long_keeps_the_newest() -> None:
    old = [item(f"L1.R{k}", "reasoner", "old " * 60, number=1) for k in (1, 2)]
    new = [item(f"L2.R{k}", "reasoner", "new " * 60, number=2) for k in (1, 2)]
    given = batch([], 3, knowing(*old, *new, number=2))
    ran = learn(given, settings=setting(context_chars=800))
    [fact] = ran.of(KnowledgeConsolidated)
    assert fact.lessons == ("L2.R1", "L2.R2", "L1.R1")
    assert fact.left_out == ("L1.R2",)


def test_a_model_that_takes_no_prompt_so_long_is_shown_the_newest_half() -> None:
    """Its window is shorter than ours: its rules were to stay as they are for good."""
    kept = [item(f"L1.R{k}", "reasoner", f"old {k}", number=1) for k in (1, 2)]
    new = [item(f"L2.R{k}", "reasoner", f"new {k}", number=2) for k in (1, 2, 3)]

    def narrow(question: Complete) -> str:
        shown = dict(question.variables)["lessons"]
        return Refused("") if shown.count("[L") > 2 else learned(question)

    ran = learn(batch([], 3, knowing(*kept, *new, number=2)), narrow)
    [fact] = ran.of(KnowledgeConsolidated)
    assert (fact.result, len(fact.rules)) == ("consolidated", 6)
    assert fact.lessons == ("L2.R1", "L2.R2")
    assert fact.left_out == ("L2.R3", "L1.R1", "L1.R2")
    silent = learn(batch([], 3, knowing(*kept, number=2)), lambda question: Refused(""))
    [fact] = silent.of(KnowledgeConsolidated)
    assert (fact.result, fact.lessons) == ("fallback", ("L1.R1",))


# ── Batches ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.claim("mc2-eq-17", "mc2-eq-18")
@pytest.mark.parametrize(
    ("size", "window", "count"),
    [
        (500, 50, 10), (1319, 100, 14), (800, 80, 10), (100, 10, 10),
        (7, 10, 1), (400, 40, 10), (1056, 100, 11), (604, 60, 11),
    ],
)  # fmt: skip
def test_batch_sizes(size: int, window: int, count: int) -> None:
    assert MC2.window(PAPER, size) == window
    assert batches(size, window) == count


@pytest.mark.claim("mc2-eq-17", "mc2-eq-18")
def test_batch_size_of_a_stream_or_as_set() -> None:
    assert MC2.window(PAPER, None) == 10
    assert MC2.window(setting(batch_size=7), 1319) == 7


@pytest.mark.claim("mc2-l05", "mc2-l18")
def test_batch_one_is_cold_and_learning_comes_at_the_end() -> None:
    """Batch 1 has no composer; a short last batch learns like any other."""
    stream = Stream()
    for names in (["a", "b"], ["c", "d"], ["e"]):
        stream.batch(names)
    assert stream.episodes["a"].roles == ["reasoner", "monitor", "controller"]
    assert not any(isinstance(q, Recall) for _, q in stream.episodes["a"].asked)
    assert stream.episodes["e"].roles.count("composer") == 3
    for ran, size in zip(stream.learning, (2, 2, 1), strict=True):
        assert ran.roles == ["distiller"] * 3 * size + ["consolidator"] * 3
        assert ran.facts == ["lesson.distilled"] * 3 * size + ["knowledge.consolidated"] * 3
        addresses = [tuple(map(int, at.split("."))) for at, _ in ran.events]
        assert all(one[0] <= two[0] for one, two in pairwise(addresses))
    assert [version.number for version in stream.versions] == [0, 1, 2, 3]


# ── No gold answer, and polarity ─────────────────────────────────────────────────────────────


@pytest.mark.claim("mc2-c1-gold", "mc2-tab-10")
def test_a_gold_answer_is_in_no_request() -> None:
    """Cold, guided and learning calls alike: a policy is given a task, and a task has no label."""
    gold = "SENTINEL-9731"
    record = ProblemRecord(id="g", problem=PROBLEM, answer=gold)
    task = Task(record.id, record.problem, "game24", seed=7)
    cold, warm = episode(answering, task=task), episode(answering, task=task, memory=full_memory())
    learning = learn(batch([best("a", "right"), worst("b", "wrong")], 2, full_memory()))
    asked = [shown(q) for ran in (cold, warm, learning) for q in ran.requests]
    assert len(asked) == 3 + 6 + 9
    assert not any(gold in text for text in asked)
    assert not {"answer", "label", "reference"} & set(Task.__dataclass_fields__)


@pytest.mark.claim("mc2-c1-gold", "mc2-tab-10")
@pytest.mark.parametrize("tag", ["off", "on"])
def test_no_label_reaches_a_call(tag: str) -> None:
    """An outcome is a word at most, and only where it was asked for (D7)."""
    members = [best("a", "right"), worst("b", "wrong"), best("c", "unknown")]
    ran = learn(batch(members), settings=setting(outcome_tag=tag))
    outcomes = [dict(q.variables)["outcome"] for q in ran.asks("distiller")[:3]]
    assert outcomes == (["success", "failure", "unknown"] if tag == "on" else ["", "", ""])
    plain = learn(batch([best("a"), worst("b"), best("c")]), settings=setting(outcome_tag="off"))
    same = [shown(q) for q in ran.requests] == [shown(q) for q in plain.requests]
    assert same is (tag == "off")


@pytest.mark.claim("mc2-c1-gold", "mc2-tab-10")
def test_polarity_is_kept_from_selection_to_guidance() -> None:
    ran = learn(batch([best("a"), worst("b")]))
    asked = [dict(q.variables)["polarity"].split(":")[0] for q in ran.asks("distiller")[:2]]
    assert asked == ["DO", "AVOID"]
    texts = [one.text for one in ran.of(LessonDistilled)[:2]]
    assert [text.split("\n")[0] for text in texts] == ["Polarity: DO", "Polarity: AVOID"]
    consolidator = shown(ran.asks("consolidator")[0])
    assert consolidator.index("Polarity: DO") < consolidator.index("Polarity: AVOID")
    memory = knowing(item("L1.R1", "reasoner", texts[1]))
    assert "Polarity: AVOID" in shown(episode(answering, memory=memory).asks("composer")[0])
