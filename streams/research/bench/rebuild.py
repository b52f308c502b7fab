"""``bench rebuild``: the real folds over a log of a million events, beside two floors in the same run.

The log is what MC² leaves after sixty puzzles, copied under other memory names until it is long
enough; each copy learns by itself, and its memory versions are verified like any other. Rates are of
CPU time on one core, medians of alternating measurements. ``rows-only`` fetches every row,
``orjson-only`` also parses its body; ours validates and folds it too. Memory grows by what was learned;
that it does not by events is measured over a quiet tail: episodes that leave nothing to learn from.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

import orjson
from msgspec import structs

from schemas.events.codec import decode
from schemas.events.learning import MemoryVersioned
from schemas.identity import digest
from state.folds.state import State
from state.snapshot import Snapshots
from streams.answering.backbones.rehearsal.backbone import Rehearsal
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.engine.policies import find
from streams.producing.produce import Plan, Producer
from streams.producing.sources import lines_of
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.rebuild import ROWS, fold
from streams.runtime.embedded.worker import Worker

EVENTS = 1_000_000
QUIET = 250_000
"""Events of the tail, which are not in the rates."""
REPEATS = 3
PROBLEMS = 60
INSERT = "insert into records values (?, ?, ?, ?, ?, ?, ?, ?, ?)"
COPIED = "select topic, partition, epoch, episode, address, kind, at_ms, body from records order by offset"


def sample(path: Path) -> list[tuple[Any, ...]]:
    """The rows that MC² leaves after some puzzles."""
    log = SqliteLog(path, create=True)
    source = f"game24:1-{PROBLEMS}"
    plan = Plan(source=source, find=find, policy="mc2", domain="game24")
    Producer(log, plan).run(list(lines_of(source, None)))
    worker = Worker(log, World({"*": Rehearsal()}, HashedEmbedder()), find)
    asyncio.run(worker.run(until_idle=True, settle=True))
    rows = log.db.execute(COPIED).fetchall()
    log.close()
    return rows


def copied(rows: list[tuple[Any, ...]], number: int, first: int) -> Iterator[tuple[Any, ...]]:
    """The rows under another memory name and run, their memory versions reckoned anew."""
    run = next(row[3] for row in rows if row[3].startswith("p/")).rpartition("/")[2]
    memory = f"/m{number:05d}/"

    def under(text: str) -> str:
        return text.replace("/main/", memory).replace(run, digest([run, number]))

    state = State()
    for offset, (topic, partition, epoch, episode, address, kind, at, body) in enumerate(
        rows, first
    ):
        where, said = under(episode), under(body)
        if topic == "learning":
            event = decode(kind, said)
            if isinstance(event, MemoryVersioned):
                # Under other names it was made of something else. Folds verify what a version says
                # of itself, so that is reckoned anew.
                fold_ = state.memory(event.scope)
                closed = fold_.batches[event.number]
                known = fold_.following(
                    fold_.learned(closed), event.number, event.live_from, closed
                )
                event = structs.replace(event, state=known.state())
                said = event.to_json().decode()
            state.feed(offset, where, address, event)
        named = f"{address}.{number}" if kind == "partition.claimed" else address
        yield offset, topic, partition, epoch, where, named, kind, at, said


def grow(path: Path, events: int, quiet: int = 0) -> tuple[SqliteLog, int]:
    """A log of at least so many events, with a quiet tail; and where the tail begins."""
    rows = sample(path.with_name("sample.db"))
    shared = [row for row in rows if row[5] == "text.kept"]
    own = [row for row in rows if row[5] != "text.kept"]
    log = SqliteLog(path, create=True)
    # This log is thrown away, so nothing need wait for the disk; what is timed comes later.
    log.db.execute("pragma synchronous=off")
    with log.transaction():
        # Texts stand on the log once, however many copies name them by their digest.
        kept = [(number, *row) for number, row in enumerate(shared, 1)]
        log.db.executemany(INSERT, kept)
        numbers = count(1)
        end = _copies(log, own, numbers, len(kept), events)
        _copies(log, [row for row in own if row[0] == "events"], numbers, end, end + quiet)
    log.db.execute("pragma wal_checkpoint(truncate)")
    return log, end


def _copies(
    log: SqliteLog, rows: list[tuple[Any, ...]], numbers: Iterator[int], done: int, events: int
) -> int:
    """Append copies until there are so many events; how many there are."""
    while done < events:
        log.db.executemany(INSERT, copied(rows, next(numbers), done + 1))
        done += len(rows)
    return done


def rows_only(log: SqliteLog, end: int) -> None:
    """Fetch every row."""
    for _ in log.db.execute(ROWS, (0, end)):
        pass


def orjson_only(log: SqliteLog, end: int) -> None:
    """Fetch every row and parse its body."""
    for *_, body in log.db.execute(ROWS, (0, end)):
        orjson.loads(body)


def cpu(work: Callable[[], object]) -> float:
    """CPU seconds that it took."""
    began = time.process_time()
    work()
    return time.process_time() - began


def resident_mb() -> float:
    """Memory that the process holds now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return round(pages * os.sysconf("SC_PAGESIZE") / 1e6, 1)


