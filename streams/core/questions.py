"""The questions of a policy that runs over its record again, each by its address."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import Any, cast

from schemas.asking import All, Ask, Steps, passing


@dataclass(slots=True)
class Questions:
    """Notes questions as they pass, and changes nothing; with ``only``, that at one address alone."""

    # Prompts are not on the log. Whoever shows one runs the policy over its record
    # with this around it.

    only: str | None = None
    found: dict[str, Ask[Any]] = field(default_factory=dict[str, "Ask[Any]"])

    def watch(self, steps: Steps[Any], at: str = "") -> Steps[Any]:
        """The same steps, watched. Addresses are counted as the driver counts them."""
        turns = count()

        def put(request: Any) -> Any:
            here = f"{at}{next(turns)}"
            if self.only in (None, here) and isinstance(request, Ask):
                self.found[here] = cast("Ask[Any]", request)
            if not isinstance(request, All):
                return cast("object", request)
            # The driver runs lanes itself, so each of them has to be watched in its own right.
            fork = cast("All[Any]", request)
            lanes = enumerate(fork.branches)
            watched = [self.watch(branch, f"{here}.{lane}.") for lane, branch in lanes]
            return All(watched, fork.allow, twins=fork.twins)

        return passing(steps, put)
