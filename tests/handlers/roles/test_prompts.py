"""What every role is told, word for word: a change of a prompt is seen in a diff of ``prompts.txt``."""

from __future__ import annotations

from handlers.roles.form import Unreadable
from handlers.roles.reasoner import REASONER
from handlers.roles.role import Role
from schemas.fence import sections_of
from schemas.reply import ABOUT, LEADS, REASONING
from tests.handlers.roles.every import PAGE, page, roles

LAST = {
    "composer",
    "confidence",
    "consolidator",
    "controller",
    "distiller",
    "grounder",
    "inducer",
    "meta_reasoner",
    "monitor",
}
"""Roles that see what others said, and write something else than what comes next in it."""


def test_prompts_are_as_they_were_last_read() -> None:
    """After a change: ``python -m tests.handlers.roles.every``, then read the diff."""
    assert page() == PAGE.read_text(encoding="utf-8")


def test_no_prompt_shows_what_a_small_model_copies() -> None:
    """Angle brackets in a form, and descriptions on its lines, come back as replies."""
    for role in roles():
        form = role.template.reply.block()
        assert "<" not in form, role.template.name
        for field in role.reply.fields:
            lines = "\n".join(each.line() for each in role.reply.fields)
            assert form.endswith(lines)
            assert len(field.about) < 10 or field.about not in lines


def test_a_prompt_ends_with_the_form_that_is_to_be_filled_in() -> None:
    """Small models go on with what they saw last: it was our explanation of the form, word for word."""
    for role in roles():
        form = [field.line() for field in role.reply.fields]
        assert role.template.system.endswith("\n".join(form)), role.template.name
        lead = role.template.system.removesuffix("\n".join(form)).rstrip().rpartition("\n")[2]
        assert lead in LEADS
        assert (
            len(form) > 1
            or role.reply.fields[0].kind != "answer"
            or (ABOUT not in role.template.system)
        )


def test_who_answers_is_told_to_reason_before_the_form() -> None:
    """A form that opens with the answer had the answer written down before any thought."""
    first = {role.template.name: role for role in roles() if role.reply.fields[0].kind == "answer"}
    assert len(first) > 10
    assert {name for name, role in first.items() if not role.reply.reasons} == {"direct"}
    for name, role in first.items():
        assert name == "direct" or "Write your reasoning first" in role.template.system


def test_a_reply_by_schema_begins_with_a_place_to_think() -> None:
    """Nobody has to name a kind of problem, a rule or a path before the first thought."""
    opens: set[str] = set()
    for role in roles():
        schema = role.template.schema
        names = list(schema["properties"])
        assert schema["required"] == names
        assert schema["additionalProperties"] is False
        assert names[-len(role.reply.fields) :] == [field.label for field in role.reply.fields]
        opens.add(names[0])
    assert opens == {
        *(
            REASONING,
            "Analysis",
            "Assessment",
            "Brief_rationale",
            "Checks",
            "Comparison",
            "Feedback",
            "Finding",
        ),
        *(
            "Groundwork",
            "Justification",
            "Next_step",
            "Reason",
            "Reflection",
            "Result",
            "Thought",
        ),
    }


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


def test_who_reads_others_work_is_told_last_what_to_write() -> None:
    """A small model goes on with what it read last: with the solution that was to be judged, or with its lessons."""
    told: set[str] = set()
    for role in roles():
        template = role.template
        if template.name.partition(".")[0] in LAST:
            user = template.user({section.variable: "x" for section in template.sections})
            assert template.closing
            assert user.endswith(f"x\n\n{template.closing}")
            assert role.reply.fields[0].label in template.closing, template.name
            assert len(template.closing.split()) <= 45, "what is long is not read last"
            told.add(template.name.partition(".")[0])
    assert told == LAST


def test_no_closing_is_taken_for_a_reply() -> None:
    """Whoever writes down what it was told last has filled in nothing."""
    for role in roles():
        if role.template.closing:
            first = role.reply.fields[0].label
            said = role.read(f"{first}: {role.template.closing}")
            assert isinstance(said, Unreadable) or first not in said, role.template.name
