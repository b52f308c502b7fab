"""Whoever dies, freezes, comes or goes, every call is paid for once, as far as anybody can know."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from pathlib import Path
from statistics import median

import pytest

from streams.runtime.kafka import aio, topics
from streams.runtime.kafka.place import KafkaAddress
from tests.live.faults import Account, Stepper, Team, account
from tests.live.kafka_here import Cluster, broker, eventually, frozen, missing
from tests.live.stepping import LONG
from tests.pace import soon

WHY = missing()
pytestmark = [
    pytest.mark.live,
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.skipif(WHY is not None, reason=str(WHY)),
]
SESSION_S = 3.0
TAKE_OVER_S = 10.0
ABOUT_TO_CALL = 1
"""A process may be stopped between its look at the lease and the call's note: that call is under way too."""


def problems(count: int, steps: int, first: int = 0) -> bytes:
    rows = (
        {"id": f"k{i}", "problem": f"walk {i}", "policy": "stepping", "settings": {"steps": steps}}
        for i in range(first, first + count)
    )
    return b"".join(f"{row['id']}\t{json.dumps(row)}\n".encode() for row in rows)


def team(cluster: Cluster, folder: Path, *, step_s: float, session_s: float = SESSION_S) -> Team:
    environ = {"STEP_S": str(step_s), "SESSION_MS": str(round(session_s * 1000))}
    return Team(cluster, folder, environ)


def waiting(count: int) -> bytes:
    """Problems that stay open."""
    rows = (
        {"id": f"w{i}", "problem": LONG, "policy": "stepping", "settings": {"steps": 1}}
        for i in range(count)
    )
    return b"".join(f"{row['id']}\t{json.dumps(row)}\n".encode() for row in rows)


def carries(member: Stepper, least: int) -> bool:
    return bool(member.standing()["flying"] >= least)


def finished(cluster: Cluster, count: int) -> Account:
    """Wait for the last answer; what the log says then."""
    eventually(lambda: answers(cluster) >= count, 200)
    return account(cluster)


def answers(cluster: Cluster) -> int:
    """How many there are, as far as a broker that has just come back tells it: partitions may have no leader yet."""
    try:
        return cluster.stats()["answers"]
    except aio.kafka_error():
        return 0


def in_flight(member: Stepper, said: Account, moment: float) -> int:
    """Calls that a worker had made at a moment and that nobody had recorded: answered or not, they are paid."""
    asked = {seed for at, seed in member.asks() if at < moment}
    return sum(said.recorded[seed] > moment for seed in asked)


def asked_again(team: Team, said: Account) -> list[float]:
    """How long after its record each recorded call was asked once more."""
    return [
        moment - said.recorded[seed]
        for member in team.members
        for moment, seed in member.asks()
        if moment > said.recorded[seed]
    ]


def test_one_is_killed_one_freezes_one_joins_and_the_broker_goes_away(
    cluster: Cluster, node: tuple[str, Path], tmp_path: Path
) -> None:
    count, steps = 1_400, 12
    cluster.send(problems(count, steps))
    # So many calls are in flight only where a machine makes them as fast as they are answered.
    everyone = team(cluster, tmp_path, step_s=min(soon(1.0), 4.0))
    first, second = everyone.join(), everyone.join()
    eventually(lambda: carries(first, 500) and carries(second, 500))
    killed = first.process
    killed.kill()
    killed.wait()
    killed_at = time.time()
    third = everyone.join()
    eventually(lambda: carries(third, 500))
    second.signal(signal.SIGSTOP)
    frozen_at = time.time()
    eventually(lambda: third.standing()["live"] == 8)
    second.signal(signal.SIGCONT)
    eventually(lambda: second.standing()["live"] > 0)
    broker(node[1], "stop")
    time.sleep(1)
    broker(node[1], "start")
    said = finished(cluster, count)

    assert (said.answered, said.repeated) == (count, 0)
    assert len(said.recorded) == count * steps
    at_freeze = in_flight(second, said, frozen_at)
    assert in_flight(first, said, killed_at) >= 500
    assert at_freeze >= 500
    assert asked_again(everyone, said) == []
    assert said.wasted(first) == 0
    assert said.wasted(second, frozen_at) <= at_freeze + ABOUT_TO_CALL
    assert max(everyone.takeovers()) < soon(TAKE_OVER_S)
    for each in (second, third):
        each.signal(signal.SIGTERM)
        assert each.process.wait(90) == 0


