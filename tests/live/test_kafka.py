"""The runtime on a real broker: the same meaning as the embedded one, whoever dies, freezes or joins."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import os
import shutil
import signal
from pathlib import Path

import pytest

from streams.replay.digest import log_digest
from streams.runtime.kafka.place import KafkaAddress
from tests.live.faults import claims_of
from tests.live.kafka_here import Cluster, Flat, ended, eventually, missing

WHY = missing()
pytestmark = [
    pytest.mark.live,
    pytest.mark.timeout(300),
    pytest.mark.xdist_group("kafka"),
    pytest.mark.skipif(WHY is not None, reason=str(WHY)),
]
needs_kcat = pytest.mark.skipif(
    shutil.which("kcat") is None and not os.environ.get("CI"), reason="no kcat on this machine"
)
REHEARSAL = ("--backbone", "rehearsal:seed=7")


def lines(count: int, first: int = 0, **more: object) -> bytes:
    rows = (
        {"id": f"k{i}", "problem": f"{1 + i % 9} {1 + i % 7} 8 3", "domain": f"d{i % 4}", **more}
        for i in range(first, first + count)
    )
    return b"".join(f"{row['id']}\t{json.dumps(row)}\n".encode() for row in rows)


def owners(cluster: Cluster) -> int:
    """How many workers share the partitions."""
    claims = asyncio.run(claims_of(KafkaAddress.of(cluster.url)))
    return len({each.worker for each in claims if each.ended == math.inf})


def same_meaning(one: Cluster, other: Cluster) -> None:
    """Both logs learned the same from the same."""
    for verb in (("state", "hash"), ("log", "digest")):
        assert one.out(*verb) == other.out(*verb)


def test_a_series_over_two_workers_means_what_it_means_embedded(
    cluster: Cluster, tmp_path: Path
) -> None:
    flat, source = Flat(tmp_path), ("game24:901-1000", "--policy", "mc2")
    both = cluster.worker(*REHEARSAL), cluster.worker(*REHEARSAL)
    eventually(lambda: owners(cluster) == 2)
    for each in (cluster, flat):
        assert each.out("produce", *source).startswith("produced 100 ")
    assert ended(flat.worker(*REHEARSAL, "--until-idle")) == [0]
    meaning = flat.out("log", "digest")
    eventually(lambda: cluster.stats()["learning_episodes"] == 10)
    eventually(lambda: log_digest(cluster.log()) == meaning)
    for worker in both:
        worker.send_signal(signal.SIGTERM)
    assert ended(*both) == [0, 0]
    same_meaning(cluster, flat)
    assert cluster.out("verify").endswith(" 0 model calls")
    found = cluster.stats()
    assert (found["answers"], found["learning_episodes"]) == (100, 10)
    assert (found["repeated_completions"], found["stale_completions"]) == (0, 0)
    assert len(cluster.out("consume", "--json").splitlines()) == 100


def interleaved(count: int) -> bytes:
    """Problems of two domains in turns; every other one is labelled."""
    rows = (
        {"id": f"k{i}", "problem": f"{1 + i % 9} {1 + i % 7} 8 3", "domain": f"d{i % 2}"}
        | ({"answer": "24"} if i % 4 < 2 else {})
        for i in range(count)
    )
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


@pytest.mark.slow
def test_two_series_on_all_partitions_and_few_slots_mean_what_they_mean_embedded(
    cluster: Cluster, tmp_path: Path
) -> None:
    flat, source = Flat(tmp_path), tmp_path / "both.jsonl"
    source.write_bytes(interleaved(48))
    for each in (cluster, flat):
        each.out("produce", source, "--policy", "mc2", "--set", "batch_size=8")
    options = (*REHEARSAL, "--until-idle", "--settle", "--max-concurrency", 3)
    assert ended(flat.worker(*options)) == [0]
    assert ended(cluster.worker(*options), cluster.worker(*options)) == [0, 0]
    same_meaning(cluster, flat)
    found = cluster.stats()
    assert (found["answers"], found["learning_episodes"]) == (48, 6)


GRADER = """
from handlers.answers.own import Given, Grader

