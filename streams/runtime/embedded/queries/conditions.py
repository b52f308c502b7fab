"""Conditions on an episode that several questions share; ``a`` is its record in the question around them."""

from __future__ import annotations

IS_CLOSED = "exists (select 1 from records c where c.episode = a.episode and c.address = 'closed')"
IS_TAKEN_OUT = """exists (select 1 from records v where v.episode = a.episode
    and v.kind = 'episode.adopted' and json_extract(v.body, '$.void'))"""
"""A person took it out of its batch, or cancelled it."""
