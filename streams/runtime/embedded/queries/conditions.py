"""What several questions share: conditions on an episode, ``a`` in the question around them, and spans of names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from schemas.answer import as_answer
from schemas.identity import episode_id

if TYPE_CHECKING:
    from sqlite3 import Connection

IS_CLOSED = "exists (select 1 from records c where c.episode = a.episode and c.address = 'closed')"
IS_TAKEN_OUT = """exists (select 1 from records v where v.episode = a.episode
    and v.kind = 'episode.adopted' and json_extract(v.body, '$.void'))"""
"""A person took it out of its batch, or cancelled it."""
TIMES_PARKED = """(select count(*) from records p
    where p.episode = a.episode and p.kind = 'episode.parked')"""
TIMES_ADOPTED = """(select count(*) from records d
    where d.episode = a.episode and d.kind = 'episode.adopted')"""
IS_PARKED = f"{TIMES_PARKED} > {TIMES_ADOPTED}"
"""It waits for a person; each time that one takes it up again leaves an ``adopted`` of its own."""
IS_ASKING = """exists (select 1 from records q
    where q.episode = a.episode and q.address >= 'asked.' and q.address < 'asked/'
    and not exists (select 1 from records r where r.episode = q.episode
      and r.address = json_extract(q.body, '$.address')))"""
"""Its policy put a question to a person that has no answer on record."""
TAKEN = "taken/"
"""How a position begins that says where an episode, of that name, was met on the topic of problems and was open."""
IS_PUT = f"""(partition = 0
    or exists (select 1 from messages m where m.topic = 'problems' and m.key = a.episode)
    or exists (select 1 from consumers t where t.name = '{TAKEN}' || a.episode))"""
"""It is a worker's: also what a solve began that was killed, once somebody has put the same problem for workers."""

UNREADABLE: Final = "unreadable"
"""The status of what lies on the topic of answers and is none."""


def answer_status(value: str | bytes) -> str:
    """How an episode ended by what lies on the topic of answers; ``UNREADABLE`` where that is no answer."""
    answer = as_answer(value)
    return UNREADABLE if answer is None else answer.status


# Whether a message is an answer is said by our types, which no function of SQLite's knows: what was counted by its
# status alone stood under one tab of the dashboard, and was called unreadable in its list.
def taught(db: Connection) -> Connection:
    """A connection whose questions may use ``answer_status``."""
    db.create_function("answer_status", 1, answer_status, deterministic=True)
    return db


def span(prefix: str) -> tuple[str, str]:
    """The first name that begins so, and the first behind all that do: a span is answered off the index."""
    # ``like`` would look at every name.
    return prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1)


def runs(domain: str, problem_id: str) -> tuple[str, str]:
    """The span of a problem's episodes, whatever policy each is worked on with."""
    return span(episode_id(domain, problem_id, ""))
