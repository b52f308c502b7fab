"""What a broker refuses is called a refusal at the command line, never an absence."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.memory_kafka.fixture import in_memory
from tests.streams.cli.calling import call

LINE = '{"id":"a","problem":"4 5 6 10","domain":"game24"}\n'


@pytest.mark.parametrize("command", ["produce", "worker"])
def test_a_missing_right_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("METALOGUE_HOME", str(folder / "home"))
    (folder / "in.jsonl").write_text(LINE)
    with in_memory(partitions=1) as (place, broker):
        topic = place.topic("problems" if command == "produce" else "events")
        broker.forbidden = {topic}
        words = ("in.jsonl", "--policy", "cot") if command == "produce" else ("--until-idle", "-q")
        more = () if command == "produce" else ("--backbone", "rehearsal")
        called = call(command, *words, *more, "--log", place.url)
    assert called.code == 5
    first, hint = called.err.splitlines()[-2:]
    refused = f"the broker refused an append to {topic}: TopicAuthorizationFailedError"
    assert first.endswith(f": {refused} [log.refused, exit 5]")
    assert "the right to write to" in hint
    assert "no broker answered" not in called.err
