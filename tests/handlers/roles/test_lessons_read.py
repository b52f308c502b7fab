"""Lessons and rules: how they are read, kept, told and found, and why one is refused."""

from __future__ import annotations

import pytest

from handlers.roles.composer import COACHES, Bullets, compose, read_bullets
from handlers.roles.consolidator import CONSOLIDATORS, SIX, Consolidator, new_rules, plain_rule
from handlers.roles.distiller import BATCH_DISTILLERS, DISTILLERS, is_rule
from handlers.roles.form import Unreadable, Values
from tests.papers.told import lines
from tests.scripted import run

MONITORED = lines("""
Descriptor: sums of 12 trays and 3,5 rolls
Red_flags_seen:
- a total is off
Where_to_check_first: the sum
Diagnostic_procedure:
- add again
- compare
- stop
Minimal_countercheck: 12 * 8
Error_found: YES
Error_step: 2
Error_description: by Action 3 it is mended
""")
CONTROLLED = lines("""
Descriptor: a checked sum
Signals_observed:
- the Monitor says NO
- it was checked
Decision_rule_used: IF it is clear THEN Action 1 BECAUSE it was checked
Action_taken: RESTART
If_RESTART_advice_example: begin anew
""")


def said(role: str, reply: str) -> Values:
    found = DISTILLERS[role].role.read(reply)
    assert not isinstance(found, Unreadable)
    return found


# ── Lessons ──────────────────────────────────────────────────────────────────────────────────


def test_a_lesson_is_told_without_the_figures_of_its_case_and_found_by_its_main_lines() -> None:
    distiller = DISTILLERS["monitor"]
    kept = distiller.taken(said("monitor", MONITORED))
    text = distiller.text(kept, "avoid")
    assert text == lines("""
    Polarity: AVOID
    Descriptor: sums of N trays and N rolls
    Red_flags_seen:
    - a total is off
    Where_to_check_first:
    - the sum
    Diagnostic_procedure:
    - add again
    - compare
    - stop
    Minimal_countercheck:
    - 12 * 8
    Good_error_report_example:
    Error_found: YES
    Error_step: 2
    Error_description: by RESTART it is mended
    """)
    key = "sums of N trays and N rolls\na total is off\nadd again\ncompare\nstop"
    for found in (distiller.embedding_text(kept), distiller.found_by(text)):
        assert found == key
    assert distiller.embedding_text(kept, descriptor_only=True) == key.partition("\n")[0]
    assert distiller.found_by(text, descriptor_only=True) == key.partition("\n")[0]


def test_a_lesson_s_action_is_the_one_that_was_taken_and_takes_its_advice_along() -> None:
    distiller, values = DISTILLERS["controller"], said("controller", CONTROLLED)
    assert distiller.taken(values) == values == distiller.taken(values, 3)
    accepted = distiller.taken(values, 1)
    assert accepted["Action_taken"] == "ACCEPT"
    assert set(values) - set(accepted) == {"If_RESTART_advice_example"}
    assert "THEN ACCEPT BECAUSE" in distiller.text(accepted, "do")


@pytest.mark.parametrize(
    ("role", "reply", "wrong"),
    [
        ("monitor", MONITORED, "Descriptor: must hold no digits"),
        ("controller", CONTROLLED, None),
        (
            "controller",
            CONTROLLED.replace("THEN", "so"),
            "Decision_rule_used: must read IF ... THEN an action BECAUSE ...",
        ),
        (
            "controller",
            CONTROLLED.replace("RESTART\n", "PATCH\n"),
            "Action_taken: must be RESTART, the action that was taken",
        ),
        (
            "reasoner",
            "Descriptor: sums\nApplicable_when: trays\nare counted\n"
            "Execution_recipe:\n- a\n- b\n- c\nFailure_mode_to_avoid: none",
            "Applicable_when: must be one line",
        ),
        (
            "reasoner",
            "Descriptor: sums\nApplicable_when: trays\nExecution_recipe:\n- a\n- b\n- c",
            "Failure_mode_to_avoid: missing",
        ),
    ],
)
def test_why_a_lesson_is_not_of_the_paper_s_form(role: str, reply: str, wrong: str | None) -> None:
    distiller = DISTILLERS[role]
    found = distiller.role.read(reply, distiller.check(3 if role == "controller" else None))
    assert (str(found) if isinstance(found, Unreadable) else None) == wrong
    assert not isinstance(distiller.role.read(reply, distiller.check(strict=False)), Unreadable)


