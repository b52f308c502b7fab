"""Laws of putting again: whoever takes over, and from wherever, works on no problem a second time.

No worker has an index of what its log holds from before: each makes it anew. Between any two of them every problem is
put again, under other names of messages, so that each duplicate reaches the intake.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, TypeAlias

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from schemas.events.episode import EpisodeAdopted
from streams.engine.progress import Outcome
from streams.runtime.kafka.imported import KafkaLog
from tests.contracts.runtimes import PARTITIONS, Life, OnKafka
from tests.memory_kafka.fixture import in_memory
from tests.pupil import SIZE, both, newer, problems, publication

How: TypeAlias = Literal["drains", "dies", "parks", "adopts"]
Act: TypeAlias = tuple[How, int]
"""How a worker ends, after how many questions or records; who ``parks`` has another version of the policy alone.

Before one that ``adopts`` a person lets all that is parked go on; it dies, too.
"""
HOW: Mapping[How, tuple[int, int]] = {
    "drains": (1, 24),
    "dies": (4, 110),
    "adopts": (4, 110),
    "parks": (0, 0),
}


def life(act: Act) -> Life:
    how, many = act
    if how == "drains":
        return Life(drains_after=many, find=both)
    return Life(find=newer) if how == "parks" else Life(dies_after=many, find=both)


def adopt(runtime: OnKafka) -> None:
    """Let every episode go on that is parked."""
    log, said = runtime.log(), Counter[str]()
    for episode, address in log.db.execute(
        "select episode, address from records where address like 'parked.%' or address like 'adopted.%'"
    ):
        said[episode] += 1 if address.startswith("parked") else -1
    log.publish((), [
        (e, f"adopted.{sum(a.startswith('adopted.') for a in log.journal(e))}", EpisodeAdopted(void=False))
        for e, times in said.items() if times > 0
    ])  # fmt: skip


@example([("drains", 7)])
@example([("drains", 2), ("parks", 0), ("adopts", 60)])
@example([("dies", 88), ("parks", 0), ("parks", 0), ("dies", 22)])
@given(
    st.lists(
        st.sampled_from(list(HOW)).flatmap(
            lambda how: st.tuples(st.just(how), st.integers(*HOW[how]))
        ),
        min_size=1,
        max_size=4,
    )
)
@settings(max_examples=10)
@pytest.mark.timeout(240)
def test_no_problem_that_is_put_again_is_admitted_again_and_each_is_answered_once(
    acts: list[Act],
) -> None:
    """No question that is on record is asked again: that is checked as it asks."""
    asked, _ = publication(problems())
    with (
        TemporaryDirectory() as folder,
        in_memory(PARTITIONS) as (place, broker),
        closing(KafkaLog(place, Path(folder))) as log,
    ):
        runtime = OnKafka(place, log)
        log.publish(*publication(problems()))
        for number, act in enumerate(acts):
            if act[0] == "adopts":
                adopt(runtime)
            runtime.live(life(act))
            log.publish(
                [(topic, f"{number} {key}", said, body) for topic, key, said, body in asked]
            )
        runtime.live(Life(find=both))
        adopt(runtime)
        assert runtime.live(Life(find=both)) == Outcome()
        answers = Counter(key for _, key, _, _ in runtime.log().messages("answers"))
        assert answers.total() == len(answers) == SIZE
        admitted = Counter(
            dict(each.headers)["ce_id"]
            for (topic, _), entries in broker.logs.items()
            if topic.endswith("events.v1")
            for each in entries
            if dict(each.headers)["ce_id"].endswith(b"@admitted")
        )
        assert admitted.total() == len(admitted) == SIZE
