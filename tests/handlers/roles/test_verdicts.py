"""A verdict says enough where there is nothing to change: no call is paid for the words around it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from handlers.policies.baselines.self_refine import CRITIC
from handlers.roles.form import Unreadable
from handlers.roles.role import Role
from schemas.reply import Field
from tests.handlers.roles.every import roles

UNLESS = [
    (role, field, verdict)
    for role in roles()
    for field in role.reply.fields
    if field.unless is not None
    for verdict in next(f for f in role.reply.fields if f.label == field.unless[0]).choices
]


def ways(field: Field, verdict: str) -> list[str]:
    assert field.unless is not None
    label = field.unless[0]
    return [
        f"{label}: {verdict}",
        f"**{label}:** {verdict}.",
        f'{{"{label}": "{verdict}"}}',
        f"{field.label}: {field.about}\n{label}: {verdict}",
        f"{field.label}: ...\n{label}: {verdict}",
    ]


def test_some_roles_have_one() -> None:
    assert {"critic", "verifier", "monitor", "judge", "answer_judge", "meta_reasoner"} <= {
        role.name for role, _, _ in UNLESS
    }


@pytest.mark.parametrize(
    ("role", "field", "verdict"),
    UNLESS,
    ids=[f"{role.template.name}-{field.label}-{verdict}" for role, field, verdict in UNLESS],
)
def test_a_verdict_alone_is_read_where_nothing_else_is_needed(
    role: Role, field: Field, verdict: str
) -> None:
    assert field.unless is not None
    label, spared = field.unless
    for reply in ways(field, verdict):
        found = role.read(reply)
        if verdict in spared:
            assert found == {label: verdict}, reply
        else:
            assert isinstance(found, Unreadable), reply
            assert found.field == field.label
    assert role.read(f"{field.label}: a word\n{label}: {verdict}") == {
        field.label: "a word",
        label: verdict,
    }


def test_what_is_asked_for_is_asked_for_all_the_same() -> None:
    """Neither the prompt nor the schema says that it may be missing."""
    for role, field, _ in UNLESS:
        plain = replace(field, unless=None)
        assert (field.line(), field.note(), field.schema()) == (
            plain.line(),
            plain.note(),
            plain.schema(),
        ), role.name


def test_what_a_small_model_said_as_critic() -> None:
    """All eight replies of Qwen2.5-Coder-1.5B-Instruct that were not read at first asking of thirty drafts."""
    assert CRITIC.read("Sound: YES") == {"Sound": "YES"}
    assert CRITIC.read("Feedback: The solution is sound as it stands.\nSound: YES") == {
        "Sound": "YES"
    }, "these are the prompt's own words"
    assert CRITIC.read("Feedback: ...\nSound: YES") == {"Sound": "YES"}
    for lacking in (
        "Feedback: None. The solution is sound as it stands and meets all the requirements of the problem.",
        "No changes needed. The solution is sound as it stands.",
        "Feedback: ...\nSound: YES | NO",
        "Feedback: None.\nSound: missing.",
    ):
        assert isinstance(CRITIC.read(lacking), Unreadable)
