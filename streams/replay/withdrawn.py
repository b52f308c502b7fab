"""Whether each memory version was closed again without what was forgotten, as far as it is not owed any more.

A problem that was forgotten between a closing and its version, by a build that did not look or on Kafka within the
milliseconds between its look and its word, left a version that counts the problem for good: whoever folds the log
takes that version for the one that was asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from schemas.asking import Diverged
from schemas.identity import learning_id
from state.folds.memory import MemoryFold


def still_counted(memories: Iterable[MemoryFold]) -> Iterator[Diverged]:
    """Episodes of forgotten problems that are members of a version's batch as it was closed last."""
    for memory in memories:
        forgetting = memory.forgetting
        # What is owed is closed again by the next worker, and what is half made ends in it.
        waits = {0, *forgetting.owed, *memory.batches}
        for number in sorted({*memory.versions} - waits) if forgetting.subjects else ():
            episode = learning_id(memory.scope, number, memory.versions[number].revision or None)
            for member in memory.closing(number).members:
                if forgetting.covers(member):
                    yield Diverged(
                        episode, "batch", "members", member, "none of what was forgotten"
                    )
