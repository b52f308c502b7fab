"""A crash after a record of a series that learns arms, beliefs or templates leaves what no crash leaves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from schemas.problem import Limits
from streams.runtime.embedded.log import SqliteLog
from tests.crash.conftest import Calm
from tests.crash.series import cut, end_of, produced, quick, stops, worked
from tests.crash.test_every_record import check

LEARNERS: Mapping[str, Mapping[str, Any]] = {
    "meta_reasoner": {"max_rounds": 3},
    "mgv_flavell": {"max_rounds": 2, "batch_size": 3},
    "mgv_retrieval": {"max_rounds": 2, "batch_size": 3},
    "buffer_of_thought": {"batch_size": 3},
    "hiar_icl": {"batch_size": 3, "seeds": 2, "rollouts": 2},
    "evo_prompt": {"batch_size": 3, "sample": 2, "generations": 1},
}
EACH = 24
"""Places of each series at which it is stopped, spread over all of them."""


def begun(path: Path, policy: str) -> Path:
    """A new log with a series of six in it."""
    values = LEARNERS[policy]
    produced(path, "game24:901-906", policy=policy, values=values, limits=Limits(calls=12))
    return path


@pytest.mark.parametrize("policy", LEARNERS)
def test_a_crash_leaves_what_no_crash_leaves(tmp_path: Path, policy: str) -> None:
    before, after = begun(tmp_path / "before.db", policy), begun(tmp_path / "after.db", policy)
    log = quick(SqliteLog(after))
    outcome, world = worked(log)
    assert outcome.held == []
    calm = Calm(before, after, end_of(log), world)
    log.close()
    places = stops(after)
    for place in places[:: max(1, len(places) // EACH)]:
        path = cut(after, tmp_path / f"{place}.db", place)
        check(calm, path, f"{policy} after record {place}")
        path.unlink()
