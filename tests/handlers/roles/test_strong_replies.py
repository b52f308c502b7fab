"""What a strong model said to our prompts in its natural style is read, without a second question."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from handlers.roles.again import Meter
from handlers.roles.composer import COACHES, read_bullets
from handlers.roles.consolidator import CONSOLIDATORS
from handlers.roles.form import Unreadable
from handlers.roles.oracle import read_scores
from handlers.roles.progress_judge import DERIVED, JUDGES
from handlers.roles.role import Role
from handlers.roles.step import STEP
from handlers.roles.thinker import THINKERS, Thought, think
from schemas.questions import Completion
from tests.data import shared
from tests.handlers.roles.every import roles

FORMAT = "Reply with these fields, each label at the start of its own line, in this order:"
LABEL = re.compile(r"^([A-Z][\w ]*): ", re.MULTILINE)
ELSEWHERE = {
    (
        "cot2_reasoner_graph",
        51,
    ): "an agent's answer under the grounder's prompt: no path can be read",
}


THEN = {"If_RESTART_advice_example": "If_Action_3_guidance_example"}
"""Fields that have another name now."""
SINCE = frozenset({"Analysis", "When", "General_strategy"})
"""Fields that were not asked for then."""


def labels(role: Role) -> frozenset[str]:
    """What the prompts of that day called its fields."""
    derived = DERIVED if role is JUDGES["A"] else ()
    asked = (THEN.get(field.label, field.label) for field in (*role.reply.fields, *derived))
    return frozenset(asked) - SINCE


@pytest.fixture(scope="module")
def pairs() -> list[dict[str, Any]]:
    with (shared() / "replies/pairs.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


LABELLED: dict[frozenset[str], Role] = {
    frozenset({"Thought", "State", "Final_answer"}): THINKERS["direct"],
    frozenset({"Thought", "State", "Confidence", "Final_answer"}): THINKERS["verify"],
    frozenset({"Reasoning", "Next_step", "State", "Final_answer"}): STEP,
}
"""Roles that asked for their parts under labels then; such replies are read all the same."""


def thought_of(
    role: Role, reply: str, *, finish: str = "stop", to_the_end: bool = True, **more: str
) -> Thought:
    """What a Thinker's or a Repairer's policy makes of a reply."""
    question = role.question({"problem": "p", **more})
    steps = think(question, role, Meter(), to_the_end=to_the_end)
    next(steps)
    with pytest.raises(StopIteration) as ended:
        steps.send(Completion("1", reply, finish, "m"))
    thought: Thought = ended.value.value
    return thought


def wrong(role: Role, reply: str) -> str | None:
    """Why a reply cannot be read as its policy reads it."""
    coach = next((coach for coach in COACHES.values() if coach.role is role), None)
    if coach is not None:
        return None if read_bullets(coach, reply) else "no bullets"
    if role.name == "thinker" and role in THINKERS.values():
        return None if thought_of(role, reply).readable else "no thought"
    if role.name == "oracle":
        return None if read_scores(reply, 1, 99).steps[0][0] is not None else "no scores"
    keeper = next((each for each in CONSOLIDATORS.values() if each.role is role), None)
    values = role.read(reply, None if keeper is None else keeper.check())
    return str(values) if isinstance(values, Unreadable) else None


def test_all_of_them_are_read(pairs: list[dict[str, Any]]) -> None:
    known = LABELLED | {labels(role): role for role in (*roles(),)[::-1]}
    refused: dict[tuple[str, int], str] = {}
    read = 0
    for pair in pairs:
        asked = pair["messages"][0]["content"].rpartition(FORMAT)[2]
        role = known[frozenset(LABEL.findall(asked))]
        problem = wrong(role, pair["reply"])
        read += problem is None
        if problem is not None:
            refused[pair["set"], pair["n"]] = f"{role.template.name}: {problem}"
    assert read >= 147
    assert refused.keys() <= ELSEWHERE.keys(), refused
