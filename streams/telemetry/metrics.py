"""Every metric that we expose, defined once, and the Prometheus text that they are exposed in.

Figures of a log are counted from its accepted records, so replaying, verifying or rebuilding adds nothing.
Labels have few values each. Unknown is not zero: calls whose tokens or price nobody knows are counted
beside the sums.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
SECONDS: Final = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
"""Upper bounds of the buckets of latencies."""

Labels: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric: its kind, what it says, and the labels that each of its samples has."""

    kind: Literal["counter", "gauge", "histogram"]
    about: str
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sample:
    """One figure. ``name`` is a metric's, for histograms with its ending."""

    name: str
    value: float
    labels: Labels = ()


# Five tables, since each kind of process exposes others: a dashboard what it reads of a log, a
# worker what it does, a door what came to it. On Kafka nobody sees the whole log, so that a worker there counts for
# itself what elsewhere is counted from it. Sums over several sources would count twice what
# stands in two of them.
OF_LOG: Final[Mapping[str, Metric]] = MappingProxyType(
    {
        "metalogue_problems_produced_total": Metric("counter", "Problems on the problems topic"),
        "metalogue_episodes_open": Metric("gauge", "Episodes admitted and not closed"),
        "metalogue_batch_members_total": Metric(
            "counter", "Members of closed batches by what was known of them then", ("outcome",)
        ),
        "metalogue_lessons_distilled_total": Metric("counter", "Lessons made of batches"),
        "metalogue_rules": Metric("gauge", "Rules that stand, over all roles and scopes"),
        "metalogue_completions_total": Metric(
            "counter", "Model replies on record, by what they were spent on", ("column",)
        ),
        "metalogue_tokens_total": Metric(
            "counter", "Prompt and completion tokens, as far as they are known", ("column",)
        ),
        "metalogue_cost_total": Metric("counter", "Cost, as far as it is known", ("column",)),
        "metalogue_completions_without_usage_total": Metric(
            "counter", "Model replies whose tokens are unknown", ("column",)
        ),
        "metalogue_completions_without_price_total": Metric(
            "counter", "Model replies whose cost is unknown", ("column",)
        ),
        "metalogue_completion_seconds": Metric(
            "histogram", "Recorded latency of model replies", ("model",)
        ),
        "metalogue_answers_total": Metric("counter", "Answers by status", ("status",)),
        "metalogue_records_total": Metric("counter", "Accepted records by topic", ("topic",)),
        "metalogue_stage_lag": Metric("gauge", "What waits before a stage", ("stage",)),
        "metalogue_log_bytes": Metric("gauge", "Size of the log's file"),
        "metalogue_log_read_age_seconds": Metric(
            "gauge", "Seconds since the dashboard had read all that was there"
        ),
    }
)
OF_BOTH: Final[Mapping[str, Metric]] = MappingProxyType(
    {
        "metalogue_episodes_admitted_total": Metric("counter", "Episodes admitted"),
        "metalogue_episodes_parked": Metric("gauge", "Episodes that wait for a person"),
        "metalogue_repeated_completions_total": Metric(
            "counter", "Replies to a question that had its answer already; always 0"
        ),
        "metalogue_episodes_closed_total": Metric("counter", "Episodes closed"),
        "metalogue_episodes_failed_total": Metric("counter", "Episodes closed as failed"),
        "metalogue_batches_learned_total": Metric("counter", "Batches that were learned from"),
        "metalogue_dead_letters_total": Metric("counter", "Records refused and kept"),
        "metalogue_stale_completions_total": Metric(
            "counter", "Replies recorded by an owner that had lost its claim"
        ),
    }
)
"""Counted from the log where one process sees all of it; by each worker for itself on Kafka."""
OF_WORKER: Final[Mapping[str, Metric]] = MappingProxyType(
    {
        "metalogue_episodes_resumed_total": Metric("counter", "Episodes that were gone on with"),
        "metalogue_model_calls_total": Metric("counter", "Model calls that this worker began"),
        "metalogue_tasks_running": Metric("gauge", "Episodes and batches under way"),
        "metalogue_episodes_ready": Metric("gauge", "Episodes that wait for a slot"),
        "metalogue_episodes_blocked": Metric("gauge", "Episodes that wait for a memory version"),
        "metalogue_appends_waiting": Metric("gauge", "Records that the log has not acknowledged"),
        "metalogue_append_wait_seconds": Metric(
            "gauge", "How long the oldest of them has waited; 0 while none waits"
        ),
        "metalogue_append_age_seconds": Metric(
            "gauge", "Seconds since the log last acknowledged a record of this worker"
        ),
    }
)
OF_KAFKA: Final[Mapping[str, Metric]] = MappingProxyType(
    {
        "metalogue_records_appended_total": Metric("counter", "Records that this worker appended"),
        "metalogue_lease_waits_total": Metric("counter", "Calls that waited for a heartbeat"),
        "metalogue_problems_queued": Metric("gauge", "Problems read and not yet admitted"),
        "metalogue_partition_lag": Metric(
            "gauge",
            "Records of an owned partition that are still to be read",
            ("topic", "partition"),
        ),
        "metalogue_partitions": Metric("gauge", "Partitions of each topic of the log"),
        "metalogue_partitions_owned": Metric("gauge", "Partitions that this worker owns"),
        "metalogue_takeover_seconds": Metric("histogram", "What take-overs of a partition took"),
        "metalogue_takeover_wait_seconds": Metric(
            "gauge", "How long the longest take-over under way has taken; 0 while there is none"
        ),
        "metalogue_takeover_records_total": Metric("counter", "Records that take-overs read"),
        "metalogue_brokers": Metric(
            "gauge", "Brokers that the cluster knows of; left out while it does not say"
        ),
        "metalogue_partitions_under_replicated": Metric(
            "gauge", "Partitions with replicas that are not in sync", ("topic",)
        ),
        "metalogue_partitions_below_min_isr": Metric(
            "gauge",
            "Partitions with fewer replicas in sync than appends need; left out where that is not told",
            ("topic",),
        ),
    }
)
OF_DOOR: Final[Mapping[str, Metric]] = MappingProxyType(
    {
        "metalogue_door_requests_total": Metric(
            "counter", "Requests that a door answered, by what they asked", ("route", "status")
        ),
        "metalogue_door_request_seconds": Metric(
            "histogram", "What it took until the response began", ("route",)
        ),
        "metalogue_door_requests_open": Metric("gauge", "Requests under way, streams among them"),
        "metalogue_door_answers_awaited": Metric("gauge", "Answers that a door waits for"),
    }
)
METRICS: Final[Mapping[str, Metric]] = MappingProxyType(
    {**OF_BOTH, **OF_LOG, **OF_WORKER, **OF_KAFKA, **OF_DOOR}
)
ESCAPES: Final = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})
"""What a label's value may not hold as it is."""
_ENDINGS = ("_bucket", "_sum", "_count")


