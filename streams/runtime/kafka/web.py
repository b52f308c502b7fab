"""What a worker on Kafka says of itself: is it alive, does it work, and how much."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streams.telemetry import pages
from streams.telemetry.metrics import exposed, plain

if TYPE_CHECKING:
    from streams.runtime.kafka.worker import KafkaWorker


async def serve(worker: KafkaWorker, port: int) -> Any:
    """Start the pages; what is returned has a ``cleanup``."""

    async def metrics() -> str:
        return exposed(plain(figures(worker)))

    told = pages.Told(lambda: worker.watchdog.alive, lambda: is_ready(worker), metrics)
    return await pages.serve(told, "0.0.0.0", port)


def is_ready(worker: KafkaWorker) -> bool:
    """Whether the worker is in its group and every partition that it was given is live."""
    owned = worker.owning.partitions.values()
    return worker.owning.joined and all(each.live and each.learns for each in owned)


def figures(worker: KafkaWorker) -> dict[str, float]:
    """What a worker counts of its own work; all workers together are the whole."""
    owned = list(worker.owning.partitions.values())
    progress, schedule = worker.progress, worker.schedule
    return {
        "metalogue_episodes_admitted_total": progress.admitted,
        "metalogue_episodes_closed_total": progress.closed,
        "metalogue_episodes_failed_total": progress.failed,
        "metalogue_episodes_resumed_total": progress.resumed,
        "metalogue_batches_learned_total": worker.teacher.batches,
        "metalogue_records_appended_total": worker.appender.appended,
        "metalogue_dead_letters_total": worker.intake.refused,
        "metalogue_stale_completions_total": sum(o.fold.stale for o in owned),
        "metalogue_model_calls_total": worker.world.calls_begun,
        "metalogue_lease_waits_total": worker.lease.waits,
        "metalogue_tasks_running": len(schedule.tasks),
        "metalogue_episodes_ready": len(schedule.ready),
        "metalogue_episodes_blocked": sum(map(len, schedule.blocked.values())),
        "metalogue_problems_queued": sum(len(o.queue) for o in owned),
        "metalogue_partitions_owned": sum(o.live for o in owned),
        "metalogue_takeover_seconds": max(worker.owning.takeovers, default=0.0),
    }
