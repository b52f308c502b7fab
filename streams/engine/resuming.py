"""A learner that goes on from a snapshot, instead of from the log's first record.

On SQLite the log's projector writes it, on Kafka each worker writes its own.

The snapshot knows no policies: they are asked again what they say of their scopes. Where it is not sure to mean the
same as the whole log, the log is read: a policy is not here, a version has to be made again (for something
forgotten, outcomes graded anew or another embedder), measures wait for vectors, or a scope was spoken of before it
began.

Where versions were made again, a snapshot holds items as they are now and not as former versions had them. Hardly
anybody asks for those, as an episode does that began before and is still open. Who can read the log does so then.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Protocol, cast

from schemas.memory import Memory
from schemas.problem import Profile
from state.folds.forgetting import Records
from state.folds.grades import Known
from state.folds.state import State
from state.folds.strays import Strays
from state.snapshot import Snapshots
from streams.engine.learner import Learner, Told
from streams.engine.policies import Find, NoPolicy, find_recorded
from streams.engine.scopes import scope_made

LOOKED_UP = 4096
"""Answers whose grades are kept once they were looked up."""


class Lookup(Protocol):
    """Looks up what was known of an answer at an offset of the log."""

    def __call__(self, episode: str, *, upto: int) -> Known:
        """The grades that count."""
        ...


def learner_of(
    kept: Callable[[], Snapshots],
    end: int,
    find: Find,
    records: Records,
    told: Told,
    strays: Strays,
    graded: Lookup | None = None,
    whole: Callable[[], Learner] | None = None,
) -> tuple[Learner, int]:
    """The learner as the snapshot has it, and the offset up to which it has heard; else a new one that heard nothing.

    ``end`` is the log's: a snapshot that knows more is of another log. ``graded`` looks up what was known of an
    answer at an offset; without it the grades of all answers are read. ``whole`` reads the log after all, for a
    version that the snapshot does not hold as it was; without it no snapshot counts in which there may be one.
    """
    # The snapshot comes as a function: on an empty log it is not even opened.
    learner = Learner(find, records, told=told, strays=strays)
    if end == 0:
        return learner, 0
    state = kept().learning(graded=graded is None)
    if state is None or state.offset > end or not resumed(learner, state, whole):
        return learner, 0
    if graded is not None:
        # What is on the log up to there stays as it is; who learns asks for few of its grades, and often the same.
        learner.grades.earlier = lru_cache(maxsize=LOOKED_UP)(partial(graded, upto=state.offset))
    return learner, state.offset


def resumed(learner: Learner, state: State, whole: Callable[[], Learner] | None = None) -> bool:
    """Let a learner that heard nothing go on from a state. Returns whether it does; else it still knows nothing."""
    if not is_plain(state) or (whole is None and is_made_again(state)):
        return False
    known = None if whole is None else lru_cache(maxsize=1)(whole)
    for name, head in state.windows.heads.items():
        memory = state.memory(name)
        # These lead into the learner: the folds of a snapshot were made without one.
        memory.outcome, memory.anew = learner.grades.outcome, learner.grades.anew
        memory.records = learner.records
        if known is not None and memory.versions.revised:
            memory.versions.checked(state.digests, partial(as_it_was, known))
        try:
            policy = find_recorded(learner.find, head.policy, head.version)
            scope = scope_made(policy, memory, cast("Profile", head.profile), head.values)
        except NoPolicy:
            # All or nothing: from the log the scope is found lost at the record where that shows.
            learner.scopes.clear()
            return False
        # A snapshot knows no policies, so the size of a window in a stream is asked of
        # the policy once more.
        window = state.windows.open[name]
        window.stream_window = scope.window.stream_window
        scope.window, scope.warmed = window, head.warmed
        learner.scopes[name] = scope
    learner.grades.known = state.outcomes.known
    return True


def as_it_was(known: Callable[[], Learner], scope: str, number: int, revision: int) -> Memory:
    """One revision of a version by whoever has read the log."""
    return known().memory(scope).versions.pinned(number, revision)


def is_made_again(state: State) -> bool:
    """Whether former versions may differ from what a snapshot holds of them."""
    return bool(state.forgotten) or any(m.versions.revised for m in state.memories.values())


def is_plain(state: State) -> bool:
    """Whether a state is sure to mean the same to whoever learns as the log that it is of."""
    # Rather too strict than too lax: to read the log again costs time, a memory that differs
    # costs every promise.
    if any(head.odd for head in state.windows.heads.values()):
        return False
    # A scope that was to forget something before anybody saw it.
    if state.forgotten.keys() - state.windows.heads.keys():
        return False
    return not any(
        memory.forgetting.owed
        or memory.changing is not None
        or any(closed.measured is not None or closed.revision for closed in memory.batches.values())
        for memory in state.memories.values()
    )
