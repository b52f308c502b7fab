"""Every policy of this build by name."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from handlers.policies.answer_judge import JUDGED
from handlers.policies.base import Policy
from handlers.policies.baselines.trusted import TRUSTED
from handlers.policies.bases import BASELINES, SYSTEMS
from handlers.policies.cascade import CASCADE
from handlers.policies.cot2_meta.rescored import RESCORED
from handlers.policies.graph_memory import GRAPH_MEMORY
from handlers.policies.reviewed import REVIEWED


class UnknownPolicy(LookupError):
    """No policy of this build has that name; the message names the nearest ones."""


POLICIES: Mapping[str, Policy[Any]] = {
    **SYSTEMS,
    GRAPH_MEMORY.name: GRAPH_MEMORY,
    CASCADE.name: CASCADE,
    REVIEWED.name: REVIEWED,
    **BASELINES,
}


# Side runs are verified and resumed like episodes, so their policies must be found by the name that
# the log holds; but nobody should be offered one to solve a problem with.
_ASIDE: tuple[Policy[Any], ...] = (JUDGED, RESCORED, *TRUSTED)
ASIDE: Mapping[str, Policy[Any]] = {each.name: each for each in _ASIDE}
"""What only side runs work by: known by name, and in no list."""


def find(name: str) -> Policy[Any]:
    """The policy of this name. Raises ``UnknownPolicy``."""
    policy = POLICIES.get(name)
    if policy is None:
        near = get_close_matches(name, POLICIES, n=3) or sorted(POLICIES)
        raise UnknownPolicy(f"no policy {name!r}; did you mean {' or '.join(near)}?")
    return policy
