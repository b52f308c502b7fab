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


def checks(log: SqliteLog, url: str, option: str) -> Iterator[Check]:
    """Every check of an open log. ``option`` names it in commands to paste."""
    yield _file(log, url)
    yield _sound(log)
    yield _owner(log)
    yield from policies.checks(log, option)
    yield from _parked(log, option)
    yield _asking(log, option)
    yield from _given_up(log, option)
    yield _refused(log, option)
    yield _counters(log)


def _asking(log: SqliteLog, option: str) -> Check:
    """How many episodes wait for what a person says; that is no fault."""
    from streams.interfaces.cli.reviews import asking
    from streams.views.words import plural

    found = sum(1 for _ in asking(log))
    if not found:
        return ok("asked", "no episode waits for a person's answer")
    return ok("asked", f"{plural(found, 'question')} to people; metalogue review list{option}")


def _file(log: SqliteLog, url: str) -> Check:
    size = log.path.stat().st_size if log.path.is_file() else 0
    detail = f"{url}, format {SCHEMA_VERSION}, {size:,} bytes, {log.end():,} records"
    return ok("log", detail)


def _sound(log: SqliteLog) -> Check:
    from streams.interfaces.cli.topics import faults

    found = counts.what_is_wrong(log)
    if found is not None:
        todo = "Copy the file, then: sqlite3 COPY .recover"
        return fail("integrity", f"SQLite says: {found}", todo, FAILED)
    wrong = faults(log)
    if wrong:
        return warn("topics", "; ".join(wrong), "metalogue topics check says all of them")
    return ok("integrity", "file and topics are sound")


def _owner(log: SqliteLog) -> Check:
    claims = [f"{number} by {worker}" for number, worker in log.claims().items()]
    claimed = f"; claimed: {', '.join(claims[:4])}" if claims else ""
    if isinstance(getattr(log, "partitions", None), int):
        return ok("worker", f"a group on Kafka{claimed}")
    holder = holder_of(log.path)
    return ok("worker", (f"process {holder} works on it" if holder else "none running") + claimed)


def holder_of(path: Path) -> str | None:
    """The process that holds the log's worker lock, if one does."""
    try:
        with open(f"{path}.lock", encoding="utf-8") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return lock.read().strip() or "unknown"
    except OSError:
        pass
    return None


def _parked(log: SqliteLog, option: str) -> Iterator[Check]:
    found = episodes.parked(log)
    for episode, reason, address in found:
        place = "" if address is None else f" at {address}"
        todo = f"metalogue doctor --adopt {episode}{option}; or take it out of its batch: --void"
        yield warn("parked", f"{episode}{place}: {reason}", todo)
    if not found:
        yield ok("parked", "none")


def _given_up(log: SqliteLog, option: str) -> Iterator[Check]:
    """Learning episodes that went on without an answer; only where there are any."""
    for episode, reason in episodes.given_up(log):
        todo = f"Nothing waits for it; what was asked: metalogue show {episode}{option}"
        yield warn("given up", f"{episode}: {reason}", todo)


def _refused(log: SqliteLog, option: str) -> Check:
    found = [each.sent_on for each in letters(log)]
    waiting = len(found) - sum(found)
    if not waiting:
        return ok("dead letters", f"none waits, {len(found)} replayed" if found else "none")
    todo = f"metalogue dlq list{option}; then mend and replay them"
    return warn("dead letters", f"{waiting} refused", todo)


def _counters(log: SqliteLog) -> Check:
    repeated, stale = log.counter("repeated"), log.counter("stale")
    if repeated:
        detail = f"{repeated} completions were accepted twice"
        return fail("counters", detail, "This is a defect of Metalogue: please report it", FAILED)
    said = (
        "" if not stale else f"; {stale} came from owners that had lost their claim, and count not"
    )
    return ok("counters", f"no completion repeated{said}")
