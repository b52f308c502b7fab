"""MC² as it serves: lessons and rules are taken as far as they can be used, where the paper's form refuses them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from handlers.policies.mc2.settings import Mc2Settings
from handlers.roles.form import Unreadable
from handlers.roles.monitor import MONITOR
from schemas.events.learning import KnowledgeConsolidated, LessonDistilled, LessonDropped
from schemas.questions import Complete, Embed
from tests.papers.mc2_says import (
    LESSONS,
    PAPER,
    batch,
    item,
    knowing,
    learn,
    learned,
    lesson,
    rules,
    worst,
)
from tests.scripted import Ran, shown

SERVICE = Mc2Settings()
GOOD = rules("R").splitlines()

SHORT = {
    "digits": ("reasoner", "Descriptor: factor pairs", "Descriptor: 3 factor pairs of 1,200"),
    "digits in the condition": ("reasoner", "has few divisors", "has 8 divisors"),
    "no failure": ("reasoner", "Failure_mode_to_avoid:\n- stopping at a near miss", ""),
    "no countercheck": ("monitor", "Minimal_countercheck:\n4 * 6 + 10 - 5 is 29\n", ""),
    "no flag": ("monitor", "Error_found: YES", "Error_found: maybe"),
    "no rule's form": ("controller", "IF the report", "Once the report"),
    "another action": ("controller", "Action_taken: RESTART", "Action_taken: PATCH"),
    "no action": ("controller", "Action_taken: RESTART\n", ""),
    "no advice": ("controller", "- Begin from the target and work backwards.", ""),
}


def _learned_of(role: str, said: str, settings: Mc2Settings) -> Ran[None]:
    """A batch of one failed episode, of which this role's distiller says this."""

    def reply(question: Complete) -> str:
        mine = question.role == "distiller" and question.template.name == f"distiller.{role}"
        return said if mine else learned(question)

    return learn(batch([worst("b")]), reply, settings)


@pytest.mark.parametrize(("role", "good", "bad"), SHORT.values(), ids=SHORT)
def test_a_lesson_that_lacks_a_little_is_kept_at_first_asking(
    role: str, good: str, bad: str
) -> None:
    """The paper's form refuses each of them, asks once more, and drops it."""
    whole = lesson(role, 3)
    assert good in whole
    said = whole.replace(good, bad)
    assert [one.role for one in _learned_of(role, said, PAPER).of(LessonDropped)] == [role]
    ran = _learned_of(role, said, SERVICE)
    assert not ran.of(LessonDropped)
    assert len(ran.asks("distiller")) == 3, "nobody is asked again"
    [kept] = [one for one in ran.of(LessonDistilled) if one.role == role]
    assert not any(map(str.isdecimal, kept.text.split("\n")[1])), "the key that it is found by"


def test_numbers_leave_the_lines_that_a_lesson_is_found_by() -> None:
    said = lesson("reasoner").replace("factor pairs", "3 factor pairs of 1,200")
    ran = _learned_of("reasoner", said, SERVICE)
    [kept] = [one for one in ran.of(LessonDistilled) if one.role == "reasoner"]
    assert kept.text.split("\n")[1] == "Descriptor: N factor pairs of N before sums"
    [embed] = [question for _, question in ran.asked if isinstance(question, Embed)]
    assert embed.texts[0].startswith("N factor pairs of N before sums\n")
    assert "6 * 5 = 30" in kept.text, "the fragment of the case keeps its numbers"


@pytest.mark.parametrize("said", ["PATCH", "ACCEPT | PATCH | RESTART", "I do not know"])
def test_the_action_of_a_lesson_is_the_one_that_was_taken(said: str) -> None:
    whole = lesson("controller", 3).replace("Action_taken: RESTART", f"Action_taken: {said}")
    ran = _learned_of("controller", whole, SERVICE)
    [kept] = [one for one in ran.of(LessonDistilled) if one.role == "controller"]
    assert "\nAction_taken: RESTART\n" in kept.text
    assert kept.text.endswith("Begin from the target and work backwards.")


@pytest.mark.parametrize(
    ("role", "core"),
    [
        ("reasoner", "Execution_recipe"),
        ("monitor", "Diagnostic_procedure"),
        ("controller", "Decision_rule_used"),
        ("reasoner", "Descriptor"),
    ],
)
def test_a_lesson_without_what_it_teaches_is_none(role: str, core: str) -> None:
    said = lesson(role, 3).replace(core, "Something_else")
    ran = _learned_of(role, said, SERVICE)
    assert [(one.role, one.reason) for one in ran.of(LessonDropped)] == [(role, f"{core}: missing")]
    assert len(ran.asks("distiller")) == 4


