"""One problem from a program: solved, known again for nothing, and refused by the name of what is wrong."""

from __future__ import annotations

import asyncio
import io
import logging
from pathlib import Path
from typing import Any

import metalogue
import pytest

from tests.streams.cli.calling import call
from tests.streams.door.conftest import keyless
from tests.surroundings import Serve

LOG = "sqlite:a.db"


def test_a_problem_is_solved_and_known_the_second_time(serve: Serve) -> None:
    endpoint = serve()
    first = metalogue.solve("What is 17 + 25?", backbone="openai", log=LOG)
    assert (first.answer, first.status, first.usage.calls) == ("42", "answered", 1)
    again = metalogue.solve("What is 17 + 25?", backbone="openai", log=LOG)
    assert again == first
    assert len(endpoint.asked) == 1
    assert metalogue.verify(LOG).diverged == []


def test_the_command_line_knows_what_a_program_solved(serve: Serve) -> None:
    endpoint = serve()
    solved = metalogue.solve("What is 17 + 25?", policy="mc2", backbone="openai", log=LOG)
    paid = len(endpoint.asked)
    assert paid > 1
    told = call(
        "solve", "What is 17 + 25?", "--policy", "mc2", "--backbone", "openai", "--log", "a.db"
    )
    assert told.out == "42\n"
    assert "known" in told.err
    assert len(endpoint.asked) == paid
    assert call("show", solved.episode, "--log", "a.db").code == 0


def test_an_answer_of_a_type_is_another_problem_and_written_one_way(serve: Serve) -> None:
    endpoint = serve()
    asked: Any = {"backbone": "openai", "log": LOG}
    plain = metalogue.solve("What is 17 + 25?", **asked)
    hours = metalogue.solve(
        "What is 17 + 25?", answer_type={"type": "number", "unit": "h"}, **asked
    )
    assert (plain.answer, hours.answer) == ("42", "42 h")
    assert plain.episode != hours.episode
    assert len(endpoint.asked) == 2
    for said, field in (
        ("numbr", "answer_type.type"),
        ({"type": "choice"}, "answer_type.options"),
        ({"type": "number", "unit": "frobs"}, "answer_type.unit"),
    ):
        with pytest.raises(metalogue.Error) as wrong:
            metalogue.solve("What is 1 + 1?", answer_type=said, **asked)
        assert wrong.value.field == field


def test_a_tenant_shares_no_answer_and_spends_its_own_budget(serve: Serve, folder: Path) -> None:
    endpoint = serve()
    (folder / "metalogue.yaml").write_text("budgets: {ann: calls=1}\n")
    asked: Any = {"backbone": "openai", "log": LOG}
    ann = metalogue.solve("What is 17 + 25?", tenant="ann", **asked)
    assert metalogue.solve("What is 17 + 25?", tenant="ann", **asked) == ann
    assert metalogue.solve("What is 17 + 25?", **asked).episode != ann.episode
    assert len(endpoint.asked) == 2
    with pytest.raises(metalogue.Error) as spent:
        metalogue.solve("What is 1 + 1?", tenant="ann", **asked)
    assert spent.value.code == "budget.spent"
    assert len(endpoint.asked) == 2


def test_without_a_log_nothing_stays(serve: Serve, folder: Path) -> None:
    endpoint = serve()
    for _ in range(2):
        assert metalogue.solve("What is 1 + 1?", backbone="openai").answer == "2"
    assert len(endpoint.asked) == 2
    assert list(folder.iterdir()) == []


def test_a_program_logs_as_it_set_it_up(serve: Serve) -> None:
    """Its handlers were closed and ours put in their place, and it said no more than warnings."""
    serve()
    root, own = logging.getLogger(), logging.StreamHandler(io.StringIO())
    before = root.level, [*root.handlers]
    root.addHandler(own)
    root.setLevel(logging.INFO)
    try:
        metalogue.solve("What is 17 + 25?", backbone="openai", log=LOG)
        assert own in root.handlers
        assert root.level == logging.INFO
    finally:
        root.level, root.handlers[:] = before


def test_in_a_running_loop_it_is_awaited(serve: Serve) -> None:
    serve()

    async def both() -> list[str | None]:
        asked = (f"What is {n} + 1?" for n in (1, 2))
        work = (metalogue.asolve(each, backbone="openai", log=LOG) for each in asked)
        return [each.answer for each in await asyncio.gather(*work)]

    assert asyncio.run(both()) == ["2", "3"]


@pytest.mark.parametrize(
    ("wrong", "code", "field"),
    [
        ({"policy": "mc3"}, "policy.unknown", "policy"),
        ({"settings": {"passes": 3}}, "policy.setting", "settings"),
        ({"call_limit": 0}, "usage", "call_limit"),
        ({"seed": -1}, "input.field", "seed"),
        ({"memory": "a b"}, "input.field", "memory"),
        ({"log": "postgres://x"}, "usage", "log"),
        ({"backbone": "opnai"}, "usage", "backbone"),
        ({"roles": {"monitr": "rehearsal"}}, "role.unknown", "roles"),
        ({"cost_limit": 1.0, "backbone": "openai:m"}, "usage", "cost_limit"),
    ],
)
def test_what_is_wrong_is_named(
    serve: Serve, wrong: dict[str, object], code: str, field: str
) -> None:
    endpoint = serve()
    given: dict[str, Any] = {"backbone": "openai", "log": LOG} | wrong
    with pytest.raises(metalogue.Error) as caught:
        metalogue.solve("What is 1 + 1?", **given)
    assert (caught.value.code, caught.value.field) == (code, field)
    assert endpoint.asked == []


def test_a_blank_problem_is_refused(folder: Path) -> None:
    with pytest.raises(metalogue.Error, match="problem: is blank"):
        metalogue.solve(" ", backbone="rehearsal")


def test_an_endpoint_that_refuses_the_key_is_said_as_that(serve: Serve) -> None:
    serve(keyless)
    with pytest.raises(metalogue.Error) as caught:
        metalogue.solve("What is 1 + 1?", backbone="openai", log=LOG)
    assert caught.value.code == "model.auth"
    with metalogue.open_log(LOG) as log:
        assert not any(each.closed for each in log.episodes())
