"""Budgets on the command line: kept by a worker, shown with what is spent, and refused where they cannot be kept."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import metalogue
import pytest
from metalogue import Engine

from schemas.events.episode import ProblemAdmitted
from state.folds.budgets import DAY_MS
from streams.interfaces.cli.errors import SPENT, USAGE
from streams.interfaces.dashboard.live_log import LiveLog
from streams.interfaces.dashboard.overview import tenants
from streams.runtime.embedded.log import SqliteLog
from tests.pace import soon
from tests.streams.cli.calling import call
from tests.streams.cli.learned import change

ANN = ("--budget", "ann=calls=2,tokens=9e6")
WORKER = ("worker", "--backbone", "rehearsal", "--until-idle", "--max-concurrency", "1")


@pytest.fixture
def log(folder: Path) -> Path:
    """Three problems of one tenant, and one of another."""
    rows: list[dict[str, Any]] = [
        {"id": f"q{n}", "problem": f"What is {n} + 1?", "tenant": "ann"} for n in range(3)
    ]
    rows.append({"id": "q0", "problem": "What is 5 + 5?", "tenant": "bob", "priority": 3})
    (folder / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = call("produce", folder / "q.jsonl", "--policy", "cot", "--log", folder / "a.db")
    assert (done.code, done.out) == (0, "produced 4 known 0 refused 0\n")
    return folder / "a.db"


def test_a_worker_keeps_them_says_who_waits_and_ends_with_four(log: Path) -> None:
    done = call(*WORKER, *ANN, "--log", log)
    assert done.code == SPENT
    assert "ann has spent its budget of " in done.err
    assert "(2 calls): 1 problem waits for the next day" in done.err
    again = call(*WORKER, *ANN, "--log", log)
    assert again.code == SPENT, "a restart gives no second budget"
    rows = call("budgets", *ANN, "--json", "--log", log).rows
    assert [(row["tenant"], row["calls"], row["spent"]) for row in rows] == [
        ("ann", 2, "2 calls"),
        ("bob", 1, None),
    ]
    assert all(row["cost"] is None or row["cost"] >= 0 for row in rows)
    told = call("budgets", *ANN, "--log", log).out
    assert "calls 2 of 2" in told
    assert "its problems wait for the next day" in told
    assert call(*WORKER, "--budget", "ann=calls=3", "--log", log).code == 0, "it was raised"
    assert call("budgets", "--budget", "*=calls=3", "--json", "--log", log).rows[0]["spent"]


def test_for_a_budget_of_an_earlier_day_nothing_waits(log: Path) -> None:
    """It was said to for as long as that day was shown."""
    assert call(*WORKER, *ANN, "--log", log).code == SPENT
    change(log, "update records set at_ms = at_ms - ?", DAY_MS)
    told = call("budgets", *ANN, "--days", "2", "--log", log).lines
    assert any(line.endswith("   spent (2 calls)") for line in told)
    assert "wait" not in "".join(told)


def test_tenants_have_ids_and_memories_of_their_own(log: Path) -> None:
    call(*WORKER, "--log", log)
    with closing(SqliteLog(log)) as opened:
        found = [each.event for each in opened.records(kinds=["problem.admitted"])]
    said = {
        (e.problem.id, e.problem.memory, e.problem.tenant)
        for e in found
        if isinstance(e, ProblemAdmitted)
    }
    assert said == {(f"ann.q{n}", "ann", "ann") for n in range(3)} | {("bob.q0", "bob", "bob")}


def test_a_line_names_the_memory_of_its_problem_before_the_command_does(folder: Path) -> None:
    rows = [
        {"id": "q0", "problem": "What is 1 + 1?", "memory": "trial"},
        {"id": "q1", "problem": "What is 2 + 2?"},
        {"id": "q2", "problem": "What is 3 + 3?", "tenant": "ann", "memory": "shared"},
    ]
    Path("in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = call("produce", "in.jsonl", "--policy", "mc2", "--memory", "old", "--log", "a.db")
    assert done.code == 0, done.err
    worked = call("worker", "--backbone", "rehearsal:seed=7", "--until-idle", "--log", "a.db")
    assert worked.code == 0, worked.err
    with closing(SqliteLog(folder / "a.db")) as opened:
        admitted = [record.event for record in opened.records(kinds=["problem.admitted"])]
    found = {e.problem.id: e.problem.memory for e in admitted if isinstance(e, ProblemAdmitted)}
    assert found == {"q0": "trial", "q1": "old", "ann.q2": "shared"}
    assert call("verify", "--log", "a.db").code == 0


def test_tenants_share_what_they_are_told_to(folder: Path) -> None:
    (folder / "q.jsonl").write_text('{"id": "q1", "problem": "What is 1 + 1?"}\n')
    for tenant in ("ann", "bob"):
        made = ("--tenant", tenant, "--memory", "shared", "--priority", "2")
        where = ("--policy", "cot", "--log", folder / "a.db")
        assert call("produce", folder / "q.jsonl", *made, *where).code == 0
    with closing(SqliteLog(folder / "a.db")) as opened:
        found = [json.loads(value) for *_, value in opened.messages("problems")]
    assert [(each["id"], each["memory"], each["priority"]) for each in found] == [
        ("ann.q1", "shared", 2),
        ("bob.q1", "shared", 2),
    ]


@pytest.mark.parametrize("wrong", ["ann", "ann=calls", "=calls=1", "ann=calls=0", "ann=hours=1"])
def test_what_is_no_budget_is_a_wrong_command_line(log: Path, wrong: str) -> None:
    done = call(*WORKER, "--budget", wrong, "--log", log)
    assert done.code == USAGE
    assert "--budget" in done.err
    assert "is no budget" in done.err


def test_a_cost_that_nobody_knows_cannot_be_kept(folder: Path) -> None:
    (folder / "metalogue.yaml").write_text('budgets:\n  "*": cost=0.5\n')
    call("produce", "game24:941-941", "--policy", "cot", "--log", folder / "a.db")
    where = ("--base-url", "http://127.0.0.1:9/v1", "--until-idle", "--log", folder / "a.db")
    done = call("worker", "--backbone", "openai:m", *where)
    assert done.code == USAGE
    assert "no price is known for openai:m" in done.err


def test_a_problem_whose_cost_nobody_can_limit_waits_and_the_others_are_answered(
    folder: Path,
) -> None:
    said: list[dict[str, Any]] = [
        {"id": f"n{n}", "problem": f"What is {n} + 1?", "policy": "cot"} for n in range(3)
    ]
    said[1]["limits"] = {"cost": 1.0}
    (folder / "p.jsonl").write_text("".join(json.dumps(each) + "\n" for each in said))
    log = folder / "a.db"
    assert call("produce", "p.jsonl", "--log", log).code == 0
    for _ in range(2):
        done = call("worker", "--backbone", "rehearsal", "--until-idle", "--log", log)
        assert done.code == USAGE
        assert "n1 has a limit of cost, and no price is known for rehearsal" in done.err
    price = ("--price", "rehearsal(seed=7)=1,1")
    assert call("worker", "--backbone", "rehearsal", "--until-idle", *price, "--log", log).code == 0
    answered = call("consume", "--json", "--log", log).out.splitlines()
    assert [json.loads(each)["problem_id"] for each in answered] == ["n0", "n2", "n1"]


def test_a_log_without_tenants_has_nothing_to_show(folder: Path) -> None:
    call("produce", "game24:941-941", "--policy", "cot", "--log", folder / "a.db")
    assert call("budgets", "--log", folder / "a.db").out == "no tenant has spent anything\n"


def test_the_dashboard_shows_what_they_spent(log: Path) -> None:
    call(*WORKER, *ANN, "--log", log)
    live = LiveLog(log)
    with closing(live.log), closing(live.counts):
        while live.look():
            pass
        found = [(tenant, spent.calls) for tenant, _, spent in tenants(live.budgets)]
    assert found == [("ann", 2), ("bob", 1)]


def test_a_program_gives_budgets_tenants_and_priorities(folder: Path) -> None:
    async def work() -> tuple[str, str | None]:
        budgets = {"ann": "calls=1"}
        async with Engine("sqlite:b.db", backbone="rehearsal", budgets=budgets) as engine:
            async with asyncio.timeout(soon(30.0)):
                first = await engine.submit("What is 1 + 1?", id="a", tenant="ann", priority=4)
                answer = await first.answer()
                await engine.submit("What is 2 + 1?", id="b", tenant="ann")
                with pytest.raises(metalogue.Error) as caught:
                    await engine.submit("What is 2 + 1?", id="c", priority=10)
                assert caught.value.field == "priority"
                return answer.problem_id, answer.status

    assert asyncio.run(work()) == ("ann.a", "answered")
    assert call("budgets", "--json", "--log", "b.db").rows[0]["calls"] == 1
