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
from tests.papers.told import served, wrapped
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
    return "\n".join(
        f"Step {at}: Semantic={s[0]}, Logical={s[1]}, Fix={s[2]}" for at, s in enumerate(steps, 1)
    )


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


def grown(
    said: str,
    answer: str = "",
    *,
    left: int,
    allow: Sequence[int] = (5, 2),
    step: float,
    trust: float,
    value: float,
) -> str:
    """How it is told that a search of one strategy grows its first node, and that oracle and confidence judge it.

    So many calls are left; the lane is allowed the first number of them, and each of the two that judge the second.
    """
    found, shown = (f" answer={answer}", f" / Final answer: {answer}") if answer else ("", "")
    low = " low=1" if step < 0.5 else ""
    return wrapped(f"""\
1 frontier.scored round=0 scores=[[opened 0]] chosen=opened left={left}
2 forked lanes=1 allow=[{allow[0]}]
2.0.0 thinker thinker.direct temperature=0.4 top_p=0.95 max_tokens=8192
    problem: What is six times four?
2.0.1 generated round=0 role=thinker{found} source=2.0.0 parse=ok
2.0.2 forked lanes=2 allow=[{allow[1]} {allow[1]}]
2.0.2.0.0 oracle oracle temperature=0 max_tokens=8192 (problem as before)
    trajectory: [Step 1] / {said}{shown}
    steps_to_score: Step 1
2.0.2.0.1 oracle.scored node=2.0.0 steps=[[{step} {step} {step}]] rewards=[{step}] value={step}{low} \
source=2.0.2.0.0 parse=first
2.0.2.1.0 confidence confidence.A temperature=0 max_tokens=8192 (problem, trajectory as before)
2.0.2.1.1 confidence.stated node=2.0.0 value={trust} source=2.0.2.1.0 wording=A parse=first
3 node.expanded round=0 node=opened children=[(node=2.0.0 strategy=direct depth=1 value={value})]
""")


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
