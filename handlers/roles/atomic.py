"""Atomic actions: the small moves that a way of thinking is composed of, each one call.

Source: Wu et al. 2024 (HiAR-ICL), § 3.1 (five atomic reasoning actions).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from handlers.roles.role import Role, text
from handlers.roles.thinker import GENERATION, SETTLED, SO_FAR, STATE

FRAME = """\
You work on a problem one thought at a time. A thought is one coherent unit of reasoning, such as a \
part of a derivation, a sub-goal, a check or an intermediate result.
{task}
A short problem may be settled in one thought. Once a thought settles the problem, set the state to \
ANSWERED and give the final answer just as the problem asks for it."""
THOUGHT = text("Thought", "the next thought, and no other after it")

Action: TypeAlias = Literal["analyse", "step", "reason", "divide", "refine"]

TASKS: Mapping[Action, str] = {
    "analyse": """\
Look at the problem as a whole before anything is computed: what is given, what is asked, which \
conditions bind. That is the next thought.""",
    "step": "Make the one step that comes next, and no other. It is the next thought.",
    "reason": "Go on step by step to the very end. All of it is the next thought.",
    "divide": """\
Split what is left into smaller questions and answer them one after another. Questions and answers \
together are the next thought.""",
    "refine": """\
Go critically through all that was said so far, find what is wrong or loose in it, and put it right up \
to the end. That is the next thought.""",
}
# All actions share one frame and one form, so that what differs between two paths of the search is
# the action and nothing else.
ACTIONS: Mapping[Action, Role] = {
    action: Role.of(
        "thinker",
        FRAME.format(task=task),
        sections=("Problem", "Trajectory?"),
        notes=SO_FAR,
        reply=(THOUGHT, STATE, SETTLED),
        template=f"atomic.{action}",
        sampling=GENERATION,
        mends=False,
    )
    for action, task in TASKS.items()
}
