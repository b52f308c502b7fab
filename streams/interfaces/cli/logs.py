"""The `log` and `state` commands."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.settings import meant
from streams.core.topology import TOPICS
from streams.interfaces.cli.errors import OK, USAGE, CliError, sentence, usage
from streams.interfaces.cli.finding import find_kept
from streams.interfaces.cli.opening import is_missing, log_path, log_url, open_log
from streams.interfaces.cli.output import as_json, out, out_json
from streams.runtime.embedded.queries import counts as held
from streams.runtime.embedded.queries import messages

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog


def counts(log: SqliteLog) -> dict[str, int]:
    """What `log stats` prints."""
    from schemas.events.union import FACT_KINDS
    from streams.runtime.embedded.marks import counted

    topics = {"problems": "problems", "answers": "answers", "dead_letters": "dead-letters"}
    found = {name: messages.count(log, topic) for name, topic in topics.items()}
    records, kinds = counted(log), held.kinds(log)
    found["events"] = kinds.total()
    found["opened"], found["completions"] = kinds["episode.opened"], kinds["completed"]
    found["closed"] = records.get(("events", "episode.closed"), 0)
    found["forks"], found["sets"] = held.forks(log), held.sets(log)
    # Nobody was asked for them again: what the log cost is the completions without these.
    found["reused_completions"] = held.reused(log) if found["forks"] else 0
    found["learning_episodes"] = records.get(("learning", "episode.closed"), 0)
    # Asked for only where there are any, since it means to read them; most logs have none.
    found["parked"] = held.times_parked(log) if kinds["episode.parked"] else 0
    found["cancelled"] = held.cancelled(log) if kinds["episode.adopted"] else 0
    found["facts"] = sum(kinds[kind] for kind in FACT_KINDS)
    # Counted by the log itself as they come: it is the promise that this figure stays at 0.
    found["repeated_completions"] = log.counter("repeated")
    found["stale_completions"] = log.counter("stale")
    found["bytes"] = held.size_bytes(log)
    order = "problems opened closed forks sets cancelled answers completions reused_completions"
    order += " repeated_completions stale_completions facts learning_episodes dead_letters parked events bytes"
    return {name: found[name] for name in order.split()}


def stats(url: str | None, *, json: bool) -> int:
    """Print the counts of a log."""
    log = open_log(url)
    found = counts(log)
    if json:
        out_json(found)
    else:
        for name, count in found.items():
            out(f"{name:<21}{count:>14,}")
    return OK


def digest(url: str | None, *, json: bool) -> int:
    """Print the digest of a log."""
    from streams.replay.digest import log_digest

    found = log_digest(open_log(url))
    out_json({"digest": found}) if json else out(found)
    return OK


def path(url: str | None) -> int:
    """Print the log's file."""
    where = log_url(url)
    # Such a log is read into memory: the file of lines is the only one that there is.
    if where.startswith("jsonl:"):
        out(where.removeprefix("jsonl:"))
    else:
        out(str(open_log(url).path) if where.startswith("kafka://") else log_path(where))
    return OK


def cat(url: str | None, *, topic: str | None, episode: str | None, learned: bool = False) -> int:
    """Print every record and message, one JSON object a line; of one episode what belongs to it."""
    from streams.runtime.embedded.lines import lines_of

    log = open_log(url)
    if learned and episode is None:
        raise usage("--learned is of one episode", field="--learned", hint="Give --episode ID")
    if topic is not None:
        # Topics that only an earlier build had can still be read.
        known = {each.name for each in TOPICS} | held.message_topics(log)
        if topic not in known:
            raise usage(f"no topic {topic!r}", field="--topic", hint=sentence(meant(topic, known)))
    need_anything(log)
    found = None
    if episode is not None:
        from streams.replay.cut import cut_out

        # What an episode rests on goes with it, or the part could not be verified by itself.
        found = cut_out(log, find_kept(log, episode), learned=learned)
    for line in lines_of(log, topic, found):
        sys.stdout.write(as_json(line) + "\n")
    return OK


def need_anything(log: SqliteLog) -> None:
    """Raises a ``CliError`` for a log with neither records nor messages."""
    if held.is_empty(log):
        hint = "Put problems on it: metalogue produce SOURCE"
        raise CliError(
            "nothing is on this log",
            error="log.empty",
            exit=USAGE,
            where=log.called,
            hint=hint,
        )


def pack(url: str | None, folder: str) -> int:
    """Write what a log holds beyond the segments of a folder as another one."""
    from streams.interfaces.cli.places import folder_of
    from streams.interfaces.cli.provenance import build_and_machine
    from streams.research.evidence.segments import BadSegment, Segments

    log = open_log(url)
    need_anything(log)
    try:
        added = Segments(folder_of(folder, "FOLDER")).add(log, build_and_machine())
    except BadSegment as error:
        raise usage(str(error), field="FOLDER", error="log.segment") from error
    out("nothing new" if added is None else str(added))
    return OK


def unpack(url: str | None, folder: str) -> int:
    """Make a log of the segments of a folder; what was begun there goes on."""
    from streams.research.evidence.segments import BadSegment, NotEmpty, Segments

    where = log_url(url)
    is_new = is_missing(where)
    # Two logs in one file could not be told apart, and no digest of either would hold.
    hint = "Name a log that is not there yet: --log sqlite:PATH"
    taken = usage(f"{where} is there already", field="--log", error="log.exists", hint=hint)
    if where.startswith(("kafka://", "jsonl:")):
        raise taken
    try:
        found = Segments(Path(folder))
        if not found.files():
            raise BadSegment(f"{folder}: no segment of a log is there")
        # The log was begun elsewhere, with keys or without: the settings of this machine have no
        # say in that.
        with closing(open_log(where, create=True, begins=False)) as log:
            count = found.restore(log)
    except NotEmpty:
        raise taken from None
    except BadSegment as error:
        # A log with half of the segments would pass for whole, so that none is left behind.
        if is_new and not is_missing(where):  # nothing was on it yet
            Path(log_path(where)).unlink()
        raise usage(str(error), field="FOLDER", error="log.segment") from error
    out(f"{count:,} lines restored to {where}")
    return OK