odd = Grader(name="odd", version="1", grade=lambda given: len(given.answer) % 2 == 1)
"""


@pytest.mark.slow
def test_answers_graded_anew_while_workers_go_on_mean_what_they_mean_embedded(
    cluster: Cluster, tmp_path: Path
) -> None:
    """Whoever grades may append nothing on Kafka: the owners of the scopes state the grades and learn again."""
    flat, source, grader = Flat(tmp_path), tmp_path / "both.jsonl", tmp_path / "mine.py"
    source.write_bytes(interleaved(48))
    grader.write_text(GRADER)
    mine = ("regrade", "--grader", f"{grader}:odd", "--json")
    both = cluster.worker(*REHEARSAL), cluster.worker(*REHEARSAL)
    for each in (cluster, flat):
        each.out("produce", source, "--policy", "mc2", "--set", "batch_size=8")
    assert ended(flat.worker(*REHEARSAL, "--until-idle")) == [0]
    eventually(lambda: log_digest(cluster.log()) == flat.out("log", "digest"))
    here, there = (json.loads(each.out(*mine)) for each in (flat, cluster))
    assert here["closed_again"]
    assert there["proposed"] == here["new"] == 24
    eventually(lambda: cluster.out("state", "hash") == flat.out("state", "hash"))
    for worker in both:
        worker.send_signal(signal.SIGTERM)
    assert ended(*both) == [0, 0]
    again = json.loads(cluster.out(*mine))
    assert (again["new"], again["known"]) == (0, 24)
    assert cluster.out("verify").endswith(" 0 model calls")


@pytest.mark.slow
def test_sets_over_two_workers_mean_what_they_mean_embedded(
    cluster: Cluster, tmp_path: Path
) -> None:
    flat = Flat(tmp_path)
    for each in (cluster, flat):
        each.out(
            "produce", "game24:901-920", "--policy", "mgv_acquisition", "--set", "batch_size=4"
        )
    options = (*REHEARSAL, "--until-idle", "--settle")
    assert ended(flat.worker(*options)) == [0]
    assert ended(cluster.worker(*options), cluster.worker(*options)) == [0, 0]
    same_meaning(cluster, flat)
    assert cluster.out("verify").endswith(" 0 model calls")
    assert cluster.stats()["answers"] == 20


def scattered(line: bytes) -> bytes:
    return hashlib.sha256(line).digest()


@needs_kcat
def test_a_foreign_client_is_served_and_its_broken_lines_are_kept(cluster: Cluster) -> None:
    junk = b"".join(b"j%d\t{broken %d\n" % (i, i) for i in range(10_000))
    good = lines(1_000, policy="cot", answer="nobody-says-so").splitlines(keepends=True)
    mixed = sorted([*good, *junk.splitlines(keepends=True)], key=scattered)
    cluster.send(b"".join(mixed))
    worker = cluster.worker(*REHEARSAL, "--until-idle", "--settle")
    assert ended(worker, limit_s=240) == [0]
    found = cluster.stats()
    assert (found["answers"], found["dead_letters"]) == (1_000, 10_000)
    dead = cluster.kcat("-C", "-t", cluster.dead("problems"), "-e", "-q", "-f", "%s\n")
    assert sorted(dead.splitlines()) == sorted(b"{broken %d" % i for i in range(10_000))
    headers = cluster.kcat("-C", "-t", cluster.dead("problems"), "-e", "-q", "-f", "%h\n")
    assert b"__metalogue.errors.exception=input.json" in headers
    answers = cluster.kcat("-C", "-t", cluster.topic("answers"), "-e", "-q").splitlines()
    assert {json.loads(line)["problem_id"] for line in answers} == {f"k{i}" for i in range(1_000)}
    labels = cluster.kcat("-C", "-t", cluster.topic("feedback"), "-e", "-q").splitlines()
    assert len(labels) == 1_000
    assert b"nobody-says-so" not in cluster.kcat("-C", "-t", cluster.topic("events"), "-e", "-q")


@pytest.mark.slow
def test_a_dead_letter_is_replayed_once_however_often_it_is_asked(
    cluster: Cluster, tmp_path: Path
) -> None:
    mended = tmp_path / "mended.json"
    cluster.send(b'j1\t{"id": "j1", "problem": 4}\n')
    idle = (*REHEARSAL, "--policy", "cot", "--until-idle")
    assert ended(cluster.worker(*idle)) == [0]
    assert b"refused 1" in cluster.call("dlq", "replay", "--all").stdout
    mended.write_bytes(cluster.out("dlq", "show", 1, "--raw").replace("4", '"1 2 3 4"').encode())
    replay = ("dlq", "replay", 1, "--file", mended)
    assert cluster.out(*replay) == "replayed 1 known 0 refused 0"
    assert cluster.out(*replay) == "replayed 0 known 1 refused 0"
    assert ended(cluster.worker(*idle)) == [0]
    assert cluster.out(*replay) == "replayed 0 known 1 refused 0"
    found = cluster.stats()
    assert (found["problems"], found["answers"], found["dead_letters"]) == (2, 1, 1)
