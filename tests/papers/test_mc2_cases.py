"""MC² eq. (10), (11), § C.4: the cases that distillers are shown, and which lessons come of them, in figures.

Source: design/mc2.md D6, D7, D9.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from handlers.learning.likeness import likeness_of
from handlers.policies.base import Member
from handlers.policies.mc2 import MC2
from handlers.policies.mc2.consolidate import (
    at_once,
    rules_of,
    shortened,
    warm_start,
    window,
    withdrawn,
)
from handlers.policies.mc2.distil import Lesson, chosen, course, kept
from handlers.policies.mc2.reflect import Mc2Reflection
from handlers.policies.mc2.settings import Mc2Settings
from schemas.events.learning import KnowledgeConsolidated, LessonDistilled, LessonDropped
from schemas.memory import Memory, MemoryItem
from schemas.questions import Embed
from tests.papers.mc2_says import (
    EMPTY,
    PAPER,
    answering,
    audited,
    batch,
    best,
    decided,
    episode,
    full_memory,
    item,
    knowing,
    learn,
    learned,
    member,
    near_to,
    patched,
    reflected,
    restarted,
    rounds,
    setting,
    solved,
    worst,
)
from tests.scripted import Refused, hashed, run

SERVICE = Mc2Settings.resolve("service", {})
BLANK = Mc2Reflection.model_validate(best("x").reflected.summary)


def twice(settings: Mc2Settings = PAPER) -> Member:
    """An episode whose first attempt was sent back and whose second was accepted."""
    return member("m", reflected(rounds(("YES", 3), ("NO", 1), settings=settings), settings))


# ── What a distiller is shown ────────────────────────────────────────────────────────────────


def test_a_course_tells_each_round_as_far_as_it_came() -> None:
    """A limit may have ended the last one before Monitor or Controller spoke; what nobody said is not told."""
    found = BLANK.trajectories.model_copy(
        update={
            "reasoner": ("40", None, "41"),
            "monitor": (("YES", "2", "the total is off"), (None, None, None)),
            "controller": ((3, None),),
        }
    )
    told = course(BLANK.model_copy(update={"rounds": 3, "trajectories": found}))
    assert told.splitlines() == [
        "Round 1: answer 40; a mistake found: YES at step 2: the total is off; RESTART",
        "Round 2: no answer; a mistake found: unknown",
        "Round 3: answer 41",
        "How each role did: reasoner good, monitor good, controller good.",
    ]


def test_what_was_sent_back_is_told_by_role_and_without_who_said_nothing() -> None:
    teaching = setting(teaching="all", clean_reports="ask")
    [question, *_] = learn(batch([twice(teaching)]), learned, teaching).asks("distiller")
    seen = dict(question.variables)
    assert seen["rejected_attempt"] == (
        f"Reasoning: {solved('40')}\nMonitor: {audited('YES')}\nController: {restarted('advice number 0')}"
    )
    assert (seen["trajectory"], seen["report"]) == (solved("41"), audited("NO"))
    unasked = Mc2Settings.resolve("service", {"ask_again": False})
    script = {
        "reasoner": [solved("23"), solved("24")],
        "monitor": [audited("YES"), audited("NO")],
        "controller": [restarted("anew")],
    }
    ran = learn(
        batch([member("m", reflected(episode(script, unasked), unasked))]), learned, unasked
    )
    assert dict(ran.asks("distiller")[0].variables)["decision"] == ""


def test_cases_of_a_batch_stand_in_their_lists_each_with_its_question() -> None:
    settings = setting(distil="per_batch", teaching="all", outcome_tag="on")
    members = [best("a", "right"), twice(), worst("b", "wrong")]
    said = "Descriptor: what recurs\nDo:\n- factor first\nAvoid:\n- adding first"
    ran = learn(
        batch([members[0], member("m", reflected(rounds(("YES", 3), ("NO", 1)), settings)), members[2]]),
        lambda question: said if question.role == "distiller" else learned(question),
        settings,
    )  # fmt: skip
    seen = dict(ran.asks("distiller")[0].variables)
    ending = f"Reasoning: {solved('40')}\nMonitor: {audited('NO')}\nController: {decided(1)}"
    assert seen["do"].endswith(f"called a.\n{ending}\nResult: success")
    assert seen["avoid"].endswith("Result: failure")
    before, _, after = seen["mended"].partition("\nAccepted attempt\n")
    assert before.endswith(
        f"called m.\nFirst attempt, sent back\nReasoning: {solved('40')}\nMonitor: {audited('YES')}"
        f"\nController: {restarted('advice number 0')}"
    )
    assert after == (
        f"Reasoning: {solved('41')}\nMonitor: {audited('NO')}\nController: {decided(1)}\nResult: unknown"
    )


def test_a_role_that_did_nothing_worth_a_lesson_is_left_out_of_a_batchs_too() -> None:
    """A clean report accepted in its stead: nobody asks the Controller's distiller about no case."""
    settings = Mc2Settings.resolve("service", {"distil": "per_batch"})
    flawless = member("a", reflected(episode(answering, settings), settings))
    said = "Descriptor: what recurs\nDo:\n- factor first"
    ran = learn(
        batch([flawless]), lambda q: said if q.role == "distiller" else learned(q), settings
    )
    assert [one.role for one in ran.of(LessonDistilled)] == ["reasoner", "monitor"]
    assert len(ran.asks("distiller")) == 2


