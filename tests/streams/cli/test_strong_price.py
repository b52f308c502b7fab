"""A stronger model is asked by whoever names one, and what its tokens cost is read from the prices of both."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import metalogue
import pytest

from handlers.policies.base import Around
from handlers.policies.cascade import CASCADE
from handlers.policies.cascade.settings import CascadeSettings
from schemas.price import Price
from streams.engine.policies import find
from streams.producing.produce import Plan
from streams.runtime.embedded.log import SqliteLog
from tests.streams.cli.calling import call

CHEAP, DEAR = Price(prompt=1, completion=3), Price(prompt=4, completion=10)
ASKED = ("--backbone", "rehearsal", "--role", "strong=rehearsal:seed=3")


@pytest.mark.parametrize(
    ("around", "usual"),
    [
        (Around(), {}),
        (Around(prices={"*": CHEAP, "strong": DEAR}), {}),
        (Around(roles=("strong",)), {"strong": True}),
        (Around(roles=("strong",), prices={"strong": DEAR}), {"strong": True}),
        (Around(roles=("strong",), prices={"*": CHEAP}), {"strong": True}),
        (
            Around(roles=("monitor", "strong"), prices={"*": CHEAP, "strong": DEAR}),
            {"strong": True, "strong_price": 3.5},
        ),
        (
            Around(roles=("strong",), prices={"*": Price(prompt=0, completion=0), "strong": DEAR}),
            {"strong": True},
        ),
        (
            Around(roles=("strong",), prices={"*": CHEAP, "strong": Price(prompt=0, completion=0)}),
            {"strong": True},
        ),
    ],
)
def test_what_a_cascade_is_set_to_where_nobody_says(around: Around, usual: dict[str, Any]) -> None:
    assert CASCADE.usual("service", around) == usual
    CascadeSettings.resolve("service", usual)


def settings_of(log: Path) -> dict[str, Any]:
    """The settings of the one problem on a log, as they were admitted."""
    with closing(SqliteLog(str(log))) as opened:
        ((body,),) = opened.db.execute("select body from records where address = 'admitted'")
    found: dict[str, Any] = json.loads(body)["problem"]["settings"]
    return found


PRICES = ("--price", "rehearsal(seed=7)=1,3", "--price", "rehearsal(seed=3)=4,10")
PRICED = {"strong": True, "strong_price": 3.5}


def test_a_problem_that_is_solved_here_is_worked_on_at_the_prices_that_are_named(
    folder: Path,
) -> None:
    solve = ("solve", "4 5 6 10", "--domain", "game24", "--policy", "cascade", *ASKED)
    assert call(*solve, *PRICES, "--log", "a.db").code == 0
    assert settings_of(folder / "a.db") == PRICED
    said = ("--set", "strong_price=7", "--log", "b.db")
    assert call(*solve, *PRICES, *said).code == 0
    assert settings_of(folder / "b.db") == {"strong": True, "strong_price": 7}, (
        "a word outweighs it"
    )


def test_a_program_says_it_by_the_same_names(folder: Path) -> None:
    named: dict[str, Any] = {
        "policy": "cascade",
        "backbone": "rehearsal",
        "roles": {"strong": "rehearsal:seed=3"},
        "prices": {"rehearsal(seed=7)": (1.0, 3.0), "rehearsal(seed=3)": (4.0, 10.0)},
    }
    metalogue.solve("4 5 6 10", domain="game24", log="sqlite:a.db", **named)
    assert settings_of(folder / "a.db") == PRICED

    async def asked() -> None:
        async with metalogue.Engine("sqlite:b.db", domain="game24", **named) as engine:
            handle = await engine.submit("4 5 6 10")
            await handle.answer()

    asyncio.run(asked())
    assert settings_of(folder / "b.db") == PRICED


def test_a_worker_says_it_of_problems_that_leave_to_it_how_they_are_worked_on(folder: Path) -> None:
    (folder / "p.jsonl").write_text('{"id": "a", "problem": "4 5 6 10"}\n')
    for log, named, found in (("a.db", (), PRICED), ("b.db", ("--policy", "cascade"), {})):
        assert call("produce", "p.jsonl", "--domain", "game24", *named, "--log", log).code == 0
        worker = ("worker", "--until-idle", "--policy", "cascade", *ASKED, "--log", log)
        assert call(*worker, *PRICES).code == 0
        assert settings_of(folder / log) == found


def test_what_was_at_hand_goes_with_a_line_that_is_refused_and_put_again() -> None:
    around = Around(True, ("strong",), {"*": CHEAP, "strong": DEAR})
    for each in (around, Around(), Around(tools=True)):
        header = json.loads(json.dumps(Plan(source="s", find=find, around=each).as_header()))
        assert Plan.from_header(header, find).around == each
    bare = Plan(source="s", find=find).as_header()
    assert bare["tools"] is False, "as letters of earlier builds say it"
    assert not {"around", "roles", "prices"} & bare.keys()
