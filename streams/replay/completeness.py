"""What a log itself must keep, whoever's policies are installed: readable records, whole episodes and texts."""

from __future__ import annotations

from schemas.asking import Diverged
from schemas.events.codec import BadEvent, decode
from schemas.events.episode import TextKept
from schemas.identity import text_digest, text_key
from streams.runtime.embedded.log import SqliteLog

TEXTS = "select episode, address, kind, body from records where kind = 'text.kept' order by offset"
HEADLESS = """
select episode, min(address) from records r where topic = 'events'
  and (address = 'closed' or address glob '[0-9]*')
  and not exists (select 1 from records o where o.episode = r.episode and o.address = 'opened')
  group by episode order by min(offset)
"""


def unreadable(log: SqliteLog, episode: str | None = None) -> list[Diverged]:
    """Records that are no events of their kind."""
    query = "select episode, address, kind, body from records where ?1 is null or episode = ?1 order by offset"
    found: list[Diverged] = []
    for name, address, kind, body in log.db.execute(query, (episode,)):
        try:
            decode(kind, body)
        except BadEvent as error:
            found.append(Diverged(name, address, "body", str(error), f"an event of kind {kind}"))
    return found


def misfiled(log: SqliteLog) -> list[Diverged]:
    """Texts that stand under another text's digest."""
    found: list[Diverged] = []
    for name, address, kind, body in log.db.execute(TEXTS):
        try:
            event = decode(kind, body)
        except BadEvent as error:
            found.append(Diverged(name, address, "body", str(error), f"an event of kind {kind}"))
            continue
        if isinstance(event, TextKept) and text_key(text_digest(event.text)) != name:
            found.append(Diverged(name, address, "text", event.text, f"a text of digest {name}"))
    return found


def headless(log: SqliteLog) -> list[Diverged]:
    """Episodes with steps or an end on record, but no beginning."""
    return [
        Diverged(episode, "opened", "episode.opened", "nothing", f"a record before {address}")
        for episode, address in log.db.execute(HEADLESS)
    ]
