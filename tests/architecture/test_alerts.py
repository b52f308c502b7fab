"""Alerts for Prometheus: each fires at its own trouble and at nothing else, and names only what we expose."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from streams.telemetry.metrics import METRICS
from tests.architecture.pages import ROOT
from tests.streams.cli.calling import call
from tests.streams.telemetry.test_metrics import misuses

ALERTS = ROOT / "deploy" / "grafana" / "alerts.yaml"
COMMAND = re.compile(r"`metalogue ([^`]*)`")
MINUTES = 120
"""How long each scenario lasts."""

# What two workers, a dashboard and a door expose while all is well, in Prometheus' notation: first value, step, times.
BUSY = "0+60x120"
WELL = {
    f'metalogue_{name}{{job="m",instance="{worker}"{labels}}}': values
    for worker in "ab"
    for name, labels, values in (
        ("tasks_running", "", "200x120"),
        ("append_wait_seconds", "", "0x120"),
        ("partitions", "", "8x120"),
        ("partitions_owned", "", "4x120"),
        ("brokers", "", "3x120"),
        ("partitions_under_replicated", ',topic="events"', "0x120"),
        ("partitions_below_min_isr", ',topic="events"', "0x120"),
        ("takeover_wait_seconds", "", "0x120"),
        ("partition_lag", ',topic="problems",partition="0"', "2000x120"),
        ("partition_lag", ',topic="events",partition="0"', "10x120"),
        ("episodes_closed_total", "", BUSY),
        ("episodes_failed_total", "", "0+1x120"),
        ("episodes_blocked", "", "5x120"),
        ("batches_learned_total", "", BUSY),
        ("lease_waits_total", "", "7x120"),
        ("dead_letters_total", "", "3x120"),
        ("repeated_completions_total", "", "0x120"),
        ("episodes_parked", "", "0x120"),
        ("log_read_age_seconds", "", "1x120"),
        ("door_requests_total", ',route="chat",status="200"', BUSY),
        ("door_requests_total", ',route="chat",status="504"', "0+1x120"),
        ("door_requests_total", ',route="chat",status="429"', "0+1x120"),
    )
}
GONE = "_"
"""No value: what is not exposed."""

# Which alerts are to fire at the end, and no others, when these metrics are otherwise. A name stands for both workers.
TROUBLE: dict[str, tuple[set[str], dict[str, str]]] = {
    "all is well": (set(), {}),
    "an append waits": ({"AppendsWait"}, {"append_wait_seconds": "0x115 0+60x4"}),
    "an append has waited for a moment": (set(), {"append_wait_seconds": "0x119 12"}),
    "brokers say nothing": ({"BrokersSilent"}, {"brokers": "3x100"}),
    "too few replicas for an append": ({"BelowMinIsr"}, {"partitions_below_min_isr": "0x110 2x9"}),
    "a broker went": ({"BrokerGone"}, {"brokers": "3x110 2x9"}),
    "replicas out of sync": ({"UnderReplicated"}, {"partitions_under_replicated": "0x100 8x19"}),
    "replicas that catch up": (set(), {"partitions_under_replicated": "0x100 8x3 0x15"}),
    "an old dashboard": ({"LogNotRead"}, {"log_read_age_seconds": "1x100 0+60x19"}),
    "no worker": (
        {"NoWorker"},
        {name.partition("{")[0].removeprefix("metalogue_"): GONE for name in WELL},
    ),
    "nobody owns some": ({"PartitionsUnowned"}, {"partitions_owned": "4x110 3x9"}),
    "a rebalance": (
        set(),
        {"partitions_owned": "4x110 2 4x8", "takeover_wait_seconds": "0x110 2 0x8"},
    ),
    "a take-over that hangs": ({"TakeoverSlow"}, {"takeover_wait_seconds": "0x110 0+60x9"}),
    "lag that grows": ({"LagGrows"}, {"partition_lag{topic=problems}": "0x60 0+500x59"}),
    "an owner that reads late": ({"ReadsLate"}, {"partition_lag{topic=events}": "0x60 0+500x59"}),
    "nothing ends": (
        {"NothingCloses"},
        {"episodes_closed_total": "0+60x60 3600x59", "episodes_failed_total": "9x120"},
    ),
    "late heartbeats": ({"HeartbeatsLate"}, {"lease_waits_total": "0x60 0+3x59"}),
    "a reply twice": ({"RepeatedCompletions"}, {"repeated_completions_total": "0x60 1x59"}),
    "failures": ({"EpisodesFail"}, {"episodes_failed_total": "0+20x120"}),
    "few failures of few": (
        set(),
        {"episodes_failed_total": "0x110 1x9", "episodes_closed_total": "0x110 2x9"},
    ),
    "a batch that lacks a member": ({"Blocked"}, {"batches_learned_total": "9x120"}),
    "parked": ({"Parked"}, {"episodes_parked": "0x60 1x59"}),
    "a door whose log is away": (
        {"DoorFails"},
        {"door_requests_total{status=504}": "0+1x100 100+20x19"},
    ),
    "guests who are put off": (
        {"DoorPutsOff"},
        {"door_requests_total{status=429}": "0+1x80 80+20x39"},
    ),
    "guests who were put off for a moment": (
        set(),
        {"door_requests_total{status=429}": "0+1x113 113+20x6"},
    ),
    "dead letters": ({"DeadLetters"}, {"dead_letters_total": "3x90 5x29"}),
}


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def told_of(changes: dict[str, str]) -> list[dict[str, str]]:
    """The series of a scenario, in which these differ."""
    left, series = set(changes), dict(WELL)
    for name in WELL:
        stem = name.partition("{")[0].removeprefix("metalogue_")
        label = re.search(r'(topic|status)="(\w+)"', name)
        for key in (stem, f"{stem}{{{label[1]}={label[2]}}}" if label else stem):
            if key in changes:
                series[name] = changes[key]
                left.discard(key)
    assert not left, f"no such series: {left}"
    return [{"series": name, "values": values} for name, values in series.items()]


def scenario(expected: set[str], changes: dict[str, str]) -> dict[str, Any]:
    """A unit test of rules, as promtool takes it."""
    fired = [{"labels": f'{{alertname="Metalogue{name}"}}', "value": 1} for name in expected]
    asked = {
        "expr": 'group by (alertname) (ALERTS{alertstate="firing"})',
        "eval_time": f"{MINUTES - 1}m",
        "exp_samples": fired,
    }
    return {"interval": "1m", "input_series": told_of(changes), "promql_expr_test": [asked]}


def test_alerts_name_only_metrics_and_labels_that_exist() -> None:
    assert len(rules()) >= 15
    for rule in rules():
        assert misuses(rule["expr"]) == [], rule["alert"]
    assert misuses("rate(metalogue_brokers[5m])") == ["metalogue_brokers is a gauge"]
    assert misuses("sum(metalogue_misspelt)") == ["metalogue_misspelt does not exist"]


def test_every_figure_of_an_outage_has_an_alert() -> None:
    named = " ".join(rule["expr"] for rule in rules())
    told = ["partition_lag", "brokers", "partitions_under_replicated", "partitions_below_min_isr"]
    told += ["takeover_wait_seconds", "partitions_owned", "append_wait_seconds"]
    assert [name for name in told if f"metalogue_{name}" not in named] == []
    assert {f"metalogue_{name}" for name in told} <= set(METRICS)


def test_every_alert_says_what_it_is_and_what_to_do_with_commands_that_exist() -> None:
    for rule in rules():
        assert rule["labels"]["severity"] in ("page", "ticket")
        said = " ".join(rule["annotations"][name] for name in ("summary", "description"))
        for command in COMMAND.findall(said):
            words = command.replace("NAME", "rehearsal").split()
            assert call(*words, "--help").code == 0, command


def test_every_alert_is_fired_by_a_scenario() -> None:
    fired = {name for expected, _ in TROUBLE.values() for name in expected}
    assert {f"Metalogue{name}" for name in fired} == {rule["alert"] for rule in rules()}


@pytest.mark.skipif(
    shutil.which("promtool") is None,
    reason="no promtool on this machine (Debian's package prometheus has it)",
)
def test_each_alert_fires_at_its_own_trouble_and_at_nothing_else(tmp_path: Path) -> None:
    tests = [scenario(*each) | {"name": name} for name, each in TROUBLE.items()]
    asked = {"rule_files": [str(ALERTS)], "evaluation_interval": "1m", "tests": tests}
    written = tmp_path / "alerts.test.yaml"
    written.write_text(yaml.safe_dump(asked), encoding="utf-8")
    done = subprocess.run(
        ["promtool", "test", "rules", written], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