DECLINED = {
    "reasoner": "Descriptor: sums\nExecution_recipe: NONE",
    "monitor": "Descriptor: Problem\n\nRed_flags_seen: None\n\nDiagnostic_procedure: None\n\nError_found: NO",
    "controller": "Descriptor: sums\nDecision_rule_used: N/A",
}


@pytest.mark.parametrize("role", DECLINED)
def test_a_distiller_that_finds_nothing_to_teach_is_not_asked_for_it_again(role: str) -> None:
    """It was: a small model, asked twice, then made a lesson up."""
    ran = _learned_of(role, DECLINED[role], SERVICE)
    [dropped] = ran.of(LessonDropped)
    assert (dropped.role, dropped.reason) == (role, "its distiller found nothing to teach")
    assert dropped.source is not None, "what it said is on the record"
    assert sorted(one.role for one in ran.of(LessonDistilled)) == sorted({*DECLINED} - {role})
    assert len(ran.asks("distiller")) == 3
    again = _learned_of(role, DECLINED[role], PAPER)
    assert len(again.asks("distiller")) == 4, "the paper's form has no such reply"


@pytest.mark.parametrize("said", ["Do: NONE\nAvoid: NONE", "Do: none"])
def test_a_batchs_distiller_may_find_nothing_to_teach_either(said: str) -> None:
    settings = SERVICE.model_copy(update={"distil": "per_batch"})
    ran = learn(batch([worst("b")]), lambda _: f"Descriptor: sums\n{said}", settings)
    assert len(ran.of(LessonDropped)) == len(ran.asks("distiller")) == 3
    assert not ran.of(LessonDistilled)


# ── Rules ────────────────────────────────────────────────────────────────────────────────────


def _rules_of(*said: str, known: int = 0) -> tuple[Ran[None], KnowledgeConsolidated]:
    """What the Reasoner's rules are after a batch with one live lesson, and so many rules before."""
    old = [
        item(f"R{at + 1}", "reasoner", GOOD[at].partition(": ")[2], kind="rule")
        for at in range(known)
    ]
    memory = knowing(*old, item("L1.R1", "reasoner", LESSONS["reasoner"]))
    ran = learn(batch([], 2, memory), {"consolidator": said}, SERVICE)
    return ran, next(one for one in ran.of(KnowledgeConsolidated) if one.role == "reasoner")


TAKEN = {
    "fewer": ("\n".join(GOOD[:2]), [1, 2]),
    "one": (GOOD[0], [1]),
    "none behind some": ("\n".join((*GOOD[:2], "R3: NONE", "R4: N/A", "R5: none")), [1, 2]),
    "more": ("\n".join((*GOOD, "R7: Check the parts again before the whole.")), range(1, 7)),
    "a digit in one": ("\n".join((GOOD[0], "R2: Check 2 parts.", GOOD[2])), [1, 3]),
    "the same twice": ("\n".join((*GOOD[:2], GOOD[0].replace("R1", "R3"))), [1, 2]),
    "an example": (f'{GOOD[0].removesuffix(".")} (e.g., "3 bolts", not 4).\n{GOOD[1]}', [1, 2]),
    "bulleted": (f"- **R1:** {GOOD[0][4:]}\n- **R2:** {GOOD[1][4:]}", [1, 2]),
    "below its label": (f"R1:\n- {GOOD[0][4:]}\nR2:\n- {GOOD[1][4:]}", [1, 2]),
}


@pytest.mark.parametrize(("said", "ids"), TAKEN.values(), ids=TAKEN)
def test_as_many_rules_as_there_are_up_to_six(said: str, ids: list[int]) -> None:
    ran, fact = _rules_of(said)
    assert len(ran.asks("consolidator")) == 1, "nobody is asked again"
    assert fact.result == "consolidated"
    assert fact.rules == tuple((f"R{at}", GOOD[at - 1][4:]) for at in ids)


