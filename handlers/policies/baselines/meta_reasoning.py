"""Meta-reasoning prompting: the model picks one of seven methods, which is then run as it is set.

Source: Gao et al. 2024; MC² App. B (the seven methods); design/baselines.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import PositiveInt

from handlers.policies.base import Conclusion, Policy, Task
from handlers.policies.baselines import consistency, self_refine, tree
from handlers.policies.baselines.chain import ChainSettings, cot
from handlers.policies.baselines.prelude import ANALOGICAL, SIMULATE, STEP_BACK, with_prelude
from handlers.policies.last_call import answering
from handlers.roles.role import Role, choice, text
from schemas.asking import Steps
from schemas.events.strategy import StrategyChosen
from schemas.questions import Sampling
from schemas.settings import PolicySettings

METHODS: Mapping[str, str] = {
    "cot": "chain of thought: think step by step, straight on; for problems with one clear way",
    "tot": "tree of thoughts: try several steps, rate them, follow the best; for search",
    "sc": "self-consistency: solve it several times and vote; for computations that slip easily",
    "self_refine": "self-refine: draft, criticise, revise; for answers that can be improved",
    "step_back": "step back: find the principle first, then apply it; for science and knowledge",
    "analogical": "analogy: recall problems like it and how they are solved; for known kinds",
    "simulate": "simulate: play the situation through, from each side; for people and processes",
}

CHOOSER = Role.of(
    "meta_reasoner",
    "Before a problem is solved, decide how. Below are the problem and the methods that you may "
    "use, each with what it is good for. Weigh them against what this problem demands, and choose "
    "the one that fits best. Do not solve the problem.",
    sections=("Problem", "Methods"),
    reply=(
        text("Assessment", "what the problem demands", unless=("Method", tuple(METHODS))),
        choice("Method", tuple(METHODS), "the method that fits best"),
    ),
    template="meta_reasoning.choose",
)


class ChooserSettings(PolicySettings):
    """Settings of meta-reasoning; a chosen method runs with its own."""

    caps: ClassVar[frozenset[str]] = frozenset({"thinker", "judge"})
    paper: ClassVar[Mapping[str, Any]] = {"output_cap": None}

    output_cap: PositiveInt | None = 8_192
    """Tokens that a reply may take."""


PRELUDES: Mapping[str, Role] = {
    "step_back": STEP_BACK,
    "analogical": ANALOGICAL,
    "simulate": SIMULATE,
}
"""Methods that write something about the problem first."""


def run(method: str, task: Task, cap: int | None) -> Steps[Conclusion]:
    """The steps of one method, as it would work by itself."""
    # Their bare generators and not their policies: what is laid around a policy
    # lies around this one.
    match method:
        case "tot":
            return tree.solve(task, tree.TreeSettings())
        case "sc":
            return consistency.solve(task, consistency.ConsistencySettings(output_cap=cap))
        case "self_refine":
            return self_refine.solve(task, self_refine.RevisionSettings(output_cap=cap))
        case "cot":
            return cot(task, ChainSettings(output_cap=cap))
        case _:
            return with_prelude(task, PRELUDES[method], cap)


def solve(task: Task, settings: ChooserSettings) -> Steps[Conclusion]:
    """One call for the choice; chain of thought where it cannot be read."""
    listed = "\n".join(f"{name}: {what}" for name, what in METHODS.items())
    said = yield from CHOOSER.put(
        {"problem": task.posed, "methods": listed},
        sampling=Sampling(max_tokens=settings.output_cap),
    )
    # A slip of the chooser costs the choice and not the answer.
    method = said.get("Method") or "cot"
    yield StrategyChosen(round=0, arm=method, how="direct", source=said.source)
    return (yield from run(method, task, settings.output_cap))


META_REASONING = Policy(
    name="meta_reasoning",
    version="3",
    about="the model picks one of seven methods, which is then run as it is set",
    settings=ChooserSettings,
    roles=("meta_reasoner", "reasoner", "thinker", "judge", "critic"),
    solve=answering(solve),
)
