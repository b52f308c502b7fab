"""A memory that is to begin with another one's, on every runtime: in a series that one is waited for, else never."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from handlers.policies.base import Policy
from schemas.events.base import Event
from schemas.events.learning import KnowledgeConsolidated, MemoryVersioned, SeriesOpened
from schemas.memory import Memory
from schemas.problem import Problem
from streams.engine.progress import Outcome
from streams.replay.verify import Verifier
from streams.runtime.embedded.intake import episode_of, scope_of
from tests.contracts.runtimes import Life, Runtime, in_a_file, on_kafka_in_memory
from tests.pupil import PUPIL, PupilSettings

WINDOW = 3


class Warm(PupilSettings):
    """A pupil that may begin with what another one learned."""

    learning: ClassVar[frozenset[str]] = frozenset({"warm"})
    warm: str | None = None


def begun(source: Memory) -> Sequence[Event]:
    return (
        KnowledgeConsolidated(role="pupil", rules=(("R0", "as before"),), result="warm", new=1),
    )


def source_of(settings: PupilSettings) -> str | None:
    return settings.warm if isinstance(settings, Warm) else None


WARMED: Policy[Any] = replace(PUPIL, settings=Warm, warm_source=source_of, warm_start=begun)


def find(name: str) -> Policy[Any]:
    return WARMED


def asked(name: str, memory: str, **more: Any) -> Problem:
    said = {"id": name, "problem": f"problem {name}", "domain": "d", "policy": "pupil"}
    return Problem.model_validate({**said, "memory": memory, **more})


SOURCE = scope_of(WARMED, asked("x", "a"))
FROM_IT = {"warm": SOURCE}
SCOPE = scope_of(WARMED, asked("x", "b", settings=FROM_IT))


@pytest.fixture(params=[in_a_file, on_kafka_in_memory])
def runtime(request: pytest.FixtureRequest) -> Generator[Runtime]:
    with request.param() as made:
        yield made


def put(runtime: Runtime, *problems: Problem, series: int = 0) -> None:
    opened = SeriesOpened(
        scope=SCOPE, series="s", size=series, window=WINDOW, timing="barrier", policy="pupil",
        policy_version="1", profile="service", settings=FROM_IT, seed=0, walk=1,
    ) if series else None  # fmt: skip
    messages: list[tuple[str, str, dict[str, Any], bytes]] = [
        ("problems", episode_of(each, "pupil"), {}, each.model_dump_json().encode())
        for each in problems
    ]
    runtime.log().publish(messages, [] if opened is None else [(f"n/{SCOPE}/s", "series", opened)])


def live(runtime: Runtime) -> None:
    for _ in range(2):
        assert runtime.live(Life(find=find)) == Outcome()
    assert Verifier(runtime.log(), find).run().diverged == []


def zeros(runtime: Runtime) -> int:
    """How often a version 0 was stated."""
    events = (each.event for each in runtime.log().records(kinds=["memory.versioned"]))
    return sum(isinstance(each, MemoryVersioned) and each.number == 0 for each in events)


def in_series(*positions: int) -> list[Problem]:
    return [asked(f"b{at}", "b", series="s", position=at, settings=FROM_IT) for at in positions]


def test_a_stream_begins_empty_as_is_said(runtime: Runtime) -> None:
    put(runtime, *(asked(f"a{at}", "a") for at in range(WINDOW)))
    live(runtime)
    put(runtime, *(asked(f"b{at}", "b", settings=FROM_IT) for at in range(2 * WINDOW)))
    live(runtime)
    assert zeros(runtime) == 0


def test_a_series_begins_with_it(runtime: Runtime) -> None:
    put(runtime, *(asked(f"a{at}", "a") for at in range(WINDOW)))
    live(runtime)
    put(runtime, *in_series(*range(2 * WINDOW)), series=2 * WINDOW)
    live(runtime)
    assert zeros(runtime) == 1


@pytest.mark.parametrize("runtime", [on_kafka_in_memory], indirect=True)
def test_a_source_that_comes_when_a_batch_was_closed_without_it_is_none(runtime: Runtime) -> None:
    """On SQLite such problems are refused. Its version 0 was stated there without end, and nothing else was begun."""
    put(runtime, *in_series(*range(WINDOW)), series=2 * WINDOW)
    assert runtime.live(Life(find=find)) is not None
    put(runtime, asked("a0", "a"))
    assert runtime.live(Life(find=find)) is not None
    put(runtime, *in_series(*range(WINDOW, 2 * WINDOW)))
    live(runtime)
    assert zeros(runtime) == 0
    assert len(list(runtime.log().messages("answers"))) == 2 * WINDOW + 1
