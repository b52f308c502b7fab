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


HALF = (
    "Sound: yes, but step 3 needs to be changed: use 12",
    "Sound: YES except for step 3",
    "I cannot say YES",
    "Sound: YES would be wrong",
    "Sound: YES\n\nWait, step 2 is wrong. The answer is 14.",
    "Let me check.\nSound: YES\nHmm, actually no. The verdict is NO.",
    "1. Step 2 is wrong: 3 times 4 is 12.\n\nSound: YES",
    '{"Sound": "YES", "comment": "step 2 is wrong"}',
    '{"Feedback": {"step 2": "wrong"}, "Sound": "YES"}',
    '{"step": 1, "sound": "YES"}\n{"step": 2, "sound": "NO"}',
    "Feedback: Step 2 is wrong.\nSound: whether nothing has to be changed",
)
OTHERWISE = (
    'The solution says {"Sound": "YES"}.\nFeedback: it is wrong in step 2\nSound: NO',
    'Step 1: {"sound": "YES"}\nFeedback: step 2 is wrong\nSound: NO',
)


@pytest.mark.parametrize("reply", HALF)
def test_a_verdict_with_words_around_it_is_not_taken_alone(reply: str) -> None:
    assert isinstance(CRITIC.read(reply), Unreadable)


@pytest.mark.parametrize("reply", OTHERWISE)
def test_a_verdict_that_is_quoted_does_not_come_before_the_one_that_is_given(reply: str) -> None:
    found = CRITIC.read(reply)
    assert not isinstance(found, Unreadable)
    assert found["Sound"] == "NO"


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
    """Qwen2.5-Coder-1.5B-Instruct, of its own drafts: what was not read before, and what lacks a label still is not."""
    assert CRITIC.read("Sound: YES") == {"Sound": "YES"}
    assert CRITIC.read("Feedback: The solution is sound as it stands.\nSound: YES") == {
        "Sound": "YES"
    }, "these are the prompt's own words"
    assert CRITIC.read("Feedback: ...\nSound: YES") == {"Sound": "YES"}
    assert CRITIC.read("1. Step 2 is wrong: 3 times 4 is 12.\n\nSound: NO") == {
        "Feedback": "1. Step 2 is wrong: 3 times 4 is 12.",
        "Sound": "NO",
    }, "words above a YES may speak against it, and are not read"
    for lacking in (
        "Feedback: None. The solution is sound as it stands and meets all the requirements of the problem.",
        "Feedback: The solution is sound as it stands. There are no steps that need to be changed or altered.",
        "No changes needed. The solution is sound as it stands.",
        "Feedback: ...\nSound: YES | NO",
        "Feedback: None.\nSound: missing.",
    ):
        assert isinstance(CRITIC.read(lacking), Unreadable)