def restart(log: SqliteLog, state: State) -> dict[str, Any]:
    """What a snapshot costs: writing all of it, writing what one more batch changed, loading it."""
    path = log.path.with_name("bench.snapshot.db")
    whole = Snapshots(path, "bench")
    began = time.perf_counter()
    keys = whole.save(state)
    written = time.perf_counter() - began
    began, cpu_began = time.perf_counter(), time.process_time()
    again = Snapshots(path, "bench").load()
    loaded, busy = time.perf_counter() - began, time.process_time() - cpu_began
    return {
        "snapshot_keys": keys,
        "snapshot_write_s": round(written, 3),
        "snapshot_restart_s": round(loaded, 3),
        "snapshot_restart_cpu_s": round(busy, 3),
        "snapshot_hash_equal": again.hash() == state.hash(),
    }


def memory(log: SqliteLog, end: int) -> dict[str, Any]:
    """What a fold from nothing grows by: up to the end by what is learned, then by the quiet tail."""
    base, state = resident_mb(), State()
    learned = resident_after(log, state, end) - base
    items, events = len(state.lives.known), state.events
    quiet = resident_after(log, state, log.end()) - base - learned
    return {
        "learned_items": items,
        "memory_grown_mb": round(learned, 1),
        "quiet_events": state.events - events,
        "quiet_learned_items": len(state.lives.known) - items,
        "quiet_memory_grown_mb": round(quiet, 1),
    }


def resident_after(log: SqliteLog, state: State, upto: int) -> float:
    """Memory that the process holds once the state is folded so far."""
    fold(log, state, upto)
    return resident_mb()


def measure(log: SqliteLog, end: int) -> dict[str, Any]:
    """Rates, memory and restart over one log."""
    grown = memory(log, end)  # first, for later folds reuse what it lets go
    # In turn, three times over: rates of one kind after
    # the other would differ by how warm the machine is.
    rates: dict[str, list[float]] = {"ours": [], "rows": [], "orjson": []}
    state = State()
    for _ in range(REPEATS):
        state = State()
        spent = cpu(lambda: fold(log, state, end))  # noqa: B023 - called at once
        rates["ours"].append(state.events / spent)
        rates["rows"].append(state.events / cpu(lambda: rows_only(log, end)))
        rates["orjson"].append(state.events / cpu(lambda: orjson_only(log, end)))
    return {
        "events": state.events,
        "events_per_s": int(median(rates["ours"])),
        "rows_only_per_s": int(median(rates["rows"])),
        "orjson_only_per_s": int(median(rates["orjson"])),
        "memory_mb": resident_mb(),
        **grown,
        "state_hash": state.hash(),
        **restart(log, state),
    }


def run(
    say: Callable[[str], None] = lambda _: None, events: int = EVENTS, quiet: int = QUIET
) -> dict[str, Any]:
    """Every figure of ``metalogue bench rebuild``."""
    with tempfile.TemporaryDirectory() as folder:
        say(f"writing a log of {events:,} events …")
        log, end = grow(Path(folder) / "rebuild.db", events, quiet)
        say("folding it, beside the floors …")
        try:
            return measure(log, end)
        finally:
            log.close()
