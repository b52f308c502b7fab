"""Meta-Reasoner: a contextual bandit steers step-wise reasoning by choosing strategies.

Source: *Meta-Reasoner*, Algorithm 1.
"""

from __future__ import annotations

from handlers.policies.base import Policy
from handlers.policies.last_call import answering
from handlers.policies.meta_reasoner.reflect import measured_texts, reflect
from handlers.policies.meta_reasoner.settings import MetaReasonerSettings, constants
from handlers.policies.meta_reasoner.solve import most_calls, solve

# ``solve`` is Algorithm 1's loop over an ``Episode``, ``advise`` everything between two steps. The
# bandit itself is ``handlers.learning.bandits``: an episode folds its own rewards on the pinned
# arms, ``reflect`` leaves the same pulls, and the scope's arms learn from these when the batch
# closes. A reward must be credited to the context in which its arm was chosen, the report before
# the step, and never to the report that the judge's step led to.

CLOSING_CAP = 2_048
"""Tokens of the one call that is kept for an answer: more than a step, as it may finish several."""

META_REASONER = Policy(
    name="meta_reasoner",
    version="7",
    about="one step at a time; a bandit learns which strategy to advise after a progress report",
    settings=MetaReasonerSettings,
    roles=("step", "reporter", "judge", "meta_reasoner", "reasoner"),
    solve=answering(solve, lambda settings: settings.sampling(CLOSING_CAP)),
    most_calls=most_calls,
    learns="self",
    reflect=reflect,
    measured_texts=measured_texts,
    window=lambda settings, size: settings.window,
    rule="linucb@1",
    rule_constants=constants,
    confidence_source="value",
)
