"""The questions of a policy that runs over its record again, each by its address."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from schemas.asking import All, Ask, OutOfLimit, Steps


@dataclass(slots=True)
class Questions:
    """Notes questions as they pass, and changes nothing; with ``only``, that at one address alone."""

    # Prompts are not on the log. Whoever shows one runs the policy over its record
    # with this around it.

    only: str | None = None
    found: dict[str, Ask[Any]] = field(default_factory=dict[str, "Ask[Any]"])

    def watch(self, steps: Steps[Any], at: str = "") -> Steps[Any]:
        """The same steps, watched. Addresses are counted as the driver counts them."""
        reply: Any = None
        stopped: OutOfLimit | None = None
        turn = 0
        while True:
            try:
                request = steps.send(reply) if stopped is None else steps.throw(stopped)
            except StopIteration as done:
                return done.value
            here, reply, stopped = f"{at}{turn}", None, None
            turn += 1
            if self.only in (None, here) and isinstance(request, Ask):
                self.found[here] = request
            if isinstance(request, All):
                # The driver runs lanes itself, so each of them has to be watched in its own right.
                lanes = enumerate(request.branches)
                watched = [self.watch(steps, f"{here}.{lane}.") for lane, steps in lanes]
                request = All(watched, request.allow, twins=request.twins)
            try:
                reply = yield request
            except OutOfLimit as limit:
                # The driver throws it into us; the policy must get it at the same
                # place, and may catch it.
                stopped = limit
