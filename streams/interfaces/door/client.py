"""A client of a log: puts problems on it and waits for answers that workers, here or elsewhere, give.

All reading and writing happens in one thread of its own. While anything is awaited, one task looks at the log
now and then for answers, refusals and episodes that were parked, and wakes whoever waits for them.

Who waits is kept in ``_pending``: a future for each episode, or for the headers that an answer is to bear. Of these
``_submitted`` are the episodes that were put here, whose number is bounded. Only the loop's thread touches them, and
only the client's own thread touches the log, so neither needs a lock. Several callers that wait for one episode share
its future. A future leaves ``_pending`` exactly once, with an answer or an ``Error``; if the log is away for a while it
stays, since the answer will be there when the log is back.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from handlers.reviewing import USUAL, Thresholds
from schemas.answer import Answer
from schemas.faults import first_fault
from schemas.problem import Feedback, Profile, ReferenceAnswer
from schemas.record import Record
from streams.interfaces.cli.opening import open_log
from streams.interfaces.cli.reviews import Item
from streams.interfaces.door.asking import (
    DEFAULT_POLICY,
    Asked,
    Way,
    at_least_one,
    marks_of,
    of_type,
    sayable,
)
from streams.interfaces.door.errors import Error, cancelled, closed, parked, there
from streams.interfaces.door.handle import AGAIN_S, AWAY, LOOK_S, Handle
from streams.interfaces.door.lessons import FoundLesson, nearest
from streams.interfaces.door.mailbox import NO_HEADERS, Awaited, Found, Mailbox, News, told_of
from streams.interfaces.door.messages import Marks
from streams.interfaces.door.thread import LogThread

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

T = TypeVar("T")
REASON_CHARS = 1_000
"""The longest reason that an episode is taken out for."""
SILENT_S = 5.0
"""After so long a log that says nothing is taken for one that is away."""
MOST_PENDING = 1024
"""Problems that a client waits for at once, unless it says another number; who submits more waits."""

_log = logging.getLogger(__name__)


class Client:
    """Puts problems on a log that workers work on, and waits for their answers.

    ``log`` is any URL of a log that can be written: ``sqlite:PATH`` or ``kafka://HOST:PORT``. ``policy``, ``settings``,
    ``answer_type``, ``memory``, ``tenant``, ``priority``, ``seed`` and limits hold where a problem has no others.

    >>> async with Client("kafka://broker:9092", policy="mc2") as client:
    ...     handle = await client.submit("What is 17 + 25?")
    ...     print((await handle.answer()).status)
    answered
    """

    def __init__(
        self,
        log: str,
        *,
        policy: str = DEFAULT_POLICY,
        profile: Profile = "service",
        settings: Mapping[str, Any] | None = None,
        domain: str = "default",
        answer_type: str | Mapping[str, Any] | None = None,
        memory: str = "main",
        tenant: str | None = None,
        priority: int | None = None,
        seed: int = 0,
        call_limit: int | None = None,
        token_limit: int | None = None,
        cost_limit: float | None = None,
        time_limit: float | None = None,
        max_pending: int = MOST_PENDING,
    ) -> None:
        of_type("log", log, str)
        self.log = log
        self.way = Way(
            policy=policy,
            profile=profile,
            settings=settings or {},
            domain=domain,
            answer_type=answer_type,
            memory=memory,
            tenant=tenant,
            priority=priority,
            seed=seed,
            call_limit=call_limit,
            token_limit=token_limit,
            cost_limit=cost_limit,
            time_limit=time_limit,
        )
        self.max_pending = at_least_one("max_pending", max_pending)
        self._pending: dict[Awaited, asyncio.Future[Answer]] = {}
        self._submitted: set[Awaited] = set()
        self._coming = 0
        self._waiters: dict[Marks, int] = {}
        self._over: Error | None = None
        """Why no answer can come any more."""
        self._changed: asyncio.Event | None = None
        self._room: asyncio.Condition | None = None
        self._thread: LogThread | None = None
        self._mailbox: Mailbox | None = None
        self._pump: asyncio.Task[None] | None = None

    # -- life --------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        self.way.check()
        # Made here and not before: they belong to the loop in which the client is used.
        self._changed, self._room = asyncio.Event(), asyncio.Condition()
        self._over = None
        self._thread = LogThread(self.log)
        # Its thread is ended if that fails, or the program could not end: nobody will
        # call ``__aexit__``.
        try:
            self._mailbox = await self._in_thread(lambda: Mailbox(open_log(self.log, create=True)))
        except BaseException:
            self._thread.close()
            raise
        self._pump = asyncio.create_task(self._look())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._pump is not None
        assert self._thread is not None
        try:
            # Again and again: on Python 3.11 a wait that is just over loses a cancellation.
            while not self._pump.done():
                self._pump.cancel()
                await asyncio.wait([self._pump], timeout=LOOK_S)
            await asyncio.gather(self._pump, return_exceptions=True)
        # Also where a program does not wait for that: what stays open is closed by nobody else.
        finally:
            thread, box = self._thread, self._box
            # Nobody looks at the log any more: whoever waits, asks or is just putting would wait for ever.
            self._thread = self._mailbox = self._changed = None
            self._over = Error("the client was closed before the answer came", code="client.closed")
            self.give_up(self._over)
            await self._make_room()
            try:
                await thread.do(box.close, anyway=True)
            finally:
                thread.close()

    @property
    def _box(self) -> Mailbox:
        if self._mailbox is None:
            raise closed()
        return self._mailbox

    async def _in_thread(self, work: Callable[[], T], *, anyway: bool = False) -> T:
        """Do some work with the log in its thread. Raises an ``Error`` in our words."""
        if self._thread is None:
            raise closed()
        return await self._thread.do(work, anyway=anyway)

    async def trouble(self) -> str | None:
        """Why nothing can be put or read just now; None where both can."""
        if self._over is not None:
            return str(self._over)
        try:
            async with asyncio.timeout(SILENT_S):
                return await self._in_thread(lambda: self._box.trouble())
        except TimeoutError:
            return f"{self.log}: no answer for {SILENT_S:.0f} s"
        except Error as error:
            return str(error)

    async def metrics(self) -> str:
        """What is worked on in this process, as Prometheus reads it; nothing where all work is done elsewhere."""
        return ""

    # -- asking ------------------------------------------------------------------------------------

    @property
    def is_simulated(self) -> bool:
        """Whether a simulator answers here in a model's place; whoever works elsewhere says it there."""
        return False

    @property
    def pending(self) -> int:
        """How many answers are awaited of what was submitted."""
        # Who waits by headers, or for what another client put, takes no place of those who put something.
        return len(self._submitted) + self._coming

    async def submit(
        self,
        problem: str,
        *,
        id: str | None = None,
        answer: ReferenceAnswer = None,
        new: bool = False,
        headers: Mapping[str, str] = NO_HEADERS,
        **way: Any,
    ) -> Handle:
        """Put a problem on the log; a handle to its answer.

        ``id`` names the problem: the same id, policy, settings and seed are the same episode, which is worked on
        once however often it is submitted. Without one the same text is the same problem. ``answer`` is a
        reference, which only grades. Whatever ``Client`` takes of the way of working (``policy``, ``answer_type``,
        ``memory``, ``call_limit`` and their kin) may be given here for this problem alone.
        ``headers`` (a trace, a correlation id, where to reply) come back on the answer, for whoever reads it there.
        With ``new``, an id whose problem is there with another policy or other settings is refused.
        Waits while ``max_pending`` answers are awaited. Raises an ``Error`` that names a wrong field; nothing is put.
        """
        if self._changed is None or self._room is None:
            raise closed()
        wanted = self.way.but(way)
        asked = Asked.of(problem, id, answer, wanted.typed())
        marks_of(headers)  # raises here, before anything is put
        self._allow(wanted)
        async with self._room:
            await self._room.wait_for(lambda: self.pending < self.max_pending)
            # Its place is taken at once: problems that are put at the same time are on no log yet.
            self._coming += 1
        try:
            posted = await self._in_thread(
                lambda: self._box.post(asked, wanted, new=new, headers=headers)
            )
            handle = self._handle(posted)
            self._submitted |= {handle.episode} & self._pending.keys()
        finally:
            self._coming -= 1
            await self._make_room()
        self.look()  # nobody looks at the log while nothing is awaited
        self.posted()
        return handle

    def _allow(self, way: Way) -> None:
        """Raise an ``Error`` where no problem can be worked on in this way. Who works elsewhere finds it out there."""

    def _handle(self, found: Found) -> Handle:
        """A handle to an episode; who waits for it already, and whoever does now, hear the same."""
        # A future of an episode that is over is not kept: who comes later finds it on the log.
        future = self._pending.get(found.episode)
        if future is None:
            future = self._future()
            if found.answer is not None:
                future.set_result(found.answer)
            elif found.parked is not None:
                future.set_exception(parked(found.episode, found.parked))
            elif found.cancelled:
                future.set_exception(cancelled(found.episode))
            else:
                self._await(found.episode, future)
        return Handle(self, found, future)

    def _future(self) -> asyncio.Future[Answer]:
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        # An error that nobody asked for is no defect: whoever has the handle may ask later, or never.
        future.add_done_callback(lambda each: each.cancelled() or each.exception())
        return future

    def _await(self, awaited: Awaited, future: asyncio.Future[Answer]) -> None:
        if self._over is None:
            self._pending[awaited] = future
        else:
            future.set_exception(self._over)

    async def answered(self, headers: Mapping[str, str]) -> Answer:
        """The first answer that bears all of these headers, whoever put its problem; waits until it is there.

        Raises an ``Error`` where such a problem was refused. Of one that is parked, or that nobody puts, nothing is
        heard: wait with ``asyncio.timeout``.
        """
        marks = marks_of(headers)
        if not marks:
            raise Error("name at least one header", code="usage", field="headers")
        if self._changed is None:
            raise closed()
        future = self._pending.get(marks)
        if future is None:
            future = self._future()
            self._await(marks, future)
        self._changed.set()
        self._waiters[marks] = self._waiters.get(marks, 0) + 1
        try:
            return await asyncio.shield(future)
        finally:
            self._waiters[marks] -= 1
            if not self._waiters[marks]:
                del self._waiters[marks]
                self._pending.pop(marks, None)
                await self._make_room()

    async def map(
        self, problems: Iterable[str | Asked], *, ahead: int = 64, **way: Any
    ) -> AsyncIterator[Answer]:
        """Answers to many problems, in their order; at most so many are under way before the next is given out."""
        at_least_one("ahead", ahead)
        of_type("problems", problems, Iterable)
        handles: deque[Handle] = deque()
        # Taken one by one as places become free, so that the problems may be an endless generator.
        for each in problems:
            asked = each if isinstance(each, Asked) else Asked.of(each)
            handle = await self.submit(asked.problem, id=asked.id, answer=asked.answer, **way)
            handles.append(handle)
            if len(handles) >= ahead:
                yield await handles.popleft().answer()
        for handle in handles:
            yield await handle.answer()

    def posted(self) -> None:
        """A problem was put on the log; who works in this process may be told."""

    # -- of one episode ----------------------------------------------------------------------------

    async def find(self, episode: str) -> Handle:
        """A handle to an episode that is on the log already. Raises an ``Error`` where there is none."""
        of_type("episode", episode, str)
        sayable("episode", episode)
        found = await self._in_thread(lambda: self._box.find(episode))
        handle = self._handle(there(found, episode))
        self.look()  # nobody looks at the log while nothing is awaited
        return handle

    async def memory_of(self, episode: str) -> str | None:
        """The name of the memory that an episode's problem was put under; none where there is no such episode."""
        found = await self._in_thread(lambda: self._box.find(episode))
        return None if found is None else found.memory

    async def records(self, episode: str, after: int = 0) -> list[Record]:
        """The records of an episode behind an offset."""
        return await self._in_thread(lambda: self._box.records(episode, after))

    async def explain(self, episode: str) -> dict[str, Any]:
        """How an episode came to its answer: each step, what it cost, which lessons it was given.

        Raises an ``Error`` where there is none that a worker has admitted.
        """
        return there(await self._in_thread(lambda: self._box.explained(episode)), episode)

    async def page(self, episode: str) -> str:
        """The same as a page of text. Raises an ``Error`` where there is none that a worker has admitted."""
        return there(await self._in_thread(lambda: self._box.page(episode)), episode)

    async def lessons(
        self, query: str, *, memory: str | None = None, top: int = 5
    ) -> list[FoundLesson]:
        """Lessons in force that are most like a question, with what became of those who were given them.

        ``memory`` is the client's own unless it is named.
        """
        name = self.way.memory if memory is None else memory
        return await nearest(query, await self._in_thread(lambda: self._box.lessons(name)), top)

    async def feedback(
        self,
        episode: str,
        *,
        verdict: bool | None = None,
        score: float | None = None,
        reference: ReferenceAnswer = None,
        passed: bool = False,
        by: str = "client",
    ) -> None:
        """Say what an answer was worth, or that who looked at it cannot judge it (``passed``).

        Raises an ``Error`` where not just one of the four is given.
        """
        word: dict[str, Any] = {"verdict": verdict, "score": score, "reference": reference}
        sayable("reference", reference)
        try:
            said = Feedback(episode=episode, passed=True if passed else None, by=by, **word)
        except ValidationError as error:
            field, what = first_fault(error)
            # Without a field it is about how many were given.
            what = what if field else "give one of reference, verdict, score, passed"
            raise Error(what, code="input.field", field=field or "feedback") from error
        await self._in_thread(lambda: self._box.judge(said))

    async def reviews(
        self,
        *,
        below: float = USUAL.confidence,
        votes: float = USUAL.votes,
        memory: str | None = None,
        limit: int = 50,
    ) -> list[Item]:
        """Answers that wait for a person, the newest first, and why; ``feedback`` takes one off.

        ``below`` is the confidence under which an answer is unsure, ``votes`` the share that a vote's winner has to
        exceed, both in [0, 1]; ``memory`` keeps those whose problems name it. Raises an ``Error`` for other numbers.
        """
        try:
            wanted = Thresholds(confidence=below, votes=votes)
        except ValueError as error:
            raise Error(str(error), code="input.field", field="reviews") from error
        return await self._in_thread(lambda: self._box.reviews(wanted, memory, limit))

    async def cancel(
        self, episode: str, *, by: str | None = "client", reason: str | None = None
    ) -> None:
        """Take an episode out that has not ended; ``by`` and ``reason`` stand on the record.

        Raises an ``Error`` where it is over, where nobody knows it or has admitted it yet, and where it is worked
        on in one set with others.
        """
        of_type("by", by, str, type(None))
        of_type("reason", reason, str, type(None))
        sayable("by", by)
        sayable("reason", reason)
        if reason is not None and not 0 < len(reason) <= REASON_CHARS:
            what = f"must have 1 to {REASON_CHARS:,} characters"
            raise Error(what, code="input.field", field="reason")
        # Told at once: by the log we would hear of it at the next look, as everybody else does.
        await self._in_thread(lambda: self._box.cancel(episode, by, reason))
        self._end(episode, cancelled(episode))

    # -- hearing -----------------------------------------------------------------------------------

    def look(self) -> None:
        """Look at the log at once."""
        if self._changed is not None:
            self._changed.set()

    async def _look(self) -> None:
        """Look for news while anything is awaited. What goes wrong is what those who wait are told."""
        assert self._changed is not None
        away = False
        while True:
            # While nothing is awaited the log is left alone: an idle client costs nobody a query.
            if not self._pending:
                await self._changed.wait()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), LOOK_S)
            self._changed.clear()
            try:
                look = partial(self._box.news, tuple(self._pending))
                await self._tell(await self._in_thread(look, anyway=True))
                away = False
            except Exception as found:
                # Nobody would look any more after a defect of ours, and who waits would for ever.
                ours = Error(f"{type(found).__name__}: {found}", code="client.defect")
                error = found if isinstance(found, Error) else ours
                # A log that is damaged or gone does not come back. One that is only busy does: said once.
                if error.code not in AWAY:
                    self.give_up(error)
                    await self._make_room()
                elif not away:
                    _log.warning("%s; answers are waited for until it is back", error)
                away = error.code in AWAY
                await asyncio.sleep(AGAIN_S)

    async def _tell(self, news: News) -> None:
        for awaited, answer in news.answers.items():
            self._end(awaited, answer)
        for awaited, why in news.parked.items():
            self._end(awaited, parked(told_of(awaited), why))
        for awaited in news.cancelled:
            self._end(awaited, cancelled(told_of(awaited)))
        for awaited, why in news.refused.items():
            self._end(awaited, Error(why, code="input.refused", where=told_of(awaited)))
        await self._make_room()

    async def _make_room(self) -> None:
        """Let those go on who wait to submit because so much is awaited."""
        assert self._room is not None
        async with self._room:
            self._room.notify_all()

    def _end(self, awaited: Awaited, outcome: Answer | Error) -> None:
        self._submitted.discard(awaited)
        future = self._pending.pop(awaited, None)
        if future is None or future.done():
            return
        if isinstance(outcome, Error):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)

    def give_up(self, error: Error) -> None:
        """Tell all who wait that there will be no answer."""
        for awaited in tuple(self._pending):
            self._end(awaited, error)
