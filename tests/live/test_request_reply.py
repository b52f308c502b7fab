"""Request and reply on a real broker: the examples of the docs, each by the client that it is written for."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.pages import DOCS, blocks
from tests.live.kafka_here import Cluster, missing
from tests.pace import soon

WHY = missing() or (None if shutil.which("kcat") or os.environ.get("CI") else "no kcat here")
pytestmark = [
    pytest.mark.live,
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.skipif(WHY is not None, reason=str(WHY)),
]
EXAMPLES = {
    file: block.text
    for block in blocks(DOCS / "programs.md")
    if (file := block.said("on kafka")) is not None
}
RUN = {".sh": ["bash", "-euo", "pipefail"], ".py": [sys.executable]}
SHOWS = {
    "ask.sh": b"correlation-id=q1-7",
    "await_it.py": b"q2 answered",
    "plain.py": b"answered",
    "Ask.java": b'"problem_id":"q4"',
}
"""What each prints of its answer, and of no other."""


def jars() -> str:
    """Kafka's own client and what it needs, from those of the broker."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "metalogue"
    names = ("kafka-clients", "slf4j-api", "zstd-jni")
    found = [next(cache.glob(f"kafka-*/{name}-*.jar")) for name in names]
    return os.pathsep.join(map(str, found))


def run(cluster: Cluster, folder: Path, file: str) -> bytes:
    """What an example prints on a log."""
    text = EXAMPLES[file].replace("broker:9092", cluster.server)
    text = text.replace("/team", f"/{cluster.name}").replace("team.", f"{cluster.name}.")
    (folder / file).write_text(text, encoding="utf-8")
    suffix = Path(file).suffix
    words = ["java", "-cp", jars()] if suffix == ".java" else RUN[suffix]
    done = subprocess.run(
        [*words, str(folder / file)],
        env=cluster.environ(),
        capture_output=True,
        timeout=soon(120.0),
        check=False,
    )
    assert done.returncode == 0, (file, done.stdout.decode(), done.stderr.decode()[-2000:])
    return done.stdout


def test_the_examples_ask_and_find_their_answers(cluster: Cluster, tmp_path: Path) -> None:
    assert EXAMPLES.keys() == SHOWS.keys()
    cluster.worker("--backbone", "rehearsal:seed=7,malformed=0,truncated=0,empty=0")
    for file, shown in SHOWS.items():
        assert shown in run(cluster, tmp_path, file), file
    answers = [json.loads(each) for each in cluster.out("consume", "--json").splitlines()]
    assert len(answers) == len(SHOWS)
    heads = cluster.kcat("-C", "-t", cluster.topic("answers"), "-e", "-q", "-f", "%h\n").decode()
    assert "traceparent=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" in heads
    assert "reply-to=desk" in heads
    assert cluster.out("verify").endswith(" 0 model calls")
