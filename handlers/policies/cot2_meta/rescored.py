"""The final trajectory of a search put to the confidence query in other words: nothing is searched again.

Nobody chooses it as a policy: it works beside an episode of ``cot2_meta``, whose record it repeats up to the end.

Source: CoT2-Meta § H.1, table 18.
"""

from __future__ import annotations

from dataclasses import replace

from handlers.policies.base import Conclusion, Policy, Task
from handlers.policies.cot2_meta import COT2_META, through
from handlers.policies.cot2_meta.perturb import rescore
from handlers.policies.cot2_meta.search import Search
from handlers.policies.cot2_meta.settings import Cot2Settings
from handlers.roles.confidence import Wording
from schemas.asking import OutOfLimit, Steps

# The search is run again over the record of its episode instead of being read from it: the nodes
# are then the search's own, and the only new call is the query in other words.


class RescoreSettings(Cot2Settings):
    """The search's settings, and the words of the query that is put at its end."""

    rewording: Wording = "B"


def solve(task: Task, settings: RescoreSettings) -> Steps[Conclusion]:
    """What the search concluded, with the confidence that the other words bring; unknown without a trajectory."""
    search = Search(task, settings)
    concluded = yield from through(search)
    found, node = replace(concluded, confidence=None), search.best
    if node is None or concluded.answer is None or concluded.confidence_source == "vote_share":
        return found  # nobody answered, or a vote did: there is no final trajectory
    try:
        said = yield from rescore(task.posed, {node.id: node.steps}, (settings.rewording,))
    except OutOfLimit as limit:
        return replace(found, limit=limit.which)
    return replace(found, confidence=said[node.id][settings.rewording], confidence_source="stated")


RESCORED = Policy(
    name="cot2_rescored",
    version="2",
    about="the confidence query of a finished search in other words; in side runs only",
    settings=RescoreSettings,
    roles=COT2_META.roles,
    solve=solve,
    confidence_source="stated",
)