def test_a_batch_without_anything_to_teach_leaves_no_trace() -> None:
    middling = member("m", reflected(rounds(("YES", 3), ("NO", 1))))
    for members in ([], [middling], [member("f", {})]):
        assert learn(batch(members)).events == []
        assert learn(batch(members), settings=setting(guidance="lessons")).events == []


def test_so_many_members_teach_and_failures_come_first() -> None:
    members = [best("a"), worst("b"), best("c")]
    for limit, expected in ((1, "b"), (2, "ab"), (3, "abc"), (4, "abc"), (None, "abc")):
        found = chosen(members, limit)
        assert [one.member.reflected.problem_id for one in found] == list(expected)


# ── What comes of them ───────────────────────────────────────────────────────────────────────


def test_without_a_reply_that_teaches_no_vector_is_asked_for() -> None:
    ran = learn(batch([best("a")]), lambda question: "Hm.")
    assert [one.role for one in ran.of(LessonDropped)] == ["reasoner", "monitor", "controller"]
    assert [question for _, question in ran.asked if isinstance(question, Embed)] == []
    for one in ran.of(LessonDropped):
        assert one.evidence == ("p/game24/a/run",)
        assert one.reason
        assert one.source is not None


def test_a_dropped_lesson_leaves_no_gap_in_the_numbers_of_the_others() -> None:
    def reply(question: Any) -> str:
        broken = question.role == "distiller" and "called a." in dict(question.variables)["problem"]
        return "Hm." if broken else learned(question)

    ran = learn(batch([best("a"), best("b"), best("c")], number=4), reply)
    assert [one.id for one in ran.of(LessonDistilled)] == [
        *("L4.R1", "L4.R2", "L4.M1", "L4.M2", "L4.C1", "L4.C2"),
    ]
    assert [one.subject for one in ran.of(LessonDistilled)][:2] == ["game24/b", "game24/c"]


@pytest.mark.parametrize("embedded", ["fields", "descriptor"])
@pytest.mark.parametrize("way", ["per_reflection", "per_batch"])
def test_a_lesson_is_found_again_by_the_text_that_it_was_embedded_by(
    embedded: str, way: str
) -> None:
    """Another embedder, later, has the lesson's text alone."""
    settings = setting(distil=way, embedded=embedded)
    said = "Descriptor: what recurs\nDo:\n- factor first\nAvoid:\n- adding first"

    def reply(question: Any) -> str:
        together = way == "per_batch" and question.role == "distiller"
        return said if together else learned(question)

    ran = learn(batch([best("a"), worst("b")]), reply, settings)
    [embed] = [question for _, question in ran.asked if isinstance(question, Embed)]
    lessons = ran.of(LessonDistilled)
    assert len(embed.texts) == len(lessons) > 0
    for one, text in zip(lessons, embed.texts, strict=True):
        assert MC2.found_by(item(one.id, one.role, one.text), settings) == text
        assert ("\n" in text) is (embedded == "fields")


