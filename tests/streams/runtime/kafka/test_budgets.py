"""A reply counts for its tenant from when it comes until it is read back, and then by its partition's sums."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from schemas.budget import Budget
from schemas.events.episode import Completed
from streams.answering.budgets import Budgets
from streams.runtime.kafka.budgets import KafkaBudgets
from streams.runtime.kafka.envelope import LogRecord
from streams.runtime.kafka.owned import Owned

REPLY = Completed(asked="x", text="1", finish="stop", model="m")


@pytest.mark.parametrize("live", [True, False])
def test_a_former_owner_s_reply_is_not_taken_for_one_of_ours(live: bool) -> None:
    """Else a call of ours counts nowhere until it is read back, and another is begun in its stead."""
    budgets = Budgets({"ann": Budget(calls=9)}, lambda: 1_000, books=False)
    budgets.book("ann", REPLY)
    worker: Any = SimpleNamespace(world=SimpleNamespace(budgets=budgets))
    owned = Owned(0, live=live, tenants={"p/d/ann.1/r": "ann"})
    said = LogRecord("p/d/ann.1/r", "0", "completed", 0, REPLY.to_json(), 1_000)
    KafkaBudgets(worker).completed(owned, 1, said)
    assert owned.spent.of("ann", "1970-01-01").calls == 1
    assert len(budgets.landing["ann"]) == (0 if live else 1)
