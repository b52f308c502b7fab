"""Prometheus metrics: defined once, counted from the log, readable by the official parser."""

from __future__ import annotations

import json
import re
import socket
import sqlite3
import time
import urllib.error
import urllib.request
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest
from prometheus_client.parser import text_string_to_metric_families

from streams.telemetry.counts import Counts
from streams.telemetry.metrics import METRICS, OF_BOTH, OF_KAFKA, OF_WORKER, Sample, exposed
from tests.architecture.pages import ROOT
from tests.ports import free_port
from tests.streams.cli.calling import call, copied, process
from tests.streams.dashboard.serving import PATIENCE_S

GRAFANA = ROOT / "deploy" / "grafana" / "metalogue.json"
NAME = re.compile(r"\bmetalogue_\w+")


def parsed(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Every sample by name and labels, as Prometheus itself would read it."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def counted(path: Path) -> str:
    counts = Counts(path)
    counts.read_all()
    text = exposed(counts.samples())
    counts.close()
    return text


def test_the_official_parser_reads_what_is_exposed(worked: Path) -> None:
    text = counted(worked)
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert families
    for family in families.values():
        metric = METRICS.get(family.name) or METRICS[f"{family.name}_total"]
        assert (family.type, family.documentation) == (metric.kind, metric.about)
        for sample in family.samples:
            assert set(sample.labels) - {"le"} == set(metric.labels)


def test_labels_are_escaped_and_names_are_ours() -> None:
    said = 'a "model"\\with\nlines'
    text = exposed([Sample("metalogue_completion_seconds_count", 2, (("model", said),))])
    ((_, labels),) = parsed(text)
    assert dict(labels)["model"] == said
    with pytest.raises(KeyError, match="no metric of ours"):
        exposed([Sample("metalogue_made_up_total", 1)])


def test_counters_say_what_the_log_says(worked: Path) -> None:
    found = parsed(counted(worked))
    stats = call("log", "stats", "--log", worked, "--json").json
    columns = {
        value: found["metalogue_completions_total", (("column", value),)]
        for value in ("episodes", "learning", "probes")
    }
    assert sum(columns.values()) == stats["completions"]
    assert found["metalogue_episodes_closed_total", ()] == stats["closed"] == 20
    assert found["metalogue_answers_total", (("status", "answered"),)] <= stats["answers"]
    assert found["metalogue_dead_letters_total", ()] == stats["dead_letters"] == 1
    assert found["metalogue_batches_learned_total", ()] == stats["learning_episodes"] == 2
    assert found["metalogue_completion_seconds_count", (("model", "rehearsal"),)] == sum(
        columns.values()
    )
    records = sum(v for (name, _), v in found.items() if name == "metalogue_records_total")
    assert records == stats["events"]
    lags = {dict(ls)["stage"]: v for (name, ls), v in found.items() if "stage_lag" in name}
    assert set(lags.values()) == {0.0}


def test_what_was_solved_at_once_waits_before_no_stage(tmp_path: Path) -> None:
    """It was never put, and nobody learns from it: one was less than none before intake, the other one for good."""
    path = tmp_path / "a.db"
    assert call("solve", "What is 1 + 1?", "--backbone", "rehearsal", "--log", path).code == 0
    found = parsed(counted(path))
    lags = {dict(ls)["stage"]: v for (name, ls), v in found.items() if "stage_lag" in name}
    assert set(lags.values()) == {0.0}


def test_replay_adds_nothing_to_any_counter(worked: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    copied(worked, path)
    before = counted(path)
    log = ("--log", path)
    work = ("worker", "--backbone", "rehearsal:seed=7", "--until-idle", "--no-tables")
    again: list[tuple[object, ...]] = [
        ("verify",),
        ("show", "n905"),
        ("show", "n905", "--at", "2"),
        ("state", "hash"),
        ("rebuild", "--tables", "none"),
        ("lessons", "list"),
        ("produce", "game24:901-920", "--policy", "mc2"),
        work,
    ]
    for words in again:
        assert call(*words, *log).code == 0, words
    after = parsed(counted(path))
    assert after.pop(("metalogue_records_total", (("topic", "events"),))) >= 0  # one more claim
    changed = {
        key: value for key, value in parsed(before).items() if after.get(key, value) != value
    }
    assert changed == {}


def test_a_fork_that_asked_nobody_adds_to_no_figure_of_calls(worked: Path, forked: Path) -> None:
    names = ("metalogue_completion", "metalogue_tokens", "metalogue_cost")
    before, after = (
        {key: value for key, value in parsed(counted(path)).items() if key[0].startswith(names)}
        for path in (worked, forked)
    )
    assert after == before


def test_a_count_from_anywhere_is_the_count_from_the_beginning(
    worked: Path, tmp_path: Path
) -> None:
    """Reading in steps, while the log grows, and at once come to the same."""
    path = tmp_path / "a.db"
    log = ("--log", path)
    work = ("worker", "--backbone", "rehearsal:seed=7", "--until-idle", "--no-tables")
    assert call("produce", "game24:901-903", "--policy", "cot", *log).code == 0
    stepwise = Counts(path)
    stepwise.read_all()
    assert call(*work, *log).code == 0
    stepwise.read_all()
    assert parsed(exposed(stepwise.samples())) == parsed(counted(path))
    stepwise.close()


def test_a_batch_that_is_closed_again_without_a_forgotten_problem_is_counted_once(
    worked: Path, tmp_path: Path
) -> None:
    path = copied(worked, tmp_path / "a.db")
    forget = ("forget", "--problem", "n903", "--yes", "--backbone", "rehearsal:seed=7")
    assert "closed again" in call(*forget, "--log", path).out
    found = parsed(counted(path))
    assert found["metalogue_batches_learned_total", ()] == 2
    assert found["metalogue_stage_lag", (("stage", "learner"),)] == 0


def test_the_models_that_have_a_label_are_those_that_replied_first_however_they_were_read(
    worked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that was started again would show other counters under the same names."""
    path = copied(worked, tmp_path / "a.db")
    with closing(sqlite3.connect(path)) as db:
        named = "json_set(body, '$.model', 'm' || (offset * 7 % 31))"
        db.execute(f"update records set body = {named} where kind = 'completed'")
        db.commit()
    at_once = parsed(counted(path))
    for module in ("counts", "figures"):
        monkeypatch.setattr(f"streams.telemetry.{module}.SPAN", 20)
    assert parsed(counted(path)) == at_once
    assert ("metalogue_completion_seconds_count", (("model", "other"),)) in at_once


def fetched(port: int, page: str) -> str | None:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{page}", timeout=5) as answer:
            return str(answer.read().decode())
    except OSError:
        return None


def test_a_worker_shows_its_metrics_while_it_works(tmp_path: Path) -> None:
    port, path = free_port(), tmp_path / "a.db"
    assert call("produce", "game24:901-920", "--policy", "cot", "--log", path).code == 0
    model = "rehearsal:seed=7,latency_ms=1500"
    work = ("worker", "--backbone", model, "--until-idle", "--no-tables", "--log", path)
    with process(*work, "--metrics", f"127.0.0.1:{port}", cwd=tmp_path) as worker:
        deadline = time.monotonic() + PATIENCE_S
        while (text := fetched(port, "/metrics")) is None and time.monotonic() < deadline:
            time.sleep(0.05)
        assert text is not None
        assert fetched(port, "/livez") == fetched(port, "/readyz") == "ok\n"
        assert worker.wait(PATIENCE_S) == 0
    found = parsed(text)
    assert found["metalogue_problems_produced_total", ()] == 20
    assert found["metalogue_tasks_running", ()] <= 20
    assert {name for name, _ in found} >= set(OF_WORKER)


def status(port: int, page: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{page}", timeout=PATIENCE_S) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_a_worker_whose_log_is_held_replaced_or_gone_is_alive_and_not_ready(
    tmp_path: Path,
) -> None:
    port, path, beside = free_port(), tmp_path / "a.db", tmp_path / "b.db"
    assert call("produce", "game24:901-903", "--policy", "cot", "--log", path).code == 0
    work = ("worker", "--backbone", "rehearsal:seed=7", "--no-tables", "--log", path)
    with process(*work, "--metrics", f"127.0.0.1:{port}", cwd=tmp_path) as worker:
        deadline = time.monotonic() + PATIENCE_S
        while fetched(port, "/readyz") != "ok\n" and time.monotonic() < deadline:
            time.sleep(0.05)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("begin immediate")
            held = status(port, "/readyz")
            assert status(port, "/livez") == (200, "ok\n")
            other.execute("rollback")
        assert held == (503, f"{path}: another process holds it\n")
        assert status(port, "/readyz") == (200, "ok\n")
        path.rename(beside)
        moved = status(port, "/readyz")
        beside.rename(path)
        assert moved == (503, f"{path}: the log was moved away or replaced\n")
        assert status(port, "/readyz") == (200, "ok\n")
        worker.terminate()
        assert worker.wait(PATIENCE_S) == 0


def test_appends_that_wait_for_a_held_log_are_counted_with_their_age(tmp_path: Path) -> None:
    port, path = free_port(), tmp_path / "a.db"
    assert call("produce", "game24:901-940", "--policy", "cot", "--log", path).code == 0
    model = "rehearsal:seed=7,latency_ms=1500"
    work = ("worker", "--backbone", model, "--max-concurrency", 4, "--no-tables", "--log", path)
    with process(*work, "--metrics", f"127.0.0.1:{port}", cwd=tmp_path) as worker:
        deadline = time.monotonic() + PATIENCE_S
        while fetched(port, "/readyz") != "ok\n" and time.monotonic() < deadline:
            time.sleep(0.05)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            began = time.monotonic()
            other.execute("begin immediate")
            waited, age, found = 0.0, 0.0, parsed("")
            while min(waited - 0.5, age - 3) <= 0:
                assert time.monotonic() < began + PATIENCE_S
                time.sleep(0.2)
                found = parsed(status(port, "/metrics")[1])
                waited = found.get(("metalogue_append_wait_seconds", ()), 0.0)
                age = found.get(("metalogue_append_age_seconds", ()), 0.0)
                assert waited <= time.monotonic() - began + 1, (
                    "it waits for us, and for nobody before"
                )
            other.execute("rollback")
        assert found["metalogue_appends_waiting", ()] > 0
        worker.terminate()
        assert worker.wait(PATIENCE_S) == 0


def test_a_port_that_is_taken_is_named(worked: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = f"127.0.0.1:{server.getsockname()[1]}"
        work = ("worker", "--backbone", "rehearsal", "--until-idle", "--no-tables", "--log", worked)
        done = call(*work, "--metrics", place)
    assert done.code == 6
    assert place in done.err
    assert call(*work, "--metrics", "nonsense").code == 2


def test_workers_of_both_runtimes_use_these_definitions() -> None:
    source = (ROOT / "streams" / "runtime" / "kafka" / "web.py").read_text(encoding="utf-8")
    assert set(NAME.findall(source)) == set(OF_BOTH) | set(OF_WORKER) | set(OF_KAFKA)


# ── Grafana ──────────────────────────────────────────────────────────────────────────────────


def queries(value: Any) -> list[str]:
    """Every query of a dashboard, of panels and of variables."""
    parts: Iterable[Any] = ()
    own: list[str] = []
    if isinstance(value, dict):
        said = cast("dict[str, Any]", value)
        own = [str(said[name]) for name in ("expr", "query", "definition") if name in said]
        parts = said.values()
    elif isinstance(value, list):
        parts = cast("list[Any]", value)
    return own + [query for each in parts for query in queries(each)]


def test_the_grafana_dashboard_names_only_metrics_and_labels_that_exist() -> None:
    found = [q for q in queries(json.loads(GRAFANA.read_text(encoding="utf-8"))) if NAME.search(q)]
    assert len(found) >= 12
    assert {query: misuses(query) for query in found if misuses(query)} == {}


def misuses(query: str) -> list[str]:
    """What a query asks of metrics that they do not give."""
    wrong: list[str] = []
    known = {"le", "job", "instance"}
    for name in NAME.findall(query):
        metric = METRICS.get(name) or METRICS.get(re.sub(r"_(bucket|sum|count)$", "", name))
        if metric is None or (metric.kind == "histogram") == (name in METRICS):
            wrong.append(f"{name} does not exist")
            continue
        known.update(metric.labels)
        grows = re.search(rf"(rate|increase)\({name}\b", query) is not None
        if grows != (metric.kind != "gauge"):
            wrong.append(f"{name} is a {metric.kind}")
    named = re.findall(r"(?:by|on) \(([\w, ]+)\)", query) + re.findall(r"(\w+)(?:=~?|!=)\"", query)
    labels = {label for group in named for label in group.split(", ")}
    return wrong + [f"label {label}" for label in sorted(labels - known)]
