"""Reading a log from a program: its episodes, records, answers and lessons, and what can be derived from it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from schemas.answer import Answer
from schemas.events.episode import EpisodeClosed, ProblemAdmitted
from schemas.memory import Memory, MemoryItem
from schemas.problem import Problem
from schemas.record import Record
from schemas.settings import BadSetting
from streams.core.backbone import BackboneError
from streams.engine.policies import find
from streams.interfaces.cli import opening
from streams.interfaces.cli.finding import find_episode, need_episodes
from streams.interfaces.cli.kafka_log import is_kafka
from streams.interfaces.cli.setup import as_cli, need_prices, policy_of, world_of
from streams.interfaces.door.asking import Way, at_least_one, models_of, of_type, sayable
from streams.interfaces.door.errors import Error, as_error, in_our_words, no_loop
from streams.interfaces.door.messages import answers_after
from streams.replay.change import Change
from streams.replay.fork import CannotFork, Forked, forked_work, run_fork
from streams.replay.verify import Verified, Verifier
from streams.runtime.embedded.records import learned

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from streams.runtime.embedded.log import SqliteLog


@dataclass(frozen=True, slots=True)
class Episode:
    """A problem's episode on a log: what was asked, and how it ended; ``closed`` is none while it is open."""

    id: str
    problem: Problem
    closed: EpisodeClosed | None


class Log:
    """A log that is read. Use it in a ``with`` block, or ``close`` it."""

    def __init__(self, log: SqliteLog) -> None:
        self._log = log

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of it."""
        self._log.close()

    def refresh(self) -> None:
        """Take in what a broker has had added since; a file is always read as it is."""
        self._log.data_version()

    def find(self, id: str) -> str:
        """The episode that an id means: its own, its problem's, or a unique beginning. Raises an ``Error``."""
        # The same search as the command line's, so that what is copied from there works here.
        with in_our_words():
            return find_episode(self._log, id)

    def episodes(self) -> Iterator[Episode]:
        """Episodes of problems, in the order in which they were admitted."""
        # One by one, since a log may hold more of them than memory does.
        for record in self._log.records("events", kinds=("problem.admitted",)):
            if isinstance(record.event, ProblemAdmitted):
                closed = self._log.find(record.episode, "closed")
                ended = closed if isinstance(closed, EpisodeClosed) else None
                yield Episode(record.episode, record.event.problem, ended)

    def records(
        self, episode: str | None = None, kinds: Iterable[str] = (), after: int = 0
    ) -> Iterator[Record]:
        """Records in the order of the log: all, or those of one episode, of some kinds, behind an offset."""
        return self._log.records(episode=episode, kinds=kinds, after=after)

    def answers(self, after: int = 0) -> Iterator[Answer]:
        """Answers in the order in which they were given."""
        return (answer for _, _, answer, _ in answers_after(self._log, after))

    def memories(self) -> Iterator[Memory]:
        """Each scope's latest memory version."""
        # Folded anew for each call: a program that reads a log now and then should
        # not hold its memory.
        learner = learned(self._log, find)
        for name in sorted(learner.scopes):
            yield learner.memory(name).latest

    def lessons(self) -> Iterator[MemoryItem]:
        """Lessons and rules that episodes are given now, of all scopes."""
        for memory in self.memories():
            yield from memory.items

    def table(self, name: str) -> Any:
        """One table of the export as an Arrow table: ``episodes``, ``events``, ``completions``, ``lessons`` and more.

        pandas and Polars take it as it is (``to_pandas()``, ``polars.from_arrow``). Raises an ``Error`` for a table
        that there is none of.
        """
        # Not at the top: Arrow is an extra, and large.
        from streams.research.export.parquet import as_arrow
        from streams.research.export.tables import EXPORTED

        found = next((each for each in EXPORTED if each.name == name), None)
        if found is None:
            there = ", ".join(each.name for each in EXPORTED)
            raise Error(f"there are {there}", code="table.unknown", field="name", where=name)
        return as_arrow(self._log, found)


