"""Budgets of a day as an operator writes them."""

from __future__ import annotations

import pytest

from schemas.budget import Budget, book_of, read


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("calls=500", Budget(calls=500)),
        (" tokens= 2e6 , cost=0.5", Budget(tokens=2_000_000, cost=0.5)),
        ("calls=1,tokens=2,cost=3", Budget(1, 2, 3.0)),
        ("calls=999999999999999", Budget(calls=999_999_999_999_999)),
    ],
)
def test_a_budget_is_read(text: str, budget: Budget) -> None:
    found = read(text)
    assert found == budget
    assert all(each is None or type(each) is int for each in (found.calls, found.tokens))


@pytest.mark.parametrize(
    "text",
    ["", "500", "calls", "calls=", "calls=0", "calls=-1", "calls=0.5", "tokens=1.5", "cost=0",
     "calls=1e15", "cost=nan", "cost=inf", "calls=many", "words=3", "calls=1,calls=2", "calls=1,"],
)  # fmt: skip
def test_what_is_no_budget_is_refused_with_how_to_write_one(text: str) -> None:
    with pytest.raises(ValueError, match="is no budget; write TENANT=calls=N,tokens=N,cost=X"):
        read(text)


def test_the_command_line_goes_before_what_is_configured() -> None:
    configured = {"a": "calls=1", "*": "calls=2"}
    assert book_of(configured) == {"a": Budget(calls=1), "*": Budget(calls=2)}
    assert book_of(configured, ["a=cost=3", "b=tokens=4"]) == {
        "a": Budget(cost=3.0), "*": Budget(calls=2), "b": Budget(tokens=4),
    }  # fmt: skip


@pytest.mark.parametrize("given", ["calls=500", "=calls=500", "a", ""])
def test_a_budget_of_nobody_is_refused(given: str) -> None:
    with pytest.raises(ValueError, match=f"'{given}' is no budget|'500' is no budget"):
        book_of({}, [given])
