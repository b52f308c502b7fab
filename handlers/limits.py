"""What may still be spent. A ledger reserves before a call and settles after; lanes get shares of it.

No decision here hangs on timing: a lane only ever sees its own share, and seconds are the recorded
latencies along the lane's own path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from schemas.price import MILLION, Price
from schemas.problem import Limits
from schemas.questions import Remaining

# The driver holds one ledger per lane: it reserves before it asks, settles with what came back,
# splits at a fork and joins after it. A policy sees what is left only by asking (``Remain``),
# so that its record says what it knew. Seconds are recorded latencies, so that nothing here
# hangs on a clock.

Which: TypeAlias = Literal["calls", "tokens", "cost", "seconds"]


@dataclass(frozen=True, slots=True)
class Reservation:
    """What one call may take: its cap on completion tokens, and what an unknown usage settles at."""

    max_tokens: int | None
    tokens: int
    cost: float


UNBOUNDED = Reservation(None, 0, 0.0)
MANY = 1 << 53
"""More tokens than any call returns."""


def prompt_estimate(characters: int, messages: int) -> int:
    """Tokens that a prompt of so many characters takes at most, as a rule: three characters a token."""
    return characters // 3 + 8 * messages


def shares(total: int | None, lanes: int, allow: Sequence[int] | None) -> list[int | None]:
    """A lane's part of what is left: as allowed, or equal with the remainder in lane order.

    Allowances are granted in lane order and never beyond what is left, so they sum to at most it.
    """
    if total is None:
        return list(allow) if allow is not None else [None] * lanes
    if allow is None:
        return [total // lanes + (lane < total % lanes) for lane in range(lanes)]
    granted: list[int | None] = []
    for wanted in allow:
        share = min(max(wanted, 0), total)
        granted.append(share)
        total -= share
    return granted


@dataclass(slots=True)
class Ledger:
    """What is left to one lane (``None``: unlimited), and what it spent."""

    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None
    prices: Mapping[str, Price] | None = None
    """Prices by role, ``*`` for the rest; they matter under a limit of cost only."""
    spent_calls: int = field(default=0, init=False)
    spent_tokens: int = field(default=0, init=False)
    spent_cost: float = field(default=0.0, init=False)
    spent_seconds: float = field(default=0.0, init=False)
    bounded: bool = field(init=False)
    """Whether any limit is set."""

    def __post_init__(self) -> None:
        self.bounded = not (self.calls is self.tokens is self.cost is self.seconds is None)

    @classmethod
    def of(cls, limits: Limits, prices: Mapping[str, Price] | None = None) -> Ledger:
        """A ledger with nothing spent yet."""
        return cls(limits.calls, limits.tokens, limits.cost, limits.seconds, prices)

    def price(self, role: str) -> Price | None:
        """What a call of this role costs, if that is known."""
        return None if self.prices is None else self.prices.get(role) or self.prices.get("*")

    def remaining(self) -> Remaining:
        """What is left, as a policy may ask for it."""
        return Remaining(self.calls, self.tokens, self.cost, self.seconds)

    def reserve(
        self, prompt_tokens: int, max_tokens: int | None, price: Price | None, keeps: int = 0
    ) -> Reservation | Which:
        """Room for one more call that leaves some over, or the name of the limit that does not cover it."""
        if self.calls is not None and self.calls < 1 + keeps:
            return "calls"
        if self.seconds is not None and self.seconds <= 0:
            return "seconds"
        if self.tokens is not None:
            if self.tokens <= prompt_tokens:
                return "tokens"
            max_tokens = _least(max_tokens, self.tokens - prompt_tokens)
        if self.cost is not None:
            affordable = self._affordable(prompt_tokens, price)
            if affordable is not None and affordable < 1:
                return "cost"
            max_tokens = _least(max_tokens, affordable)
        completion_tokens = max_tokens or 0
        cost = 0.0 if price is None else price.of(prompt_tokens, completion_tokens)
        return Reservation(max_tokens, prompt_tokens + completion_tokens, cost)

    def _affordable(self, prompt_tokens: int, price: Price | None) -> int | None:
        # The reply is cut to what can be paid for. A prompt's own price cannot be cut, so
        # it comes off first.
        left = self.cost or 0.0
        if price is not None:
            left -= price.of(prompt_tokens, 0)
        if price is None or price.completion <= 0:
            return None if left > 0 else 0
        return int(min(left * MILLION / price.completion, MANY))

    def settle(
        self,
        reserved: Reservation,
        tokens: int | None,
        cost: float | None,
        seconds: float | None,
        attempts: int = 1,
    ) -> None:
        """Book one completion; unknown usage settles at the reserved amount.

        An unknown cost does so for every attempt: one that broke off may have been charged too.
        """
        if tokens is None:
            tokens = reserved.tokens
        if cost is None:
            cost = reserved.cost * max(attempts, 1) if reserved.cost else 0.0
        self._book(1, tokens, cost, seconds or 0.0)

    def _book(self, calls: int, tokens: int, cost: float, seconds: float) -> None:
        self.spent_calls += calls
        self.spent_tokens += tokens
        self.spent_cost += cost
        self.spent_seconds += seconds
        if not self.bounded:
            return
        if self.calls is not None:
            self.calls -= calls
        if self.tokens is not None:
            self.tokens -= tokens
        if self.cost is not None:
            self.cost -= cost
        if self.seconds is not None:
            self.seconds -= seconds

    def split(self, lanes: int, allow: Sequence[int] | None = None) -> list[Ledger]:
        """A ledger for each lane. ``allow`` shares out calls; tokens and cost go in equal parts.

        Lanes run beside each other, so each has all the seconds that are left.
        """
        # Each lane has a ledger of its own from the start. With one that they shared, who is
        # refused would hang on who was quicker, and a replay would come to other answers.
        calls = shares(self.calls, lanes, allow)
        tokens = shares(self.tokens, lanes, None)
        cost = None if self.cost is None else self.cost / lanes
        left = zip(calls, tokens, strict=True)
        return [Ledger(c, t, cost, self.seconds, self.prices) for c, t in left]

    def join(self, lanes: Sequence[Ledger]) -> None:
        """Book what the lanes spent; what they left over is back. Seconds are the slowest lane's."""
        self._book(
            sum(lane.spent_calls for lane in lanes),
            sum(lane.spent_tokens for lane in lanes),
            sum(lane.spent_cost for lane in lanes),
            max((lane.spent_seconds for lane in lanes), default=0.0),
        )


def _least(left: int | None, right: int | None) -> int | None:
    return right if left is None else left if right is None else min(left, right)
