"""Probes as they stand on record: the parent's problem, their own settings, limit and memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import orjson
from pydantic import ValidationError

from handlers.policies.base import Policy
from schemas.events.base import Event
from schemas.events.episode import EpisodeOpened, ProblemAdmitted
from schemas.faults import first_fault
from schemas.identity import is_numbered
from schemas.memory import Memory
from schemas.settings import BadSetting
from state.folds.versions import pinned
from streams.engine.episode import PolicyChanged, Work, prepare
from streams.replay.change import lacking

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog


def recorded_work(
    log: SqliteLog,
    episode: str,
    admitted: ProblemAdmitted,
    journal: dict[str, Event],
    policy: Policy[Any],
    memories: Mapping[int, Memory],
) -> Work:
    """The work of a recorded episode or probe. Raises ``PolicyChanged`` or ``BadSetting`` where it cannot be."""
    opened = journal["opened"]
    assert isinstance(opened, EpisodeOpened)
    # An episode of its own is prepared as a worker prepares it, so that both have one way to be
    # opened.
    if opened.parent is None:
        return prepare(episode, admitted, journal, policy, memories)
    try:
        settings = policy.settings.model_validate(orjson.loads(log.text(opened.settings) or "{}"))
    except ValidationError as error:
        raise BadSetting(f"settings of {policy.reference}: {first_fault(error)[1]}") from error
    policy = policy.as_begun(opened.policy_version).under(settings)
    # Derived with other prompts it would diverge at its first question, and say less of why.
    if policy.version != opened.policy_version:
        recorded = f"{opened.policy}@{opened.policy_version}"
        raise PolicyChanged(f"opened with {recorded}; installed is {policy.reference}")
    numbered = {address: event for address, event in journal.items() if is_numbered(address)}
    memory = lacking(
        pinned(memories, opened.memory_version, opened.memory_revision), opened.without
    )
    return Work(episode, admitted, opened, policy, settings, memory, numbered)
