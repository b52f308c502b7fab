"""A worker's projector: a child process that begins at the first learned item and ends with the worker."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import TYPE_CHECKING

from streams.interfaces.cli.errors import OK, UNREACHABLE
from streams.interfaces.cli.output import say
from streams.support.child import variables

if TYPE_CHECKING:
    from streams.engine.progress import Progress
    from streams.runtime.embedded.worker import Worker

CATCH_UP_S = 120.0


def enabled() -> bool:
    """Whether workers of this process may start projectors; tests say no."""
    return True


class Attached:
    """Called with the worker's progress; starts the projector once there is something to show.

    The child ends when its standard input closes: with the worker, however that ends.
    """

    def __init__(
        self, log: str | None, inner: Callable[[Progress], None] | None, *, wanted: bool
    ) -> None:
        self.log, self.inner, self.wanted = log, inner, wanted and enabled()
        self.worker: Worker | None = None
        self.process: subprocess.Popen[bytes] | None = None
        self.seen = -1

    def __call__(self, progress: Progress) -> None:
        if self.inner is not None:
            self.inner(progress)
        if not self.wanted or progress.batches == self.seen:
            return
        self.seen = progress.batches
        # One at a time. Where it found another one at work it is tried again, for that one may end.
        # After a failure it is not: it would fail with every batch.
        if self.process is not None and self.process.poll() != UNREACHABLE:
            return
        scopes = self.worker.learner.scopes.values() if self.worker is not None else ()
        latest = [scope.memory.latest for scope in scopes]
        if not any(memory.items or memory.learned for memory in latest):
            return
        from streams.interfaces.cli.projecting import child_of

        # In a session of its own: Ctrl-C is for the worker, which then lets its child catch up.
        self.process = subprocess.Popen(
            child_of(self.log),
            env=variables(),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def __enter__(self) -> None:
        return

    def __exit__(self, *_: object) -> None:
        """Let the projector catch up and end."""
        if self.process is None:
            return
        try:
            self.process.communicate(timeout=CATCH_UP_S)
        except subprocess.TimeoutExpired:
            # The tables are a view of the log, and can be written again. The worker has ended,
            # and its caller waits.
            self.process.kill()
            self.process.communicate()
        if self.process.returncode not in (OK, UNREACHABLE):
            say(
                f"tables: the projector ended with {self.process.returncode}; "
                "write them again with metalogue rebuild"
            )
