"""A grader of somebody's own grades on every runtime; what is graded stays when another worker has another grader."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from schemas.events.learning import Graded
from streams.engine.progress import Outcome
from streams.runtime.embedded.log import SqliteLog
from tests.contracts.runtime_suite import learned, verified
from tests.contracts.runtimes import Life, Runtime, in_a_file, in_one_process, on_kafka_in_memory
from tests.pupil import problems, publication

TEXT = """
from handlers.answers.own import Grader

known = Grader(name="known", version="1", grade=lambda given: bool(given.references))
never = Grader(name="never", version="1", grade=lambda given: False)
"""


@pytest.fixture(params=[in_one_process, in_a_file, on_kafka_in_memory])
def runtime(request: pytest.FixtureRequest) -> Generator[Runtime]:
    with request.param() as made:
        yield made


def grades(log: SqliteLog) -> list[tuple[str, str, str]]:
    events = [record.event for record in log.records("learning", kinds=("graded",))]
    return [(e.outcome, e.by, e.grader[:8]) for e in events if isinstance(e, Graded)]


def test_it_decides_in_the_place_of_ours(runtime: Runtime, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(TEXT)
    runtime.log().publish(*publication(problems()))
    assert runtime.live(Life(grader=f"{tmp_path}/own.py:known")) == Outcome()
    before = grades(runtime.log())
    assert set(before) == {("right", "feedback", "known@1+")}
    assert runtime.live(Life(grader=f"{tmp_path}/own.py:never", asks_twice=True)) == Outcome()
    assert grades(runtime.log()) == before
    known = learned(runtime.log()).grades.known.values()
    assert {each.outcome for each in known} == {"right"}
    assert not verified(runtime.log())
