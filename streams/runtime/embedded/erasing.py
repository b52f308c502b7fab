"""Erasing a subject: its key is destroyed, and what the log, its tables and its snapshot hold of it with that.

The log tells of the erasure first, then what holds it in the clear is removed, and its key is destroyed last. So a
crash on the way leaves a key that is destroyed when the command is given again: never a log whose missing key nobody
can explain, and never a copy in the clear of what nobody can name any more.

Source: deploy/decisions/0027-keys-per-subject.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from schemas.asking import Diverged
from schemas.events.learning import SubjectErased
from schemas.subjects import erasure_of, subject_of
from streams.runtime.embedded.keys import Keys
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.sealing import marks

ERASED = "subject.erased"
HELD = """
select count(*) filter (where address = 'admitted') problems, count(*) records,
    count(*) filter (where kind = 'completed') completions,
    count(*) filter (where kind = 'lesson.distilled') lessons,
    count(*) filter (where kind = 'memory.versioned') versions
  from main.records where instr(episode, ?)
"""
SENT = "select count(*) from messages where instr(key, ?1) or instr(cast(value as text), ?1)"
PLAIN = """
select episode, address from main.records where instr(episode, 'subject-')
  and instr(cast(body as text), '{"sealed":') != 1 order by offset
"""
UNMARK = "delete from counters where name glob 'mark/*'"
"""What workers counted of the log: erased records are among it."""
EPISODES = ("p/", "q/", "s/", "b/")


@dataclass(frozen=True, slots=True)
class Held:
    """What a log holds of a subject, and nobody can read any more once it is erased."""

    problems: int
    records: int
    completions: int
    lessons: int
    versions: int
    """Memory versions of its own scopes."""
    messages: int
    """Problems, answers, judgements and dead letters."""


def held_of(log: SqliteLog, mark: str) -> Held:
    """What a log holds of a subject."""
    problems, records, completions, lessons, versions = log.db.execute(HELD, (mark,)).fetchone()
    (messages,) = log.db.execute(SENT, (mark,)).fetchone()
    return Held(problems, records, completions, lessons, versions, messages)


def erase(
    log: SqliteLog,
    keys: Keys,
    mark: str,
    by: str | None,
    reason: str | None,
    remove_copies: Callable[[], None],
) -> None:
    """Tell of the erasure, remove what holds it in the clear, destroy the key. Doing it twice is doing it once."""
    told = SubjectErased(subject=mark, by=by, reason=reason)
    # In this order: see above. Each step can be given again, and does nothing where it was done.
    log.publish(commands=[(erasure_of(mark), "erased", told)])
    log.db.execute(UNMARK)
    remove_copies()
    keys.shred(mark)


# -- verification ------------------------------------------------------------------------------


@dataclass(slots=True)
class Sealed:
    """What is sealed on a log, held against its keys and what it tells of erasures."""

    erased: int = 0
    """Episodes of subjects that were erased."""
    diverged: tuple[Diverged, ...] = ()


def sealed_on(log: SqliteLog) -> Sealed:
    """Compare every seal of a log with its key, or with the record of its erasure."""
    if log.sealing is None:
        return Sealed()
    told = log.records("learning", kinds=(ERASED,))
    gone = {record.event.subject for record in told if isinstance(record.event, SubjectErased)}
    keys, episodes, found = log.sealing.keys, set[str](), dict[str, Diverged]()
    for episode, address, mark in marks(log.db):
        whose = subject_of(episode) or "nobody"
        # A seal is named in the clear beside its box, so it must be held against the name of its episode.
        if mark != whose:
            where = f"{episode} at {address}"
            found[where] = Diverged(episode, address, "seal", mark or "none", whose)
        elif mark in gone and episode.startswith(EPISODES):
            episodes.add(episode)
        elif mark not in gone and not keys.holds(mark):
            wanted = "its key, or the record of its erasure"
            found.setdefault(mark, Diverged(episode, address, "key", f"no key of {mark}", wanted))
    # Records of subjects that stand on the log in the clear: no build of ours writes such.
    plain = tuple(
        Diverged(episode, address, "seal", "in the clear", f"sealed for {subject}")
        for episode, address in log.db.execute(PLAIN)
        if (subject := subject_of(episode)) is not None
    )
    return Sealed(len(episodes), (*found.values(), *plain))
