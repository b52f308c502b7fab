"""Web endpoints of a worker: is it alive, does it work, and how much: /livez /readyz /metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streams.runtime.kafka.worker import KafkaWorker


def serve(app: Any, worker: KafkaWorker) -> None:
    """Add the pages to the app's web server."""

    async def livez(self: Any, request: Any) -> Any:
        alive = worker.watchdog.alive
        return self.text("ok\n" if alive else "nothing moved\n", status=200 if alive else 503)

    async def readyz(self: Any, request: Any) -> Any:
        ready = is_ready(worker)
        return self.text("ok\n" if ready else "not yet\n", status=200 if ready else 503)

    async def metrics(self: Any, request: Any) -> Any:
        return self.text(text_of(figures(worker)), content_type="text/plain")

    for path, page in (("/livez", livez), ("/readyz", readyz), ("/metrics", metrics)):
        app.page(path)(page)


def is_ready(worker: KafkaWorker) -> bool:
    """Whether the worker is in its group and every partition that it was given is live."""
    owned = worker.owning.partitions.values()
    return worker.owning.joined and all(each.live and each.learns for each in owned)


def figures(worker: KafkaWorker) -> dict[str, tuple[str, float]]:
    """What a worker counts: kind of metric and value."""
    owned = list(worker.owning.partitions.values())
    progress, schedule = worker.progress, worker.schedule
    return {
        "metalogue_episodes_admitted_total": ("counter", progress.admitted),
        "metalogue_episodes_closed_total": ("counter", progress.closed),
        "metalogue_episodes_failed_total": ("counter", progress.failed),
        "metalogue_episodes_resumed_total": ("counter", progress.resumed),
        "metalogue_batches_learned_total": ("counter", worker.teacher.batches),
        "metalogue_records_appended_total": ("counter", worker.appender.appended),
        "metalogue_dead_letters_total": ("counter", worker.intake.refused),
        "metalogue_stale_completions_total": ("counter", sum(o.fold.stale for o in owned)),
        "metalogue_model_calls_total": ("counter", worker.world.calls_begun),
        "metalogue_lease_waits_total": ("counter", worker.lease.waits),
        "metalogue_tasks_running": ("gauge", len(schedule.tasks)),
        "metalogue_episodes_ready": ("gauge", len(schedule.ready)),
        "metalogue_episodes_blocked": ("gauge", sum(map(len, schedule.blocked.values()))),
        "metalogue_problems_queued": ("gauge", sum(len(o.queue) for o in owned)),
        "metalogue_partitions_owned": ("gauge", sum(o.live for o in owned)),
        "metalogue_takeover_seconds": ("gauge", max(worker.owning.takeovers, default=0.0)),
    }


def text_of(found: dict[str, tuple[str, float]]) -> str:
    """Figures as Prometheus reads them."""
    lines: list[str] = []
    for name, (kind, value) in found.items():
        lines += [f"# TYPE {name} {kind}", f"{name} {value:g}"]
    return "\n".join(lines) + "\n"
