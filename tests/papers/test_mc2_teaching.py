"""What MC² learns from beside flawless and hopeless episodes, and what it does not pay for in ``service``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import pytest

from handlers.policies.base import Member, Task
from handlers.policies.mc2.reflect import Mc2Reflection
from handlers.policies.mc2.settings import Mc2Settings
from handlers.policies.mc2.trace import history
from schemas.events.learning import KnowledgeConsolidated, LessonDistilled
from schemas.events.reasoning import ControllerActed, KnowledgeReached
from schemas.memory import MemoryItem
from schemas.questions import Complete, Recall
from tests.papers.mc2_says import (
    TASK,
    accepted,
    answering,
    audited,
    batch,
    best,
    coached,
    episode,
    full_memory,
    guided,
    item,
    knowing,
    learn,
    learned,
    lesson,
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
from tests.papers.mc2_stream import Stream
from tests.scripted import Ran, hashed, shown


def service(**values: Any) -> Mc2Settings:
    """The default profile with some settings changed."""
    return Mc2Settings.resolve("service", values)


SERVICE = service()
ASKING = service(clean_reports="ask")
TAKEN = service(patches="taken")


def taught(ran: Ran[Any], name: str = "a", settings: Mc2Settings = SERVICE) -> Member:
    """A member as this run left it."""
    return member(name, reflected(ran, settings))


def mended(settings: Mc2Settings = SERVICE) -> Ran[Any]:
    """An episode whose first attempt was sent back, and whose second was accepted."""
    script = {
        "reasoner": [
            solved("40", "Step 1: guess."),
            solved("24", "Step 1: factor pairs: 6 times 4."),
        ],
        "monitor": [audited("YES", "1", "nothing computes it"), audited("NO")],
        "controller": [restarted("list the factor pairs"), accepted("24")],
    }
    return episode(script, settings)


def cooperative(question: Complete) -> str:
    """A distiller whose Controller's lesson names the action that the prompt's case ended with."""
    if question.role == "distiller" and question.template.name.endswith("controller"):
        shows = dict(question.variables)
        case = shows["rejected_attempt"] or shows["decision"]
        return lesson("controller", 3 if "Action: 3" in case else 2 if "Action: 2" in case else 1)
    return learned(question)


# ── Lessons from what was mended ─────────────────────────────────────────────────────────────


def test_a_restart_that_helped_teaches_every_role_from_both_attempts() -> None:
    ran = learn(batch([taught(mended())]), cooperative, SERVICE)
    lessons = ran.of(LessonDistilled)
    assert [(one.role, one.polarity) for one in lessons] == [
        ("reasoner", "both"),
        ("monitor", "both"),
        ("controller", "both"),
    ]
    for question in ran.asks("distiller"):
        text = shown(question)
        before, _, sent_back = text.partition("### Rejected attempt")
        assert "factor pairs: 6 times 4" in before
        assert "Step 1: guess." in sent_back
        assert "nothing computes it" in sent_back
        assert "list the factor pairs" in sent_back
        assert dict(question.variables)["polarity"].startswith(
            "BOTH: a first attempt was sent back"
        )
    assert lessons[0].text.startswith("Polarity: BOTH\n")


def test_a_patch_teaches_how_to_see_the_slip() -> None:
    ran = episode(
        {"reasoner": [solved("23")], "monitor": [audited("YES")], "controller": [patched("24")]},
        TAKEN,
    )
    learned_from = learn(batch([taught(ran)]), cooperative, TAKEN)
    assert [one.polarity for one in learned_from.of(LessonDistilled)] == ["both"] * 3
    for question in learned_from.asks("distiller"):
        seen = dict(question.variables)
        assert seen["polarity"].startswith("BOTH: a slip in this attempt was mended, and nobody")
        assert "Corrected_reasoning: done again" in seen["decision"]
        assert not seen["rejected_attempt"]
    extremes = service(patches="taken", teaching="extremes")
    assert not learn(batch([taught(ran, settings=extremes)]), cooperative, extremes).requests


def test_the_paper_leaves_out_what_was_mended() -> None:
    """Eq. (9): S⁺ and S⁻ alone."""
    for ran in (rounds(("YES", 3), ("NO", 1)), rounds(("YES", 2))):
        given = batch([member("a", reflected(ran))])
        assert learn(given).requests == []


def test_a_restart_that_nobody_chose_teaches_nothing() -> None:
    """An unreadable decision stands for a restart; the accept that follows mends nothing."""
    script = {
        "reasoner": [solved("40"), solved("24")],
        "monitor": [audited("YES"), audited("NO")],
        "controller": ["hm", "hm"],
    }
    assert (
        Mc2Reflection.model_validate(reflected(episode(script, SERVICE), SERVICE)).polarity is None
    )


def test_failures_teach_before_what_was_mended_and_that_before_flawless_ones() -> None:
    members = [best("a"), taught(mended(), "m"), worst("b"), best("c")]
    for limit, expected in ((1, ["b"]), (2, ["m", "b"]), (3, ["a", "m", "b"])):
        ran = learn(batch(members), cooperative, service(lessons_per_batch=limit))
        reasoners = [one for one in ran.of(LessonDistilled) if one.role == "reasoner"]
        assert [one.subject.partition("/")[2] for one in reasoners] == expected


def test_one_lesson_a_batch_has_what_was_mended_apart() -> None:
    said = "Descriptor: what recurs\nDo:\n- factor first\nAvoid:\n- guessing"

    def reply(question: Complete) -> str:
        return said if question.role == "distiller" else cooperative(question)

    ran = learn(batch([taught(mended())]), reply, service(distil="per_batch"))
    text = shown(ran.asks("distiller")[0])
    assert "### Do" not in text
    _, _, cases = text.partition("### Mended")
    assert cases.index("First attempt, sent back") < cases.index("Accepted attempt")
    assert {one.polarity for one in ran.of(LessonDistilled)} == {"both"}


# ── Ratings, and what each round came to ─────────────────────────────────────────────────────


def test_the_distiller_is_told_the_rounds_and_how_each_role_did() -> None:
    """Eq. (14) makes ratings and trajectories; where they are set, prompts hold them."""
    given = batch([taught(mended())])
    [first, *_] = learn(given, cooperative, SERVICE).asks("distiller")
    assert dict(first.variables)["course"].splitlines() == [
        "Round 1: answer 40; a mistake found: YES at step 1: nothing computes it; RESTART, because wrong track",
        "Round 2: answer 24; a mistake found: NO; ACCEPT",
        "How each role did: reasoner good, monitor good, controller good.",
    ]
    off = learn(given, cooperative, service(course="off")).asks("distiller")[0]
    assert "### Course" not in shown(off)
    assert "### Course" not in shown(learn(batch([best("a")])).asks("distiller")[0])


def test_an_outcome_reaches_the_distiller_where_set() -> None:
    given = batch([member("a", reflected(mended(), SERVICE), "right")])
    texts = {
        tag: shown(learn(given, cooperative, service(outcome_tag=tag)).asks("distiller")[0])
        for tag in ("on", "off")
    }
    assert "### Outcome\nsuccess" in texts["on"]
    assert "### Outcome" not in texts["off"]


# ── A clean report ───────────────────────────────────────────────────────────────────────────


def test_where_the_monitor_finds_nothing_the_controller_is_not_asked() -> None:
    """Two calls cold, four with experience, where it was three and six; the record says who decided."""
    known = full_memory(("one " + TASK.posed,))
    cold, warm = episode(answering, SERVICE), episode(answering, SERVICE, memory=known)
    assert cold.roles == ["reasoner", "monitor"]
    assert warm.roles == ["composer", "reasoner", "composer", "monitor"]
    assert (cold.result.answer, cold.result.ended_by, cold.result.confidence) == (
        "24",
        "accepted",
        1.0,
    )
    [acted] = cold.of(ControllerActed)
    assert (acted.action, acted.answer) == ("accept", "24")
    [told] = history(cold.trace)
    assert told["controller"]["action"] == 1
    assert told["controller"]["full_decision"] == ""
    assert episode(answering).roles[-1] == "controller", "the paper asks it in every round"


@pytest.mark.parametrize(
    ("attempt", "report"),
    [(solved("24"), audited("YES")), (solved("24"), "hm"), ("no idea", audited("NO"))],
)
def test_a_fault_an_unread_report_or_a_missing_answer_goes_to_the_controller(
    attempt: str, report: str
) -> None:
    script = {"reasoner": [attempt] * 2, "monitor": [report] * 2, "controller": [accepted("24")]}
    ran = episode(script, SERVICE)
    assert ran.roles[-1] == "controller"
    assert ran.result.answer == "24"


def test_a_controller_that_was_never_asked_is_taught_nothing() -> None:
    flawless = taught(episode(answering, SERVICE))
    ran = learn(batch([flawless]), cooperative, SERVICE)
    assert [one.role for one in ran.of(LessonDistilled)] == ["reasoner", "monitor"]
    assert [q.template.name for q in ran.asks("distiller")] == [
        "distiller.reasoner",
        "distiller.monitor",
    ]


def test_a_controller_s_lesson_is_about_the_last_action_that_it_chose() -> None:
    """It restarted, and the clean report that came after it was none of its doing."""
    ran = learn(batch([taught(mended())]), cooperative, SERVICE)
    text = next(one.text for one in ran.of(LessonDistilled) if one.role == "controller")
    assert "Action_taken: RESTART" in text


# ── Patches ──────────────────────────────────────────────────────────────────────────────────


def test_a_patch_that_nobody_checks_is_worth_less_than_an_accept() -> None:
    script = {
        "reasoner": [solved("23")],
        "monitor": [audited("YES")],
        "controller": [patched("24")],
    }
    ran = episode(script, TAKEN)
    assert (ran.result.answer, ran.result.confidence) == ("24", 0.5)
    assert reflected(ran, TAKEN)["grade"] == "B"
    paper = episode(script)
    assert (paper.result.confidence, reflected(paper)["grade"]) == (1.0, "A")
    full = service(patches="taken", patch_grade="A")
    assert episode(script, full).result.confidence == 1.0


def test_a_patch_that_changes_the_answer_is_no_answer_while_a_round_is_left() -> None:
    """It sends the Reasoner back, as a restart does; in the last round there is nobody to ask, and it is taken."""
    again = {
        "reasoner": [solved("23"), solved("25")],
        "monitor": [audited("YES"), audited("NO")],
        "controller": [patched("24")],
    }
    ran = episode(again, SERVICE)
    assert (ran.result.answer, ran.result.ended_by) == ("25", "accepted")
    assert "one slip" in shown(ran.asks("reasoner")[1]), "and says why"
    assert reflected(ran, SERVICE)["polarity"] == "both", (
        "an attempt was sent back, and another one accepted"
    )
    last = {
        "reasoner": [solved("23")] * 3,
        "monitor": [audited("YES")] * 3,
        "controller": [patched("24")] * 3,
    }
    ended = episode(last, SERVICE)
    assert (ended.result.answer, ended.result.ended_by) == ("24", "corrected")
    for answer, reasoner in (("24", solved("24.0")), ("24", "Step 1: I cannot tell.")):
        same = {
            "reasoner": [reasoner] * 2,
            "monitor": [audited("YES")],
            "controller": [patched(answer)],
        }
        taken = episode(same, SERVICE)
        assert (taken.result.answer, taken.result.ended_by) == ("24", "corrected"), reasoner
    assert episode(again).result.ended_by == "corrected", "the paper takes it"


def test_rules_and_lessons_of_the_controller_speak_of_a_patch() -> None:
    """What a model says by number, or calls a revision, is the action that the Controller knows."""

    def reply(question: Complete) -> str:
        if question.template.name == "consolidator.controller":
            return "C1: When one line is off, revise (Action 2).\nC2: When all is well, accept (Action 1)."
        return cooperative(question)

    stream = Stream(reply_to(reply), ASKING)
    stream.batch(["a"])
    stream.batch(["b"])
    composer = next(
        q for q in stream.episodes["b"].asks("composer") if q.template.name == "composer.controller"
    )
    assert dict(composer.variables)["rules"].splitlines() == [
        "C1: When one line is off, PATCH.",
        "C2: When all is well, ACCEPT.",
    ]
    consolidator = stream.learning[0].asks("consolidator")[-1]
    assert "PATCH" in consolidator.template.system
    assert "revise" not in consolidator.template.system


def reply_to(learner: Any) -> Any:
    """A cooperative model whose learning roles say this."""

    def reply(question: Complete) -> str:
        learns = question.role in ("distiller", "consolidator")
        return str(learner(question)) if learns else answering(question)

    return reply


# ── A floor of relevance ─────────────────────────────────────────────────────────────────────

BARE = Task("r938", "4 5 6 10", "game24", seed=7)


def test_a_problem_of_bare_numbers_is_compared_as_it_is_put() -> None:
    """Four numbers are like nothing that was ever said of such problems: every lesson would be under the floor."""
    memory = knowing(
        item("L1.R1", "reasoner", "Use each of the four numbers once, so that it is 24.")
    )
    ran = episode(answering, service(relevance_floor=0.3), memory=memory, task=BARE)
    [recall] = [question for _, question in ran.asked if isinstance(question, Recall)]
    assert recall.query == BARE.posed
    assert ran.roles[0] == "composer"
    paper = episode(answering, memory=memory, task=BARE)
    assert [q.query for _, q in paper.asked if isinstance(q, Recall)] == ["4 5 6 10"]


FAR = "Descriptor: muffins ordered by a bakery"


def far(name: str, role: str) -> MemoryItem:
    """A lesson that has nothing to do with the problem."""
    return item(name, role, FAR, vector=near_to(hashed(TASK.posed), 0.05))


FLOORS = pytest.mark.parametrize("floor", ["embedder", 0.9])


@FLOORS
def test_lessons_of_another_kind_of_problem_ask_no_coach(floor: str | float) -> None:
    """Neither do the rules that were made of such lessons; the prompts are the cold ones."""
    memory = knowing(
        item("R1", "reasoner", "Order muffins early.", kind="rule"),
        far("L1.R1", "reasoner"),
        far("L1.M1", "monitor"),
    )
    ran = episode(answering, service(relevance_floor=floor), memory=memory)
    assert ran.roles == ["reasoner", "monitor"]
    assert not ran.of(KnowledgeReached)
    assert "### Guidance" not in shown(ran.requests[0])


@FLOORS
def test_a_role_whose_lessons_fit_keeps_its_coach_and_only_those_lessons(
    floor: str | float,
) -> None:
    near = TASK.posed
    memory = knowing(
        item("R1", "reasoner", "Factor first.", kind="rule"),
        item("L1.R1", "reasoner", near),
        far("L1.R2", "reasoner"),
        far("L1.M1", "monitor"),
    )
    ran = episode(answering, service(relevance_floor=floor), memory=memory)
    assert ran.roles == ["composer", "reasoner", "monitor"]
    assert ran.of(KnowledgeReached)[0].items == ("R1", "L1.R1")
    assert FAR not in shown(ran.requests[0])
    paper = episode(answering, setting(), memory=memory)
    assert FAR in shown(paper.requests[0]), "the paper shows the top k, however far they are"


@FLOORS
def test_rules_without_any_lesson_keep_their_coach(floor: str | float) -> None:
    """After a warm start there is nothing to tell by whether they fit."""
    memory = knowing(item("R1", "reasoner", "Factor first.", kind="rule"))
    ran = episode(answering, service(relevance_floor=floor), memory=memory)
    assert ran.roles == ["composer", "reasoner", "monitor"]


def test_by_default_the_embedder_says_what_is_like_a_problem() -> None:
    """A cosine of .17 is likeness where letters are compared, and none where meanings are."""
    query = hashed(TASK.posed)
    near = near_to(query, 0.17)
    memory = knowing(item("L1.R1", "reasoner", "Factor pairs first.", vector=near))
    roles = {
        made: episode(answering, SERVICE, memory=replace(memory, embedder=made)).roles
        for made in ("hashed-256", "minilm-53aa5117-256")
    }
    assert roles["hashed-256"] == ["composer", "reasoner", "monitor"]
    assert roles["minilm-53aa5117-256"] == ["reasoner", "monitor"]


# ── Lessons that say the same ────────────────────────────────────────────────────────────────


def test_of_lessons_that_say_the_same_the_coach_sees_one() -> None:
    """Four lessons in nearly the same words filled all three places; the next that is another one was left out."""
    query = hashed(TASK.posed)
    again = [
        item(f"L1.R{at}", "reasoner", f"Factor first ({at}).", vector=near_to(query, 0.9))
        for at in range(1, 5)
    ]
    other = item("L1.R5", "reasoner", "Fractions last.", vector=near_to(query, 0.5))
    memory = knowing(*again, other)
    ran = episode(answering, SERVICE, memory=memory)
    assert ran.of(KnowledgeReached)[0].items == ("L1.R1", "L1.R5")
    assert "Fractions last." in shown(ran.requests[0])
    paper = episode(answering, setting(), memory=memory)
    assert paper.of(KnowledgeReached)[0].items == ("L1.R1", "L1.R2", "L1.R3")


def test_what_to_do_and_what_to_avoid_are_never_one() -> None:
    """In letters there is next to nothing between a rule and its opposite."""
    query = hashed(TASK.posed)

    def rule(name: str, text: str, side: Literal["do", "avoid"]) -> MemoryItem:
        like = item(name, "reasoner", text, vector=near_to(query, 0.9))
        return like._replace(polarity=side)

    pair = [rule("L1.R1", "Guess.", "do"), rule("L1.R2", "Do not guess.", "avoid")]
    ran = episode(answering, SERVICE, memory=knowing(*pair))
    assert ran.of(KnowledgeReached)[0].items == ("L1.R1", "L1.R2")


def test_who_keeps_the_rules_reads_them_once_and_hears_how_many_there_are() -> None:
    """Several lessons have to support a rule: those that say the same support it all the same."""
    vector = hashed("factor")
    memory = knowing(
        item("L1.R1", "reasoner", "Factor first.", vector=near_to(vector, 0.99)),
        item("L1.R2", "reasoner", "First, factor.", vector=near_to(vector, 0.99)),
        item("L1.R3", "reasoner", "Fractions last.", vector=near_to(vector, 0.1)),
    )
    ran = learn(batch([], 2, memory), learned, SERVICE)
    [question] = ran.asks("consolidator")
    assert dict(question.variables)["lessons"] == (
        "[L1.R1, and nearly the same: L1.R2]\nFactor first.\n\n[L1.R3]\nFractions last."
    )
    [fact] = ran.of(KnowledgeConsolidated)
    assert fact.lessons == ("L1.R1", "L1.R2", "L1.R3")
    [paper] = learn(batch([], 2, memory), learned).asks("consolidator")
    assert "[L1.R2]\nFirst, factor." in dict(paper.variables)["lessons"]


# ── Guidance is never cut inside a sentence ──────────────────────────────────────────────────

LONG = (
    "Start from the target and go backwards through its factor pairs, one after another, and only where every "
    "one of them leads nowhere, add and subtract, but never take a sum before all of the four numbers have a place."
)


def test_a_long_bullet_reaches_the_reasoner_whole_and_its_excess_is_recorded() -> None:
    def reply(question: Complete) -> str:
        if question.role == "composer" and question.template.name.endswith("reasoner"):
            return guided("Guidance", LONG)
        return coached(question) if question.role == "composer" else answering(question)

    for settings in (service(relevance_floor=None), setting()):
        ran = episode(reply, settings, memory=full_memory())
        assert f"- {LONG}\n" in shown(ran.asks("reasoner")[0]) + "\n"
        assert ran.of(KnowledgeReached)[0].cut == len(LONG.split()) - 20
