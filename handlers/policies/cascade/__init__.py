"""The cascade: cheap chains first; what else is tried, and whether, hangs on what it is expected to gain.

It composes the five systems, and is meant to be used for its own sake: an answer at the price that it is worth.
"""

from __future__ import annotations

from handlers.policies.base import Policy
from handlers.policies.cascade.learn import learn
from handlers.policies.cascade.reflect import reflect
from handlers.policies.cascade.settings import STRONG, CascadeSettings, constants, usual
from handlers.policies.cascade.solve import CONFIDENCE, solve
from handlers.policies.cascade.warm import warm_start
from handlers.policies.cot2_meta import COT2_META
from handlers.policies.last_call import answering
from handlers.policies.mc2.distil import found_by
from handlers.policies.mc2.settings import Mc2Settings

# ``solve`` draws the first chains and then goes from arm to arm (``arms``); ``working`` knows how
# far the leading answer is to be trusted, from what ``handlers.learning.cascade`` learned of votes
# and opinions. After a batch ``learn`` asks which candidates were right. Nothing in an episode
# hangs on an outcome, only on what earlier batches came to: an arm is chosen for its expected gain,
# and no grader is asked before the answer is given.
CASCADE = Policy(
    name="cascade",
    version="4",
    about="cheap chains, then a bandit tries what should gain more than it costs: a check, lessons, a search",
    settings=CascadeSettings,
    roles=tuple(dict.fromkeys(("reasoner", "monitor", STRONG, *COT2_META.roles, "distiller"))),
    solve=answering(solve),
    learns="labels",
    reflect=reflect,
    learn=learn,
    found_by=lambda item, settings: found_by(item, Mc2Settings(roles="R")),
    window=lambda settings, size: (
        size if settings.updates == "frozen" and size else settings.batch_size
    ),
    rule="cascade@1",
    rule_constants=constants,
    retirement="opportunities@2",
    usual=usual,
    warm_source=lambda settings: settings.warm_start,
    warm_start=warm_start,
    confidence_source=CONFIDENCE,
)
