"""Spans by the GenAI conventions: derived from the record, sent over OTLP, each once however often."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, closing
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from schemas.events.episode import Completed
from streams.runtime.embedded.log import SqliteLog
from streams.telemetry.otlp import AT_ONCE, Export, Sender, endpoint_of
from streams.telemetry.spans import Span, provider
from tests.ports import refusing
from tests.streams.cli.calling import call, copied, process
from tests.streams.telemetry.collector import Collector, attributes, collecting

NAMES = import_module("opentelemetry.semconv._incubating.attributes.gen_ai_attributes")
OFFICIAL = {value for name, value in vars(NAMES).items() if name.startswith("GEN_AI_")}
EVENT = "gen_ai.evaluation.result"


def test_spans_arrive_at_a_collector_with_the_genai_names(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    assert call("produce", "game24:901-910", "--policy", "mc2", "--log", path).code == 0
    work = (
        "worker",
        "--backbone",
        "rehearsal:seed=7,truncated=0,empty=0",
        "--until-idle",
        "--no-tables",
        "--log",
        path,
    )
    with collecting() as collector:
        assert call(*work, "--otlp", collector.url).code == 0
        first = list(collector.spans)
        assert call(*work, "--otlp", collector.url).code == 0
        assert len(collector.spans) == len(first), "what was sent is not sent again"
    assert collector.paths == {"/v1/traces"}
    assert attributes(collector.resources[0])["service.name"] == "metalogue"
    stats = call("log", "stats", "--log", path, "--json").json
    names = Counter(span.name.split(" ")[0] for span in first)
    assert names["chat"] == stats["completions"]
    assert names["invoke_agent"] == stats["closed"] + stats["learning_episodes"]
    assert names["evaluate"] == 10
    _check(first)


def test_a_projector_sends_the_spans_of_its_log_once(worked: Path, tmp_path: Path) -> None:
    path = copied(worked, tmp_path / "a.db")
    expected = Taker()
    export = exported(copied(worked, tmp_path / "b.db"), expected)
    with closing(export.log):
        while export.step():
            pass
    with collecting() as collector:
        sent_by_projector(path, collector, len(expected.got))
    assert sorted(int.from_bytes(span.span_id) for span in collector.spans) == sorted(
        span.id for span in expected.got
    )


def sent_by_projector(path: Path, collector: Collector, count: int) -> None:
    """Run a projector as its user does, until the collector has so many spans; then end it."""
    words = ("projector", "--log", path, "--otlp", collector.url)
    with process(*words, cwd=path.parent) as projector:
        assert projector.stderr is not None
        said = iter(projector.stderr.readline, b"")
        assert any(line.startswith(b"ready: tables in ") for line in said)
        end = time.monotonic() + 60
        while len(collector.spans) < count:
            assert time.monotonic() < end
            time.sleep(0.05)
        projector.terminate()
        assert projector.wait(60) == 0


@pytest.mark.soak
def test_a_projector_whose_collector_is_away_says_so_and_ends_when_told(
    worked: Path, tmp_path: Path
) -> None:
    path = copied(worked, tmp_path / "a.db")
    with refusing() as nobody, ExitStack() as stack:
        words = ("projector", "--log", path, "--otlp", f"http://127.0.0.1:{nobody}")
        projector = stack.enter_context(process(*words, cwd=path.parent))
        assert projector.stderr is not None
        for line in iter(projector.stderr.readline, b""):
            assert b"Transient" not in line, "it is said once, in our words"
            if b"[otlp.refused]" in line:
                break
        projector.terminate()
        assert projector.wait(60) == 0


def _check(found: Sequence[Any]) -> None:
    by_id = {span.span_id: span for span in found}
    assert len(by_id) == len(found), "ids are unique"
    for span in found:
        said = attributes(span)
        assert {name for name in said if name.startswith("gen_ai.")} <= OFFICIAL
        assert span.end_time_unix_nano >= span.start_time_unix_nano > 0
        if span.name.startswith("invoke_agent"):
            assert not span.parent_span_id
            continue
        parent = by_id[span.parent_span_id]
        assert parent.trace_id == span.trace_id
        assert attributes(parent)["gen_ai.conversation.id"] == said["gen_ai.conversation.id"]
        if span.name.startswith("chat"):
            assert span.name == f"chat {said['gen_ai.request.model']}"
            assert span.kind == 3, "a client's call"
            assert said["gen_ai.operation.name"] == "chat"
            assert said["gen_ai.provider.name"] == "rehearsal"
            assert said["gen_ai.response.finish_reasons"] == ["stop"]
            assert said["gen_ai.usage.input_tokens"] > 0
            assert said["gen_ai.usage.output_tokens"] > 0
    grades = [e for span in found if span.name.startswith("evaluate") for e in span.events]
    assert {event.name for event in grades} == {EVENT}
    told = [attributes(event) for event in grades]
    assert {each["gen_ai.evaluation.score.label"] for each in told} <= {"right", "wrong"}
    flags = [attributes(e) for span in found if span.name.startswith("chat") for e in span.events]
    assert "monitor.reported" in {each["gen_ai.evaluation.name"] for each in flags}


class Taker:
    """An endpoint that takes spans, or refuses them."""

    def __init__(self, *, takes: bool = True) -> None:
        self.takes = takes
        self.got: list[Span] = []

    def __call__(self, found: Sequence[Span]) -> bool:
        self.got += found if self.takes else ()
        return self.takes


def exported(path: Path, taker: Taker) -> Export:
    return Export(SqliteLog(path), taker, "http://127.0.0.1:4318/v1/traces")


def test_what_is_refused_is_kept_and_sent_again(worked: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    copied(worked, path)
    taker = Taker(takes=False)
    export = exported(path, taker)
    with closing(export.log):
        assert export.step() is False
        taker.takes = True
        assert export.step() is True
        first, taker.got = taker.got, []
        export.log.db.execute("delete from consumers where name like 'otlp/%'")  # as after a crash
        assert export.step() is True
        assert taker.got == first, "the same spans with the same ids"
        while export.step():
            pass
        assert export.step() is None


def test_a_log_that_another_process_holds_for_a_while_ends_no_sending(
    worked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The thread ended with a traceback, and its process went on without sending anything."""
    monkeypatch.setattr("streams.telemetry.otlp.POLL_S", 0.01)
    taker, stopped = Taker(), threading.Event()
    path = copied(worked, tmp_path / "a.db")
    export = exported(path, taker)
    export.log.db.execute("pragma busy_timeout=1")
    with closing(export.log), closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("begin immediate")

        def sent(found: Sequence[Span]) -> bool:
            """The other process is done when the first spans come a second time."""
            if taker.got and not stopped.is_set():
                other.execute("rollback")
                stopped.set()
            return taker(found)

        export.send = sent
        export.follow(stopped)
        assert export.step() is None
    assert len({span.id for span in taker.got}) < len(taker.got), "some were sent twice"
    assert "database is locked; sent again in" in caplog.text


