"""Web pages of a worker on Kafka: whether it is alive, whether it works, and its metrics."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from streams.runtime.kafka.place import DEAD, LOG_TOPICS
from streams.runtime.outage import waiting
from streams.telemetry.metrics import Sample, exposed, observed, plain
from streams.telemetry.pages import Told

if TYPE_CHECKING:
    from streams.runtime.kafka.append import Standing
    from streams.runtime.kafka.worker import KafkaWorker


def told(worker: KafkaWorker) -> Told:
    """What its pages say."""

    async def metrics() -> str:
        told = [*lags(worker), *takeovers(worker), *copies(worker, time.monotonic())]
        return exposed([*plain(figures(worker)), *told])

    async def unready() -> str | None:
        now_s = time.monotonic()
        trouble = worker.health.trouble(now_s)
        if trouble is None:
            return None if is_ready(worker) else "not yet"
        return f"{trouble.told(now_s)}; {waiting(worker.appender.standing.waiting, 'append')}"

    return Told(lambda: worker.watchdog.alive, unready, metrics)


def is_ready(worker: KafkaWorker) -> bool:
    """Whether the worker is in its group and every partition that it was given is live."""
    owned = worker.owning.partitions.values()
    return worker.owning.joined and all(each.live and each.learns for each in owned)


def lags(worker: KafkaWorker) -> list[Sample]:
    """How far it is behind in each partition that it owns."""
    return [
        Sample("metalogue_partition_lag", lag, (("topic", topic), ("partition", str(partition))))
        for (topic, partition), lag in worker.health.lags().items()
    ]


def takeovers(worker: KafkaWorker) -> list[Sample]:
    """How long its take-overs of partitions took, and the one that it is at."""
    owning = worker.owning
    return [
        *observed("metalogue_takeover_seconds", owning.takeovers),
        Sample("metalogue_takeover_wait_seconds", owning.waits_s()),
        Sample("metalogue_takeover_records_total", sum(owning.replayed)),
    ]


def copies(worker: KafkaWorker, now_s: float) -> list[Sample]:
    """The brokers, and the partitions of the whole log that lack copies; nothing where that is not known."""
    found = worker.health.copies(now_s)
    if found is None:
        return []
    place = worker.place
    names = {place.topic(name): name for name in LOG_TOPICS}
    names |= {place.dead(name): f"dlq.{name}" for name in DEAD}
    lacking = {
        "metalogue_partitions_under_replicated": found.behind,
        "metalogue_partitions_below_min_isr": found.thin,
    }
    return [
        Sample("metalogue_brokers", found.brokers),
        *(
            Sample(name, len(partitions), (("topic", names[topic]),))
            for name, by_topic in lacking.items()
            for topic, partitions in by_topic.items()
        ),
    ]


def figures(worker: KafkaWorker) -> dict[str, float]:
    """Return a worker's own counts; the sum over all workers is the whole.

    Only odd replies are of what it read: who took a partition over may count one that its former owner counted.
    """
    owned = list(worker.owning.partitions.values())
    odds = worker.owning.odd.values()
    progress, schedule = worker.progress, worker.schedule
    return {
        "metalogue_episodes_admitted_total": progress.admitted,
        "metalogue_episodes_closed_total": progress.closed,
        "metalogue_episodes_failed_total": progress.failed,
        "metalogue_episodes_resumed_total": progress.resumed,
        "metalogue_batches_learned_total": worker.teacher.learned,
        "metalogue_records_appended_total": worker.appender.appended,
        "metalogue_dead_letters_total": worker.intake.refused,
        "metalogue_stale_completions_total": sum(len(odd.stale) for odd in odds),
        "metalogue_repeated_completions_total": sum(len(odd.repeated) for odd in odds),
        "metalogue_episodes_parked": sum(len(o.parked()) for o in owned),
        "metalogue_model_calls_total": worker.world.calls_begun,
        "metalogue_lease_waits_total": worker.lease.waits,
        "metalogue_tasks_running": len(schedule.tasks),
        "metalogue_episodes_ready": len(schedule.ready),
        "metalogue_episodes_blocked": schedule.blocked_now,
        "metalogue_problems_queued": sum(len(o.queue) for o in owned),
        "metalogue_partitions": worker.partitions,
        "metalogue_partitions_owned": sum(o.live for o in owned),
        **waits(worker.appender.standing, time.monotonic()),
    }


def waits(standing: Standing, now_s: float) -> dict[str, float]:
    """Return how much waits for a broker. When one last took something is unknown before the first."""
    found: dict[str, float] = {
        "metalogue_appends_waiting": standing.waiting,
        "metalogue_append_wait_seconds": 0.0
        if standing.since_s is None
        else now_s - standing.since_s,
    }
    if standing.appended_s is not None:
        found["metalogue_append_age_seconds"] = now_s - standing.appended_s
    return found