def metric_of(name: str) -> str:
    """The metric that a sample belongs to. Raises ``KeyError`` for one that is not defined."""
    for ending in _ENDINGS:
        # A counter's name may end like a part of a histogram.
        stem = name.removesuffix(ending)
        if stem != name and stem in METRICS and METRICS[stem].kind == "histogram":
            return stem
    if name not in METRICS:
        raise KeyError(f"{name} is no metric of ours: define it in streams/telemetry/metrics.py")
    return name


def plain(figures: Mapping[str, float]) -> list[Sample]:
    """Figures without labels as samples."""
    return [Sample(name, value) for name, value in figures.items()]


def exposed(samples: Iterable[Sample]) -> str:
    """Samples as Prometheus reads them, each metric with its kind and meaning."""
    grouped: dict[str, list[Sample]] = {}
    for sample in samples:
        grouped.setdefault(metric_of(sample.name), []).append(sample)
    lines: list[str] = []
    for name, found in grouped.items():
        metric = METRICS[name]
        lines += [f"# HELP {name} {metric.about}", f"# TYPE {name} {metric.kind}"]
        for each in found:
            pairs = ((label, said.translate(ESCAPES)) for label, said in each.labels)
            labels = ",".join(f'{label}="{said}"' for label, said in pairs)
            whole = each.value == int(each.value)
            value = str(int(each.value)) if whole else repr(float(each.value))
            lines.append(f"{each.name}{{{labels}}} {value}" if labels else f"{each.name} {value}")
    return "\n".join(lines) + "\n"


def observed(name: str, seconds: Iterable[float]) -> list[Sample]:
    """A histogram's samples from what was measured each time."""
    found = list(seconds)
    return histogram(name, Counter(bisect_left(SECONDS, each) for each in found), sum(found), ())


def histogram(name: str, counts: Mapping[int, int], total: float, labels: Labels) -> list[Sample]:
    """A histogram's samples from how many fell into each bucket, by its index."""
    found: list[Sample] = []
    so_far = 0
    # Prometheus wants each bucket to hold all that is below its bound, with those
    # of the smaller ones.
    for index, bound in enumerate((*map(str, SECONDS), "+Inf")):
        so_far += counts.get(index, 0)
        found.append(Sample(f"{name}_bucket", so_far, (*labels, ("le", bound))))
    return [
        *found,
        Sample(f"{name}_sum", total, labels),
        Sample(f"{name}_count", so_far, labels),
    ]
