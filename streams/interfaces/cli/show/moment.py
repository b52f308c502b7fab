"""One address of an episode: its prompt derived again, its reply in full, what was made of it.

Nothing is asked: the policy runs over its record in a closed world, and its question is noted. The log
holds no prompts, only their fingerprints, so this is the way to read one. It rests on the memory that the
episode pinned, which is folded from the log up to there, and for a learning episode up to its own version:
what that episode found must not stand in its own prompts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from handlers.limits import Ledger
from schemas.asking import Ask, Exhausted, OutOfLimit, Steps
from schemas.events.base import Event
from schemas.events.learning import MemoryVersioned
from schemas.identity import is_numbered
from schemas.memory import Memory
from streams.core.drive import Run, drive, replayed
from streams.core.questions import Questions
from streams.engine.episode import prepare
from streams.engine.learner import Learner
from streams.engine.policies import find, find_recorded
from streams.interfaces.cli.errors import usage
from streams.interfaces.cli.show.paste import command
from streams.replay.sets import recorded_set
from streams.runtime.embedded.records import LogRecords
from streams.views.rows import Row, rows
from streams.views.sheet import EpisodeView

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog


@dataclass(frozen=True, slots=True)
class StepView:
    """The record at one address. A fact or a named record has no question."""

    at: str
    question: Ask[Any] | None
    answer: Event | None
    row: Row | None
    memory: Memory | None


def moment(
    log: SqliteLog,
    sheet: EpisodeView,
    at: str,
    memories: Mapping[int, Memory] | None = None,
    url: str | None = None,
) -> StepView:
    """What stands at an address. Raises a ``CliError``, or ``Diverged`` if the policy changed.

    ``memories`` are the versions of the episode's scope, where the caller has folded them already. ``url`` is what the
    log is called in commands to paste.
    """
    answer, memory, spy = sheet.journal.get(at), None, Questions(at)
    # Only numbered addresses are the policy's; the others hold what was recorded about the episode.
    if is_numbered(at):
        memory = _replay(log, sheet, spy, memories)
    # An address without a record may still have a question: the one whose reply is awaited.
    if answer is None and at not in spy.found:
        numbered = [at for at, _ in sheet.numbered]
        hint = "The policy has recorded nothing yet"
        if numbered:
            rest = command("show", sheet.episode, log=url)
            hint = f"There are {numbered[0]} to {numbered[-1]}: {rest}"
        raise usage(f"no record at {at}", field="--at", error="address.unknown", hint=hint)
    row = next(
        (row for row in rows(sheet.numbered) if at in (row.at, *(a for a, _ in row.said))), None
    )
    return StepView(at, spy.found.get(at), answer, row, memory)


def _replay(
    log: SqliteLog, sheet: EpisodeView, spy: Questions, memories: Mapping[int, Memory] | None
) -> Memory | None:
    """Run the policy over the record; the memory that it worked with."""
    if (closed := sheet.learned_from) is not None:
        learner = _learner(log, sheet.episode)
        scope = learner.known(closed.scope)
        memory = scope.memory.versions[closed.previous]
        journal = {at: event for at, event in sheet.journal.items() if is_numbered(at)}
        run = Run(sheet.episode, journal, closed.seed, memory, "learning")
        _drive(learner.steps(scope, closed), run, Ledger.of(closed.limits), spy)
        return memory
    if sheet.admitted is None or sheet.opened is None:
        return None
    # A policy that learns nothing has no memory, and works with the empty version 0.
    if memories is None:
        memories = _learner(log, None).memory(sheet.admitted.scope).versions
    memories = memories or {0: Memory(sheet.admitted.scope, 0)}
    if sheet.opened.within is not None:
        # Episodes of a set share their calls: alone, none of them asks what it asked.
        together, _ = recorded_set(log, sheet.opened.within, find, lambda scope: memories)
        _drive(together.steps(), together.run(None, None), together.ledger(), spy)
        return together.first.memory
    policy = find_recorded(find, sheet.opened.policy, sheet.opened.policy_version)
    work = prepare(sheet.episode, sheet.admitted, sheet.journal, policy, memories)
    steps = policy.solve(work.task, work.settings)
    ledger = Ledger.of(sheet.opened.limits, sheet.opened.prices)
    _drive(steps, work.run(None, None), ledger, spy)
    return work.memory


def _learner(log: SqliteLog, upto: str | None) -> Learner:
    """What was learned; ``upto`` ends before the memory version of that learning episode."""
    learner = Learner(find, LogRecords(log))
    for record in log.records("learning"):
        if record.episode == upto and isinstance(record.event, MemoryVersioned):
            break
        learner.feed(record.episode, record.address, record.event)
    return learner


def _drive(steps: Steps[Any], run: Run, ledger: Ledger, spy: Questions) -> None:
    """Run until the record or the limits end, or the question was heard."""
    try:
        replayed(drive(spy.watch(steps), run, ledger))
    except (Exhausted, OutOfLimit):
        return
    except Exception:
        # The policy may have changed further on. What was asked here was heard by
        # then, and is true.
        if not spy.found:
            raise