def test_lessons_that_stay_are_passed_on_as_they_are() -> None:
    """One without a side of its own, as of an older log, is one of both."""
    sided = item("L2.M1", "monitor", "Look twice.", subject="game24/b")
    sided = sided._replace(polarity="avoid", evidence=("p/game24/b/run",))
    old = item("L2.R1", "reasoner", "Factor first.", subject="game24/a")
    given = replace(batch([], 2), kept=(sided, old))
    assert kept(given) == [
        Lesson(
            LessonDistilled(
                id="L2.M1", role="monitor", polarity="avoid", text="Look twice.",
                subject="game24/b", evidence=("p/game24/b/run",), source="",
            ),
            "Look twice.",
        ),
        Lesson(
            LessonDistilled(
                id="L2.R1", role="reasoner", polarity="both", text="Factor first.",
                subject="game24/a", evidence=(), source="",
            ),
            "Factor first.",
        ),
    ]  # fmt: skip


# ── The window of consolidation ──────────────────────────────────────────────────────────────


def stated(name: str, role: str, text: str, *vector: float) -> Lesson:
    """A lesson that the batch at hand has just stated."""
    fact = LessonDistilled(
        id=name, role=role, polarity="do", text=text, subject="d/x", evidence=(), source="0"
    )
    return Lesson(fact, text, vector)


def test_a_window_holds_a_roles_own_rules_and_lessons_of_the_last_batches_the_newest_first() -> (
    None
):
    memory = knowing(
        item("R1", "reasoner", "Factor.", kind="rule"),
        item("M1", "monitor", "Look.", kind="rule"),
        item("L3.R1", "reasoner", "three", number=3),
        item("L2.R1", "reasoner", "two", number=2),
        item("L1.R1", "reasoner", "one", number=1),
        item("L3.M1", "monitor", "other", number=3),
        number=3,
    )
    new = [stated("L4.R1", "reasoner", "four"), stated("L4.M1", "monitor", "other")]
    found = window("reasoner", batch([], 4, memory), new, PAPER)
    assert [(each.id, each.batch) for each in found.lessons] == [
        ("L4.R1", 4),
        ("L3.R1", 3),
        ("L2.R1", 2),
    ]
    assert (found.rules, found.texts) == ((("R1", "Factor."),), ("Factor.",))
    assert (found.left_out, found.withdrawn) == ((), ())
    short = window("reasoner", batch([], 4, memory), new, setting(lesson_window=1))
    assert [each.id for each in short.lessons] == ["L4.R1"]


@pytest.mark.parametrize(("room", "fits"), [(1, 1), (33, 1), (34, 2), (50, 2), (51, 3), (99, 3)])
def test_as_many_lessons_are_shown_as_fit_and_one_at_least(room: int, fits: int) -> None:
    """Each block is "[L1.R1]", a line's end and seven letters, 15 in all, and two line ends follow it."""
    memory = knowing(*(item(f"L1.R{at}", "reasoner", "letters") for at in (1, 2, 3)))
    found = window("reasoner", batch([], 2, memory), (), setting(context_chars=room))
    assert {len(each.block) for each in (*found.lessons, *found.left_out)} == {15}
    assert (len(found.lessons), len(found.left_out)) == (fits, 3 - fits)
    assert [each.id for each in (*found.lessons, *found.left_out)] == ["L1.R1", "L1.R2", "L1.R3"]


