"""A client with a worker of its own, in the same event loop: the whole product inside a program."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemas.problem import Profile
from streams.core.backbone import BackboneError
from streams.engine.policies import find
from streams.interfaces.cli.opening import log_path, open_own
from streams.interfaces.cli.setup import as_cli, need_budget_prices, need_prices, world_of
from streams.interfaces.cli.working import only_worker
from streams.interfaces.door.asking import DEFAULT_POLICY, Way, at_least_one, models_of, need_file
from streams.interfaces.door.client import MOST_PENDING, Client
from streams.interfaces.door.errors import Error, as_error, closed, in_our_words
from streams.runtime.embedded.worker import Worker
from streams.telemetry.worker import Pages

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from streams.answering.world import World
    from streams.engine.progress import Outcome, Progress


class Engine(Client):
    """Works on problems in this process, and records everything on a SQLite log.

    ``log`` is ``sqlite:PATH``; what was begun there and not finished goes on at once. Without a log all is
    recorded in a temporary file, gone when the engine is. ``backbone``, ``roles`` and ``prices`` are as for
    ``solve``; ``offers`` are backbones by name, of which a problem may choose one: ``settings={"backbone": NAME}``.
    ``policy``, ``settings``, ``answer_type``, ``memory``, ``seed`` and limits hold for what is submitted without
    others.
    ``budgets`` say what the problems of a tenant may spend on a day of UTC, such as ``{"ann": "calls=500,cost=5"}``; a
    tenant that has spent its own waits for the next. ``max_concurrency`` episodes are worked on at once. One process
    works on a log at a time: a second one is refused, and uses ``Client``. A log on Kafka has workers of its own
    (`metalogue worker`): use ``Client`` there.

    Leaving the block asks nothing new; calls in flight are recorded, and what is open goes on when the log is
    worked on again. Answers that are wanted are awaited before.

    >>> async with Engine(backbone="rehearsal") as engine:
    ...     handle = await engine.submit("What is 17 + 25?", policy="mc2")
    ...     answer = await handle.answer()
    >>> answer.status, answer.policy
    ('answered', 'mc2')
    """

    def __init__(
        self,
        log: str | None = None,
        *,
        backbone: str | None = None,
        roles: Mapping[str, str] | None = None,
        offers: Mapping[str, str] | None = None,
        prices: Mapping[str, tuple[float, float]] | None = None,
        tools: str | None = None,
        budgets: Mapping[str, str] | None = None,
        policy: str = DEFAULT_POLICY,
        profile: Profile = "service",
        settings: Mapping[str, Any] | None = None,
        domain: str = "default",
        answer_type: str | Mapping[str, Any] | None = None,
        memory: str = "main",
        tenant: str | None = None,
        priority: int | None = None,
        seed: int = 0,
        call_limit: int | None = None,
        token_limit: int | None = None,
        cost_limit: float | None = None,
        time_limit: float | None = None,
        max_concurrency: int = 256,
        max_pending: int = MOST_PENDING,
    ) -> None:
        need_file(log)
        super().__init__(
            log or "",
            policy=policy,
            profile=profile,
            settings=settings,
            domain=domain,
            answer_type=answer_type,
            memory=memory,
            tenant=tenant,
            priority=priority,
            seed=seed,
            call_limit=call_limit,
            token_limit=token_limit,
            cost_limit=cost_limit,
            time_limit=time_limit,
            max_pending=max_pending,
        )
        self.models = models_of(
            backbone, roles, prices, tools=tools, budgets=budgets, offers=offers
        )
        self.max_concurrency = at_least_one("max_concurrency", max_concurrency)
        self._holding = ExitStack()
        self._world: World | None = None
        self._worker: Worker | None = None
        self._work: asyncio.Task[Outcome] | None = None
        self._pages: Pages | None = None

    async def __aenter__(self) -> Self:
        self.way.check()  # before there is a log
        with ExitStack() as holding, in_our_words():
            if not self.log:
                folder = holding.enter_context(tempfile.TemporaryDirectory(prefix="metalogue-"))
                self.log = f"sqlite:{Path(folder) / 'log.db'}"
                # The next block has a file of its own.
                holding.callback(setattr, self, "log", "")
            path = log_path(self.log)
            # Before the log is opened: a wrong spelling of a backbone should not make a file.
            world = self._world = world_of(self.models)
            need_budget_prices(world)
            # First the log, then its lock: a file that is none must not leave a lock behind.
            log = open_own(self.log)
            holding.callback(log.close)
            holding.enter_context(only_worker(path))
            self._worker = Worker(
                log,
                world,
                find,
                name=f"engine:{os.getpid()}",
                default_policy=self.way.policy,
                max_concurrency=self.max_concurrency,
                on_change=self._moved,
            )
            self._pages = Pages(self._worker)
            holding.callback(self._pages.close)
            await super().__aenter__()
            self._box.around = world.around
            self._work = asyncio.create_task(self._worker.run())
            self._work.add_done_callback(self._ended)
            # Only now that nothing can go wrong any more: until here, whatever was
            # opened is closed again.
            self._holding = holding.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._worker is not None
        assert self._work is not None
        assert self._world is not None
        # The worker first: what it still records may be an answer that somebody waits for.
        self._worker.drain()
        try:
            await asyncio.wait([self._work])
        # Who is cancelled here does not wait for calls in flight. They are let go of, or the worker would
        # keep the log for as long as they take.
        except asyncio.CancelledError:
            self._worker.schedule.cancel(0)
            await asyncio.wait([self._work])
            raise
        finally:
            try:
                await super().__aexit__(kind, error, trace)
                await self._world.close()
            finally:
                self._pages = None
                self._holding.close()

    @property
    def is_simulated(self) -> bool:
        """Whether a simulator answers any role."""
        return self._world is not None and self._world.simulated

    async def metrics(self) -> str:
        """The log's metrics and the worker's, as Prometheus reads them."""
        if self._pages is None:
            raise closed()
        return await self._pages.told.metrics()

    def _allow(self, way: Way) -> None:
        """Raise an ``Error`` for a backbone that is not offered, or a limit of cost that would limit nothing."""
        if self._world is None:
            return
        way.need_offered(self._world.offered)
        if way.cost_limit is not None:
            with in_our_words():
                need_prices(self._world, "cost_limit", [way.backbone])

    def posted(self) -> None:
        """Let the worker look at once."""
        if self._worker is not None:
            self._worker.schedule.changed.set()

    async def cancel(
        self, episode: str, *, by: str | None = "client", reason: str | None = None
    ) -> None:
        """Take an episode out that has not ended, and stop what it does now."""
        # Recorded first, then stopped: else a crash in between would let it go on after a restart.
        await super().cancel(episode, by=by, reason=reason)
        assert self._worker is not None
        self._worker.schedule.take_out(episode)

    def _moved(self, progress: Progress) -> None:
        # It need not wait for its next look: an answer of this worker is heard at once.
        self.look()

    def _ended(self, work: asyncio.Task[Outcome]) -> None:
        """Tell all who wait, and whoever comes, where the worker ended by itself: its set-up is broken."""
        error = None if work.cancelled() else work.exception()
        if error is None:
            return
        if isinstance(error, BackboneError):
            self._over = as_error(as_cli(error))
        else:
            self._over = Error(f"the worker ended: {error}", code="engine.ended", where=self.log)
        # Kept as well: a problem that is submitted from now on would wait for ever.
        self.give_up(self._over)
        self.look()  # which makes room for who waits to submit
