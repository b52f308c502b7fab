"""What able models say in layouts of their own: each is read as a person reads it, or asked for again."""

from __future__ import annotations

from typing import Any

import pytest

from handlers.roles.form import Unreadable, parse, preamble
from handlers.roles.grounder import GROUNDER, path_said
from handlers.roles.labels import first_of, marks_of
from handlers.roles.role import answer, choice, number, text
from schemas.reply import Field, Reply

TRUST = Reply((number("Trust", "how far", unit=True),))
SOUND = Reply((text("Why", "the reason"), choice("Sound", ("YES", "NO"), "whether")))
ACTION = Reply((choice("Action", ("ACCEPT", "PATCH", "RESTART"), "what to do", {"1": "ACCEPT"}),))
SOURCE = Reply((choice("Source", ("plain", "missing steps", "not_known"), "where"),))


def read(said: str, form: Reply, label: str) -> Any:
    """What is read behind a label; nothing where the reply would be asked for again."""
    found = parse(said, form)
    return None if isinstance(found, Unreadable) else found.get(label)


@pytest.mark.parametrize(
    ("said", "trust"),
    [
        ("0,95", 0.95), ("0,5 (not sure)", 0.5), ("1e-2", 0.01), ("9.5E-1", 0.95), ("**0.9**.", 0.9),
        ("0.xx", None), ("0.xx -> 0.95", 0.95), ("0.??", None), ("_0.9_", 0.9), ("0.95.", 0.95),
        ("0.8-0.9", None), ("0.8–0.9", None), ("0.8 to 0.9", None), ("80 % – 90 %", None),
        ("0.5 → 0.95", None), ("between 0.8 and 0.9", None), ("0.9 - the 2nd step is short", 0.9),
        ("in [0, 1], 0.95", 0.95), ("(0–1) 0.95", 0.95), ("step 1 is wrong, so 0.1", 0.1),
        ("3 of the 4 steps hold, 0.75", 0.75), ("1 step is off: 0.4", 0.4), ("~~0.5~~ 0.9", 0.9),
        ("M1 says 0.7", 0.7), ("85percent", 0.85), ("3 out of 4", 0.75), ("1, as all hold", 1.0),
        ("50/50", 0.5), ("on a scale from 0 to 1: 0.9", 0.9), ("0.9 on a scale of 0 to 1", 0.9),
        ("on a 0 to 1 scale: 0.8", 0.8), ("On a scale from 0-1: 0.8", 0.8),
    ],
)  # fmt: skip
def test_a_share_among_other_figures(said: str, trust: float | None) -> None:
    """A decimal comma, an exponent and the form's own 0.xx were each read as a nought or a one."""
    assert read(f"Trust: {said}", TRUST, "Trust") == trust


@pytest.mark.parametrize(
    ("said", "sound"),
    [
        ("true", "YES"), ("**False**", "NO"), ("~~YES~~ NO", "NO"), ("not YES", None), ("not a YES", None),
        ("It is not YES but NO", "NO"), ("YES → NO", None), ("YES -> NO", None),
        ("YES/NO → NO", "NO"), ("YES | NO -> **YES**", "YES"), ("YES | NO", None),
        ("NO → see step 2", "NO"), ("true enough", None),
    ],
)  # fmt: skip
def test_a_choice_that_was_denied_struck_out_or_led_to(said: str, sound: str | None) -> None:
    assert read(f"Why: so\nSound: {said}", SOUND, "Sound") == sound


@pytest.mark.parametrize(
    ("said", "form", "label", "found"),
    [
        ("Source: missing_steps", SOURCE, "Source", "missing steps"),
        ("Source: Missing-Steps", SOURCE, "Source", "missing steps"),
        ("Source: not known", SOURCE, "Source", "not_known"),
        ("Source: true", SOURCE, "Source", None),
        ("Action: ACCEPT | PATCH | RESTART → PATCH", ACTION, "Action", "PATCH"),
        ("Action: ACCEPT | PATCH → PATCH", ACTION, "Action", None),
    ],
)
def test_a_choice_in_other_spellings(said: str, form: Reply, label: str, found: str | None) -> None:
    assert read(said, form, label) == found