@pytest.mark.parametrize(
    ("reply", "declines"),
    [
        ("Descriptor: sums\nDo:\n- add", False),
        ("Descriptor: sums\nDo: none\nAvoid:\n- guess", False),
        ("Descriptor: sums\nAvoid: none", True),
        ("Descriptor: sums\nDo: none\nAvoid: none", True),
    ],
)
def test_a_batch_may_teach_nothing(reply: str, declines: bool) -> None:
    distiller = BATCH_DISTILLERS["monitor"]
    for strict in (True, False):
        found = distiller.role.read(reply, distiller.check(strict=strict))
        assert not isinstance(found, Unreadable)
        assert distiller.declines(found) == declines
        alone = distiller.role.read("Descriptor: sums", distiller.check(strict=strict))
        assert alone == Unreadable("Do", "missing, and so is Avoid")


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("IF a THEN b BECAUSE c", True),
        ("so if a then b because c", True),
        ("IF a THEN b BECAUSE", False),
        ("THEN a IF b BECAUSE c", False),
        ("IF a BECAUSE b THEN c", False),
        ("specific, then because of it", False),
    ],
)
def test_what_reads_as_a_rule(line: str, rule: bool) -> None:
    assert is_rule(line) is rule


# ── Rules ────────────────────────────────────────────────────────────────────────────────────

NOTHING_GENERAL = "rules: none that is a general sentence without digits"


def ruled(
    consolidator: Consolidator, reply: str, *before: str, strict: bool = False
) -> str | tuple[tuple[str, str], ...]:
    """The rules of a reply, or why there are none."""
    check = consolidator.check(before, strict=strict)
    found = consolidator.role.read(reply, check)
    return str(found) if isinstance(found, Unreadable) else consolidator.rules(found)


def test_rules_are_taken_as_far_as_they_can_be_used() -> None:
    reply = lines("""
    R1: - Check the sum before you answer.
    R2: check THE sum before you answer.
    R3: Use Action 2 where the slip is small (see L3), (and only there).
    R4: Add 2 numbers at once.
    R5: DO it
    R6: Go on
    in two lines

    and leave out the rest.
    R7: Never ask for a seventh.
    """)
    assert ruled(CONSOLIDATORS["reasoner"], reply) == (
        ("R1", "Check the sum before you answer."),
        ("R3", "Use PATCH where the slip is small, (and only there)."),
        ("R6", "Go on in two lines"),
    )


THREE = "R1: Look at it first.\nR2: Add it up twice.\nR3: Say what is left."


@pytest.mark.parametrize(
    ("reply", "before", "strict", "found"),
    [
        ("R1: NONE\nR2: NONE", (), False, ()),
        ("R1: NONE\nR2: NONE", ("Look at it first.",), False, NOTHING_GENERAL),
        ("R1: NONE\nR2: DO it", (), False, NOTHING_GENERAL),
        ("R1: NONE\nR2: Both\nR3: NONE", (), False, ()),
        ("R1: NONE\nR2: Both", ("Look at it first.",), False, NOTHING_GENERAL),
        ("R1:\nR2:\nR3:", (), False, ()),
        ("R1:\nR2:\nR3:", ("Look at it first.",), False, NOTHING_GENERAL),
        ("C1:\nC2:\nC3:", (), False, NOTHING_GENERAL),
        ("R01: Look at it first.\nR02: Add it up twice.", (), False, NOTHING_GENERAL),
        ("R7: Look at it first.", (), False, NOTHING_GENERAL),
        ("R1: 先检查单位", (), False, NOTHING_GENERAL),
        ("Hm.", (), False, NOTHING_GENERAL),
        (THREE, ("Look  at it first.",), True, 3),
        (THREE, ("Look around.",), True, "rules: at most 2 may be new"),
        (THREE, ("Look around.",), False, 3),
        (THREE, (), True, 3),
    ],
)
def test_what_rules_there_were_bounds_what_may_come(
    reply: str, before: tuple[str, ...], strict: bool, found: object
) -> None:
    rules = ruled(CONSOLIDATORS["reasoner"], reply, *before, strict=strict)
    assert (len(rules) if found == 3 and isinstance(rules, tuple) else rules) == found


