"""Workers that may be killed or frozen, and an account of every call that they made."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from schemas.events.episode import EpisodeOpened
from schemas.identity import call_seed
from streams.runtime.kafka import topics
from streams.runtime.kafka.envelope import read
from streams.runtime.kafka.fence import CLAIMED
from streams.runtime.kafka.follow import Follower
from streams.runtime.kafka.imported import KafkaLog
from streams.runtime.kafka.place import KafkaAddress
from tests.live.kafka_here import ROOT, Cluster


@dataclass
class Stepper:
    """One process of ``tests.live.stepping`` and what it noted."""

    notes: Path
    process: subprocess.Popen[bytes]

    def said(self) -> Iterator[dict[str, Any]]:
        """Whole lines; the last may be cut off by a death."""
        for line in self.notes.read_bytes().split(b"\n")[:-1]:
            yield orjson.loads(line)

    def standing(self) -> dict[str, Any]:
        """How it stood last."""
        found = [each for each in self.said() if "live" in each]
        return found[-1] if found else {"flying": 0, "live": 0, "takeovers": [], "assignments": 0}

    def asks(self) -> Iterator[tuple[float, int]]:
        """When it asked what."""
        return ((each["t"], each["ask"]) for each in self.said() if "ask" in each)

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)


@dataclass
class Team:
    """Steppers on one log."""

    cluster: Cluster
    folder: Path
    environ: dict[str, str]
    members: list[Stepper] = field(default_factory=list[Stepper])

    def join(self) -> Stepper:
        notes = self.folder / f"notes{len(self.members)}.jsonl"
        notes.touch()
        said = open(self.folder / "steppers.log", "ab")  # noqa: SIM115 - the process keeps it
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.live.stepping", self.cluster.url, str(notes)],
            env={**os.environ, **self.environ, "PYTHONPATH": str(ROOT)},
            cwd=ROOT,
            stdout=said,
            stderr=subprocess.STDOUT,
        )
        said.close()
        self.cluster.started.append(process)
        self.members.append(Stepper(notes, process))
        return self.members[-1]

    def takeovers(self) -> list[float]:
        """Seconds that each take-over of any member took."""
        return [each for member in self.members for each in member.standing()["takeovers"]]

    def asked(self) -> Counter[int]:
        """How often each call was made."""
        return Counter(seed for member in self.members for _, seed in member.asks())


@dataclass
class Claim:
    """One worker's time as the owner of a partition, and the calls that it recorded after it was over."""

    worker: str
    began: float
    ended: float = math.inf
    wasted: int = 0

    def held(self, moment: float) -> bool:
        """Whether it was the owner at a moment."""
        return self.began <= moment < self.ended


@dataclass(frozen=True)
class Account:
    """What the log says in the end."""

    answered: int
    repeated: int
    claims: list[Claim]
    """Of all partitions of `events`, in order."""
    recorded: dict[int, float]
    """When each accepted call was recorded, by its seed."""

    def wasted(self, member: Stepper, moment: float | None = None) -> int:
        """Calls that a worker recorded for nothing; of what it owned at a moment, if one is given."""
        mine = (each for each in self.claims if each.worker == f"w{member.process.pid}")
        return sum(each.wasted for each in mine if moment is None or each.held(moment))


def account(cluster: Cluster) -> Account:
    """Read the whole log."""
    with closing(KafkaLog(KafkaAddress.of(cluster.url), cluster.home)) as log:
        runs: dict[str, int] = {}
        for record in log.records(kinds=("episode.opened",)):
            assert isinstance(record.event, EpisodeOpened)
            runs[record.episode] = record.event.seed
        rows = log.db.execute(
            "select episode, address, at_ms from records where kind = 'completed'"
        )
        recorded = {call_seed(runs[e], address): at / 1000 for e, address, at in rows}
        answers = {key for _, key, _, _ in log.messages("answers")}
        claims = asyncio.run(claims_of(log.place))
        assert sum(each.wasted for each in claims) == log.counter("stale")
        return Account(len(answers), log.counter("repeated"), claims, recorded)


async def claims_of(place: KafkaAddress) -> list[Claim]:
    """Who owned what when, as the log of `events` tells it."""
    found: dict[tuple[int, int], Claim] = {}
    latest: dict[int, int] = {}
    follower = Follower(place, lambda _, partition, record: _take(found, latest, partition, record))
    await follower.start()
    follower.add((place.topic("events"), each) for each in range(await topics.checked(place)))
    await follower.caught_up()
    await follower.stop()
    return list(found.values())


def _take(
    found: dict[tuple[int, int], Claim], latest: dict[int, int], partition: int, record: Any
) -> None:
    said, at = read(record.headers, record.value), record.timestamp / 1000
    if said.kind == CLAIMED:
        if partition in latest:
            found[partition, latest[partition]].ended = at
        latest[partition] = record.offset
        found[partition, record.offset] = Claim(orjson.loads(said.body)["worker"], at)
    elif said.kind == "completed" and said.epoch != latest[partition]:
        found[partition, said.epoch or 0].wasted += 1
