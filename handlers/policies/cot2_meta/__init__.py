"""CoT2-Meta: tree search over partial trajectories under a limit of calls, steered by code.

A process oracle and a confidence query score each new trajectory; a deterministic controller
expands, prunes, repairs, stops or abstains.

Source: *CoT2-Meta*, Algorithm 2.
"""

from __future__ import annotations

from handlers.policies.base import Conclusion, Policy, Task
from handlers.policies.baselines.chain import ChainSettings, greedy
from handlers.policies.cot2_meta.conclude import close, decide
from handlers.policies.cot2_meta.search import Search, run
from handlers.policies.cot2_meta.settings import Cot2Settings
from schemas.asking import OutOfLimit, Steps

# ``search`` is Algorithm 2 and holds the tree; ``grow`` asks models, in lanes; ``controller``
# decides, and is plain code over meta-states; ``conclude`` ends the search; ``trace`` reads the
# tree off the log again for people. A reference must never enter an episode: what is right is known
# to ``diagnose`` alone, afterwards. And whatever is compared with a threshold is an exact fraction,
# for the paper's thresholds are met at equality.


def solve(task: Task, settings: Cot2Settings) -> Steps[Conclusion]:
    """Algorithm 2; without a tree it is greedy chain of thought."""
    if not settings.tree:
        return (yield from greedy(task, ChainSettings(output_cap=settings.output_cap)))
    return (yield from through(Search(task, settings)))


def through(search: Search) -> Steps[Conclusion]:
    """A search from its root to its conclusion."""
    try:
        yield from run(search)
        # A limit that struck within a lane would refuse the closing call as well.
        if search.limit is None:
            yield from close(search)
    except OutOfLimit as limit:
        search.limit = limit.which
    return (yield from decide(search))


COT2_META = Policy(
    name="cot2_meta",
    version="15",
    about="tree search: oracle and confidence score trajectories; code prunes, repairs, stops",
    settings=Cot2Settings,
    roles=("thinker", "oracle", "confidence", "repairer", "reasoner", "fallback"),
    solve=solve,
    confidence_source="stated",
)
