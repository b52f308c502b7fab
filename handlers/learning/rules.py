"""Learning rules by name: how what a batch's episodes measured changes a scope's learned state.

Policies score with the state, folds apply the rule when a memory version closes; both are pure. Arms,
edge weights and beliefs live here, never on the log: the log holds rewards, paths and outcomes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from handlers.learning import bandits, beliefs, cascade, contexts, graph
from handlers.learning.contexts import Folded
from handlers.learning.measured import Measured as Measured
from handlers.learning.measured import VectorOf
from schemas.events.base import Event

# A batch pins its rule by name and version, with the constants that its policy had then. Thus a
# version is rebuilt by the rule that made it: what a name stands for must never change, a new rule
# gets a new version.

Rule: TypeAlias = Callable[
    [Mapping[str, Any], Sequence[Measured], Mapping[str, Any], Sequence[Event]], dict[str, Any]
]
"""``rule(state before, members in order, constants, facts of the learning episode)``: the state after.

JSON values only. A rule takes from members, from facts, or from both.
"""
HeldAnew: TypeAlias = Callable[
    [Mapping[str, Any], Iterable[Folded], Mapping[str, Any], VectorOf], dict[str, Any]
]
"""``held(state, batches that it is made of, constants, vector_of)``: the state with other vectors."""


def _by_itself(held: Callable[[Mapping[str, Any], VectorOf], dict[str, Any]]) -> HeldAnew:
    return lambda state, history, constants, vector_of: held(state, vector_of)


def _without_vectors(member: Measured, vector_of: VectorOf) -> Measured:
    return member


def _no_text(fact: Event) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class Vectors:
    """How a rule's vectors are made anew by another embedder: those of its state, and of one member.

    ``text_of`` is what a fact's vector is made of, if it has one.
    """

    held: HeldAnew
    member: Callable[[Measured, VectorOf], Measured] = _without_vectors
    text_of: Callable[[Event], str | None] = _no_text


RULES: Final[Mapping[str, Rule]] = MappingProxyType(
    {
        "beliefs@1": beliefs.after,
        "cascade@1": cascade.after,
        "graph@2": graph.after,
        "linucb@1": bandits.linucb,
    }
)
"""Rules by ``name@version``: a rule that changes what it computes gets a new version."""
VECTORS: Final[Mapping[str, Vectors]] = MappingProxyType(
    {
        "beliefs@1": Vectors(_by_itself(beliefs.anew), beliefs.measured_anew),
        "cascade@1": Vectors(_by_itself(beliefs.anew), beliefs.measured_anew),
        "graph@2": Vectors(_by_itself(graph.anew), text_of=graph.embedded_text),
        "linucb@1": Vectors(contexts.anew, contexts.measured_anew),
    }
)
"""Every rule has its entry here too: a memory may be given another embedder at any time."""


def learned_after(
    rule: str | None,
    before: Mapping[str, Any],
    members: Sequence[Measured],
    constants: Mapping[str, Any],
    said: Sequence[Event] = (),
) -> Mapping[str, Any]:
    """The learned state after a batch; unchanged without a rule. Raises ``KeyError`` for an unknown one."""
    return before if rule is None else RULES[rule](before, members, constants, said)
