"""The driver runs a policy over its record first and the world second.

Theory of operation. A policy is a generator that yields questions, facts and forks; ``drive`` sends each
to where it belongs and sends back what came of it. Every request has an address that follows from its
place in the run, and every record is kept under that address.

- A question that is recorded at its address is never asked again: the recorded answer is sent back.
- A question whose fingerprint differs from the recorded one raises ``Diverged`` and names the part that
  changed. Going on would mix two programs in one record.
- A question that is not recorded goes to the world. Its answer is recorded and committed *before* the
  policy sees it, so no decision ever rests on something that a crash could take away.
- Without a world nothing is asked: the run raises ``Exhausted`` where its record ends.
- Facts are recorded without waiting; they ride in the commit of the next answer, and a resumed policy
  states a lost one again at the same address.
- A fork gives each lane its own ledger and its own part of the addresses, so that no outcome depends on
  which lane was faster.

Workers, ``verify``, ``fork`` and learning episodes all run policies through this one function. That is what
makes a replay worth something: it cannot take another path than the run that it checks.

How a request travels. ``drive`` steps the generator and counts its requests, which gives each its address.
``_ask`` reserves on the ledger, then takes the answer from the journal (``_meet`` compares the question first) or
from the world (``_answer`` records it first), settles, and hands on what ``reply_to`` makes of the recorded form.
``_fork`` calls ``drive`` again for each lane, with a ledger and a prefix of addresses of its own.

Three kinds of exceptions leave a run, and no handler may mix them up. ``OutOfLimit`` and ``Unanswered`` are
answers: they are recorded, and raised inside the policy on every replay too. ``Diverged`` and ``Exhausted`` say
that record and policy do not fit. A broken set-up, a pause and a log that fails say nothing about the problem:
the policy never hears of them, and its episode stays open.

Source: design/architecture.md#the-kernel.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, cast

from typing_extensions import TypeIs

from handlers.limits import UNBOUNDED, Ledger, Reservation, Which, prompt_estimate
from schemas.asking import All, Ask, Diverged, Exhausted, OutOfLimit, Steps, Stopped, Unanswered
from schemas.events.base import AnswerEvent, Event
from schemas.events.codec import as_written
from schemas.events.episode import (
    Completed,
    Forked,
    LimitReached,
    QuestionAbandoned,
    ReviewAnswered,
    ReviewAsked,
    TextKept,
)
from schemas.identity import ASKED
from schemas.memory import Memory
from schemas.questions import Complete, Embed, Remain, Review
from state.journal import Recorder, TooLarge
from streams.core.backbone import BackboneError
from streams.core.compare import as_recorded, difference, same
from streams.core.replies import reply_to
from streams.core.totals import EpisodeTotals
from streams.core.unkept import Unkept, shortened

R = TypeVar("R")


class World(Protocol):
    """Answers questions. What it returns is recorded before anyone acts on it."""

    async def answer(
        self, run: Run, question: Ask[Any], asked: str, address: str, reserved: Reservation
    ) -> AnswerEvent:
        """The answer as an event at ``address``."""
        ...


class Paused(Exception):
    """The work stops for now and continues later. This is no defect, and it says nothing about the problem."""


class Waiting(Paused):
    """A question waits for a person: its episode stays open, and goes on once he has answered."""


@dataclass(frozen=True, slots=True)
class Left:
    """A lane that stopped, for now or where its log took no more, and why."""

    error: Exception


@dataclass(slots=True)
class Run:
    """One episode being worked on: its record so far, and where its questions and facts go.

    Without a ``world`` the run is closed: it only replays. ``visited`` counts recorded addresses that
    were met again.
    """

    # The journal is changed in place, and only by ``keep``, so that the sums
    # beside it always fit it.

    episode: str
    journal: dict[str, Event]
    seed: int
    memory: Memory
    topic: str = "events"
    recorder: Recorder | None = None
    world: World | None = None
    embedder: str | None = None
    """The embedder whose vectors this run is given; ``None`` means that of its memory."""
    seeded: bool = False
    """Whether somebody chose the seed, so that endpoints are told it."""
    in_text: bool = False
    """Whether replies are asked for in text alone, as in the papers, and no schema goes along."""
    backbone: str | None = None
    """Which of the backbones that are offered answers, in place of the worker's own."""
    in_turn: bool = False
    """Whether lanes go one after another although a world answers: one that never waits."""
    visited: set[str] = field(default_factory=set[str])
    restated: int = 0
    unkept: Exception | None = None
    """The error with which the log refused a commit: no defect of the policy, though it surfaces where those do."""
    refused: dict[str, Unkept] = field(default_factory=dict[str, Unkept])
    """Records that the log refused, by address."""
    put: dict[str, ReviewAsked] = field(default_factory=dict[str, ReviewAsked])
    """Questions that were put to people before, by address."""
    posed: set[str] = field(default_factory=set[str])
    """Addresses at which the policy asks a person."""
    tally: EpisodeTotals = field(init=False)
    """Sums over the record so far."""

    def __post_init__(self) -> None:
        self.tally = EpisodeTotals.of(self.journal)

    @property
    def waits(self) -> set[str]:
        """Addresses whose question to a person is not answered."""
        return self.posed - self.journal.keys()

    @property
    def within(self) -> bool:
        """Whether the record must keep its limits: a probe's prefix was made under its parent's."""
        return self.world is None and not self.episode.startswith("q/")

    def state(self, address: str, event: Event) -> None:
        """Record an event without waiting, in the form in which readers will find it."""
        self.keep(address, as_written(event))

    def keep(self, address: str, event: Event) -> None:
        """Record without waiting an event that is known to be readable: the world normalises replies."""
        if self.recorder is None:
            raise self.missing(address, event)
        try:
            self.recorder.state(self.topic, self.episode, address, event)
        except TooLarge as error:
            raise self.unkept_at(address, error) from None
        # Only now: a record that the log refused must not be met as if it were there.
        self.journal[address] = event
        self.tally.take(address, event)

    def unkept_at(self, address: str, error: TooLarge) -> Unkept:
        """Remember that the log would not take a record."""
        found = self.refused[address] = Unkept(error.kind, address, error.size, error.room)
        return found

    def missing(self, address: str, event: Event | None = None) -> Exception:
        """Return why nothing is recorded at an address of a closed run: its log refused it, or it ends there."""
        refused = self.refused.get(address)
        # The size decides whether this is the refused record again. A policy that derives a smaller
        # one now is another program, and its record merely ends here.
        if refused is not None and event is not None and refused.again(address, event):
            return refused
        return Exhausted(self.episode, address)