def test_calls_of_an_episode_that_is_alone_lie_within_it_one_after_the_other(
    tmp_path: Path,
) -> None:
    """A reply bore the time of the fact before it, which had lain there for as long as the model took."""
    taker, path = Taker(), tmp_path / "a.db"
    asked = ("solve", "What is 1 + 1?", "--policy", "mc2", "--log", path)
    assert call(*asked, "--backbone", "rehearsal:seed=3,latency_ms=80").code == 0
    export = exported(path, taker)
    with closing(export.log):
        while export.step():
            pass
    root, *chats = [span for span in taker.got if not span.name.startswith("evaluate")]
    ends = root.start_ms
    assert len(chats) > 1
    for chat in chats:
        assert ends - 2 <= chat.start_ms < chat.end_ms <= root.end_ms, "in whole milliseconds"
        ends = chat.end_ms


def test_a_redirect_is_a_refusal(worked: Path, tmp_path: Path) -> None:
    """It used to count as taken: the spans were nowhere, and the position went on."""
    path = copied(worked, tmp_path / "a.db")
    with collecting() as elsewhere, collecting() as collector:
        collector.elsewhere = f"{elsewhere.url}/v1/traces"
        sender = Sender(collector.url)
        with closing(SqliteLog(path)) as log:
            export = Export(log, sender.send, sender.url)
            assert export.step() is False
            collector.elsewhere = ""
            assert export.step() is True
        sender.close()
        assert collector.spans
        assert not elsewhere.spans


def test_no_text_of_a_problem_prompt_or_reply_leaves(worked: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    copied(worked, path)
    taker = Taker()
    export = exported(path, taker)
    with closing(export.log) as log:
        while export.step():
            pass
        replies = [record.event for record in log.records(kinds=["completed"])]
    said = repr(taker.got)
    texts = [reply.text for reply in replies if isinstance(reply, Completed)]
    assert texts
    assert not [text for text in texts if len(text) > 20 and text in said]
    assert len(taker.got) > AT_ONCE


def test_what_a_fork_took_over_from_its_parent_is_in_no_span_and_no_usage_of_its_own(
    forked: Path, tmp_path: Path
) -> None:
    """Nobody was asked for it again: whoever adds spans up would pay for it twice."""
    taker = Taker()
    with closing(exported(copied(forked, tmp_path / "a.db"), taker).log) as log:
        export = Export(log, taker, "http://127.0.0.1:4318/v1/traces")
        while export.step():
            pass
        made = [r for r in log.records(kinds=["completed"]) if not getattr(r.event, "reused", None)]
    chats = [span for span in taker.got if span.name.startswith("chat ")]
    assert len(chats) == len(made)
    (fork,) = (s for s in taker.got if s.attributes.get("metalogue.purpose") == "fork")
    usage = [fork.attributes[f"gen_ai.usage.{name}_tokens"] for name in ("input", "output")]
    assert (fork.attributes["metalogue.calls"], usage) == (0, [0, 0])


@pytest.mark.parametrize(
    ("backbones", "role", "expected"),
    [
        ("openai:gpt-4o-mini", "judge", "openai"),
        ("rehearsal(seed=7,latency_ms=100) (SIMULATED)", "monitor", "rehearsal"),
        ("openai:a, judge=llamacpp:b", "judge", "llamacpp"),
        ("openai:a, judge=llamacpp:b", "reasoner", "openai"),
        ("", "reasoner", "_OTHER"),
    ],
)
def test_a_role_s_provider_is_the_kind_of_its_backbone(
    backbones: str, role: str, expected: str
) -> None:
    assert provider(backbones, role) == expected


def test_an_endpoint_is_where_traces_go() -> None:
    assert endpoint_of("http://h:4318") == "http://h:4318/v1/traces"
    assert endpoint_of("http://h:4318/") == "http://h:4318/v1/traces"
    assert endpoint_of("https://h/own/path") == "https://h/own/path"
    with pytest.raises(ValueError, match="no OTLP endpoint"):
        endpoint_of("h:4318")


def test_a_wrong_endpoint_is_a_usage_error(worked: Path) -> None:
    work = ("worker", "--backbone", "rehearsal", "--until-idle", "--no-tables", "--log", worked)
    assert call(*work, "--otlp", "nowhere").code == 2
