"""What a ledger grants, refuses and books, to the last figure."""

from __future__ import annotations

from typing import Any

import pytest

from handlers.limits import MANY, Ledger, Reservation, Which, prompt_estimate, shares
from schemas.price import MILLION, Price
from schemas.problem import Limits
from schemas.questions import Remaining

DEAR = Price(prompt=0.01 * MILLION, completion=0.1 * MILLION)
"""A cent for a token of the prompt, ten for one of the reply."""
FREE_REPLIES = Price(prompt=0.01 * MILLION, completion=0)


def reserved(ledger: Ledger, prompt: int, cap: int | None, price: Price | None) -> Reservation:
    found = ledger.reserve(prompt, cap, price)
    assert isinstance(found, Reservation), found
    return found


def test_three_characters_are_a_token_and_each_message_is_eight_more() -> None:
    assert prompt_estimate(0, 0) == 0
    assert prompt_estimate(300, 1) == 108
    assert prompt_estimate(302, 3) == 124, "what is over is no token"


def test_without_a_limit_each_lane_has_its_allowance_or_none() -> None:
    assert shares(None, 3, None) == [None, None, None]
    assert shares(None, 2, (4, 0)) == [4, 0]
    assert shares(7, 3, None) == [3, 2, 2]


@pytest.mark.parametrize(
    ("ledger", "prompt", "price", "keeps", "refused"),
    [
        (Ledger(calls=0), 1, None, 0, "calls"),
        (Ledger(calls=2), 1, None, 2, "calls"),
        (Ledger(calls=0, seconds=0.0, tokens=0, cost=0.0), 1, None, 0, "calls"),
        (Ledger(seconds=0.0, tokens=0), 1, None, 0, "seconds"),
        (Ledger(seconds=-1.0), 1, None, 0, "seconds"),
        (Ledger(tokens=10, cost=0.0), 10, None, 0, "tokens"),
        (Ledger(cost=0.0), 1, None, 0, "cost"),
        (Ledger(cost=0.0), 1, FREE_REPLIES, 0, "cost"),
        (Ledger(cost=0.1), 10, FREE_REPLIES, 0, "cost"),
        (Ledger(cost=0.19), 10, DEAR, 0, "cost"),
    ],
)
def test_the_first_limit_that_does_not_cover_a_call_is_named(
    ledger: Ledger, prompt: int, price: Price | None, keeps: int, refused: Which
) -> None:
    before = ledger.remaining()
    assert ledger.reserve(prompt, None, price, keeps) == refused
    assert ledger.remaining() == before, "a refusal spends nothing"


@pytest.mark.parametrize(
    ("ledger", "prompt", "cap", "price", "granted"),
    [
        (Ledger(calls=3), 4, None, None, Reservation(None, 4, 0.0)),
        (Ledger(seconds=0.1), 4, 6, None, Reservation(6, 10, 0.0)),
        (Ledger(tokens=11), 10, None, None, Reservation(1, 11, 0.0)),
        (Ledger(tokens=11), 10, 30, DEAR, Reservation(1, 11, 0.2)),
        (Ledger(tokens=100), 10, 30, DEAR, Reservation(30, 40, 3.1)),
        (Ledger(cost=1.0), 10, None, DEAR, Reservation(9, 19, 1.0)),
        (Ledger(cost=1.0), 10, 5, DEAR, Reservation(5, 15, 0.6)),
        (Ledger(cost=1.0, tokens=14), 10, None, DEAR, Reservation(4, 14, 0.5)),
        (Ledger(cost=0.2), 10, None, DEAR, Reservation(1, 11, 0.2)),
        (Ledger(cost=0.5), 10, None, FREE_REPLIES, Reservation(None, 10, 0.1)),
        (Ledger(cost=0.5), 10, 7, FREE_REPLIES, Reservation(7, 17, 0.1)),
        (Ledger(cost=0.5), 10, 7, None, Reservation(7, 17, 0.0)),
        (Ledger(), 10, 7, DEAR, Reservation(7, 17, 0.8)),
    ],
)
def test_a_reply_is_cut_to_what_all_limits_leave(
    ledger: Ledger, prompt: int, cap: int | None, price: Price | None, granted: Reservation
) -> None:
    found = reserved(ledger, prompt, cap, price)
    assert (found.max_tokens, found.tokens) == (granted.max_tokens, granted.tokens)
    assert found.cost == pytest.approx(granted.cost)