def open_log(log: str) -> Log:
    """A log to read from: ``sqlite:PATH``, ``kafka://HOST:PORT`` or ``jsonl:PATH``. Raises an ``Error``.

    >>> with open_log("sqlite:my.db") as log:
    ...     [each.problem.problem for each in log.episodes()]
    ['What is 17 + 25?']
    """
    _need_no_loop("open_log", log)
    with in_our_words():
        return Log(opening.open_log(log))


def _need_no_loop(name: str, log: str) -> None:
    """Raise an ``Error`` in a running event loop for a log on Kafka, whose reader runs one of its own."""
    of_type("log", log, str)
    if is_kafka(log):
        no_loop(name, f"Call it in a thread: await asyncio.to_thread({name}, ...)")


def verify(log: str, episode: str | None = None) -> Verified:
    """Derive a log, or one episode of it, again without a model: ``episodes``, ``facts``, and what ``diverged``.

    Nothing is asked and nothing is written. What this build cannot derive is in ``unverifiable``, what nobody can
    compare in ``left_out``. Raises an ``Error`` where there is no such log or episode, or nothing on it.

    >>> found = verify("sqlite:my.db")
    >>> found.episodes, found.diverged
    (1, [])
    """
    _need_no_loop("verify", log)
    with in_our_words(), closing(opening.open_log(log)) as opened:
        only = None if episode is None else find_episode(opened, episode)
        need_episodes(opened, only)
        return Verifier(opened, find).run(only)


def fork(
    log: str,
    episode: str,
    at: str,
    *,
    backbone: str | None = None,
    roles: Mapping[str, str] | None = None,
    policy: str | None = None,
    settings: Mapping[str, Any] | None = None,
    call_limit: int | None = None,
    edit: str | None = None,
    sample: int = 0,
) -> Forked:
    """Run an episode anew from an address on, with another model, policy, settings or an edited reply.

    Everything before ``at`` is kept, and what still holds behind it is not paid again: see ``made``, ``reused``.
    ``edit`` is the reply at ``at`` as it might have been, ``sample`` another draw of what follows. Raises an
    ``Error`` where the episode cannot be forked there.
    """
    no_loop("fork", "Call it in a thread: await asyncio.to_thread(fork, ...)")
    for name, text in (("log", log), ("episode", episode), ("at", at)):
        of_type(name, text, str)
    for name, said in (("policy", policy), ("edit", edit)):
        of_type(name, said, str, type(None))
    of_type("settings", settings, Mapping, type(None))
    sayable("edit", edit)
    if call_limit is not None:
        at_least_one("call_limit", call_limit)
    of_type("sample", sample, int)
    if sample < 0:
        raise Error("must be 0 or more", code="input.field", field="sample")
    change = Change(
        at=at,
        settings=settings or {},
        limits=Way(call_limit=call_limit).limits(),
        policy=policy,
        edit=edit,
        sample=sample,
    )
    with in_our_words():
        # A wrong setting is told before anything is opened.
        if policy is not None:
            policy_of(policy, values=settings)
        with closing(opening.open_log(log, writes=True)) as opened:
            parent = find_episode(opened, episode)
            # Not patient: a program that asks what if wants to hear at once that an endpoint is away.
            world = world_of(models_of(backbone, roles), patient=False)
            try:
                work, record = forked_work(opened, find, parent, change, world)
                # Its parent's: it would never be met where nobody knows what a call costs.
                if work.opened.limits.cost is not None:
                    need_prices(world, "cost_limit", [work.settings.backbone])
                running = run_fork(opened, work, change, record, world)
                return asyncio.run(world.during(running))
            except CannotFork as error:
                raise Error(str(error), code="fork", where=parent, field=error.field) from error
            except BadSetting as error:
                raise Error(str(error), code="policy.setting", field="settings") from error
            except BackboneError as error:
                raise as_error(as_cli(error)) from error
