"""The doctor's look at a log: format, size, owner, what waits for a person, what was refused."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from pathlib import Path

from streams.interfaces.cli.doctor import policies
from streams.interfaces.cli.doctor.checks import Check, fail, ok, warn
from streams.interfaces.cli.errors import FAILED
from streams.interfaces.cli.letters import letters
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.queries import counts, episodes
from streams.runtime.embedded.tables import SCHEMA_VERSION
from streams.views.words import plural


def checks(log: SqliteLog, url: str, option: str) -> Iterator[Check]:
    """Every check of an open log. ``option`` names it in commands to paste."""
    yield from _health(log, url)
    yield from policies.checks(log, option)
    yield from _waiting(log, option)
    repeated, stale = log.counter("repeated"), log.counter("stale")
    if repeated:
        # Nothing that a user does can bring this about: it is the promise that
        # the log is there for.
        detail = f"{repeated} completions were accepted twice"
        yield fail("counters", detail, "This is a defect of Metalogue: please report it", FAILED)
        return
    # A worker that lost its claim may still hand in what it was asked. The log refuses that, as it
    # should, but it was paid for, and whoever counts the endpoint's bill looks for it here.
    lost = f"; {stale} came from owners that had lost their claim, and count not" if stale else ""
    yield ok("counters", f"no completion repeated{lost}")


def _health(log: SqliteLog, url: str) -> Iterator[Check]:
    """The file, whether it is sound, and who works on it."""
    from streams.interfaces.cli.topics import faults

    size = log.path.stat().st_size if log.path.is_file() else 0
    yield ok("log", f"{url}, format {SCHEMA_VERSION}, {size:,} bytes, {log.end():,} records")
    # What is wrong with the file comes first: of one that is torn, topics
    # cannot be told to be sound.
    broken = counts.what_is_wrong(log)
    if broken is not None:
        todo = "Copy the file, then: sqlite3 COPY .recover"
        yield fail("integrity", f"SQLite says: {broken}", todo, FAILED)
    elif wrong := faults(log):
        yield warn("topics", "; ".join(wrong), "metalogue topics check says all of them")
    else:
        yield ok("integrity", "file and topics are sound")
    claims = [f"{number} by {worker}" for number, worker in log.claims().items()]
    claimed = f"; claimed: {', '.join(claims[:4])}" if claims else ""
    if isinstance(getattr(log, "partitions", None), int):
        yield ok("worker", f"a group on Kafka{claimed}")
        return
    # A claim outlives a worker that was killed, its lock does not: only the
    # lock says who is running.
    holder = holder_of(log.path)
    running = f"process {holder} works on it" if holder else "none running"
    yield ok("worker", running + claimed)


def holder_of(path: Path) -> str | None:
    """The process that holds the log's worker lock, if one does."""
    try:
        with open(f"{path}.lock", encoding="utf-8") as lock:
            try:
                # A shared lock, and not the worker's own: two that look must not take
                # each other for one.
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return lock.read().strip() or "unknown"
    except OSError:
        pass
    return None


def _waiting(log: SqliteLog, option: str) -> Iterator[Check]:
    """What waits for a person, or was given up or refused."""
    from streams.interfaces.cli.reviews import asking

    parked = episodes.parked(log)
    for episode, reason, address in parked:
        place = "" if address is None else f" at {address}"
        todo = f"metalogue doctor --adopt {episode}{option}; or take it out of its batch: --void"
        yield warn("parked", f"{episode}{place}: {reason}", todo)
    if not parked:
        yield ok("parked", "none")
    # An episode that asks a person is at work as one that asks a model is: that is no fault.
    if questions := sum(1 for _ in asking(log)):
        asked = f"{plural(questions, 'question')} to people; metalogue review list{option}"
        yield ok("asked", asked)
    else:
        yield ok("asked", "no episode waits for a person's answer")
    # Learning goes on without an answer that never came, so that a batch
    # cannot hold up all later ones.
    for episode, reason in episodes.given_up(log):
        todo = f"Nothing waits for it; what was asked: metalogue show {episode}{option}"
        yield warn("given up", f"{episode}: {reason}", todo)
    sent_on = [each.sent_on for each in letters(log)]
    if waiting := len(sent_on) - sum(sent_on):
        todo = f"metalogue dlq list{option}; then mend and replay them"
        yield warn("dead letters", f"{waiting} refused", todo)
    else:
        yield ok("dead letters", f"none waits, {len(sent_on)} replayed" if sent_on else "none")
