"""The command `budgets`: what each tenant spent on the last days, of what, and whether its problems wait."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from decimal import Decimal

from schemas.budget import ANYBODY, Budget
from state.folds.budgets import DAY_MS, NOTHING, BudgetsFold, day_of
from streams.interfaces.cli.errors import OK
from streams.interfaces.cli.opening import open_log
from streams.interfaces.cli.output import flush, out, out_json
from streams.interfaces.cli.setup import Models, budgets_of
from streams.runtime.embedded.log import now_ms
from streams.runtime.embedded.queries.spending import spent_since
from streams.views.words import amount, kilo, pad

UNLIMITED = Budget()


def show(log: str | None, given: Sequence[str], *, days: int, json: bool) -> int:
    """Print a line a day and tenant; the exit code."""
    budgets = budgets_of(Models(budgets=list(given)))
    limits = {} if budgets is None else dict(budgets.limits)
    at_ms, fold = now_ms(), BudgetsFold()
    with closing(open_log(log)) as opened:
        # Whole days of UTC, today included: budgets are renewed at midnight there, and not 24
        # hours after a call.
        begins = (at_ms // DAY_MS - days + 1) * DAY_MS
        for each in spent_since(opened, begins):
            fold.feed(*each)
    today = day_of(at_ms)
    rows = [(each, day, spent) for each, day, spent in fold.days()]
    known = {each for each, day, _ in rows if day == today}
    # A tenant with a budget who has spent nothing today is told of too, or else an idle one would
    # look forgotten. The rest (`*`) is a rule and no tenant.
    rows += [(each, today, NOTHING) for each in sorted(limits) if each not in {ANYBODY, *known}]
    for tenant, day, spent in rows:
        budget = limits.get(tenant, limits.get(ANYBODY, UNLIMITED))
        if json:
            allowed = {"calls": budget.calls, "tokens": budget.tokens, "cost": budget.cost}
            used = {
                "calls": spent.calls,
                "tokens": spent.known_tokens,
                "cost": spent.known_cost,
            }
            row = {"tenant": tenant, "day": day, **used, "budget": allowed}
            out_json({**row, "spent": spent.over(budget)})
            continue
        calls = f"{spent.calls:,}" + ("" if budget.calls is None else f" of {budget.calls:,}")
        tokens = kilo(spent.known_tokens)
        tokens += "" if budget.tokens is None else f" of {kilo(budget.tokens)}"
        cost = "unknown" if spent.known_cost is None else amount(spent.known_cost)
        cost += "" if budget.cost is None else f" of {Decimal(repr(budget.cost)):,f}"
        over = spent.over(budget)
        # A budget of an earlier day is renewed: nothing waits for it any more.
        waits = ": its problems wait for the next day" if day == today else ""
        ends = "" if over is None else f"   spent ({over}){waits}"
        out(f"{day}  {pad(tenant, 16)}  calls {calls}   tokens {tokens}   cost {cost}{ends}")
    if not rows and not json:
        out("no tenant has spent anything")
    flush()
    return OK
