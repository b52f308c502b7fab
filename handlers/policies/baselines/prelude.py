"""Two calls: something is written about the problem first, then the problem is solved with it.

Source: Zheng et al. 2023 (step-back); Yasunaga et al. 2023 (analogical); Wilf et al. 2023 (SimToM),
each simplified to two calls.
"""

from __future__ import annotations

from handlers.policies.base import Conclusion, Task
from handlers.policies.facts import generated
from handlers.roles.role import Role, answer, text
from schemas.asking import OutOfLimit, Steps
from schemas.questions import Sampling


def _prelude(name: str, prompt: str) -> Role:
    return Role.of(
        "reasoner",
        prompt,
        sections=("Problem",),
        reply=[text("Groundwork", "what the solution can be built on")],
        template=f"prelude.{name}",
        mends=False,
    )


# Methods of three papers in one shape: they differ in what is written first. Each is simplified to
# that, and so they cost the same and can be told apart by their prompts alone.
STEP_BACK = _prelude(
    "step_back",
    "Take a step back from the problem below. Which more general question is behind it, and which "
    "principles, laws or methods answer that? Write them down; do not solve the problem yet.",
)
ANALOGICAL = _prelude(
    "analogical",
    "Recall three problems of the same kind as the one below, all different. Write down each with "
    "its solution; do not solve the problem itself yet.",
)
SIMULATE = _prelude(
    "simulate",
    "Play through what the problem below describes, one moment after another, and from the side of "
    "each who takes part: what is known, what changes, what stays. Write it down; do not answer yet.",
)
SOLVER = Role.of(
    "reasoner",
    "Solve the problem below with the groundwork that you laid for it.",
    sections=("Problem", "Groundwork"),
    reply=[answer()],
    template="prelude.solve",
    mends=False,
)


def with_prelude(task: Task, prelude: Role, cap: int | None) -> Steps[Conclusion]:
    """Groundwork, then the answer."""
    # The groundwork goes on as it was written, readable or not: it is material, and
    # decides nothing.
    sampling = Sampling(max_tokens=cap)
    try:
        first = yield from prelude.put({"problem": task.posed}, sampling=sampling)
        own = {"problem": task.stated, "groundwork": first.text.strip() or "(none)"}
        said = yield from SOLVER.put(own, sampling=sampling)
    except OutOfLimit as limit:
        return Conclusion(answer=None, ended_by="limit", limit=limit.which)
    yield generated(said, 1)
    return Conclusion(answer=said.answer, ended_by="answered")
