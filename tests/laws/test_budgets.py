"""What tenants spent: the same in every order and however the log is parted; a day is one of UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from schemas.budget import Budget, book_of, read
from schemas.events.episode import Completed
from state.folds.budgets import DAY_MS, NANO, BudgetsFold, DaySpent, day_of
from streams.engine.ready import OLDEST_EVERY, Ready

MOMENTS = st.integers(0, 4_000_000_000_000)
amounts = st.none() | st.integers(0, 10_000)


@st.composite
def replies(draw: st.DrawFn) -> tuple[str, int, Completed]:
    """A tenant, a moment within three days, and a reply."""
    said = Completed(
        asked="Complete x",
        text="",
        finish="stop",
        model="m",
        prompt_tokens=draw(amounts),
        completion_tokens=draw(amounts),
        cost=draw(st.none() | st.floats(0, 10)),
        reused=draw(st.sampled_from([None, None, True])),
    )
    return draw(st.sampled_from(["ann", "bob"])), draw(st.integers(0, 3 * DAY_MS)), said


def fold(given_: list[tuple[str, int, Completed]]) -> BudgetsFold:
    made = BudgetsFold()
    for each in given_:
        made.feed(*each)
    return made


@given(st.lists(replies(), max_size=20), st.randoms())
def test_the_order_of_calls_changes_nothing(
    said: list[tuple[str, int, Completed]], random: object
) -> None:
    again = list(said)
    random.shuffle(again)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    assert fold(said).spent == fold(again).spent


@given(st.lists(replies(), max_size=20), st.integers(0, 20))
def test_a_day_that_was_noted_in_parts_adds_up(
    said: list[tuple[str, int, Completed]], cut: int
) -> None:
    """A checkpoint holds two days' sums: who goes on from it, and who adds partitions up, comes to the same."""
    whole, resumed = fold(said), BudgetsFold()
    resumed.add_rows(fold(said[:cut]).rows())
    resumed.add_rows(fold(said[cut:]).rows())
    for day in sorted({day for _, day in whole.spent})[-2:]:
        for tenant in ("ann", "bob"):
            assert resumed.of(tenant, day) == whole.of(tenant, day)


@given(st.lists(replies(), max_size=20))
def test_unknown_is_never_nothing(said: list[tuple[str, int, Completed]]) -> None:
    for spent in fold(said).spent.values():
        assert (spent.known_tokens is None) == bool(spent.unknown_tokens)
        assert (spent.known_cost is None) == bool(spent.unknown_cost)
        if spent.unknown_tokens and not spent.most_tokens:
            assert spent.over(Budget(tokens=10**12)) is not None
        if spent.unknown_cost and not spent.most_nanos:
            assert spent.over(Budget(cost=10.0**6)) is not None


@given(st.lists(replies(), max_size=20), st.integers(1, 40), st.integers(0, 5))
def test_more_calls_never_bring_a_budget_back(
    said: list[tuple[str, int, Completed]], most: int, waiting: int
) -> None:
    budget = Budget(calls=most, tokens=most * 500, cost=float(most))
    so_far, was_over = DaySpent(), False
    for _, _, each in said:
        so_far += DaySpent.of(each)
        now_over = so_far.over(budget, waiting) is not None
        known = so_far.most_tokens and so_far.most_nanos
        assert now_over or not was_over or known, "what was unknown came to be known"
        was_over = now_over and bool(known)
    assert NANO == 10**9


@given(MOMENTS)
def test_a_day_is_one_of_utc(at_ms: int) -> None:
    assert day_of(at_ms) == datetime.fromtimestamp(at_ms // 1000, UTC).date().isoformat()
    begins = (at_ms // DAY_MS + 1) * DAY_MS
    assert at_ms < begins <= at_ms + DAY_MS
    assert day_of(begins - 1) == day_of(at_ms) < day_of(begins)


AMOUNTS = st.one_of(st.none(), st.integers(1, 10**15 - 1))


@given(AMOUNTS, AMOUNTS, st.one_of(st.none(), st.floats(1e-9, 1e9)))
def test_a_budget_is_read_as_it_is_spelled(
    calls: int | None, tokens: int | None, cost: float | None
) -> None:
    said = {"calls": calls, "tokens": tokens, "cost": cost}
    text = ",".join(f"{name}={amount!r}" for name, amount in said.items() if amount is not None)
    assume(text)
    assert read(text) == Budget(calls, tokens, cost)
    assert book_of({}, [f"ann={text}"]) == {"ann": Budget(calls, tokens, cost)}


@pytest.mark.parametrize(
    "text", ["", "calls", "calls=", "calls=0", "calls=1.5", "cost=-1", "calls=1,calls=2", "x=1"]
)
def test_what_is_no_budget_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no budget"):
        read(text)
    with pytest.raises(ValueError, match="is no budget"):
        book_of({}, [text])


def test_budgets_of_the_command_line_take_the_place_of_those_configured() -> None:
    book = book_of({"ann": "calls=1", "*": "cost=0.5"}, ["ann=calls=2,tokens=3e3"])
    assert book == {"ann": Budget(calls=2, tokens=3_000), "*": Budget(cost=0.5)}


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=60))
def test_the_higher_goes_first_and_equal_ones_as_they_came(priorities: list[int]) -> None:
    ready = Ready()
    for at, priority in enumerate(priorities):
        ready.append(str(at), priority)
    order = [int(ready.popleft()) for _ in priorities]
    assert sorted(order) == list(range(len(priorities)))
    assert not len(ready)
    for priority in set(priorities):
        mine = [at for at in order if priorities[at] == priority]
        assert mine == sorted(mine)
    by_rank = [at for turn, at in enumerate(order, 1) if turn % OLDEST_EVERY]
    assert all(priorities[a] >= priorities[b] for a, b in pairwise(by_rank))


@given(st.integers(0, 30), st.lists(st.integers(-9, 9), min_size=300, max_size=300))
def test_nobody_starves(before: int, later: list[int]) -> None:
    """However many of higher priority keep coming, one that waits has its turn within eight for each before it."""
    ready = Ready()
    for at in range(before):
        ready.append(f"before {at}", 0)
    ready.append("patient", -9)
    for turn, priority in enumerate(later, 1):
        ready.append(f"later {turn}", priority)
        if ready.popleft() == "patient":
            assert turn <= OLDEST_EVERY * (before + 1)
            return
    assert OLDEST_EVERY * (before + 1) > len(later)
