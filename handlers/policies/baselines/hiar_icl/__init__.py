"""HiAR-ICL: thought cards, found by tree search over atomic actions, are matched by complexity.

After HiAR-ICL, simplified: complexity is read off the text (quantities and clauses), and the answers of
the matched cards vote. The search is the offline phase: it runs in the scope's first learning episodes,
under their own limit, on problems of their batches.

Source: Wu et al. 2024 (HiAR-ICL); design/baselines.md.
"""

from __future__ import annotations

from handlers.policies.base import Policy
from handlers.policies.baselines.hiar_icl.offline import learn
from handlers.policies.baselines.hiar_icl.solve import CardSettings, solve

__all__ = ["HIAR_ICL", "CardSettings"]

HIAR_ICL = Policy(
    name="hiar_icl",
    version="3",
    about="after HiAR-ICL, simplified: thought cards from a tree search over a first batch, matched "
    "by complexity",
    settings=CardSettings,
    roles=("thinker", "reasoner"),
    solve=solve,
    learns="labels",
    learn=learn,
    window=lambda settings, size: settings.batch_size,
    confidence_source="vote_share",
)
