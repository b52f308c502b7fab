"""What every role is told, word for word: a change of a prompt is seen in a diff of ``prompts.txt``."""

from __future__ import annotations

from handlers.roles.reasoner import REASONER
from handlers.roles.role import Role
from schemas.fence import sections_of
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


def test_a_prompt_speaks_of_no_section_that_it_does_not_show() -> None:
    """What a section is for stands with it: a first round has neither advice nor a trajectory."""
    for role in roles():
        template = role.template
        for section in template.sections:
            if section.optional:
                assert f'ection "{section.heading}"' not in template.system, template.name
        bare = {s.variable: "" if s.optional else "x" for s in template.sections}
        full = {s.variable: "x" for s in template.sections}
        for section in template.sections:
            assert section.note in template.user(full)
            assert not (section.note and section.optional) or (
                section.note not in template.user(bare)
            )


def test_what_is_said_of_sections_stands_before_all_of_them() -> None:
    said = {"problem": "1 + 1", "guidance": "", "advice": "Count again."}
    user = REASONER.template.user(said)
    before, _, rest = user.partition("### Problem")
    assert before == f"{dict_of_notes(REASONER)['advice']}\n\n"
    assert dict(sections_of(user))["Advice"] == "Count again."
    assert rest.endswith("### Advice\nCount again.")


def dict_of_notes(role: Role) -> dict[str, str]:
    return {section.variable: section.note for section in role.template.sections}
