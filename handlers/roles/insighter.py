"""Roles that turn trajectories into notes and insights.

Source: ExpeL (operations on insights), A-MEM (notes that link and evolve); design/baselines.md.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from handlers.roles.role import Role, choice, listed, text
from schemas.reply import Field

Operation: TypeAlias = Literal["ADD", "UPVOTE", "DOWNVOTE", "EDIT"]

INSIGHTER = Role.of(
    "consolidator",
    """\
You keep a short list of insights about how to work on problems of one kind. Compare the \
trajectories below, those that went well with those that did not, and say what should change in \
the list. An insight is general, can be acted on, and names no detail of a problem.
Each item is one operation: ADD: <insight>, UPVOTE <number>, DOWNVOTE <number>, or \
EDIT <number>: <insight>. Vote for what these trajectories bear out and against what they refute.""",
    sections=("Insights?", "Trajectories"),
    reply=[listed("Insight_operations", "operations on the list of insights", most=8)],
    template="insights",
)
NOTER = Role.of(
    "distiller",
    """\
You take a note of one trajectory, to be found again and built upon later.""",
    sections=("Problem", "Trajectory"),
    reply=[
        text("Context", "one sentence: what the problem was about and how it was approached"),
        listed("Keywords", "words to find the note by", most=8),
    ],
    template="note",
)
LINKER = Role.of(
    "distiller",
    """\
You link a new note to earlier ones that bear on it, and say whether one of them should now be \
understood differently.""",
    sections=("New note", "Earlier notes"),
    reply=[
        choice(
            "Link",
            ("YES", "NO"),
            "YES: the new note belongs with the earlier ones; NO: it does not",
        ),
        Field(
            "Renewed_context",
            "text",
            "how the nearest is to be understood now, or NONE",
            required=False,
        ),
    ],
    template="link",
)

_OPERATION = re.compile(
    r"\W*(?:(ADD)\b[\s:#*→—–]*(?:\d{1,3}[:.)]\s+)?"
    r"|(UPVOTE|DOWNVOTE|EDIT)\b[\s:#*<\[(]*(?:insight\b[\s#]*)?(?:(\d{1,3})(?!\d))?[\s:.)>\]*→—–-]*)(.*)",
    re.IGNORECASE,
)
"""A new insight may begin with a number of its own; one that only counts it is followed by a sign."""


_OBJECT = re.compile(r"(?:operation|op|action|type)=", re.IGNORECASE)
_KEYS = re.compile(r"(?:^|, )(?:\w{1,20})=")
"""An operation that was an object, as lists of JSON are told."""


@dataclass(frozen=True, slots=True)
class Vote:
    """One operation; ``insight`` is the number it is about, none for a new one."""

    operation: Operation
    insight: int | None
    text: str


def votes_of(items: tuple[str, ...]) -> list[Vote]:
    """Operations that can be read; a line that names none adds an insight."""
    found: list[Vote] = []
    for item in items:
        if _OBJECT.match(item):
            item = _KEYS.sub(" ", item)
        match = _OPERATION.match(item)
        if match is None:
            # A line without an operation is most likely an insight that was written down at once.
            found.append(Vote("ADD", None, item.strip()))
            continue
        operation = cast("Operation", (match[1] or match[2]).upper())
        number = int(match[3]) if match[3] else None
        if operation == "ADD" or number is not None:
            found.append(Vote(operation, number, match[4].strip()))
    # Votes need no words; an insight without a text would be an empty line in every later prompt.
    return [vote for vote in found if vote.text or vote.operation in ("UPVOTE", "DOWNVOTE")]
