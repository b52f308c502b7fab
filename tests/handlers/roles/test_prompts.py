"""What every role is told, word for word: a change of a prompt is seen in a diff of ``prompts.txt``."""

from __future__ import annotations

from schemas.reply import ABOUT
from tests.handlers.roles.every import PAGE, page, roles


def test_prompts_are_as_they_were_last_read() -> None:
    """After a change: ``python -m tests.handlers.roles.every``, then read the diff."""
    assert page() == PAGE.read_text(encoding="utf-8")


def test_no_prompt_shows_what_a_small_model_copies() -> None:
    """Angle brackets in a form, and descriptions on its lines, come back as replies."""
    for role in roles():
        form = role.template.reply.block()
        assert "<" not in form, role.template.name
        for field in role.reply.fields:
            assert len(field.about) < 10 or field.about not in form.partition(ABOUT)[0]


def test_forms_say_their_counts_as_people_do() -> None:
    said = page()
    for odd in ("1 items", "1-1", "2-2", "items, one a line", "exactly 1 items"):
        assert odd not in said
