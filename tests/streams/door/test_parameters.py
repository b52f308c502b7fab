"""Parameters of a program that are wrong are named, and nothing is put."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import metalogue
import pytest
from metalogue import Engine

from streams.interfaces.door.asking import Way
from tests.streams.door.test_engine import LOG, SUM, run


@pytest.mark.parametrize("name", ["max_pending", "max_concurrency"])
@pytest.mark.parametrize("wrong", [0, -1, True, "x", 1.5])
def test_with_none_at_once_nothing_would_ever_go_on(name: str, wrong: Any) -> None:
    with pytest.raises(metalogue.Error, match="a whole number of at least 1") as caught:
        Engine(LOG, backbone="rehearsal", **{name: wrong})
    assert caught.value.field == name


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("seed", -1),
        ("seed", 2**70),
        ("domain", "No Such"),
        ("profile", "nope"),
        ("policy", 5),
        ("settings", "x"),
        ("memory", 5),
        ("tenant", 5),
        ("id", 5),
        ("problem", b"x"),
        ("problem", None),
        # What no record can hold.
        ("problem", "half \ud800"),
        ("answer", "half \ud800"),
        ("answer", object()),
        ("headers", "a"),
        ("headers", {"a": 5}),
        ("headers", {"a": "\ud800"}),
    ],
)
def test_whatever_is_wrong_is_said_with_its_field(folder: Path, field: str, wrong: Any) -> None:
    async def work() -> None:
        async with Engine(LOG, backbone="rehearsal") as engine:
            said: dict[str, Any] = {"problem": SUM.format(1), field: wrong}
            with pytest.raises(metalogue.Error) as caught:
                await engine.submit(**said)
            assert caught.value.field == field
            assert engine.pending == 0

    run(work)


def test_what_no_record_can_say_is_named_in_plain_words(folder: Path) -> None:
    """Behind the field stood the words of a library: "Value error, Integer exceeds 64-bit range"."""
    solved = metalogue.solve(SUM.format(1), backbone="rehearsal", log=LOG)
    calls: list[tuple[str, Callable[[], object]]] = [
        ("call_limit", lambda: metalogue.solve(SUM.format(1), call_limit=1 << 64)),
        ("token_limit", lambda: metalogue.solve(SUM.format(1), token_limit=1 << 64)),
        ("call_limit", lambda: metalogue.fork(LOG, solved.episode, "0", call_limit=1 << 64)),
    ]
    for field, call in calls:
        with pytest.raises(metalogue.Error) as caught:
            call()
        assert (caught.value.field, caught.value.detail) == (field, "a number of more than 64 bits")
    with pytest.raises(metalogue.Error) as caught:
        Way().own(" x")
    assert caught.value.detail == "must be printable, without spaces at its ends"


@pytest.mark.parametrize("wrong", [Path("a.db"), b"a.db", 5])
def test_a_log_that_is_no_text_is_said_with_its_field(folder: Path, wrong: Any) -> None:
    for opened in (
        lambda: metalogue.solve(SUM.format(1), backbone="rehearsal", log=wrong),
        lambda: Engine(wrong, backbone="rehearsal"),
        lambda: metalogue.Client(wrong),
        lambda: metalogue.open_log(wrong),
        lambda: metalogue.verify(wrong),
    ):
        with pytest.raises(metalogue.Error, match="expected a text") as caught:
            opened()
        assert caught.value.field == "log"


def test_the_letters_of_a_text_are_no_problems(folder: Path) -> None:
    async def work() -> list[str | None]:
        async with Engine(LOG, backbone="rehearsal") as engine:
            return [each.answer async for each in engine.map("ab")]

    with pytest.raises(metalogue.Error, match="problems one after another, found str") as caught:
        run(work)
    assert caught.value.field == "problems"


@pytest.mark.parametrize(
    "wrong",
    [
        {"backbone": 3},
        {"roles": "a=b"},
        {"prices": 3},
        {"prices": {"m": (1,)}},
    ],
)
def test_who_is_to_answer_is_named_in_the_right_form(folder: Path, wrong: Any) -> None:
    with pytest.raises(metalogue.Error) as caught:
        metalogue.solve(SUM.format(1), **({"backbone": "rehearsal"} | wrong))
    assert caught.value.field in wrong


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("offers.Mini", {"offers": {"Mini": "bogus:x"}}),
        ("offers.mini", {"offers": {"mini": "llamacpp:none"}}),
        ("offers", {"offers": {"mi ni": "rehearsal"}}),
        ("roles", {"roles": {"nobody": "rehearsal"}}),
        ("roles.monitor", {"roles": {"monitor": "bogus"}}),
        ("roles.embedder", {"roles": {"embedder": "bogus"}}),
        ("prices", {"prices": {"x": ("a", "b")}}),
        ("budgets", {"budgets": {"ann": "zz"}}),
        ("budgets", {"budgets": {"ann": "cost=5"}}),
        ("tools", {"tools": "bogus"}),
        ("backbone", {"backbone": "bogus"}),
        ("policy", {"policy": "nope"}),
        ("settings", {"settings": {"a": 1}}),
    ],
)
def test_a_parameter_that_is_wrong_is_named_by_its_own_name(
    folder: Path, field: str, wrong: dict[str, Any]
) -> None:
    """And not by that of an option of the command line, which is given once for each of them."""

    async def work() -> None:
        given: dict[str, Any] = {"backbone": "rehearsal", **wrong}
        async with Engine(**given):
            pytest.fail("it was opened")

    with pytest.raises(metalogue.Error) as told:
        run(work)
    assert told.value.field == field


@pytest.mark.parametrize(
    ("field", "wrong"),
    [("edit", 4), ("edit", "\ud800"), ("sample", "a"), ("sample", -1), ("call_limit", 0), ("policy", 4),
     ("settings", 3), ("at", 3)],
)  # fmt: skip
def test_a_fork_that_cannot_be_writes_nothing(folder: Path, field: str, wrong: Any) -> None:
    """Of a reply that is no text a record was made that nothing could read, and its log counted as damaged."""
    solved = metalogue.solve(SUM.format(1), backbone="rehearsal", log=LOG)
    with metalogue.open_log(LOG) as log:
        before = [(each.episode, each.address) for each in log.records()]
    given: dict[str, Any] = {"episode": solved.episode, "at": "0", "backbone": "rehearsal"}
    with pytest.raises(metalogue.Error) as caught:
        metalogue.fork(LOG, **{**given, field: wrong})
    assert caught.value.field == field
    with metalogue.open_log(LOG) as log:
        assert [(each.episode, each.address) for each in log.records()] == before


@pytest.mark.parametrize("reason", ["", "x" * 1_001, "\ud800", 5])
def test_a_reason_that_is_none_or_a_book_is_refused(folder: Path, reason: Any) -> None:
    async def work() -> None:
        async with Engine(LOG, backbone="rehearsal") as engine:
            with pytest.raises(metalogue.Error) as caught:
                await engine.cancel("p/default/x/y", reason=reason)
            assert caught.value.field == "reason"

    run(work)


@pytest.mark.parametrize("kind", [metalogue.Client, Engine])
@pytest.mark.parametrize(
    ("field", "way"),
    [
        ("policy", {"policy": "nope"}),
        ("settings", {"policy": "self_consistency", "settings": {"samples": 0}}),
        ("answer_type", {"answer_type": "nothing of it"}),
        ("call_limit", {"call_limit": 0}),
        ("memory", {"memory": "no such name"}),
    ],
)
def test_what_holds_for_all_problems_is_told_before_there_is_a_log(
    folder: Path, kind: Any, field: str, way: dict[str, Any]
) -> None:
    """And not at the first problem, which may come hours later."""

    async def work() -> None:
        async with kind(LOG, **way):
            pytest.fail("it was opened")

    with pytest.raises(metalogue.Error) as told:
        run(work)
    assert field in told.value.field
    assert [*folder.iterdir()] == []
