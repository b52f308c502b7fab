"""A worker at an endpoint that refuses parameters, each alone and all: the work goes on, and the log says so."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from schemas.events.episode import Completed, EpisodeClosed
from streams.runtime.embedded.log import SqliteLog
from tests.endpoint import Answer, Asked, fails, serving, whole
from tests.streams.cli.calling import call

PARAMETERS = ("temperature", "top_p", "seed", "logprobs", "max_tokens", "response_format")
CAPS = {"max_tokens", "max_completion_tokens"}
OPTIONS = "structured=true&token_logprobs=true"
ALL = frozenset({*PARAMETERS, *CAPS})


@pytest.mark.parametrize(
    "refused",
    [*(frozenset({name}) for name in PARAMETERS), ALL],
    ids=lambda names: "+".join(sorted(names)),
)
def test_no_problem_is_charged_for_what_an_endpoint_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: frozenset[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    sent: set[str] = set()

    def choosy(asked: Asked) -> Answer:
        met = next((name for name in asked.body if name in refused), None)
        if met is not None:
            message = f"Unsupported parameter: '{met}' is not supported with this model."
            return fails(400, "unsupported_parameter", message, param=met)
        sent.update(asked.body)
        return whole("20 - 4 = 16.\n\nThought: 16\nState: ANSWERED\nFinal_answer: \\boxed{16}")

    Path("in.jsonl").write_text('{"id": "a", "problem": "What is 20 - 4?"}\n')
    log = tmp_path / "a.db"
    assert (
        call("produce", "in.jsonl", "--policy", "cot2_meta", "--log", log, "--call-limit", "4").code
        == 0
    )
    with serving(choosy) as endpoint:
        backbone = ("--backbone", f"openai:check?{OPTIONS}", "--base-url", endpoint.url)
        worker = call("worker", *backbone, "--log", log, "--until-idle", "--settle")
    assert worker.code == 0, worker.err
    with closing(SqliteLog(log)) as opened:
        events = [record.event for record in opened.records(kinds=["completed", "episode.closed"])]
    replies = [event for event in events if isinstance(event, Completed)]
    [closed] = [event for event in events if isinstance(event, EpisodeClosed)]
    assert (closed.status, closed.answer) == ("answered", "16")
    assert not refused & sent
    assert {*PARAMETERS} - refused <= sent
    capped = not refused & CAPS or "max_completion_tokens" in sent
    assert capped != (refused >= CAPS)
    dropped = refused - (CAPS if capped else {"max_completion_tokens"})
    assert {name for reply in replies for name in reply.dropped or ()} == dropped
    told = [name for name in refused if f"refuses {name}" in worker.err]
    assert sorted(told) == sorted(refused)
