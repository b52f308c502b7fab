"""What able models say in layouts of their own: each is read as a person reads it, or asked for again."""

from __future__ import annotations

from typing import Any

import pytest

from handlers.roles.form import Unreadable, parse
from handlers.roles.role import choice, number, text
from schemas.reply import Reply

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
    ],
)  # fmt: skip
def test_a_share_among_other_figures(said: str, trust: float | None) -> None:
    """A decimal comma, an exponent and the form's own 0.xx were each read as a nought or a one."""
    assert read(f"Trust: {said}", TRUST, "Trust") == trust


@pytest.mark.parametrize(
    ("said", "sound"),
    [
        ("true", "YES"), ("**False**", "NO"), ("~~YES~~ NO", "NO"), ("not YES", None),
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
