"""Problems and replies as large as a real broker takes: each gets its end, and workers go on."""

from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path

import pytest

from tests.live.kafka_here import Cluster, missing
from tests.live.thinking import IDLE

WHY = missing() or (None if shutil.which("kcat") or os.environ.get("CI") else "no kcat here")
pytestmark = [
    pytest.mark.live,
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.xdist_group("kafka"),
    pytest.mark.skipif(WHY is not None, reason=str(WHY)),
]

GOOD = {"problem": "4 5 6 10", "domain": "game24", "policy": "cot"}
LARGE = (1_048_300, 1_000_000)
"""Bytes of problems that a broker takes: the first not with what a dead letter says of it."""


def test_what_a_broker_just_takes_ends_no_worker(cluster: Cluster, tmp_path: Path) -> None:
    topic, noise = cluster.topic("problems"), random.Random(7)
    for number, size in enumerate(LARGE):
        file = tmp_path / f"{number}.bin"
        file.write_bytes(noise.randbytes(size).replace(b"\n", b"x"))
        taken = "-X", "message.max.bytes=3000000"
        cluster.kcat("-P", "-t", topic, *taken, "-p", "0", "-k", f"big{number}", str(file))
    lines = (f"g{n}\t{json.dumps({'id': f'g{n}', **GOOD})}\n" for n in range(8))
    cluster.send("".join(lines).encode())
    for _ in range(2):
        cluster.out("worker", "--backbone", "rehearsal", *IDLE)
        stats = cluster.stats()
        assert (stats["answers"], stats["dead_letters"]) == (8, 2)
        assert stats["repeated_completions"] == 0
    rows = [json.loads(row) for row in cluster.out("dlq", "list", "--json").splitlines()]
    found = {row["bytes"]: (row["kept"], row["number"]) for row in rows}
    assert {size: kept == size for size, (kept, _) in found.items()} == dict(
        zip(LARGE, (False, True), strict=True)
    )
    raw = cluster.call("dlq", "show", str(found[LARGE[0]][1]), "--raw").stdout
    assert raw == (tmp_path / "0.bin").read_bytes(), "the whole is read where it lies"
    cluster.out("verify")