def test_the_last_call_is_granted_where_so_many_are_left_over_behind_it() -> None:
    ledger = Ledger(calls=3)
    assert ledger.reserve(1, None, None, 2) == Reservation(None, 1, 0.0)
    assert ledger.reserve(1, None, None, 3) == "calls"


def test_no_price_is_so_low_that_a_cap_would_be_no_number_of_tokens() -> None:
    next_to_nothing = Price(prompt=0, completion=5e-324)
    assert reserved(Ledger(cost=1.0), 1, None, next_to_nothing).max_tokens == MANY


def test_what_a_call_took_is_spent_and_no_longer_left() -> None:
    limits = Limits(calls=5, tokens=100, cost=2.0, seconds=10.0)
    ledger = Ledger.of(limits, {"*": DEAR})
    assert ledger.bounded
    held = reserved(ledger, 10, 5, ledger.price("reasoner"))
    ledger.settle(held, 12, 0.25, 1.5)
    assert ledger.remaining() == Remaining(4, 88, 1.75, 8.5)
    ledger.settle(held, None, None, None, attempts=2)
    assert (ledger.calls, ledger.tokens, ledger.seconds) == (3, 73, 8.5)
    assert ledger.cost == pytest.approx(1.75 - 2 * 0.6), "each attempt may have been charged"
    ledger.settle(held, 0, None, 0.5, attempts=0)
    assert ledger.cost == pytest.approx(1.75 - 3 * 0.6), "a call is one attempt at least"
    ledger.settle(held, 0, None, None)
    assert ledger.cost == pytest.approx(1.75 - 4 * 0.6), "and one where nobody says how many"
    assert (ledger.spent_calls, ledger.spent_tokens, ledger.spent_seconds) == (4, 27, 2.0)
    assert ledger.spent_cost == pytest.approx(0.25 + 4 * 0.6)


@pytest.mark.parametrize(
    "name", ["spent_calls", "spent_tokens", "spent_cost", "spent_seconds", "bounded"]
)
def test_a_ledger_reckons_itself_what_was_spent_and_begins_with_nothing(name: str) -> None:
    spent: dict[str, Any] = {name: 1}
    assert not getattr(Ledger(), name)
    with pytest.raises(TypeError, match=name):
        Ledger(**spent)


@pytest.mark.parametrize(
    "limits", [Limits(calls=1), Limits(tokens=1), Limits(cost=1), Limits(seconds=1)]
)
def test_a_ledger_is_bounded_by_any_limit(limits: Limits) -> None:
    assert Ledger.of(limits).bounded
    assert not Ledger.of(Limits()).bounded


def test_a_role_without_a_price_of_its_own_has_that_of_the_rest() -> None:
    ledger = Ledger(prices={"judge": FREE_REPLIES, "*": DEAR})
    assert ledger.price("judge") == FREE_REPLIES
    assert ledger.price("reasoner") == DEAR
    assert Ledger(prices={"judge": DEAR}).price("reasoner") is None
    assert Ledger().price("judge") is None


def test_lanes_share_calls_tokens_and_cost_and_have_all_the_seconds() -> None:
    prices = {"*": DEAR}
    ledger = Ledger(calls=5, tokens=7, cost=3.0, seconds=4.0, prices=prices)
    lanes = ledger.split(2)
    assert [lane.remaining() for lane in lanes] == [
        Remaining(3, 4, 1.5, 4.0),
        Remaining(2, 3, 1.5, 4.0),
    ]
    assert all(lane.prices is prices for lane in lanes)
    allowed = ledger.split(2, (1, 9))
    assert [(lane.calls, lane.tokens) for lane in allowed] == [(1, 4), (4, 3)]


def test_a_join_books_what_all_lanes_spent_and_the_slowest_ones_seconds() -> None:
    ledger = Ledger(calls=5, tokens=50, cost=3.0, seconds=4.0)
    lanes = ledger.split(3)
    for lane, seconds in zip(lanes, (0.5, 2.5, 1.0), strict=True):
        lane.settle(reserved(lane, 1, 1, None), 4, 0.5, seconds)
    assert ledger.remaining() == Remaining(5, 50, 3.0, 4.0), "until it is joined"
    ledger.join(lanes)
    assert ledger.remaining() == Remaining(2, 38, 1.5, 1.5)
    assert (ledger.spent_calls, ledger.spent_tokens) == (3, 12)
    assert (ledger.spent_cost, ledger.spent_seconds) == (1.5, 2.5)
    ledger.join([])
    assert ledger.remaining() == Remaining(2, 38, 1.5, 1.5)