def test_one_that_freezes_before_it_hears_of_its_heartbeat_asks_nothing_when_it_wakes_up(
    cluster: Cluster, node: tuple[str, Path], tmp_path: Path
) -> None:
    """The answer waits for it in a socket, and is from before others took its place."""
    count, steps = 160, 40
    everyone = team(cluster, tmp_path, step_s=0.2, session_s=1.0)
    both = first, second = everyone.join(), everyone.join()
    eventually(lambda: all(each.standing()["live"] == 4 for each in both))
    cluster.send(problems(count, steps))
    eventually(lambda: all(carries(each, 60) for each in both))
    with frozen(node[1]):
        time.sleep(0.4)  # one heartbeat follows another in less
        first.signal(signal.SIGSTOP)
        frozen_at = time.time()
    eventually(lambda: second.standing()["live"] == 8)
    first.signal(signal.SIGCONT)
    said = finished(cluster, count)
    assert (said.answered, said.repeated) == (count, 0)
    assert said.wasted(first, frozen_at) <= in_flight(first, said, frozen_at) + ABOUT_TO_CALL
    assert asked_again(everyone, said) == []


def test_a_call_of_many_sessions_moves_nothing(cluster: Cluster, tmp_path: Path) -> None:
    """Ten of them: a session is a second here."""
    everyone = team(cluster, tmp_path, step_s=10.0, session_s=1.0)
    both = everyone.join(), everyone.join()
    eventually(lambda: all(each.standing()["live"] == 4 for each in both))
    dealt = [each.standing()["assignments"] for each in both]
    cluster.send(problems(16, 1))
    said = finished(cluster, 16)
    assert [each.standing()["assignments"] for each in both] == dealt
    assert (said.answered, sum(each.wasted for each in said.claims)) == (16, 0)
    assert set(everyone.asked().values()) == {1}


OPEN, FEW, TIMES = 2_000, 500, 5


@pytest.mark.soak
def test_take_over_is_as_quick_with_ten_times_as_many_closed_episodes(
    node: tuple[str, Path], tmp_path: Path
) -> None:
    """Of take-overs of both in turn the median: whatever else the machine does meets both alike."""
    both = [beginning(node[0], tmp_path / str(n), n) for n in (FEW, 10 * FEW)]
    took = [[followed(everyone) for everyone, _ in both] for _ in range(TIMES)]
    few, many = (median(each) for each in zip(*took, strict=True))
    for _, log in both:
        log.close()
    print(took)
    print(f"take-over of {OPEN} open episodes: after {FEW} closed {few}, after {10 * FEW} {many}")
    assert many < 1.2 * few


def beginning(base: str, folder: Path, closed: int) -> tuple[Team, Cluster]:
    """A worker with open episodes, on a log with so many closed ones."""
    folder.mkdir()
    log = Cluster(base, f"t{time.time_ns()}", folder)
    asyncio.run(topics.create(KafkaAddress.of(log.url), 8))
    everyone = team(log, folder, step_s=0.0)
    everyone.join()
    log.send(problems(closed, 1))
    eventually(lambda: log.stats()["answers"] >= closed, 200)
    log.send(waiting(OPEN))
    eventually(lambda: carries(everyone.members[-1], OPEN))
    return everyone, log


def followed(everyone: Team) -> float:
    """Kill who works last, and let another take over: in how many seconds."""
    former = everyone.members[-1].process
    former.kill()
    former.wait()
    member = everyone.join()
    eventually(lambda: member.standing()["live"] == 8)
    eventually(lambda: carries(member, OPEN))
    return float(max(member.standing()["takeovers"]))
