"""The command `forget --erase`: what a log holds of a subject, then, with --yes, that nobody can read it again."""

from __future__ import annotations

import shutil
from contextlib import closing
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from streams.interfaces.cli.errors import OK, UNREACHABLE, CliError, usage
from streams.interfaces.cli.kafka_log import is_kafka
from streams.interfaces.cli.opening import log_path, log_url, open_log
from streams.interfaces.cli.output import out, out_json, say
from streams.interfaces.cli.places import text_of
from streams.interfaces.cli.show.page import Page
from streams.views.words import plural

if TYPE_CHECKING:
    from pathlib import Path

    from streams.runtime.embedded.keys import Keys
    from streams.runtime.embedded.log import SqliteLog

BEYOND = (
    "answers that consumers received",
    "files that `export`, `show`, `analyse` and the dashboard gave out in the clear",
    "copies of the tables, and of the file of keys",
    "what model servers, collectors of spans and terminals keep",
    "processes at work that have read it, until they end",
)
"""Places that hold what is said of a subject and that no key reaches."""
REACHED = (
    "Copies of the log, and what `log cat` and `log pack` wrote, hold it sealed: they are reached."
)
ONLY_FILES = "Only a log in one file has keys"
BEGIN = "Only a log that is begun with keys can be erased from: metalogue produce --keys FILE"


def erase(
    log: str | None, name: str, *, by: str | None, reason: str | None, yes: bool, json: bool
) -> int:
    """Tell what a log holds of a subject; with ``yes`` erase it. The exit code."""
    from streams.runtime.embedded.erasing import held_of

    by, reason = text_of(by, "--by"), text_of(reason, "--reason")
    url = log_url(log)
    if is_kafka(url) or url.startswith("jsonl:"):
        raise usage("nothing can be erased there", field="--log", error="log.keys", hint=ONLY_FILES)
    with closing(open_log(log, writes=yes)) as opened:
        if opened.sealing is None:
            what = f"{opened.path} was begun without keys"
            raise usage(what, field="--erase", error="log.keys", hint=BEGIN)
        keys = opened.sealing.keys
        mark = keys.known(name)
        if mark is None:
            what, hint = f"no subject {name!r}", "One that was erased is unknown too"
            raise usage(what, field="--subject", error="subject.unknown", hint=hint)
        # Counted before anything is destroyed, since afterwards nobody can tell any more what it
        # was.
        held = held_of(opened, mark)
        if not json:
            page = Page()
            page.line((name, "strong"), f"   {mark}")
            page.wrapped(
                f"goes for good: {plural(held.problems, 'problem')}, {plural(held.records, 'record')} "
                f"with {plural(held.completions, 'completion')}, {plural(held.messages, 'message')}, "
                f"{plural(held.lessons, 'lesson')} and {plural(held.versions, 'memory version')}; "
                "the key, this name and the snapshot. The tables are written anew."
            )
            page.wrapped(f"{REACHED} Beyond reach: {'; '.join(BEYOND)}.")
            page.wrapped(
                "stays: ids of problems, names of episodes, kinds, times and sizes of records."
            )
            page.show()
        if yes:
            _gone(opened, keys, mark, by, reason, path=log_path(url))
    if json:
        found: dict[str, Any] = {"subject": mark, "held": asdict(held), "erased": yes}
        out_json(found | {"beyond_reach": list(BEYOND)})
    elif yes:
        out(f"erased: the key of {mark} is destroyed")
    else:
        say("nothing was changed: add --yes to erase it")
    return OK


def _gone(
    log: SqliteLog, keys: Keys, mark: str, by: str | None, reason: str | None, *, path: str
) -> None:
    """Erase, while nobody else writes to the log or its tables. Raises a ``CliError`` where somebody does."""
    from state.tables.lock import Busy, only_writer
    from streams.interfaces.cli.working import only_worker
    from streams.runtime.embedded.erasing import erase
    from streams.runtime.embedded.projector import Projector, tables_path

    folder = tables_path(log.path)
    # Tables are written again only where there were some: they are no part of a log.
    had = folder.is_dir()
    try:
        # Both locks: a worker holds texts in memory and would write them again, a projector would
        # put them back into the tables.
        with only_worker(path), only_writer(folder):
            erase(log, keys, mark, by, reason, lambda: _remove_copies(log, folder))
            if had:
                projector = Projector(log)
                projector.open()
                projector.close()
    except Busy as error:
        raise CliError(
            str(error),
            error="tables.busy",
            exit=UNREACHABLE,
            where=f"sqlite:{log.path}",
            hint="End it first: what it was doing is done again.",
        ) from error


def _remove_copies(log: SqliteLog, folder: Path) -> None:
    """Remove snapshot and tables, those of earlier versions too: what they hold, they hold in the clear."""
    from streams.runtime.embedded.snapshots import snapshots_of

    snapshots_of(log).drop()
    # Tables hold no seal of their own. What is left of an earlier version (`rebuild --to`) would
    # keep everything in the clear.
    for each in (folder, *folder.parent.glob(f"{folder.name}.at-*")):
        if each.is_dir():
            shutil.rmtree(each)