@pytest.mark.parametrize(
    "said",
    ["", "All is well.", "R1: NONE", "R1: Check 2 parts.", "M1: Check.", "R1: DO\nR2: AVOID"],
)
def test_rules_before_stay_where_none_can_be_read(said: str) -> None:
    ran, fact = _rules_of(said, said, known=2)
    assert len(ran.asks("consolidator")) == 2
    assert (fact.result, fact.new) == ("fallback", 0)
    assert fact.rules == tuple((f"R{at}", GOOD[at - 1][4:]) for at in (1, 2))


def test_no_rule_is_a_reply_too_where_there_was_none() -> None:
    """Nothing general follows from one lesson; asked again, a small model invents it."""
    ran, fact = _rules_of("R1: NONE\nR2: none\nR3: N/A")
    assert len(ran.asks("consolidator")) == 1
    assert (fact.result, fact.rules) == ("consolidated", ())


def test_a_lessons_marks_are_no_rules() -> None:
    """A small model wrote the six marks of the lessons behind the six labels."""
    ran, fact = _rules_of("R1: DO\nR2: AVOID\nR3: Check both.\nR4: " + GOOD[3][4:])
    assert len(ran.asks("consolidator")) == 1
    assert [name for name, _ in fact.rules] == ["R4"]


def test_a_rule_that_is_left_out_is_gone_and_the_others_keep_their_ids() -> None:
    _, fact = _rules_of("\n".join((GOOD[0], GOOD[2])), known=3)
    assert [name for name, _ in fact.rules] == ["R1", "R3"]
    assert fact.new == 0


def test_no_prompt_that_serves_begs_for_six_rules() -> None:
    """Six were demanded beside "only what several lessons support": the rest was made up."""
    cold = shown(_rules_of(GOOD[0])[0].asks("consolidator")[0])
    assert "exactly" not in cold
    assert "six at most" in cold
    assert "### Rules" not in cold
    assert "present rules" not in cold, "nothing is said of rules that are not there"
    assert "present rules" in shown(_rules_of(GOOD[0], known=1)[0].asks("consolidator")[0])
    strict = learn(batch([worst("b")]), learned, PAPER).asks("consolidator")[0]
    assert "exactly six rules" in shown(strict)


# ── The Monitor ──────────────────────────────────────────────────────────────────────────────


def test_the_monitors_form_begins_with_its_analysis() -> None:
    """A small model wrote its verdict without a word before it: the form is filled in from its top."""
    [first, *_] = MONITOR.reply.fields
    assert (first.label, first.kind) == ("Analysis", "text")
    assert next(iter(MONITOR.template.schema["properties"])) == "Analysis"
    assert not isinstance(MONITOR.read("It holds.\nError_found: NO"), Unreadable)


WORDS = {"reasoner": "Guess early.", "monitor": "Trust the last line."}


def _consolidators(
    settings: Mc2Settings, word: str = "retired", count: int = 1
) -> dict[str, Mapping[str, str]]:
    """What consolidators are shown, by role; so many of the Reasoner's rules were retired, the last by this word."""
    old = [
        item(f"R{k}", "reasoner", f"Bad rule {k}.", kind="rule", number=k) for k in range(1, count)
    ]
    last = item("R1", "reasoner", WORDS["reasoner"], kind="rule", number=count)
    other = item("M1", "monitor", WORDS["monitor"], kind="rule")
    taught = [item(f"L1.{role[0].upper()}1", role, said) for role, said in LESSONS.items()]
    memory = replace(
        knowing(other, *taught),
        aside=tuple(enumerate([*old, last])),
        standing={"ruled": {last.mark: word}},
    )
    ran = learn(batch([], 2, memory), learned, settings)
    asked = [question for question in ran.requests if question.role == "consolidator"]
    return {each.template.name.split(".")[1]: dict(each.variables) for each in asked}


def test_a_consolidator_is_told_which_rules_of_its_role_were_retired() -> None:
    """Else it writes them again in other words, which are measured from the start; the paper has no such section."""
    shown = _consolidators(SERVICE)
    assert shown["reasoner"]["withdrawn"] == f"- {WORDS['reasoner']}"
    assert WORDS["monitor"] in shown["monitor"]["rules"]
    others = [shown["monitor"], *_consolidators(SERVICE, "restored").values()]
    assert not any(each.get("withdrawn") for each in (*others, *_consolidators(PAPER).values()))
    many = _consolidators(SERVICE, count=9)["reasoner"]["withdrawn"].splitlines()
    assert many == [f"- {WORDS['reasoner']}", *(f"- Bad rule {k}." for k in (8, 7, 6, 5, 4))]
