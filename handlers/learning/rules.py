"""Learning rules by name: how what a batch's episodes measured changes a scope's learned state.

Policies score with the state, folds apply the rule when a memory version closes; both are pure. Arms,
edge weights and beliefs live here, never on the log: the log holds rewards, paths and outcomes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from handlers.learning import bandits, beliefs, graph
from handlers.learning.measured import Measured as Measured
from schemas.events.base import Event

Rule: TypeAlias = Callable[
    [Mapping[str, Any], Sequence[Measured], Mapping[str, Any], Sequence[Event]], dict[str, Any]
]
"""``rule(state before, members in order, constants, facts of the learning episode)``: the state after.

JSON values only. A rule takes from members, from facts, or from both.
"""


def _of_members(
    rule: Callable[[Mapping[str, Any], Sequence[Measured], Mapping[str, Any]], dict[str, Any]],
) -> Rule:
    return lambda before, members, constants, said: rule(before, members, constants)


RULES: Final[Mapping[str, Rule]] = MappingProxyType(
    {
        "beliefs@1": _of_members(beliefs.after),
        "graph@2": graph.after,
        "linucb@1": _of_members(bandits.linucb),
    }
)
"""Rules by ``name@version``: a rule that changes what it computes gets a new version."""


def learned_after(
    rule: str | None,
    before: Mapping[str, Any],
    members: Sequence[Measured],
    constants: Mapping[str, Any],
    said: Sequence[Event] = (),
) -> Mapping[str, Any]:
    """The learned state after a batch; unchanged without a rule. Raises ``KeyError`` for an unknown one."""
    return before if rule is None else RULES[rule](before, members, constants, said)
