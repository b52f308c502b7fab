"""The state of endpoints: what calls of one model share, and what all calls of one endpoint share."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic

from streams.answering.backbones.breaker import Breaker
from streams.answering.backbones.gate import ConnectionLimit, Gate
from streams.answering.backbones.latency import Latency
from streams.answering.backbones.limiter import Limiter

SAME_REFUSALS = 3
"""So many prompts that are refused alike, and none that is not, are no fault of the prompts."""


@dataclass(slots=True)
class EndpointState:
    """One model at one endpoint: its gate, how much it bears, and whether it is there at all."""

    name: str
    gate: Gate
    limiter: Limiter
    breaker: Breaker = field(default_factory=Breaker)
    latency: Latency = field(default_factory=Latency)
    trouble: str = ""
    """The last fault, for people."""
    resting: int = 0
    """Calls that wait for their next attempt."""
    pieces: int = 0
    """Pieces of replies that stream in now."""
    has_replied: bool = False
    """Whether any call got a reply."""
    refused: dict[str, set[int]] = field(default_factory=dict[str, set[int]])
    """Before the first reply: the prompts that were refused, by their digests, for what was said of them."""

    def replied(self) -> None:
        """A call got a reply: what is refused from now on is a prompt's own fault."""
        self.has_replied = True
        self.refused.clear()

    def refuses_all(self, said: str, prompt: int) -> bool:
        """Whether one more refused prompt shows that the endpoint refuses whatever it is asked, for one reason."""
        if self.has_replied:
            return False
        prompts = self.refused.setdefault(said, set())
        prompts.add(prompt)
        return len(prompts) >= SAME_REFUSALS

    def why(self) -> str | None:
        """Why calls wait here; nothing where none does."""
        now = monotonic()
        if self.breaker.until_s is not None:
            left_s = self.breaker.until_s - now
            when = f"asked again in {left_s:.0f} s" if left_s > 0 else "being tried"
            silent = f"{self.breaker.failures} failures in a row, {when}"
            return f"{self.name}: {silent}: {self.trouble}"
        waiting = self.gate.waiting + self.resting
        if not waiting:
            return None
        said = f"{self.gate.inside} calls under way, {waiting} wait"
        if self.pieces:
            said += f", {self.pieces} pieces streamed in"
        # The narrowest reason alone: a pause holds everybody, whatever else does.
        until = self.gate.paused_until
        if until is not None:
            said += f"; paused for {max(until - now, 0):.0f} s: {self.trouble}"
        elif self.resting:
            said += f"; {self.resting} back off: {self.trouble}"
        elif self.gate.inside >= self.limiter.limit:
            said += f"; it bears {self.limiter.limit}"
        return f"{self.name}: {said}"


class EndpointPool:
    """The states of all endpoints of a process, so that backbones of the same endpoint and model share one."""

    def __init__(self) -> None:
        self._rooms: dict[str, ConnectionLimit] = {}
        self._states: dict[tuple[str, str | None], EndpointState] = {}

    def state_of(self, where: str, model: str | None, most: int) -> EndpointState:
        """The state of a model at its endpoint; ``most`` bounds the calls in flight to its endpoint."""
        # An endpoint counts connections whichever model they are for; how much it bears of each
        # model is found out apart, since models differ in that.
        room = self._rooms.setdefault(where, ConnectionLimit(most))
        key = (where, model)
        if key not in self._states:
            limiter = Limiter(most)
            name = where if model is None else f"{where} {model}"
            self._states[key] = EndpointState(name, Gate(limiter, room), limiter)
        return self._states[key]
