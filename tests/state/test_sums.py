"""What folds add up: spending by column and by day, grades, outcomes and strays, to the last figure."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.budget import Budget
from schemas.events.episode import Completed, TextKept
from schemas.events.learning import Graded
from schemas.outcome import Outcome, Standing
from state.folds.budgets import DAY_MS, BudgetsFold, DaySpent, day_of
from state.folds.costs import CostsFold, Spent
from state.folds.grades import GradesFold, Known, Word, word_of
from state.folds.outcomes import OutcomesFold
from state.folds.strays import FIRST, Strays


def said(prompt: int | None = 3, reply: int | None = 4, **more: Any) -> Completed:
    told: dict[str, Any] = {"finish": "stop", **more}
    return Completed(
        asked="q", text="t", model="m", prompt_tokens=prompt, completion_tokens=reply, **told
    )


def test_spending_is_summed_as_far_as_it_is_known_and_what_is_unknown_is_counted() -> None:
    spent = Spent()
    for each in (
        said(cost=0.5, seconds=2.0), said(None, 5, cost=0.0, seconds=0.0), said(7, None),
        said(cost=0.25),
    ):  # fmt: skip
        spent.add(each)
    assert spent == Spent(
        calls=4, prompt_tokens=13, completion_tokens=13, cost=0.75, seconds=2.0, unknown_tokens=2,
        unknown_cost=1,
    )  # fmt: skip
    assert (spent.tokens, spent.known_cost) == (None, None)
    known = Spent(prompt_tokens=1, completion_tokens=2, cost=0.5)
    assert (known.tokens, known.known_cost) == (3, 0.5)


def test_episodes_learning_and_probes_are_never_added_up() -> None:
    costs = CostsFold()
    for episode, calls in (("p/d/x/r", 1), ("s/x/1", 1), ("b/d/s/1", 2), ("q/p/d/x/r/3/w/0", 4)):
        for _ in range(calls):
            costs.feed(episode, said())
    costs.feed("q/p/d/x/r/3/w/0", said(reused=True))
    assert {name: each.calls for name, each in costs.columns.items()} == {
        "episodes": 2, "learning": 2, "probes": 4,
    }  # fmt: skip


# ── Days ─────────────────────────────────────────────────────────────────────────────────────


def test_a_day_is_one_of_utc() -> None:
    assert [day_of(at) for at in (0, DAY_MS - 1, DAY_MS, 1_764_115_200_000)] == [
        "1970-01-01", "1970-01-01", "1970-01-02", "2025-11-26",
    ]  # fmt: skip


def test_a_call_spends_its_tokens_and_its_cost_in_billionths() -> None:
    assert DaySpent.of(said(cost=0.5)) == DaySpent(1, 7, 500_000_000, 0, 0, 7, 500_000_000)
    assert DaySpent.of(said(None, 4)) == DaySpent(1, 0, 0, 1, 1)
    assert DaySpent.of(said(reused=True, cost=0.5)) == DaySpent()
    both = DaySpent.of(said(cost=0.5)) + DaySpent.of(said(1, 1, cost=2.0))
    assert both == DaySpent(2, 9, 2_500_000_000, 0, 0, 7, 2_000_000_000)
    assert (both.known_tokens, both.known_cost) == (9, 2.5)
    unknown = both + DaySpent.of(said(None))
    assert (unknown.calls, unknown.known_tokens, unknown.known_cost) == (3, None, None)
    assert (unknown.tokens, unknown.unknown_tokens, unknown.unknown_cost) == (9, 1, 1)


@pytest.mark.parametrize(
    ("spent", "budget", "open_calls", "why"),
    [
        (DaySpent(4), Budget(calls=5), 0, None),
        (DaySpent(5), Budget(calls=5), 0, "5 calls"),
        (DaySpent(3), Budget(calls=5), 2, "5 calls"),
        (DaySpent(1), Budget(calls=1), 0, "1 call"),
        (DaySpent(9_999), Budget(calls=1_000), 0, "1,000 calls"),
        (DaySpent(1, 99), Budget(tokens=100), 9, None),
        (DaySpent(1, 100), Budget(tokens=100), 0, "100 tokens"),
        (DaySpent(2, 60, unknown_tokens=1, most_tokens=39), Budget(tokens=100), 0, None),
        (DaySpent(2, 60, unknown_tokens=1, most_tokens=40), Budget(tokens=100), 0, "100 tokens"),
        (DaySpent(2, 20, unknown_tokens=2, most_tokens=40), Budget(tokens=100), 0, "100 tokens"),
        (
            DaySpent(1, unknown_tokens=1), Budget(tokens=1_000), 0,
            "1,000 tokens; those of its calls are unknown",
        ),
        (DaySpent(1, nanos=1_999_999_999), Budget(cost=2), 0, None),
        (DaySpent(1, nanos=2_000_000_000), Budget(cost=2.0), 0, "cost 2"),
        (DaySpent(2, nanos=10**9, unknown_cost=1, most_nanos=10**9), Budget(cost=2), 0, "cost 2"),
        (DaySpent(2, nanos=10**9, unknown_cost=1, most_nanos=10**8), Budget(cost=2), 0, None),
        (DaySpent(1, unknown_cost=1), Budget(cost=0.5), 0, "cost 0.5; that of its calls is unknown"),
        (DaySpent(5, 500), Budget(calls=5, tokens=100), 0, "5 calls"),
        (DaySpent(5, 500, 10**12), Budget(), 0, None),
        (DaySpent(), Budget(calls=1, tokens=1, cost=1e-9), 0, None),
    ],
)  # fmt: skip
def test_a_budget_that_covers_no_other_call_says_why(
    spent: DaySpent, budget: Budget, open_calls: int, why: str | None
) -> None:
    assert spent.over(budget, open_calls) == why


REFUSED = {"finish": "refusal", "detail": "HTTP 400 content_filter"}


def test_a_refusal_counts_as_a_call_and_spends_no_budget_of_tokens_or_cost() -> None:
    budget = Budget(calls=2, tokens=10**12, cost=1e6)
    for finish in ("refusal", "error"):
        assert DaySpent.of(said(None, None, **REFUSED | {"finish": finish})) == DaySpent(1)
    refused = DaySpent.of(said(None, None, **REFUSED))
    assert refused.over(budget) is None
    assert (refused + refused).over(budget) == "2 calls"


@pytest.mark.parametrize(
    "other",
    [
        {"finish": "timeout"},
        {"attempts": 2},
        {"finish": "stop"},
        {"detail": None},
    ],
    ids=["a timeout", "a second attempt", "a reply", "nothing said"],
)
def test_what_may_have_been_paid_for_is_no_refusal(other: dict[str, Any]) -> None:
    spent = DaySpent.of(said(None, None, **REFUSED | other))
    assert (spent.unknown_tokens, spent.unknown_cost) == (1, 1)
    assert spent.over(Budget(tokens=10**12)) is not None


def test_nothing_is_under_way_where_nobody_says_so() -> None:
    assert DaySpent(4).over(Budget(calls=5)) is None
    assert DaySpent(5).over(Budget(calls=5)) == "5 calls"


def test_the_newest_days_sums_are_noted_and_days_are_told_newest_first() -> None:
    fold = BudgetsFold()
    fold.feed("bob", DAY_MS, said(cost=1.0))
    fold.feed("ann", 0, said(None))
    fold.feed("ann", -DAY_MS, said())
    fold.feed("ann", DAY_MS + 5, said())
    fold.feed("ann", DAY_MS + 9, said(cost=0.5))
    assert fold.rows() == [
        ["ann", "1970-01-01", 1, 0, 0, 1, 1, 0, 0],
        ["ann", "1970-01-02", 2, 14, 500_000_000, 0, 1, 7, 500_000_000],
        ["bob", "1970-01-02", 1, 7, 1_000_000_000, 0, 0, 7, 1_000_000_000],
    ]  # fmt: skip
    assert [(tenant, day, each.calls) for tenant, day, each in fold.days()] == [
        ("ann", "1970-01-02", 2), ("bob", "1970-01-02", 1), ("ann", "1970-01-01", 1),
        ("ann", "1969-12-31", 1),
    ]  # fmt: skip
    assert fold.of("bob", "1970-01-01") == DaySpent()
    twice = BudgetsFold()
    twice.add_rows(fold.rows())
    twice.add_rows(fold.rows()[1:2])
    assert twice.of("ann", "1970-01-02").calls == 4
    assert twice.of("bob", "1970-01-02") == fold.of("bob", "1970-01-02")
    assert BudgetsFold().rows() == []


def test_a_reply_that_is_stamped_with_a_later_day_leaves_todays_sums_noted() -> None:
    """By a clock that goes ahead at midnight, or that jumped and was set back since."""
    before, after = BudgetsFold(), BudgetsFold()
    before.feed("ann", DAY_MS, said())
    before.feed("ann", 400 * DAY_MS, said())
    after.add_rows(before.rows())
    assert after.of("ann", "1970-01-02") == before.of("ann", "1970-01-02")
    assert after.of("ann", "1970-01-02").over(Budget(calls=1)) == "1 call"


# ── Grades ───────────────────────────────────────────────────────────────────────────────────


def grade(outcome: Outcome, by: Any, grader: str = "exact@2", source: str | None = None) -> Graded:
    return Graded(scope="s", outcome=outcome, grader=grader, by=by, source=source)


CHECKED = grade("wrong", "checker", "game24@1")
LABEL = grade("right", "feedback")
AGAIN = grade("unknown", "regrade", "other@1")
WORD = grade("wrong", "feedback", "verdict@2", "ann")
OLD_WORD = grade("wrong", "feedback", "verdict@1")


@pytest.mark.parametrize(
    ("given", "outcome", "by", "standing", "anew"),
    [
        ([], "unknown", None, "not graded", None),
        ([CHECKED], "wrong", None, "wrong", None),
        ([LABEL, CHECKED], "right", None, "right", None),
        ([LABEL, AGAIN], "unknown", None, "undecided", "unknown"),
        ([AGAIN, LABEL], "right", None, "right", None),
        ([WORD, LABEL, CHECKED, AGAIN], "wrong", "ann", "wrong", None),
        ([OLD_WORD], "wrong", "unknown", "wrong", None),
        ([OLD_WORD, LABEL], "right", None, "right", None),
    ],
)
def test_a_persons_verdict_counts_then_the_newest_comparison_then_the_checker(
    given: list[Graded], outcome: Outcome, by: str | None, standing: Standing, anew: Outcome | None
) -> None:
    fold = GradesFold()
    for each in given:
        fold.feed("e", each)
    known = fold.of("e")
    assert (known.outcome, fold.outcome("e"), known.by) == (outcome, outcome, by)
    assert (known.standing(), known.standing(answered=False)) == (standing, "withheld")
    assert fold.anew("e") == anew
    assert fold.of("other") == Known()


def test_a_grade_names_the_person_or_the_grader_that_gave_it() -> None:
    assert word_of(WORD) == Word("wrong", "ann", person=True)
    assert word_of(OLD_WORD) == Word("wrong", "unknown", person=True)
    assert word_of(grade("right", "feedback", source="ann")) == Word(
        "right", "exact@2", person=False
    )
    assert word_of(grade("right", "regrade", "verdict@2")) == Word(
        "right", "verdict@2", person=False, anew=True
    )


def test_outcomes_know_where_their_newest_grade_stands_until_they_are_forgotten() -> None:
    fold = OutcomesFold()
    fold.take(3, "e", CHECKED)
    fold.take(7, "e", LABEL)
    fold.take(9, "f", WORD)
    assert [(fold.offset(name), fold.outcome(name)) for name in "efg"] == [
        (7, "right"), (9, "wrong"), (0, "unknown"),
    ]  # fmt: skip
    fold.forget(["e", "g"])
    assert [(fold.offset(name), fold.outcome(name)) for name in "ef"] == [
        (0, "unknown"),
        (9, "wrong"),
    ]


def test_strays_are_counted_and_the_first_of_them_named() -> None:
    told: list[str] = []
    strays = Strays(told.append)
    for at in range(FIRST + 2):
        strays.add(f"p/d/{at}/r", "3", TextKept(text="x"))
    assert strays.count == FIRST + 2
    assert strays.first == told
    assert told[0] == "p/d/0/r at 3: text.kept was passed over: no policy put it there"
    assert len(told) == FIRST == 5
    silent = Strays()
    silent.add("e", "1", TextKept(text="x"))
    assert silent.first == ["e at 1: text.kept was passed over: no policy put it there"]
