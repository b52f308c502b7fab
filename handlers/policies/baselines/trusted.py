"""The final trajectory of a baseline put to the confidence query that CoT2-Meta asks of its own.

A baseline's own confidence is its share of votes, or a judge's value: no figure of calibration compares with another's.
Nobody chooses these as policies: each works beside an episode of its baseline, whose record it repeats up to the end.

Source: CoT2-Meta § H.1, table 17 (all methods by the same verify-style query).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, TypeVar

from handlers.policies.base import Conclusion, Policy, Task
from handlers.policies.baselines.best_of_n import BEST_OF_N
from handlers.policies.baselines.mcts import REST_MCTS
from handlers.policies.baselines.tree import TOT
from handlers.roles.again import Meter
from handlers.roles.confidence import trust
from schemas.asking import OutOfLimit, Steps, passing
from schemas.events.search import ConfidenceStated
from schemas.questions import Remain, Remaining
from schemas.settings import PolicySettings

R = TypeVar("R")
SPARE: Final = 2
"""Calls that a side run has beyond those of its episode: a query, and once again where it was not read."""


def sparing(steps: Steps[R], calls: int) -> Steps[R]:
    """The same steps, to which so many calls are not there: what is left is told without them."""

    # The side run has more calls than the episode that it repeats. A baseline that saw them would
    # grow wider than it did, and its record would no longer fit.
    def got(asked: object, said: Any) -> Any:
        if isinstance(asked, Remain) and isinstance(said, Remaining) and said.calls is not None:
            return replace(said, calls=max(0, said.calls - calls))
        return said

    return passing(steps, got=got)


def trusted(policy: Policy[Any]) -> Policy[Any]:
    """A baseline that is asked, once it is done, how far its final trajectory is to be trusted."""

    def solve(task: Task, settings: PolicySettings) -> Steps[Conclusion]:
        concluded = yield from sparing(policy.solve(task, settings), SPARE)
        # Without a final trajectory there is nothing to ask about, and the baseline's own figure
        # would be taken for the query's: unknown is the honest one.
        found, final = (
            replace(concluded, confidence=None, confidence_source=None),
            concluded.trajectory,
        )
        if final is None or concluded.answer is None:
            return found
        try:
            heard = yield from trust(task.posed, final.steps, Meter(spare=1))
        except OutOfLimit as limit:
            return replace(found, limit=limit.which)
        value = None if heard.value is None else float(heard.value)
        yield ConfidenceStated(
            node=final.source, value=value, source=heard.source, parse=heard.parse
        )
        return replace(found, confidence=value, confidence_source="stated")

    return Policy(
        name=f"{policy.name}_trusted",
        version=policy.version,
        about=f"the confidence query about the final trajectory of {policy.name}; in side runs only",
        settings=policy.settings,
        roles=tuple(dict.fromkeys((*policy.roles, "confidence"))),
        solve=solve,
        confidence_source="stated",
    )


_BASES: Final[tuple[Policy[Any], ...]] = (BEST_OF_N, TOT, REST_MCTS)
TRUSTED: Final[tuple[Policy[Any], ...]] = tuple(trusted(each) for each in _BASES)
