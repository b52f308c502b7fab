"""What roles and policies declare, and how they have replies drawn, is what was last read."""

from __future__ import annotations

from handlers.roles.role import Role, choice, text
from schemas.questions import Sampling
from tests.handlers.declared import PAGE, page, said


def test_declarations_are_as_they_were_last_read() -> None:
    """After a change: ``python -m tests.handlers.declared``, then read the diff."""
    assert page() == PAGE.read_text(encoding="utf-8")


def test_what_is_left_out_of_a_declaration_is_told() -> None:
    whole = Role.of(
        "r",
        "Do it.",
        sections=("Problem", "Work?"),
        reply=[choice("Verdict", ("A", "B"), "which"), text("Why", "why")],
        sampling=Sampling(max_tokens=512),
        mends=False,
    )
    told = said(whole)
    assert told["sampling"] == {"max_tokens": 512}
    assert told["mends"] is False
    assert told["template"]["sections"][1] == {
        "heading": "Work",
        "variable": "work",
        "optional": True,
    }
    assert said(Role.of("r", "Do it.", sections=(), reply=[text("Why", "why")])).keys() == {
        "name",
        "template",
    }
