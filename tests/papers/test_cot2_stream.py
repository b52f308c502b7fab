"""CoT2-Meta through the real stream: references stay out of every prompt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streams.answering.backbones.rehearsal.backbone import Rehearsal
from streams.core.backbone import ModelReply, ModelRequest
from streams.runtime.embedded.log import SqliteLog
from tests.streams.cli.calling import call

GOLD = "GOLD-SENTINEL-4711"


@pytest.mark.claim("cot2-phi")
def test_a_reference_is_in_no_prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    reply = Rehearsal.reply

    def watched(self: Rehearsal, request: ModelRequest) -> ModelReply:
        seen.extend(text for _, text in request.messages)
        return reply(self, request)

    monkeypatch.setattr(Rehearsal, "reply", watched)
    source, url = tmp_path / "p.jsonl", f"sqlite:{tmp_path / 'a.db'}"
    problems = [{"id": f"g{n}", "problem": f"4 5 6 {n}", "answer": GOLD} for n in (7, 10)]
    source.write_text("".join(json.dumps(each) + "\n" for each in problems))
    hybrid = ["--set", "abstain_threshold=0.8", "--call-limit", 32]
    made = call("produce", source, "--policy", "cot2_meta", "--domain", "d", *hybrid, "--log", url)
    assert made.code == 0, made.err
    done = call(
        "worker", "--backbone", "rehearsal:seed=7", "--until-idle", "--settle", "--log", url
    )
    assert done.code == 0, done.err
    assert len(seen) > 20
    assert not any(GOLD in text for text in seen)
    log = SqliteLog(url.removeprefix("sqlite:"))
    recorded = b"".join(value for *_, value in log.messages("feedback"))
    log.close()
    assert GOLD.encode() in recorded
