"""Version 0 of a memory that starts from another policy's: rules for the Reasoner, else its strongest principles."""

from __future__ import annotations

from handlers.learning.graph import PRINCIPLE
from handlers.policies.mc2.consolidate import rules_of
from handlers.roles.consolidator import RULES, RuleList
from schemas.events.learning import KnowledgeConsolidated
from schemas.memory import Memory


def warm_start(source: Memory) -> tuple[KnowledgeConsolidated, ...]:
    """The rules of MC² that advise the Reasoner, else the strongest principles of a graph memory, six at most.

    Those that are retired are left out. That a cascade begins with them is ours.
    """
    rules = rules_of(source, "reasoner") or strongest(source)
    if not rules:
        return ()
    known = KnowledgeConsolidated(role="reasoner", rules=rules, result="warm", new=len(rules))
    return (known,)


def strongest(source: Memory) -> RuleList:
    """The principles in service with the highest strength, ties by id; none of a memory that holds no graph."""
    # By strength alone: the graph leads from problems like the one at hand to what helped with them,
    # and it stays with the policy that learns it.
    told = source.learned.get("principles", {})
    ranked = sorted(
        (item for item in source.items if item.role == PRINCIPLE and item.kind == "rule"),
        key=lambda item: (-told.get(item.id, {}).get("score", 0), item.id),
    )
    return tuple((item.id, item.text) for item in ranked[:RULES])
