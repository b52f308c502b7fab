"""Conditions on an episode that several questions share; ``a`` is its record in the question around them."""

from __future__ import annotations

IS_CLOSED = "exists (select 1 from records c where c.episode = a.episode and c.address = 'closed')"
IS_TAKEN_OUT = """exists (select 1 from records v where v.episode = a.episode
    and v.kind = 'episode.adopted' and json_extract(v.body, '$.void'))"""
"""A person took it out of its batch, or cancelled it."""
TIMES_PARKED = """(select count(*) from records p
    where p.episode = a.episode and p.kind = 'episode.parked')"""
TIMES_ADOPTED = """(select count(*) from records d
    where d.episode = a.episode and d.kind = 'episode.adopted')"""
IS_PUT = """(partition = 0
    or exists (select 1 from messages m where m.topic = 'problems' and m.key = a.episode))"""
"""It is a worker's: also what a solve began that was killed, once somebody has put the same problem for workers."""
