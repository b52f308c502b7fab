"""What a learner is told of its batch's answers on every runtime: what their labels say."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

import pytest

from handlers.policies.base import Batch, Policy
from schemas.asking import Steps
from schemas.events.episode import Checked
from schemas.questions import Check
from streams.engine.progress import Outcome
from tests.contracts.runtimes import Life, Runtime, in_a_file, in_one_process, on_kafka_in_memory
from tests.pupil import PUPIL, PupilSettings, learn, problems, publication


def asking(batch: Batch, given: PupilSettings) -> Steps[None]:
    """Ask of each answer what it is worth, as a policy does that learns from what was right."""
    for member in batch.members:
        of = member.reflected
        yield Check(of.domain, of.problem, of.answer or "", member.subject)
    yield from learn(batch, given)


def find(name: str) -> Policy[PupilSettings]:
    return replace(PUPIL, learn=asking)


@pytest.fixture(params=[in_one_process, in_a_file, on_kafka_in_memory])
def runtime(request: pytest.FixtureRequest) -> Generator[Runtime]:
    with request.param() as made:
        yield made


def test_it_hears_of_each_answer_what_its_label_says(runtime: Runtime) -> None:
    given = problems()
    runtime.log().publish(*publication(given))
    assert runtime.live(Life(settle=True, find=find)) == Outcome()
    events = [each.event for each in runtime.log().records("learning", kinds=["checked"])]
    told = [(each.outcome, each.checker) for each in events if isinstance(each, Checked)]
    labelled = sum(each.labelled for each in given)
    assert 0 < labelled < len(given)
    assert [each for each, _ in told].count("unknown") == len(given) - labelled
    assert {each for each in told if each[0] != "unknown"} <= {
        ("right", "exact@5"),
        ("wrong", "exact@5"),
    }
