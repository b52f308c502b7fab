"""Laws of limits and allowances: nothing beyond the limit, and no outcome that hangs on timing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from handlers.limits import UNBOUNDED, Ledger, Reservation, shares
from schemas.asking import Exhausted
from schemas.events.base import Event
from schemas.events.episode import Completed, Forked, LimitReached
from schemas.identity import address_order
from schemas.price import MILLION, Price
from schemas.problem import Limits
from tests.laws.programs import ORDERS, PROGRAMS, Fan, Program, Say, Try
from tests.laws.worlds import EPISODE, Paced, finished, replay

FRACTIONS = st.floats(0, 1)


BOUNDS = st.builds(
    Limits,
    calls=st.none() | st.integers(1, 99),
    tokens=st.none() | st.integers(1, 99),
    cost=st.none() | st.floats(0.1, 9.0),
    seconds=st.none() | st.floats(0.1, 9.0),
)


@given(BOUNDS, BOUNDS)
def test_a_limit_within_another_is_the_lower_of_both_and_no_new_one(
    own: Limits, most: Limits
) -> None:
    held = own.within(most)
    for name in ("calls", "tokens", "cost", "seconds"):
        mine, theirs = getattr(own, name), getattr(most, name)
        found = getattr(held, name)
        assert found == (mine if mine is None or theirs is None else min(mine, theirs))


# -- shares -----------------------------------------------------------------------------------------


@given(st.integers(0, 1000), st.integers(1, 12))
def test_an_equal_split_sums_to_the_limit_with_the_remainder_in_lane_order(
    total: int, lanes: int
) -> None:
    split = [share or 0 for share in shares(total, lanes, None)]
    assert sum(split) == total
    assert split == sorted(split, reverse=True)
    assert split[0] - split[-1] <= 1


@given(st.integers(0, 60), st.lists(st.integers(-5, 40), min_size=1, max_size=8))
def test_allowances_are_granted_in_lane_order_and_never_sum_to_more_than_is_left(
    total: int, allow: list[int]
) -> None:
    left = total
    for wanted, share in zip(allow, shares(total, len(allow), allow), strict=True):
        assert share == max(0, min(wanted, left))
        left -= share or 0
    assert left >= 0


@given(st.lists(st.integers(-5, 40), min_size=1, max_size=8))
def test_without_a_limit_an_allowance_is_still_kept(allow: list[int]) -> None:
    for wanted, ledger in zip(allow, Ledger().split(len(allow), allow), strict=True):
        made = 0
        while not isinstance(reserved := ledger.reserve(1, 1, None), str):
            ledger.settle(reserved, None, None, None)
            made += 1
        assert made == max(0, wanted)


# -- ledgers ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Call:
    """A call that uses so much of what was reserved; ``None`` says nothing about it."""

    prompt: int
    cap: int | None
    used: float | None
    seconds: float | None


@dataclass(frozen=True)
class Split:
    lanes: tuple[Tree, ...]
    allow: tuple[int, ...] | None


Tree: TypeAlias = "tuple[Call | Split, ...]"

CALL = st.builds(
    Call,
    st.integers(0, 30),
    st.none() | st.integers(1, 60),
    st.none() | FRACTIONS,
    st.none() | st.floats(0, 5),
)


def splits(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Split]:
    def split(lanes: list[Tree]) -> st.SearchStrategy[Split]:
        allow = st.lists(st.integers(-1, 8), min_size=len(lanes), max_size=len(lanes))
        return st.builds(Split, st.just(tuple(lanes)), st.none() | allow.map(tuple))

    return st.lists(inner, min_size=1, max_size=4).flatmap(split)


def trees(depth: int = 2) -> st.SearchStrategy[Tree]:
    if depth == 0:
        return st.lists(CALL, max_size=4).map(tuple)
    return st.lists(CALL | splits(trees(depth - 1)), min_size=1, max_size=4).map(tuple)


PER_MILLION = st.floats(0, 0.1 * MILLION)
PRICES = st.none() | st.builds(Price, prompt=PER_MILLION, completion=PER_MILLION)
LIMITS = st.builds(
    Limits,
    calls=st.none() | st.integers(1, 20),
    tokens=st.none() | st.integers(1, 300),
    cost=st.none() | st.floats(0.01, 10),
    seconds=st.none() | st.floats(0.1, 20),
)


@dataclass
class Walked:
    """What a walk over a tree of calls and splits spent, counted beside the ledger."""

    calls: int = 0
    tokens: int = 0
    cost: float = 0.0


def spend(call: Call, reserved: Reservation, price: Price | None) -> tuple[int, float]:
    """What a call costs that keeps to its reservation, in tokens and cost."""
    if call.used is None:
        return reserved.tokens, reserved.cost
    reply = int((reserved.tokens - call.prompt) * call.used)
    cost = 0.0 if price is None else price.of(call.prompt, reply)
    return call.prompt + reply, cost


def walk(tree: Tree, ledger: Ledger, price: Price | None, total: Walked) -> float:
    """Walk a tree lane by lane; the seconds of its critical path."""
    path = 0.0
    for step in tree:
        if isinstance(step, Split):
            before = ledger.calls
            ledgers = ledger.split(len(step.lanes), step.allow)
            granted = [lane.calls for lane in ledgers]
            assert before is None or sum(share or 0 for share in granted) <= before
            if step.allow is None and before is not None:
                assert sum(share or 0 for share in granted) == before
            spent = total.calls
            seconds = [
                walk(lane, own, price, total) for lane, own in zip(step.lanes, ledgers, strict=True)
            ]
            ledger.join(ledgers)
            path += max(seconds)
            if before is not None:
                assert ledger.calls == before - (total.calls - spent), "what is left over returns"
            continue
        reserved = ledger.reserve(step.prompt, step.cap, price)
        if isinstance(reserved, str):
            continue
        tokens, cost = spend(step, reserved, price)
        known = step.used is not None
        ledger.settle(reserved, tokens if known else None, cost if known else None, step.seconds)
        total.calls, total.tokens, total.cost = (
            total.calls + 1,
            total.tokens + tokens,
            total.cost + cost,
        )
        path += step.seconds or 0.0
    return path


@given(trees(), LIMITS, PRICES)
@settings(max_examples=150)
def test_no_tree_of_splits_spends_more_than_its_limits(
    tree: Tree, limits: Limits, price: Price | None
) -> None:
    ledger, total = Ledger.of(limits), Walked()
    path = walk(tree, ledger, price, total)
    assert (ledger.spent_calls, ledger.spent_tokens) == (total.calls, total.tokens)
    assert ledger.spent_cost == pytest.approx(total.cost)
    assert ledger.spent_seconds == pytest.approx(path)
    assert limits.calls is None or total.calls <= limits.calls
    assert limits.tokens is None or total.tokens <= limits.tokens
    assert limits.cost is None or total.cost <= limits.cost * (1 + 1e-9)


@given(trees(), LIMITS, PRICES)
@settings(max_examples=100)
def test_what_is_left_and_what_is_spent_are_always_the_limit(
    tree: Tree, limits: Limits, price: Price | None
) -> None:
    ledger = Ledger.of(limits)
    walk(tree, ledger, price, Walked())
    if limits.calls is not None:
        assert ledger.calls == limits.calls - ledger.spent_calls
    if limits.tokens is not None:
        assert ledger.tokens == limits.tokens - ledger.spent_tokens


@given(st.integers(0, 50), st.none() | st.integers(1, 50), st.integers(1, 90), PRICES)
def test_unknown_usage_settles_at_the_reserved_amount(
    prompt: int, cap: int | None, tokens: int, price: Price | None
) -> None:
    ledger = Ledger(tokens=tokens)
    reserved = ledger.reserve(prompt, cap, price)
    if isinstance(reserved, str):
        assert reserved == "tokens"
        assert tokens <= prompt
        return
    ledger.settle(reserved, None, None, None)
    assert reserved.max_tokens is not None
    assert reserved.max_tokens <= (cap or tokens)
    assert ledger.spent_tokens == reserved.tokens == prompt + reserved.max_tokens <= tokens
    assert ledger.spent_cost == reserved.cost


@given(st.integers(0, 50), st.floats(0.001, 5), st.floats(0, 0.1), st.floats(0.0001, 0.1))
def test_under_a_cost_limit_the_cap_is_what_can_be_paid(
    prompt: int, cost: float, per_prompt: float, per_reply: float
) -> None:
    price = Price(prompt=per_prompt * MILLION, completion=per_reply * MILLION)
    reserved = Ledger(cost=cost).reserve(prompt, None, price)
    if isinstance(reserved, str):
        assert prompt * per_prompt + per_reply > cost * (1 - 1e-9)
    else:
        assert reserved.max_tokens is not None
        assert reserved.cost <= cost * (1 + 1e-9)
        dearer = prompt * per_prompt + (reserved.max_tokens + 1) * per_reply
        assert dearer > cost * (1 - 1e-9), "the cap is not lower than it must be"


# -- through the driver -----------------------------------------------------------------------------


@given(PROGRAMS, ORDERS, st.integers(1, 12))
@settings(max_examples=150)
def test_never_more_calls_than_the_limit(program: Program, order: list[int], calls: int) -> None:
    limits = Limits(calls=calls)
    ended, record = finished(program, Paced(order, chancy=True), limits)
    journal = record.journal(EPISODE)
    made = sum(isinstance(said, Completed) for said in journal.values())
    assert made == ended.ledger.spent_calls <= calls
    refused = {at for at, said in journal.items() if isinstance(said, LimitReached)}
    assert not refused & ended.world.asked.keys(), "a refused call was made"


@given(PROGRAMS, ORDERS, st.integers(1, 1200))
@settings(max_examples=150)
def test_never_more_tokens_than_the_limit_if_servers_keep_the_cap(
    program: Program, order: list[int], tokens: int
) -> None:
    ended, record = finished(program, Paced(order, chancy=True), Limits(tokens=tokens))
    assert ended.error is None or "tokens" in repr(ended.error)
    total = 0
    for at, said in record.journal(EPISODE).items():
        if isinstance(said, Completed):
            total += ended.world.reserved[at].tokens if said.tokens is None else said.tokens
    assert total == ended.ledger.spent_tokens <= tokens


@given(PROGRAMS, ORDERS, LIMITS)
@settings(max_examples=150)
def test_a_limit_is_an_answer_raised_alike_live_and_on_replay(
    program: Program, order: list[int], limits: Limits
) -> None:
    body: Program = (Try(program),)
    ended, record = finished(body, Paced(order, chancy=True), limits)
    assert ended.error is None
    again = replay(body, record.journal(EPISODE), limits)
    assert (again.result, again.ledger) == (ended.result, ended.ledger)


@given(PROGRAMS, ORDERS, LIMITS, st.data())
def test_a_refusal_that_is_not_in_the_record_is_never_made_up_on_replay(
    program: Program, order: list[int], limits: Limits, data: st.DataObject
) -> None:
    journal = finished(program, Paced(order), limits)[1].journal(EPISODE)
    refused = sorted(at for at, said in journal.items() if isinstance(said, LimitReached))
    assume(refused)
    at = data.draw(st.sampled_from(refused))
    del journal[at]
    error = replay(program, journal, limits).error
    assert isinstance(error, Exhausted)
    assert error.address == at


def path_of(journal: dict[str, Event], lane: str = "") -> float:
    """The critical path of a lane, by the addresses of the record alone."""
    total = 0.0
    for at in sorted(journal, key=address_order):
        own = at.startswith(lane) and "." not in at[len(lane) :]
        said = journal[at]
        if own and isinstance(said, Completed):
            total += said.seconds or 0.0
        elif own and isinstance(said, Forked):
            lanes = (path_of(journal, f"{at}.{n}.") for n in range(said.lanes))
            total += max(lanes, default=0.0)
    return total


@given(PROGRAMS, ORDERS, st.none() | st.integers(1, 8))
@settings(max_examples=100)
def test_seconds_are_those_of_the_critical_path(
    program: Program, order: list[int], calls: int | None
) -> None:
    ended, record = finished(program, Paced(order), Limits(calls=calls))
    assume(ended.error is None)
    assert ended.ledger.spent_seconds == pytest.approx(path_of(record.journal(EPISODE)))


@given(st.integers(1, 5), st.integers(0, 6), ORDERS)
def test_what_a_lane_leaves_over_is_there_after_the_join(
    lanes: int, after: int, order: list[int]
) -> None:
    """Each lane makes one call of many allowed; the rest can be spent later."""
    lane: Program = (Say("thinker"),)
    program: Program = (Fan((lane,) * lanes), *(Say("judge"),) * after)
    ended, record = finished(program, Paced(order), Limits(calls=lanes + after))
    assert ended.error is None
    assert len(record.records) == 1 + lanes + after


@given(st.lists(st.integers(0, 4), min_size=1, max_size=5), st.integers(1, 20), ORDERS)
def test_each_lane_makes_the_calls_of_its_allowance_and_no_more(
    allow: Sequence[int], calls: int, order: list[int]
) -> None:
    lane: Program = (Say("thinker"),) * 5
    program: Program = (Fan((lane,) * len(allow), tuple(allow)),)
    ended, record = finished(program, Paced(order), Limits(calls=calls))
    made = [0] * len(allow)
    for at, said in record.journal(EPISODE).items():
        if isinstance(said, Completed):
            made[int(at.split(".")[1])] += 1
    assert made == shares(calls, len(allow), allow)
    assert ended.error is None


def test_an_unbounded_ledger_reserves_nothing() -> None:
    assert not Ledger().bounded
    assert Ledger().reserve(0, None, None) == UNBOUNDED
