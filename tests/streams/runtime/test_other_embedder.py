"""Another embedder at any moment of a series: what is half done is finished, and no vectors are mixed."""

from __future__ import annotations

import pytest

from schemas.events.episode import Embedded
from schemas.vectors import unpack
from streams.engine.progress import Outcome
from tests.contracts.runtime_suite import changed, learned, verified
from tests.contracts.runtimes import Life, in_one_process
from tests.pupil import problems, publication

RECORDS = range(52, 112, 4)
"""From the first version on; some of them stop within a learning episode, before or after its vectors."""


@pytest.mark.parametrize("records", RECORDS)
def test_a_series_is_finished_by_another_embedder(records: int) -> None:
    with in_one_process() as runtime:
        runtime.log().publish(*publication(problems()))
        assert runtime.live(Life(dies_after=records)) is None
        runtime.log().publish(commands=[changed(runtime.log(), "hashed-8")])
        assert runtime.live(Life(dimensions=8)) == Outcome()

        log = runtime.log()
        (scope,) = learned(log).scopes.values()
        assert scope.memory.latest.embedder == "hashed-8"
        made = scope.memory.latest.embedded()
        assert made
        assert {len(unpack(item.vector or "")) for item in made} == {8}
        sizes = [r.event for r in log.records(kinds=["embedded"])]
        assert {each.dimensions for each in sizes if isinstance(each, Embedded)} == {8, 16}
        assert verified(log) == []
        assert log.counter("repeated") == 0