def test_lessons_of_one_batch_that_say_the_same_are_one_by_their_vectors() -> None:
    new = [
        stated("L2.R1", "reasoner", "Factor first.", 1.0, 0.0),
        stated("L2.R2", "reasoner", "Fractions last.", 0.0, 1.0),
        stated("L2.R3", "reasoner", "First, factor.", 1.0, 0.001),
    ]
    found = window("reasoner", batch([], 2), new, SERVICE)
    assert [each.ids for each in found.lessons] == [("L2.R1", "L2.R3"), ("L2.R2",)]
    apart = window("reasoner", batch([], 2), new, PAPER)
    assert [each.ids for each in apart.lessons] == [("L2.R1",), ("L2.R2",), ("L2.R3",)]


def test_the_new_lessons_of_a_batch_are_compared_by_their_own_vectors() -> None:
    """In other words, but next to the same to the embedder: the consolidator reads one."""

    def vectors(text: str) -> Sequence[float]:
        return (1.0, 0.0)

    ran = run(
        MC2.learn(batch([best("a"), best("b")]), SERVICE), learned, memory=EMPTY, vectors=vectors
    )
    fact = next(one for one in ran.of(KnowledgeConsolidated) if one.role == "reasoner")
    assert fact.lessons == ("L1.R1", "L1.R2")
    question = next(q for q in ran.asks("consolidator") if q.template.name.endswith("reasoner"))
    assert "[L1.R1, and nearly the same: L1.R2]\n" in dict(question.variables)["lessons"]


def test_what_is_retired_is_told_by_role_newest_first_and_without_what_a_person_restored() -> None:
    def rule(at: int, text: str, role: str = "reasoner", kind: str = "rule") -> MemoryItem:
        return item(f"R{at}", role, text, kind=kind, number=at)

    aside = tuple((at, rule(at, f"rule {at}")) for at in range(1, 9))
    other = ((9, rule(9, "of the Monitor", "monitor")), (9, rule(9, "a lesson", kind="lesson")))
    restored = rule(8, "rule 8")
    memory = Memory("s", 9, aside=(*aside, *other), standing={"ruled": {restored.mark: "restored"}})
    assert withdrawn(memory, "reasoner") == tuple(f"rule {at}" for at in (7, 6, 5, 4, 3, 2))
    assert withdrawn(memory, "monitor") == ("of the Monitor",)
    assert withdrawn(Memory("s", 9, aside=aside), "reasoner")[0] == "rule 8"


def test_at_once_keeps_the_order_of_the_first_of_each() -> None:
    memory = knowing(
        item("L1.R1", "reasoner", "a", vector=near_to(hashed("x"), 0.2)),
        item("L1.R2", "reasoner", "b", vector=hashed("x")),
        item("L1.R3", "reasoner", "c", vector=hashed("x")),
    )
    found = window("reasoner", batch([], 2, memory), (), SERVICE).lessons
    assert [each.ids for each in found] == [("L1.R1",), ("L1.R2", "L1.R3")]
    assert at_once([], likeness_of(None)) == []


def test_a_warm_start_takes_over_the_rules_of_each_role_that_has_some() -> None:
    source = knowing(
        item("R1", "reasoner", "Factor.", kind="rule"),
        item("R2", "reasoner", "Add.", kind="rule"),
        item("C1", "controller", "Accept.", kind="rule"),
        item("L1.M1", "monitor", "a lesson"),
    )
    assert [(fact.role, fact.rules, fact.result, fact.new) for fact in warm_start(source)] == [
        ("reasoner", (("R1", "Factor."), ("R2", "Add.")), "warm", 2),
        ("controller", (("C1", "Accept."),), "warm", 1),
    ]
    assert rules_of(source, "monitor") == ()


# ── What is stated of the rules ──────────────────────────────────────────────────────────────


def consolidated(ran: Any) -> dict[str, KnowledgeConsolidated]:
    return {fact.role: fact for fact in ran.of(KnowledgeConsolidated)}