@pytest.mark.parametrize(
    "reply",
    [
        "**R1.** Look at it first.\n**R2.** Add it up twice.",
        "R1. Look at it first.\nR2. Add it up twice.\nR3–R6: NONE",
        "R1) Look at it first.\nR2) Add it up twice.",
        "✅ R1: Look at it first.\n🆕 R2: Add it up twice.\nR3 to R6: NONE",
        "R1 (kept): Look at it first.\nR2 (new): Add it up twice.",
        "<R1>Look at it first.</R1>\n<R2>Add it up twice.</R2>",
    ],
)
def test_rules_behind_labels_of_their_own(reply: str) -> None:
    rules = (("R1", "Look at it first."), ("R2", "Add it up twice."))
    assert ruled(CONSOLIDATORS["reasoner"], reply) == rules


WORDS = ("Check", "Add", "Count", "Read", "Compare", "Doubt")
SIX_RULES = "\n".join(
    f"M{number}: {word} the sum before you go on, e.g. twice."
    for number, word in enumerate(WORDS, 1)
)


@pytest.mark.parametrize(
    ("reply", "wrong"),
    [
        (f"{SIX_RULES}\nM6: Doubt it once more.", "rules: exactly M1 to M6, each once"),
        (SIX_RULES.replace("Add", "Add 2 to"), "M2: must hold no digits"),
        (SIX_RULES.replace("Count the", "Count. Then the"), "M3: must be one sentence"),
        (SIX_RULES.replace("Count", "CHECK"), "rules: two of them say the same"),
        (SIX_RULES.replace("M6", "M7"), "M6: missing"),
    ],
)
def test_why_these_are_not_six_rules(reply: str, wrong: str) -> None:
    assert ruled(SIX["monitor"], reply) == wrong
    rules = ruled(SIX["monitor"], SIX_RULES)
    assert rules[5] == ("M6", "Doubt the sum before you go on, e.g. twice.")
    assert len(rules) == 6


def test_a_rule_is_its_first_paragraph_and_new_where_its_words_are() -> None:
    assert plain_rule("a  b\nc\n \nd") == "a b c"
    assert plain_rule("then Action 3") == "then RESTART"
    assert new_rules((("R1", "a b"), ("R2", "c"), ("R3", "d")), ("a   b", "d ")) == 1


# ── Guidance ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("reply", "kept", "cut"),
    [
        ("Guidance:\nCount the trays.\nAdd them.", ("Count the trays.", "Add them."), 0),
        ("This is what to do:\n- Count.\n- Add", ("Count.", "Add"), 0),
        (f"Guidance:\n- {'so ' * 22}\n- Add", (f"{'so ' * 22}".strip(), "Add"), 2),
        ("Guidance:\n" + "- Add\n" * 8, ("Add",) * 6, 2),
        ("Guidance: none", None, 0),
        ("Count the trays.", None, 0),
    ],
)
def test_guidance_is_read_as_bullets_and_its_surplus_counted(
    reply: str, kept: tuple[str, ...] | None, cut: int
) -> None:
    found = read_bullets(COACHES["reasoner"], reply)
    assert found == (None if kept is None else Bullets(kept, cut))


def test_guidance_that_is_too_long_for_its_room_is_asked_for_once_more() -> None:
    coach = COACHES["reasoner"]
    before = Bullets(("Stay calm.",))
    said = ["Guidance:\n- Count all.", "Guidance:\n- Count."]
    for room, replies, bullets, result in (
        (12, said, ("Count all.",), "composed"),
        (11, said, ("Count.",), "regenerated"),
        (7, said, before.lines, "fallback"),
    ):
        ran = run(compose(coach, {"problem": "p"}, previous=before, room=room), replies)
        assert (ran.result.bullets.lines, ran.result.result) == (bullets, result)
        if room < 12:
            asked = f"Guidance: must be shorter than {room} characters"
            assert asked in ran.requests[1].history[1][1]