async def drive(steps: Steps[R], run: Run, ledger: Ledger, at: str = "") -> R:
    """Run a policy to its result. ``at`` is the address prefix of its lane."""
    reply: Any = None
    stopped: OutOfLimit | None = None
    turn = 0
    while True:
        # Everything that the policy does runs inside this one ``send`` or ``throw``. An exception
        # of its own thus leaves ``drive`` as it is, and can be told from those of the world,
        # which ``_ask`` raises.
        try:
            request = steps.send(reply) if stopped is None else steps.throw(stopped)
        except StopIteration as done:
            return cast("R", done.value)
        except SystemExit as left:
            # It would end the host with all its other episodes; as a defect it ends this one.
            said = RuntimeError(f"the policy called sys.exit({left.code!r})")
            raise said.with_traceback(left.__traceback__) from left
        # A request counts whether it is recorded or not, and whatever becomes of it. Only so do the
        # addresses of all later requests stay where they are when a policy is resumed.
        here = f"{at}{turn}"
        turn += 1
        reply = stopped = None
        if isinstance(request, Ask):
            try:
                reply = await _ask(run, here, request, ledger)
            except OutOfLimit as limit:
                # The policy may catch it and conclude with what it has; uncaught it
                # ends lane or episode.
                stopped = limit
        elif isinstance(request, All):
            reply = await _fork(run, here, request, ledger)
        elif isinstance(request, Event):
            _state(run, here, request)
        else:
            raise TypeError(f"a policy may only ask, state or fork; it yielded {request!r}")


def _state(run: Run, here: str, fact: Event) -> None:
    """Record a fact that is new, or compare it with the recorded one. Raises ``Diverged``."""
    recorded = run.journal.get(here)
    if recorded is None:
        run.state(here, fact)
        return
    run.visited.add(here)
    run.restated += not isinstance(fact, AnswerEvent)
    fact = as_recorded(recorded, fact)
    # Nearly all facts are equal as they stand; ``same`` turns both into plain values,
    # which takes far longer.
    if recorded != fact and not same(recorded, fact):
        raise Diverged(run.episode, here, *difference(recorded, fact))


