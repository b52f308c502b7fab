"""The `projector` and `rebuild` commands."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from streams.interfaces.cli.errors import OK, UNREACHABLE, USAGE, CliError, usage
from streams.interfaces.cli.opening import log_path, log_url, open_log
from streams.interfaces.cli.output import out, out_json, say
from streams.runtime.embedded.files import MEMORY
from streams.support.child import python

if TYPE_CHECKING:
    from state.folds.state import State
    from streams.runtime.embedded.log import SqliteLog

PROGRESS_S, PLAIN_S = 0.5, 10.0


def project(
    log: str | None, *, attached: bool, otlp: str | None = None, texts: bool = False
) -> int:
    """Follow the log until told to end, or until standard input closes; the exit code."""
    from state.tables.lock import Busy, only_writer
    from streams.interfaces.cli.draining import SIGNALS
    from streams.interfaces.cli.observing import exporting
    from streams.runtime.embedded.projector import Projector, tables_path

    opened = open_log(log, writes=True)
    try:
        _need_room(opened.path, tables_path(opened.path))
        with only_writer(tables_path(opened.path)), exporting(opened.path, otlp, texts=texts):
            projector = Projector(opened, told=None if attached else say)

            def stop(number: int, frame: FrameType | None) -> None:
                projector.stopped = True

            # A flag, and no exception: a table that is half written is finished first.
            for each in SIGNALS:
                # What `nohup` has taken away stays away.
                if each != signal.SIGHUP or signal.getsignal(each) != signal.SIG_IGN:
                    signal.signal(each, stop)
            projector.open()
            say(f"ready: tables in {tables_path(opened.path)}")
            projector.follow(_closed if attached else lambda: False)
            projector.close()
    except Busy as error:
        raise _busy(error, opened.path) from error
    finally:
        opened.close()
    return OK


def _closed() -> bool:
    """Whether whoever started this process closed its standard input, or died."""
    ready, _, _ = select.select([sys.stdin], [], [], 0)
    return bool(ready) and not os.read(sys.stdin.fileno(), 1)


def _busy(error: Exception, path: Path) -> CliError:
    return CliError(
        str(error),
        error="tables.busy",
        exit=UNREACHABLE,
        where=f"sqlite:{path}",
        hint="Wait for it, or end it: what it was doing is done again.",
    )


def rebuild(
    log: str | None,
    *,
    to: int | None,
    scope: str | None,
    tables: list[str],
    snapshot: bool,
    json: bool,
) -> int:
    """Fold the log, write the tables anew, print the hash last; the exit code."""
    from state.tables.lock import Busy, only_writer
    from streams.runtime.embedded.projector import tables_path

    names = chosen(tables)
    if scope is not None and to is None:
        raise usage("says whose version --to names", field="--scope", hint="Give --to as well")
    if log_url(log).startswith("jsonl:"):
        if tables and names:
            detail = "a log that is read from lines has no tables"
            raise usage(detail, field="--tables", hint="Leave it out: the hash needs none")
        names = []
    opened = open_log(log)
    folder = tables_path(opened.path)
    if to is not None:
        # In a folder beside it: the tables of now stay what queries and dashboard read.
        folder = folder.with_name(f"{folder.name}.at-{to}")
    try:
        upto = None if to is None else _offset(opened, to, scope)
        # Of lines there is no file that tables and a snapshot could lie beside.
        if str(opened.path) == MEMORY:
            return _tell(_rebuild(opened, folder, [], upto, snapshot=False), folder, json=json)
        _need_room(opened.path, folder)
        with only_writer(folder):
            figures = _rebuild(opened, folder, names, upto, snapshot=snapshot)
    except Busy as error:
        raise _busy(error, opened.path) from error
    finally:
        opened.close()
    return _tell(figures, folder, json=json)


def chosen(tables: list[str]) -> list[str]:
    """Names of tables: all without a choice, none for ``none``. Raises a usage error."""
    from state.tables.registry import TABLES

    names = [name for each in tables for name in each.split(",") if name]
    if not names:
        return list(TABLES)
    if names == ["none"]:
        return []
    if "none" in names:
        raise usage("none goes with no other table", field="--tables")
    for name in names:
        if name not in TABLES:
            known = f"There are {', '.join(TABLES)}, or none"
            raise usage(f"no table {name!r}", field="--tables", hint=known)
    return names


def _need_room(log: Path, folder: Path) -> None:
    """Raises where something else lies in the place of the tables or of the snapshot."""
    from streams.runtime.embedded.rebuild import snapshot_path

    snapshot = snapshot_path(log)
    if folder.exists() and not folder.is_dir():
        place, what = folder, "a file, and the tables' folder is to lie there"
    elif snapshot.is_dir():
        place, what = snapshot, "a folder, and the snapshot's file is to lie there"
    else:
        return
    hint = "Move it away and call again"
    raise CliError(what, error="tables.place", exit=USAGE, where=str(place), hint=hint)


def _offset(log: SqliteLog, number: int, scope: str | None) -> int:
    from streams.runtime.embedded.rebuild import offset_of_version, scopes_of_version

    if number == 0:
        return 0
    scopes = [] if scope is not None else scopes_of_version(log, number)
    if len(scopes) > 1:
        detail = f"{len(scopes)} memories have a version {number}"
        raise usage(detail, field="--to", hint=f"Name one: --scope {' or '.join(scopes)}")
    found = offset_of_version(log, number, scope)
    if found is None:
        raise usage(f"no memory version {number}", field="--to", error="memory.version")
    return found


def _rebuild(
    log: SqliteLog, folder: Path, names: list[str], upto: int | None, *, snapshot: bool
) -> dict[str, Any]:
    from state.folds.state import State
    from state.tables.tableset import TableSet
    from streams.runtime.embedded.projector import LogSource
    from streams.runtime.embedded.rebuild import fold
    from streams.runtime.embedded.snapshots import snapshots_of

    kept = snapshots_of(log)
    state = kept.load() if snapshot and upto is None else State()
    # The snapshot is of a log that went further, as after a backup was put back: it knows what
    # never happened here.
    if state.offset > log.end():
        state = State()
    known, began, cpu = state.events, time.perf_counter(), time.process_time()
    fold(log, state, upto, _progress(log.end() if upto is None else upto))
    spent, busy = time.perf_counter() - began, time.process_time() - cpu
    written = TableSet(folder, LogSource(log, state), names) if names else None
    if written is not None:
        # The mark says that the tables are whole: it goes first and comes back last. Where a process
        # dies in between, the next one looks through them before it goes on with any.
        written.mark.unlink(missing_ok=True)
        written.dimensions = state.dimensions
        for name in names:
            written.write_anew(name)
        written.mark.touch()
    if upto is None and str(log.path) != MEMORY:
        if not snapshot:
            kept.touched = None
        # Tables that were not written anew are not vouched for.
        kept.tables = {} if written is None else written.watermarks()
        kept.save(state)
    return {
        "events": state.events,
        "from_snapshot": known,
        "seconds": round(spent, 3),
        # By CPU time, so that two measurements can be compared on a machine that does other
        # things too.
        "events_per_s": int((state.events - known) / max(busy, 1e-6)),
        "tables": {}
        if written is None
        else {n: len(t.hashes) for n, t in written.open_tables.items()},
        "passed_over": state.strays.count,
        "hash": state.hash(),
    }


def _progress(end: int) -> Callable[[State], None]:
    terminal = sys.stderr.isatty()
    began = shown = time.monotonic()

    def told(state: State) -> None:
        nonlocal shown
        now = time.monotonic()
        if now - shown >= (PROGRESS_S if terminal else PLAIN_S):
            shown = now
            rate = state.events / (now - began)
            say(f"folded {state.offset:,} of {end:,} offsets, {rate:,.0f} events/s")

    return told


def _tell(figures: dict[str, Any], folder: Path, *, json: bool) -> int:
    if json:
        out_json(figures)
        return OK
    rate = f"{figures['events_per_s']:,} events/s of CPU time"
    out(f"folded {figures['events']:,} events in {figures['seconds']:.1f} s, {rate}")
    for name, rows in figures["tables"].items():
        out(f"{name:<12}{rows:>10,} rows")
    if figures["tables"]:
        out(f"tables in {folder}")
    if figures["passed_over"]:
        stray = f"{figures['passed_over']:,} records stand where no policy put them"
        say(f"{stray}: they count for nothing. metalogue verify names them")
    out(figures["hash"])
    return OK


def state_hash(log: str | None, *, json: bool) -> int:
    """Print the hash of everything learned."""
    from state.folds.state import State
    from streams.runtime.embedded.rebuild import fold

    opened = open_log(log)
    found = fold(opened, State()).hash()
    opened.close()
    out_json({"hash": found}) if json else out(found)
    return OK


def child_of(log: str | None) -> list[str]:
    """The command line of a projector that ends with the process that starts it."""
    # Not by the script `metalogue`, which need not be installed where this process was started
    # from.
    start = "import sys; from streams.interfaces.cli.main import main; sys.exit(main())"
    url = f"sqlite:{log_path(log_url(log))}"
    return python("-c", start, "projector", "--log", url, "--attached", "-q")
