"""Budgets of tenants on every runtime: kept, alive through restarts, each tenant's own, and new each day."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from schemas.budget import Budget
from schemas.events.episode import ProblemAdmitted
from schemas.problem import Problem, of_tenant
from state.folds.budgets import BudgetsFold, day_of
from streams.replay.verify import Verifier
from streams.runtime.embedded.log import SqliteLog, now_ms
from streams.runtime.embedded.queries.spending import spent_since
from tests.contracts.runtimes import Life, Runtime, in_a_file, in_one_process, on_kafka_in_memory
from tests.pupil import PUPIL

ANN = {"ann": Budget(calls=4)}
CALLS = 2
"""Of the pupil for each problem."""


@pytest.fixture(params=[in_one_process, in_a_file, on_kafka_in_memory])
def runtime(request: pytest.FixtureRequest) -> Generator[Runtime]:
    with request.param() as made:
        yield made


def put(runtime: Runtime, tenant: str | None, *names: str, priority: int = 0) -> None:
    for name in names:
        id, memory = of_tenant(tenant, name, "main")
        said = Problem(
            id=id,
            problem=name,
            domain="d",
            policy="pupil",
            tenant=tenant,
            memory=memory,
            priority=priority or None,
        )
        body = said.model_dump_json(exclude_defaults=True).encode()
        runtime.log().publish([("problems", f"p/d/{id}/x", {}, body)])


def answered(log: SqliteLog) -> set[str]:
    return {key.split("/")[2] for _, key, *_ in log.messages("answers")}


def calls(log: SqliteLog, tenant: str) -> int:
    fold = BudgetsFold()
    for each in spent_since(log, 0):
        fold.feed(*each)
    return fold.of(tenant, day_of(now_ms())).calls


def test_a_tenant_that_has_spent_its_budget_waits_and_others_do_not(runtime: Runtime) -> None:
    put(runtime, "ann", "1", "2", "3", "4", "5")
    put(runtime, "bob", "1", "2", "3")
    put(runtime, None, "6")
    left = runtime.live(Life(budgets=ANN, slots=1))
    assert left is not None
    assert len(left.unpaid) == 3
    assert {why.partition(" UTC")[2] for why in left.unpaid.values()} == {" (4 calls)"}
    log = runtime.log()
    assert calls(log, "ann") == 4
    assert {"bob.1", "bob.2", "bob.3", "6"} <= answered(log)

    for _ in range(2):  # no restart gives it a second budget
        again = runtime.live(Life(budgets=ANN, asks_twice=True))
        assert again is not None
        assert again.unpaid == left.unpaid
        assert calls(runtime.log(), "ann") == 4

    six = {"ann": Budget(calls=6)}
    later = runtime.live(Life(budgets=six, days_later=1, asks_twice=True))
    assert later is not None
    assert not later.unpaid, "each day has a budget of its own"
    log = runtime.log()
    assert {f"ann.{n}" for n in range(1, 6)} <= answered(log)
    done = Verifier(log, lambda name: PUPIL).run()
    assert (done.diverged, done.unverifiable) == ([], [])


def test_many_at_once_keep_the_calls_exactly(runtime: Runtime) -> None:
    put(runtime, "ann", *map(str, range(12)))
    left = runtime.live(Life(budgets={"*": Budget(calls=7)}, delays=(1, 3, 0, 5)))
    assert left is not None
    log = runtime.log()
    assert calls(log, "ann") == 7, (
        "an odd call is one lane of an episode, which goes on the next day"
    )
    assert 12 - len(left.unpaid) == len(answered(log))


def test_a_worker_that_dies_has_spent_what_it_recorded(runtime: Runtime) -> None:
    put(runtime, "ann", *map(str, range(6)))
    for dies_after in (9, 14, 20):
        runtime.live(Life(budgets=ANN, slots=1, dies_after=dies_after, asks_twice=True))
        assert calls(runtime.log(), "ann") <= 4
    left = runtime.live(Life(budgets=ANN, slots=1, asks_twice=True))
    assert left is not None
    assert left.unpaid
    assert calls(runtime.log(), "ann") == 4


def test_tokens_are_looked_at_before_each_call(runtime: Runtime) -> None:
    """Four a call: the third is made while eight of nine are spent, and no other is."""
    put(runtime, "ann", "1", "2", "3")
    left = runtime.live(Life(budgets={"ann": Budget(tokens=9)}, slots=1))
    assert left is not None
    assert len(left.unpaid) in (1, 2)
    assert calls(runtime.log(), "ann") in (3, 4), "both lanes of an episode are open at once"


def test_tenants_share_no_memory_and_no_answer(runtime: Runtime) -> None:
    put(runtime, "ann", "1")
    put(runtime, "bob", "1")
    runtime.live(Life(settle=True))
    log = runtime.log()
    assert answered(log) == {"ann.1", "bob.1"}
    admitted = [each.event for each in log.records(kinds=["problem.admitted"])]
    scopes = {each.scope for each in admitted if isinstance(each, ProblemAdmitted)}
    assert len(scopes) == 2


def test_the_higher_priority_is_begun_first(runtime: Runtime) -> None:
    put(runtime, None, "1", "2", "3")
    put(runtime, None, "7", "8", priority=5)
    put(runtime, None, "9", priority=-1)
    runtime.live(Life(slots=1))
    opened = [
        each.episode.split("/")[2] for each in runtime.log().records(kinds=["episode.opened"])
    ]
    assert opened.index("9") == 5
    assert {opened.index("7"), opened.index("8")} <= {0, 1, 2, 3}