async def _ask(run: Run, here: str, question: Ask[Any], ledger: Ledger) -> Any:
    """Answer a question from the record or else from the world, and settle what it took."""
    if isinstance(question, Remain):
        # What is left follows from the record, so there is nothing to record or to compare.
        return ledger.remaining()
    asked = question.fingerprint()
    reserved: Reservation | Which = UNBOUNDED
    if ledger.bounded and isinstance(question, Complete):
        # On a replay too: later reservations hang on this one, and so does where the limit strikes.
        messages = question.messages()
        estimate = prompt_estimate(sum(len(text) for _, text in messages), len(messages))
        price = None if ledger.cost is None else ledger.price(question.role)
        reserved = ledger.reserve(estimate, question.sampling.max_tokens, price, question.keeps)
    posed = _pose(run, here, question) if isinstance(question, Review) else None
    answer = run.journal.get(here)
    if answer is None:
        answer = await _answer(run, here, question, asked, reserved, posed)
    else:
        _meet(run, here, question, asked, answer, reserved)
    if isinstance(answer, Completed):
        # A reply can stand where nothing was covered: in a probe's prefix, made under its parent's
        # limits. Without a limit the time counts as well: it is the critical path, which the
        # closing states.
        covered = UNBOUNDED if isinstance(reserved, str) else reserved
        ledger.settle(covered, answer.tokens, answer.cost, answer.seconds, answer.attempts)
    elif isinstance(answer, LimitReached):
        raise OutOfLimit(answer.which)
    elif isinstance(answer, QuestionAbandoned):
        raise Unanswered(answer.reason)
    elif isinstance(question, Embed):
        # No record holds these texts, but the episode's reflection names them.
        run.tally.texts[here] = question.texts
    # From the recorded form, even if the world answered just now: live and replayed runs
    # must see the same.
    return reply_to(question, answer, here, run.memory)


def _meet(
    run: Run,
    here: str,
    question: Ask[Any],
    asked: str,
    recorded: Event,
    reserved: Reservation | Which,
) -> None:
    """A question is recorded at its address. Raises ``Diverged`` where it is another one."""
    run.visited.add(here)
    if not isinstance(recorded, AnswerEvent):
        raise Diverged(run.episode, here, "kind of record", recorded.kind, type(question).__name__)
    if recorded.asked != asked:
        before, now = recorded.asked.split(" "), asked.split(" ")
        if before[0] != now[0] or len(before) != len(now):
            raise Diverged(run.episode, here, "question", recorded.asked, asked)
        # Each part has a digest of its own, so that whoever edited a prompt reads
        # which part he changed.
        for (name, _), old, new in zip(question.parts(), before[1:], now[1:], strict=True):
            if old != new:
                raise Diverged(run.episode, here, name, old, new, question)
    # Nobody can answer what was never put to him. Sides and sets keep no such
    # record, only problems do.
    heard = isinstance(recorded, ReviewAnswered) and recorded.result != "nobody"
    if heard and here not in run.put and run.episode.startswith("p/"):
        raise Diverged(run.episode, f"{ASKED}{here}", "review.asked", "nothing", "a question")
    # A reply beyond the limit would mean that the record was made under another limit, or forged.
    if isinstance(reserved, str) and run.within and isinstance(recorded, Completed):
        raise Diverged(run.episode, here, "limit", f"limit of {reserved} kept", "not kept")


async def _answer(
    run: Run,
    here: str,
    question: Ask[Any],
    asked: str,
    reserved: Reservation | Which,
    posed: ReviewAsked | None,
) -> AnswerEvent:
    """Ask the world, and record its answer before anyone acts on it."""
    world, recorder = run.world, run.recorder
    template = question.template if isinstance(question, Complete) else None
    if world is None or recorder is None:
        raise run.missing(here, None if template is None else TextKept(text=template.text))
    answer: AnswerEvent
    if isinstance(reserved, str):
        # Recorded like any answer, so that the replay of a resumed episode stops at the same place.
        answer = LimitReached(asked=asked, which=reserved)
    else:
        if template is not None:
            # Before the call, which costs money: a template that the log refuses must end
            # the episode first.
            try:
                recorder.keep(template.digest, template.text)
            except TooLarge as error:
                raise run.unkept_at(here, error) from None
        try:
            answer = await world.answer(run, question, asked, here, reserved)
        except Waiting:
            # The episode sleeps now, perhaps for days. What it asks must be on disk
            # for a person to see.
            _put(run, here, posed)
            await recorder.commit()
            raise
        if posed is not None and isinstance(answer, ReviewAnswered) and answer.result != "nobody":
            _put(run, here, posed)  # he answered before anybody looked
    try:
        # The world has normalised a model's reply; other answers still have to be read back once.
        if isinstance(answer, Completed):
            run.keep(here, answer)
        else:
            run.state(here, answer)
    except Unkept as unkept:
        # It was paid for: as much of it is recorded as fits, and the episode goes on with that.
        del run.refused[here]
        answer = shortened(answer, unkept)
        run.state(here, answer)
    try:
        await recorder.commit()
    except Exception as error:
        # It may be of any kind. Without this note ``conclude`` would take it for a
        # defect of the policy.
        run.unkept = error
        raise
    return answer