def test_rules_that_are_written_again_say_from_what_and_how_many_are_new() -> None:
    old = [
        item(f"R{at}", "reasoner", f"Check the parts {word} before the whole.", kind="rule")
        for at, word in enumerate(("early", "often"), 1)
    ]
    memory = knowing(*old, item("M1", "monitor", "Look.", kind="rule"))
    lone = item("L1.R1", "reasoner", "a lesson")
    ran = learn(batch([], 2, replace(memory, items=(*memory.items, lone))), settings=SERVICE)
    facts = consolidated(ran)
    assert facts.keys() == {"reasoner", "monitor"}
    written, kept_ones = facts["reasoner"], facts["monitor"]
    assert (written.result, len(written.rules), written.new) == ("consolidated", 6, 4)
    assert (written.lessons, written.left_out) == (("L1.R1",), ())
    assert written.source is not None
    assert (kept_ones.result, kept_ones.rules, kept_ones.new) == ("kept", (("M1", "Look."),), 0)
    assert (kept_ones.lessons, kept_ones.source) == ((), None)
    [question] = ran.asks("consolidator")
    assert dict(question.variables)["rules"].splitlines() == [
        "R1: Check the parts early before the whole.",
        "R2: Check the parts often before the whole.",
    ]


def test_what_cannot_be_read_and_what_a_limit_ended_keep_the_rules_and_say_which() -> None:
    memory = full_memory()
    unread = consolidated(learn(batch([], 2, memory), lambda question: "Hm."))
    cut = consolidated(learn(batch([], 2, memory), learned, calls=0))
    for role in ("reasoner", "monitor", "controller"):
        rules = rules_of(memory, role)
        for fact in (unread[role], cut[role]):
            assert (fact.result, fact.rules, fact.new) == ("fallback", rules, 0)
            assert fact.lessons == (f"L1.{role[0].upper()}1",)
        assert unread[role].source is not None
        assert cut[role].source is None


def test_only_rules_that_rested_on_a_forgotten_problem_are_written_again() -> None:
    given = replace(batch([], 2, full_memory()), revision=1, stale=frozenset({"monitor"}))
    assert consolidated(learn(given)).keys() == {"monitor"}
    assert consolidated(learn(replace(given, revision=0))).keys() == {
        *("reasoner", "monitor", "controller"),
    }
    alone = setting(roles="R")
    assert consolidated(learn(batch([], 2, full_memory()), settings=alone)).keys() == {"reasoner"}


def test_a_prompt_that_is_too_long_is_halved_until_one_lesson_is_left_or_the_limit_ends_it() -> (
    None
):
    memory = knowing(*(item(f"L1.R{at}", "reasoner", f"lesson {at}") for at in range(1, 6)))
    whole = window("reasoner", batch([], 2, memory), (), PAPER)

    def halving() -> Any:
        said = yield from whole.ask(PAPER)
        return (yield from shortened(whole, said, PAPER))

    ran = run(halving(), lambda question: Refused(""), memory=memory)
    left, _ = ran.result
    shown_ones = [dict(q.variables)["lessons"].count("[L1.") for q in ran.requests]
    assert sorted(set(shown_ones), reverse=True) == [5, 2, 1]
    assert [each.id for each in left.lessons] == ["L1.R1"]
    assert [each.id for each in left.left_out] == ["L1.R2", "L1.R3", "L1.R4", "L1.R5"]
    tight = run(halving(), lambda question: Refused(""), memory=memory, calls=2)
    narrowed, stopped = tight.result
    assert ([each.id for each in narrowed.lessons], stopped.which) == (["L1.R1", "L1.R2"], "calls")


def test_a_patch_is_told_apart_from_a_restart_that_helped() -> None:
    teaching = setting(teaching="all")
    script = {
        "reasoner": [solved("23")],
        "monitor": [audited("YES")],
        "controller": [patched("24")],
    }
    patch = member("p", reflected(episode(script, teaching), teaching))
    restart = member("m", reflected(rounds(("YES", 3), ("NO", 1)), teaching))
    sides = [one.side for one in chosen([patch, restart, best("a"), worst("b")])]
    assert sides == ["patched", "both", "do", "avoid"]
    fixed_later = member("l", reflected(rounds(("YES", 3), ("YES", 2)), teaching))
    assert [one.side for one in chosen([fixed_later])] == ["patched"]
