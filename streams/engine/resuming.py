"""A learner that goes on from a snapshot, instead of from the log's first record.

On SQLite the log's projector writes it, on Kafka each worker writes its own.

The snapshot knows no policies: they are asked again what they say of their scopes. Where it is not sure to mean the
same as the whole log, the log is read: a policy is not here, a version was made again or has to be (for something
forgotten, outcomes graded anew or another embedder), measures wait for vectors, or a scope was spoken of before it
began.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from schemas.problem import Profile
from state.folds.forgetting import Records
from state.folds.state import State
from state.folds.strays import Strays
from state.folds.windows import Head
from state.snapshot import Snapshots
from streams.engine.learner import Learner, Told
from streams.engine.policies import Find, NoPolicy, find_recorded
from streams.engine.scopes import scope_made


def learner_of(
    kept: Callable[[], Snapshots],
    end: int,
    find: Find,
    records: Records,
    told: Told,
    strays: Strays,
) -> tuple[Learner, int]:
    """The learner as the snapshot has it, and the offset up to which it has heard; else a new one that heard nothing.

    ``end`` is the log's: a snapshot that knows more is of another log.
    """
    learner = Learner(find, records, told=told, strays=strays)
    if end == 0:
        return learner, 0
    state = kept().learning()
    if state is None or state.offset > end or not resumed(learner, state):
        return learner, 0
    return learner, state.offset


def resumed(learner: Learner, state: State) -> bool:
    """Let a learner that heard nothing go on from a state. Returns whether it does; else it still knows nothing."""
    if not is_plain(state):
        return False
    try:
        for scope, head in state.windows.heads.items():
            _put(learner, state, scope, head)
    except NoPolicy:
        learner.scopes.clear()
        return False
    learner.grades.known = state.outcomes.known
    return True


def is_plain(state: State) -> bool:
    """Whether a state is sure to mean the same to whoever learns as the log that it is of."""
    if state.forgotten or any(head.odd for head in state.windows.heads.values()):
        return False
    return not any(
        memory.versions.revised
        or memory.forgetting.owed
        or memory.changing is not None
        or any(closed.measured is not None or closed.revision for closed in memory.batches.values())
        for memory in state.memories.values()
    )


def _put(learner: Learner, state: State, name: str, head: Head) -> None:
    """One scope, as its policy makes it and its records left it. Raises ``NoPolicy``."""
    memory = state.memory(name)
    memory.outcome, memory.anew = learner.grades.outcome, learner.grades.anew
    memory.records = learner.records
    policy = find_recorded(learner.find, head.policy, head.version)
    scope = scope_made(policy, memory, cast("Profile", head.profile), head.values)
    window = state.windows.open[name]
    window.stream_window = scope.window.stream_window
    scope.window, scope.warmed = window, head.warmed
    learner.scopes[name] = scope
