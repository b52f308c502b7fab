"""Parameters of a program that are wrong are named, and nothing is put."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import metalogue
import pytest
from metalogue import Engine

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
