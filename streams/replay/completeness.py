"""Completeness of a log, whichever policies are installed: readable records, whole episodes and texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from schemas.asking import Diverged
from schemas.events.base import Event
from schemas.events.codec import BadEvent, decode
from schemas.events.episode import Completed, EpisodeOpened, TextKept
from schemas.events.learning import BatchClosed
from schemas.identity import text_digest, text_key
from streams.replay.left_out import Leftovers
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.queries import rows


def unreadable(log: SqliteLog, episode: str | None = None) -> list[Diverged]:
    """Records that are no events of their kind."""
    found: list[Diverged] = []
    for name, address, kind, body in rows.bodies(log, episode):
        try:
            decode(kind, body)
        except BadEvent as error:
            found.append(Diverged(name, address, "body", str(error), f"an event of kind {kind}"))
    return found


def misfiled(log: SqliteLog) -> list[Diverged]:
    """Texts that stand under another text's digest."""
    found: list[Diverged] = []
    for name, address, kind, body in rows.texts(log):
        try:
            event = decode(kind, body)
        except BadEvent as error:
            found.append(Diverged(name, address, "body", str(error), f"an event of kind {kind}"))
            continue
        if isinstance(event, TextKept) and text_key(text_digest(event.text)) != name:
            found.append(Diverged(name, address, "text", event.text, f"a text of digest {name}"))
    return found


def lacking(log: SqliteLog, wanted: Mapping[str, str], left: Leftovers) -> Iterator[Diverged]:
    """Texts that records refer to by their digest and that are not there; ``wanted`` says by whom first."""
    # Texts are kept once for a whole log, so that one which is gone takes the meaning from many
    # records.
    kept = rows.kept_texts(log)
    for digest, where in wanted.items():
        if digest not in kept:
            yield Diverged(
                text_key(digest), "text", "text", "nothing", f"a text that {where} refers to"
            )
    left.add("texts", "no record refers to them", len(kept - wanted.keys()))


def referred(event: Event) -> str | None:
    """The digest of the text that a record refers to."""
    match event:
        case Completed():
            return event.asked.split(" ", 3)[2] if event.asked.startswith("Complete ") else None
        case EpisodeOpened() | BatchClosed():
            return event.settings
        case _:
            return None