def _pose(run: Run, here: str, question: Review) -> ReviewAsked:
    """The question as it is put to a person. Raises ``Diverged`` where something else was put to him."""
    asked = ReviewAsked(address=here, question=question.question, proposed=question.proposed)
    run.posed.add(here)
    before, now = run.put.get(here), as_written(asked)
    if before is not None and before != now:
        # A person may be looking at the other question this minute, and his answer would land here.
        raise Diverged(run.episode, f"{ASKED}{here}", *difference(before, now))
    return now


def _put(run: Run, here: str, posed: ReviewAsked | None) -> None:
    """Record that a question was put to a person: whoever works on the episode later finds it there."""
    if posed is not None and run.recorder is not None and here not in run.put:
        run.put[here] = posed
        run.recorder.state(run.topic, run.episode, f"{ASKED}{here}", posed)


async def _fork(run: Run, here: str, fork: All[Any], ledger: Ledger) -> tuple[Any, ...]:
    """Run the lanes of a fork to their ends. The policy goes on only when all of them are there."""
    lanes = len(fork.branches)
    event = Forked(asked=f"All {lanes}", lanes=lanes, allow=fork.allow, twins=fork.twins or None)
    _state(run, here, event)
    # Shares are fixed before any lane runs. With one purse for all, timing would decide
    # who may still ask.
    ledgers = ledger.split(lanes, fork.allow) if lanes else []
    work = [
        _lane(branch, run, share, f"{here}.{lane}.")
        for lane, (branch, share) in enumerate(zip(fork.branches, ledgers, strict=True))
    ]
    if run.in_turn or run.world is None:
        results = await _in_turn(work)
    else:
        # A defect in one lane cancels its siblings: the episode fails anyway, and
        # their calls cost money.
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(lane) for lane in work]
        except BaseExceptionGroup as several:
            raise first_of(several) from several
        results = [task.result() for task in tasks]
    left = [result.error for result in results if isinstance(result, Left)]
    if left:
        # What stops the worker goes before what lets this one episode wait: a pause can
        # be taken up again.
        raise min(left, key=lambda error: isinstance(error, Paused))
    ledger.join(ledgers)
    return tuple(results)


async def _lane(branch: Steps[R], run: Run, ledger: Ledger, at: str) -> R | Stopped | Left:
    try:
        return await drive(branch, run, ledger, at)
    except OutOfLimit as limit:
        return Stopped(limit.which)
    except (BackboneError, Paused, Unkept) as error:
        # It is no defect, so it must not cancel the siblings: what they have in flight is paid for,
        # and is still recorded. The fork raises it once they are through.
        return Left(error)


async def _in_turn(work: Sequence[Awaitable[Any]]) -> list[Any]:
    """Every lane to its end or to the end of its record: a sibling's defect may have stopped it there."""
    # An error does not stop the others here. Live, timing chose which lane struck first; a replay
    # has to see all of them before it can say which one the record tells of.
    results: list[Any] = []
    errors: list[Exception] = []
    for lane in work:
        try:
            results.append(await lane)
        except Exception as error:
            errors.append(error)
    if errors:
        # Of several lanes whose log took no more, the closing names the first; the others just end.
        found = [*(each.error for each in results if isinstance(each, Left)), *errors]
        # A record that does not fit comes first, since no other error says anything then. One that
        # ends early comes last: its lane was cancelled when the defect of another struck.
        raise min(found, key=lambda e: (not isinstance(e, Diverged), isinstance(e, Exhausted)))
    return results


def first_of(several: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first plain exception in a group, however deep."""
    first: BaseException = several.exceptions[0]
    return first_of(first) if is_group(first) else first


def is_group(error: BaseException | None) -> TypeIs[BaseExceptionGroup[BaseException]]:
    """Whether several exceptions come as one."""
    return isinstance(error, BaseExceptionGroup)


def replayed(coroutine: Any) -> Any:
    """Run a coroutine that never waits, as in a closed world, without an event loop."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    # Closed first, or Python would warn of a coroutine that was never awaited in
    # place of this error.
    coroutine.close()
    raise RuntimeError("a closed world never waits")
