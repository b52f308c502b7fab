"""What the roles of CoT2-Meta say in scripts, and short runs over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from handlers.policies.base import Conclusion, Task
from handlers.policies.cot2_meta import solve
from handlers.policies.cot2_meta.settings import Cot2Settings
from handlers.policies.cot2_meta.state import Node, root
from handlers.roles.oracle import Scores
from schemas.questions import Complete
from tests.papers.told import served
from tests.scripted import Ran, Script, run

PROBLEM = "Make twenty-four of the numbers 4 5 6 10, each used once."
TASK = Task("r938", PROBLEM, "game24", seed=7)

search = partial(served, "cot2_meta")
"""A search as a service runs it."""

GOOD, HALF, POOR = (1, 1, 1), (0.5, 0.5, 0.5), (0.1, 0.1, 0.1)


def setting(**values: Any) -> Cot2Settings:
    """The paper's profile with some settings changed."""
    return Cot2Settings.resolve("paper", values)


def ran(script: Script, calls: int | None = None, **values: Any) -> Ran[Conclusion]:
    return run(solve(TASK, setting(**values)), script, calls=calls)


def thought(text: str, answer: str | None = None) -> str:
    if answer is None:
        return f"Thought: {text}\nState: OPEN"
    return f"Thought: {text}\nState: ANSWERED\nFinal_answer: ### {answer} ###"


def scores(*steps: Sequence[float]) -> str:
    lines = (
        f"Step {at}: Semantic={s[0]}, Logical={s[1]}, Fix={s[2]}" for at, s in enumerate(steps, 1)
    )
    return "\n".join(lines)


def sure(value: float) -> str:
    return f"Confidence={value}"


def chained(answer: str) -> str:
    return f"Some work.\nFinal_answer: \\boxed{{{answer}}}"


def steps_asked(question: Complete) -> int:
    """How many steps an oracle's question is about."""
    return dict(question.variables)["trajectory"].count("[Step ")


def always(
    step: Sequence[float] = GOOD,
    trust: float = 0.5,
    answers: Mapping[str, str] | None = None,
    answer: str | None = None,
) -> Any:
    """A model that scores every step alike and never says the same thought twice."""
    said: list[str] = []

    def reply(question: Complete) -> str:
        match question.role:
            case "oracle":
                return scores(*[step] * steps_asked(question))
            case "confidence":
                return sure(trust)
            case "reasoner" | "fallback":
                return chained(answer or "none")
            case _:
                said.append(question.role)
                return thought(f"thought {len(said)}", answer)

    return reply


def fractions(*values: str | None) -> Scores:
    first, second, third = (None if value is None else Fraction(value) for value in values)
    return first, second, third


def node(
    *steps: Sequence[str | None],
    v_out: str | None = None,
    settings: Cot2Settings | None = None,
    **other: Any,
) -> Node:
    """A node with these step scores."""
    made = Node("1.0.0", root(), "direct", tuple("x" for _ in steps), **other)
    made.scores = tuple(fractions(*step) for step in steps)
    made.v_out = None if v_out is None else Fraction(v_out)
    made.weigh(settings or setting())
    return made
