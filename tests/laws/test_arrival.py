"""What hangs on the order in which problems arrive: of a series nothing, of a stream its windows."""

from __future__ import annotations

from contextlib import closing

import pytest

from schemas.problem import Problem
from streams.engine.policies import find
from streams.producing.produce import Plan, Producer
from streams.producing.sources import lines_of
from streams.replay.verify import Verifier
from streams.runtime.embedded.intake import episode_of
from streams.runtime.embedded.log import SqliteLog
from tests.crash.series import End, end_of, worked

SOURCE, SIZE = "game24:901-924", 24


def came(policy: str, order: list[int], *, in_series: bool, concurrency: int) -> End:
    """What the same problems come to when they arrive in this order."""
    with closing(SqliteLog(":memory:", create=True)) as log:
        with closing(SqliteLog(":memory:", create=True)) as source:
            Producer(source, Plan(source=SOURCE, find=find, policy=policy)).run(
                lines_of(SOURCE, None)
            )
            sent = list(source.messages("problems"))
            said = [(r.episode, r.address, r.event) for r in source.records("learning")]
        problems = [Problem.model_validate_json(value) for _, _, _, value in sent]
        if not in_series:
            problems = [p.model_copy(update={"series": None, "position": None}) for p in problems]
            said = []
        messages: list[tuple[str, str, dict[str, str], bytes]] = [
            ("problems", episode_of(problem, policy), {}, problem.model_dump_json().encode())
            for problem in (problems[at] for at in order)
        ]
        log.publish(messages, said)
        outcome, _ = worked(log, concurrency=concurrency)
        assert (outcome.held, outcome.parked) == ([], [])
        assert Verifier(log, find).run().diverged == []
        return end_of(log)


ORDERS = ([*range(SIZE)], [*range(SIZE)][::-1])


@pytest.mark.parametrize("policy", ["mc2", "cot"])
def test_a_series_leaves_the_same_log_however_it_arrives(policy: str) -> None:
    first, second = (came(policy, order, in_series=True, concurrency=5) for order in ORDERS)
    assert first == second


def test_a_stream_leaves_the_same_answers_and_memory_where_nothing_is_learned() -> None:
    first, second = (came("cot", order, in_series=False, concurrency=5) for order in ORDERS)
    assert first.state == second.state
    assert first.answers == second.answers
    assert first.digest != second.digest


def test_what_a_policy_learns_of_a_stream_follows_from_its_windows() -> None:
    first, second = (came("mc2", order, in_series=False, concurrency=5) for order in ORDERS)
    assert first.state != second.state