VERDICT = Reply((text("Finding", "what"), choice("Verdict", ("PASS", "FAIL"), "whether")))
RATED = Reply((number("C_c", "how right", unit=True), number("C_a", "how faithful", unit=True)))
SETTLED = Reply((text("Result", "what"), answer()))


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("✅ Finding: so\n❌ Verdict: FAIL", "FAIL"),
        ("⚖️ **Finding:** so\n🟢 **Verdict:** PASS", "PASS"),
        ("## 1. Finding\nso\n\n## 2. Verdict\nPASS", "PASS"),
        ("**1. Finding**\n\nso\n\n**2. Verdict**\n\nPASS", "PASS"),
        ("Finding (in brief): so\nVerdict (PASS/FAIL): FAIL", "FAIL"),
        ("**Finding** (in brief): so\n**Verdict [PASS | FAIL]:** FAIL", "FAIL"),
        ("Finding → so\nVerdict → PASS", "PASS"),
        ("**Finding** -> so\n**Verdict** => PASS", "PASS"),
        ("<Finding>so</Finding><Verdict>PASS</Verdict>", "PASS"),
        ("<reply>\n<finding>\nso\n</finding>\n<verdict>PASS</verdict>\n</reply>", "PASS"),
        ("𝗙𝗶𝗻𝗱𝗶𝗻𝗴: so\n𝐕𝐞𝐫𝐝𝐢𝐜𝐭: PASS", "PASS"),
        ("【Finding】：so\n【Verdict】：PASS", "PASS"),
        ("Finding: so\nVerdict: PASS\nFinal verdict: FAIL", "FAIL"),
        ("Finding: so\n**My verdict: PASS**", "PASS"),
        ("Finding: so\nVerdict: PASS\nCorrection — Verdict: FAIL", "FAIL"),
        ("Finding: so\n<Verdict>PASS", None),
        ("Finding: so\nVerdict (PASS)", None),
        ("Finding: so\nThe verdict may well be PASS", None),
    ],
)
def test_labels_in_layouts_of_their_own(said: str, verdict: str | None) -> None:
    """Each of these was asked for again, or its first draft counted."""
    assert read(said, VERDICT, "Verdict") == verdict
    if verdict is not None:
        assert read(said, VERDICT, "Finding") == "so"


@pytest.mark.parametrize(
    "said",
    [
        "C_c (correctness): 0.8\nC_a (adherence): 0.9",
        "**C_c (0–1):** 0.8\n**C_a (0–1):** 0.9",
        "C_c ≈ 0.8\nC_a ≈ 0.9",
        "C c 0.8\nC a 90 %",
        "<C_c>0.8</C_c> <C_a>0.9</C_a>",
    ],
)
def test_ratings_in_layouts_of_their_own(said: str) -> None:
    assert parse(said, RATED) == {"C_c": 0.8, "C_a": 0.9}


def test_a_text_keeps_what_only_looks_like_a_later_label_of_it() -> None:
    said = "Result: two parts\nFinal result: 7\nResult (b): 8\nFinal_answer: 7"
    assert read(said, SETTLED, "Result") == "two parts\nFinal result: 7\nResult (b): 8"
    assert read(f"{said}\nCorrected final answer: 9", SETTLED, "Final_answer") == "9"


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("[2, 3]", "2, 3"),
        ('["x = 2", "\\boxed{x = 3}"]', "x = 2, x = 3"),
        ("[[1, 2], [3, 4]]", "[[1,2],[3,4]]"),
        ("[[1, 2]]", "[[1,2]]"),
        ("[42]", "42"),
        ('["none", "null"]', '["none","null"]'),
        ("[]", None),
        ('[{"x": 1}, {"x": 2}]', None),
    ],
)
def test_an_answer_that_json_lists_is_all_of_it(said: str, found: str | None) -> None:
    """Of the roots 2 and 3 the answer was 2."""
    reply = f'{{"Result": "so", "Final_answer": {said}}}'
    assert read(reply, SETTLED, "Final_answer") == found


def test_a_choice_that_may_be_left_out_is_no_label_of_a_free_thought() -> None:
    state = Field("State", "choice", "x", choices=("OPEN", "DONE"), required=False)
    form = Reply((state, answer()))
    said = "State (at first): the valve is open.\nFinal state: open\nFinal_answer: left"
    assert parse(said, form) == {"Final_answer": "left"}


def test_where_labels_stand() -> None:
    said = "I looked.\n✅ Finding: so\n<Verdict>PASS</Verdict> done"
    found = [(said[mark.start : mark.end], mark.label) for mark in marks_of(said, VERDICT)]
    assert found == [("✅ Finding:", "finding"), ("<Verdict>", "verdict")]
    assert preamble(said, VERDICT) == "I looked."
    assert first_of("none here", VERDICT) is None


@pytest.mark.parametrize(
    "said",
    [
        "Path: GS → SR → AN\n\nThe agent asked the USA page on TV.",
        "Path: GS (goal) SR (of an API) AN (USA)",
        "<Path>GS SR AN</Path>",
        "{'Path': ['GS', 'SR', 'AN']}",
        "## 1. Path\nGS\nSR\nAN",
    ],
)
def test_a_path_is_its_states_and_no_other_capitals(said: str) -> None:
    values = GROUNDER.read(said)
    assert not isinstance(values, Unreadable)
    assert path_said(values) == ("GS", "SR", "AN")
