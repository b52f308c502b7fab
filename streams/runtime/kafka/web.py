"""Web endpoints of a worker: is it alive, does it work, and how much: /livez /readyz /metrics."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streams.runtime.kafka.worker import KafkaWorker


async def serve(worker: KafkaWorker, port: int) -> Any:
    """Start the pages; what is returned has a ``cleanup``."""
    web: Any = import_module("aiohttp.web")

    async def livez(_: Any) -> Any:
        return _said(web, worker.watchdog.alive, "nothing moved")

    async def readyz(_: Any) -> Any:
        return _said(web, is_ready(worker), "not yet")

    async def metrics(_: Any) -> Any:
        return web.Response(text=text_of(figures(worker)))

    pages = web.Application()
    for path, page in (("/livez", livez), ("/readyz", readyz), ("/metrics", metrics)):
        pages.router.add_get(path, page)
    runner = web.AppRunner(pages, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "0.0.0.0", port).start()
    return runner


def _said(web: Any, good: bool, bad: str) -> Any:
    return web.Response(text="ok\n" if good else f"{bad}\n", status=200 if good else 503)


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
