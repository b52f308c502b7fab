"""Which batch was due where a log holds that one was closed, perhaps by somebody who had not read all of it yet."""

from __future__ import annotations

from dataclasses import replace

from msgspec import structs

from schemas.events.learning import BatchClosed
from state.folds.memory import MemoryFold
from state.folds.windows import Due
from streams.engine.scopes import Scope


def due_of(scope: Scope, closed: BatchClosed, *, several: bool) -> Due | None:
    """The batch that was due when one was closed. ``several``: by whom may not have read all that stands before it."""
    memory, due = scope.memory, scope.window.due()
    unaware = memory.forgetting.is_unknown_to(closed)  # it is closed again, with other members
    if closed.revision is None and (unaware or (several and memory.changing is not None)):
        return Due(closed.batch, closed.series, closed.members)
    if not several:
        return due
    if memory.forgetting.overtakes(closed):
        return Due(closed.batch, None, closed.members, closed_unaware(memory, closed))
    known = None if due is None or due.again is None else due.again.embedder
    if closed.embedder not in (None, known) and closed.batch == memory.latest.number:
        said = {"embedder": closed.embedder, "measured": closed.measured}
        again = structs.replace(memory.closed_anew(), **said)
        return Due(closed.batch, None, closed.members, again)
    if due is None or due.again is None:
        return due
    # They are those of the newest problem that is forgotten, of which its closer may not have read.
    return replace(due, again=structs.replace(due.again, limits=closed.limits))


def closed_unaware(memory: MemoryFold, closed: BatchClosed) -> BatchClosed:
    """A revision's closing by somebody who had not read yet all that it is owed for; else the one by who had.

    Only members and outcomes may be those of before, in part or all of them, and what hangs on why it is owed.
    """
    before, known = memory.closing(closed.batch), memory.closing_without(closed.batch)
    may = {
        member: {outcome} for member, outcome in zip(before.members, before.outcomes, strict=True)
    }
    for member, outcome in zip(known.members, known.outcomes, strict=True):
        may[member].add(outcome)
    kept = [member for member in before.members if member in set(closed.members)]
    if (
        kept != [*closed.members]
        or not {*known.members} <= {*kept}
        or len(closed.outcomes) != len(kept)
        or any(outcome not in may[m] for m, outcome in zip(kept, closed.outcomes, strict=True))
    ):
        return known
    said = ("members", "outcomes", "limits", "regraded", "retold")
    return structs.replace(known, **{name: getattr(closed, name) for name in said})
