"""The live view that every page looks through: the log's figures, its folds and its open episodes, kept up to date.

One thread reads what is new, a stretch at a time; pages read under the same lock. Nothing is written.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from state.folds.budgets import BudgetsFold
from state.folds.state import State
from streams.interfaces.cli.errors import CliError
from streams.interfaces.dashboard.rates import Rates
from streams.research.analysis.effects import Effects
from streams.runtime.embedded.files import SqliteError
from streams.runtime.embedded.queries import counts, episodes
from streams.runtime.embedded.queries.spending import spent_since
from streams.runtime.embedded.reading import PAGE_MS, ReadOnlyLog, reading
from streams.runtime.embedded.rebuild import fold
from streams.runtime.embedded.rows import now_ms
from streams.telemetry.counts import Counts

POLL_S = 0.25
OLD_S = 10.0
"""What is shown is called old when its source has said nothing for so long."""
STRETCH = 5_000
"""Records that are folded at once, so that no page waits for long."""
OPENS = frozenset({"episode.opened", "batch.closed", "episode.adopted"})


class Turns:
    """A lock that is given in turn: who has had it and asks again waits behind those who asked before."""

    # A plain lock is nobody's turn. The thread that reads a long log takes it again within
    # microseconds of letting it go, before one that waits has even woken, so that the first page
    # would come when all was read.

    def __init__(self) -> None:
        self._next, self._held = threading.Lock(), threading.Lock()

    def __enter__(self) -> None:
        with self._next:
            self._held.acquire()

    def __exit__(self, *failed: object) -> None:
        self._held.release()

    @property
    def is_asked_for(self) -> bool:
        """Whether somebody waits."""
        return self._next.locked()


class LiveLog:
    """Everything known of one log. ``catch_up`` is called before each look, such as to import."""

    def __init__(self, path: Path, catch_up: Callable[[], object] | None = None) -> None:
        self.path, self.catch_up = path, catch_up
        self.lock = Turns()
        self.stopped = threading.Event()
        self.failed: str | None = None
        """Why learned state cannot be shown, if it cannot."""
        self.source: str | None = None
        self.file_wrong: str | None = None
        """What was wrong at the last look with what the file follows, and with the file itself."""
        self.heard_s, self.heard_ms = time.monotonic(), now_ms()
        """When everything that was there had been read: by the monotonic clock, and Unix time."""
        self.steps: int = 0
        self.was_read = False
        """Whether the log could be read at all."""
        self.was_old = False
        self.version = 0
        """Grows whenever anything changed."""
        self._begin()

    def _begin(self) -> None:
        self.file = os.stat(self.path).st_ino
        self.log = ReadOnlyLog(self.path, PAGE_MS)
        self.counts = Counts(self.path)
        self.state, self.rates, self.effects = State(), Rates(), Effects()
        self.budgets = BudgetsFold()
        """What tenants spent on each day."""
        self.open: dict[str, int] = {}
        """Episodes under way and when they began, Unix milliseconds."""
        self.messages: dict[str, int] = {}
        # Below every offset: the first look reads from the beginning, even on an empty log.
        self.seen = self.moved = self.sent = -1

    # -- keeping up --------------------------------------------------------------------------------

    def follow(self) -> None:
        """Keep up with the log until stopped; run this in one thread."""
        try:
            while not self.stopped.is_set():
                more = self.look()
                self.stopped.wait(0.0 if more else POLL_S)
        finally:
            self.log.close()
            self.counts.close()

    def look(self) -> bool:
        """Take in what is new, as far as it can be read. Returns whether there is more."""
        # Outside the lock: a broker may take its time, and pages go on meanwhile.
        self.caught()
        try:
            more = self.refresh()
        except (SqliteError, OSError, ValueError) as error:
            self._found(self.source, f"{self.path}: {getattr(error, 'strerror', None) or error}")
            return False
        self._found(self.source, None)
        if self.source is None:
            self.heard_s, self.heard_ms = time.monotonic(), now_ms()
        return more

    def caught(self) -> None:
        """Bring the file up to date, where it follows something else that may be away."""
        if self.catch_up is None:
            return
        try:
            self.catch_up()
            self._found(None, self.file_wrong)
        except CliError as error:
            self._found(f"{error.where or 'the log'}: {error.detail}", self.file_wrong)

    def _found(self, source: str | None, file: str | None) -> None:
        self.version += (source, file) != (self.source, self.file_wrong)
        self.source, self.file_wrong = source, file

    @property
    def away(self) -> str | None:
        """Why nothing new can be read, if it cannot: what is shown is older.

        A source may say nothing at all, while whoever asks it waits. One that is read step by step is there.
        """
        steps: int = getattr(self.catch_up, "steps", 0)
        if steps != self.steps:
            self.steps, self.heard_s = steps, time.monotonic()
        # By the monotonic clock, as a clock that is set back would make a dead source look fresh.
        silent_s = time.monotonic() - self.heard_s
        silent = f"no answer for {silent_s:.0f} s" if silent_s > OLD_S else None
        return self.source or self.file_wrong or silent

    def tick(self) -> None:
        """Let those who follow know when what is shown has become old, or is not any more."""
        old = self.away is not None
        self.version += old != self.was_old
        self.was_old = old

    def refresh(self) -> bool:
        """Take in what is new, up to a stretch. Returns whether there is more.

        Raises ``OSError`` where there is no file.
        """
        with self.lock:
            # Another log at the same path has another inode: of the old one nothing holds any more. Nor may
            # anything be shown that was read of a subject before its key was gone.
            erased = self.log.records("learning", kinds=("subject.erased",), after=self.moved)
            if os.stat(self.path).st_ino != self.file or (self.moved > 0 and any(erased)):
                self.log.close()
                self.counts.close()
                self._begin()
            seen, more = self.log.data_version(), False
            if seen != self.seen or self.state.offset < self.counts.offset or self.moved < 0:
                self.seen = seen
                more = self._take()
                self.version += 1
            if not more:
                # Not before: how fast a long log is read would be taken for how fast it grows.
                self.rates.see(time.monotonic(), self.topics())
            self.was_read = True
        return more

    def _take(self) -> bool:
        """Read a stretch into everything that is kept. Returns whether there is more."""
        # The counts are read first, and all else up to where they came: a page that shows figures
        # from one moment beside episodes from another would contradict itself.
        more = self.counts.read()
        for each in spent_since(self.log, 0, after=max(self.moved, 0), upto=self.counts.offset):
            self.budgets.feed(*each)
        for move in episodes.moves(self.log, max(self.moved, 0), self.counts.offset):
            if move.kind in OPENS and not move.is_void:
                self.open[move.episode] = move.at_ms
            else:
                self.open.pop(move.episode, None)
        self.moved = self.counts.offset
        self.effects.read(self.log, self.counts.offset)
        for topic, new in counts.messages_by_topic(self.log, max(self.sent, 0)).items():
            self.messages[topic] = self.messages.get(topic, 0) + new.size
            self.sent = max(self.sent, new.last)
        if self.failed is not None:
            return more
        upto = min(self.counts.offset, self.state.offset + STRETCH)
        try:
            fold(self.log, self.state, upto)
        except (ValueError, KeyError, LookupError) as error:
            # A log that does not add up is shown as far as it does, and its figures go on.
            self.failed = f"{type(error).__name__}: {error}"
            return more
        return self.state.offset < self.counts.offset or more

    # -- looking -----------------------------------------------------------------------------------

    @contextmanager
    def looking(self) -> Generator[ReadOnlyLog]:
        """The log while a page is made; what the live_log holds does not change meanwhile."""
        with self.lock, reading(self.path) as log:
            yield log

    def topics(self) -> dict[str, int]:
        """How much each topic holds."""
        return self.messages | self.counts.topics

    @property
    def caught_up(self) -> bool:
        """Whether everything was read that was there at the last look."""
        return self.was_read and (
            self.state.offset >= self.counts.offset or self.failed is not None
        )
