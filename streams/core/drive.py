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

Workers, ``verify``, ``fork`` and learning episodes all run policies through this one function.

Source: design/architecture.md#the-kernel.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol, TypeVar, cast

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
    in_turn: bool = False
    """Whether lanes go one after another although a world answers: one that never waits."""
    visited: set[str] = field(default_factory=set[str])
    restated: int = 0
    unkept: Exception | None = None
    """The error with which the log refused a commit. It is no defect of the policy, though it passes through it."""
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
        self.journal[address] = event
        self.tally.take(address, event)

    def unkept_at(self, address: str, error: TooLarge) -> Unkept:
        """Remember that the log would not take a record."""
        found = self.refused[address] = Unkept(error.kind, address, error.size, error.room)
        return found

    def missing(self, address: str, event: Event | None = None) -> Exception:
        """Return why nothing is recorded at an address of a closed run: its log refused it, or it ends there."""
        refused = self.refused.get(address)
        if refused is not None and event is not None and refused.again(address, event):
            return refused
        return Exhausted(self.episode, address)


async def drive(steps: Steps[R], run: Run, ledger: Ledger, at: str = "") -> R:
    """Run a policy to its result. ``at`` is the address prefix of its lane."""
    reply: Any = None
    stopped: OutOfLimit | None = None
    turn = 0
    while True:
        try:
            request = steps.send(reply) if stopped is None else steps.throw(stopped)
        except StopIteration as done:
            return cast("R", done.value)
        here = f"{at}{turn}"
        turn += 1
        reply = stopped = None
        if isinstance(request, Ask):
            try:
                reply = await _ask(run, here, request, ledger)
            except OutOfLimit as limit:
                stopped = limit
        elif isinstance(request, All):
            reply = await _fork(run, here, request, ledger)
        elif isinstance(request, Event):
            _state(run, here, request)
        else:
            raise TypeError(f"a policy may only ask, state or fork; it yielded {request!r}")


def _state(run: Run, here: str, fact: Event) -> None:
    recorded = run.journal.get(here)
    if recorded is None:
        run.state(here, fact)
        return
    run.visited.add(here)
    run.restated += not isinstance(fact, AnswerEvent)
    fact = as_recorded(recorded, fact)
    if recorded != fact and not same(recorded, fact):
        raise Diverged(run.episode, here, *difference(recorded, fact))


async def _ask(run: Run, here: str, question: Ask[Any], ledger: Ledger) -> Any:
    if isinstance(question, Remain):
        return ledger.remaining()
    asked = question.fingerprint()
    reserved = _reserve(question, ledger) if ledger.bounded else UNBOUNDED
    if isinstance(question, Review):
        _pose(run, here, question)
    answer = run.journal.get(here)
    if answer is None:
        answer = await _answer(run, here, question, asked, reserved)
    else:
        _meet(run, here, question, asked, answer, reserved)
    if isinstance(answer, Completed):
        if ledger.bounded:
            _settle(ledger, reserved, answer)
        else:
            ledger.spent_calls += 1
            ledger.spent_seconds += answer.seconds or 0.0
    elif isinstance(answer, LimitReached):
        raise OutOfLimit(answer.which)
    elif isinstance(answer, QuestionAbandoned):
        raise Unanswered(answer.reason)
    elif isinstance(question, Embed):
        run.tally.texts[here] = question.texts
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
    if not isinstance(recorded, AnswerEvent) or recorded.asked != asked:
        _diverged(run, here, question, asked, recorded)
    heard = isinstance(recorded, ReviewAnswered) and recorded.result != "nobody"
    if heard and here not in run.put and run.episode.startswith("p/"):
        raise Diverged(run.episode, f"{ASKED}{here}", "review.asked", "nothing", "a question")
    if isinstance(reserved, str) and run.within and isinstance(recorded, Completed):
        raise Diverged(run.episode, here, "limit", f"limit of {reserved} kept", "not kept")


def _settle(ledger: Ledger, reserved: Reservation | Which, answer: Completed) -> None:
    if isinstance(reserved, str):
        reserved = UNBOUNDED
    ledger.settle(reserved, answer.tokens, answer.cost, answer.seconds, answer.attempts)


def _reserve(question: Ask[Any], ledger: Ledger) -> Reservation | Which:
    if not isinstance(question, Complete):
        return UNBOUNDED
    messages = question.messages()
    estimate = prompt_estimate(sum(len(text) for _, text in messages), len(messages))
    price = None if ledger.cost is None else ledger.price(question.role)
    return ledger.reserve(estimate, question.sampling.max_tokens, price, question.keeps)


async def _answer(
    run: Run, here: str, question: Ask[Any], asked: str, reserved: Reservation | Which
) -> AnswerEvent:
    """Ask the world, and record its answer before anyone acts on it."""
    world, recorder = run.world, run.recorder
    template = question.template if isinstance(question, Complete) else None
    if world is None or recorder is None:
        raise run.missing(here, None if template is None else TextKept(text=template.text))
    answer: AnswerEvent
    if isinstance(reserved, str):
        answer = LimitReached(asked=asked, which=reserved)
    else:
        if template is not None:
            _keep_text(run, here, template.digest, template.text)
        try:
            answer = await world.answer(run, question, asked, here, reserved)
        except Waiting:
            _put(run, here, question)
            await recorder.commit()
            raise
        if isinstance(answer, ReviewAnswered) and answer.result != "nobody":
            _put(run, here, question)  # he answered before anybody looked
    answer = _recorded(run, here, answer)
    try:
        await recorder.commit()
    except Exception as error:
        run.unkept = error
        raise
    return answer


def _put(run: Run, here: str, question: Ask[Any]) -> None:
    """Record that a question was put to a person: whoever works on the episode later finds it there."""
    if isinstance(question, Review) and run.recorder is not None and here not in run.put:
        event = run.put[here] = _put_as(question, here)
        run.recorder.state(run.topic, run.episode, f"{ASKED}{here}", event)


def _put_as(question: Review, here: str) -> ReviewAsked:
    asked = ReviewAsked(address=here, question=question.question, proposed=question.proposed)
    return as_written(asked)


def _pose(run: Run, here: str, question: Review) -> None:
    """Note that a person is asked here. Raises ``Diverged`` where something else was put to him."""
    run.posed.add(here)
    recorded, now = run.put.get(here), _put_as(question, here)
    if recorded is not None and recorded != now:
        raise Diverged(run.episode, f"{ASKED}{here}", *difference(recorded, now))


def _keep_text(run: Run, here: str, digest: str, text: str) -> None:
    assert run.recorder is not None
    try:
        run.recorder.keep(digest, text)
    except TooLarge as error:
        raise run.unkept_at(here, error) from None


def _recorded(run: Run, here: str, answer: AnswerEvent) -> AnswerEvent:
    """Record an answer. Of one that is too large for its log, record as much as fits, since it was paid for."""
    said = run.keep if isinstance(answer, Completed) else run.state
    try:
        said(here, answer)
    except Unkept as unkept:
        del run.refused[here]
        answer = shortened(answer, unkept)
        run.state(here, answer)
    return answer


def _diverged(run: Run, here: str, question: Ask[Any], asked: str, recorded: Event) -> NoReturn:
    if not isinstance(recorded, AnswerEvent):
        raise Diverged(run.episode, here, "kind of record", recorded.kind, type(question).__name__)
    before, now = recorded.asked.split(" "), asked.split(" ")
    if before[0] != now[0] or len(before) != len(now):
        raise Diverged(run.episode, here, "question", recorded.asked, asked)
    for (name, _), old, new in zip(question.parts(), before[1:], now[1:], strict=True):
        if old != new:
            raise Diverged(run.episode, here, name, old, new, question)
    raise AssertionError("fingerprints differ, so a part of them must")


async def _fork(run: Run, here: str, fork: All[Any], ledger: Ledger) -> tuple[Any, ...]:
    lanes = len(fork.branches)
    event = Forked(asked=f"All {lanes}", lanes=lanes, allow=fork.allow, twins=fork.twins or None)
    _state(run, here, event)
    ledgers = ledger.split(lanes, fork.allow) if lanes else []
    work = [
        _lane(branch, run, share, f"{here}.{lane}.")
        for lane, (branch, share) in enumerate(zip(fork.branches, ledgers, strict=True))
    ]
    results = await (_in_turn(work) if run.in_turn or run.world is None else _together(work))
    left = [result.error for result in results if isinstance(result, Left)]
    if left:
        raise min(left, key=lambda error: isinstance(error, Paused))
    ledger.join(ledgers)
    return tuple(results)


async def _lane(branch: Steps[R], run: Run, ledger: Ledger, at: str) -> R | Stopped | Left:
    try:
        return await drive(branch, run, ledger, at)
    except OutOfLimit as limit:
        return Stopped(limit.which)
    except (BackboneError, Paused, Unkept) as error:
        return Left(error)  # no defect: what its siblings have in flight is still recorded


async def _in_turn(work: Sequence[Awaitable[Any]]) -> list[Any]:
    """Every lane to its end or to the end of its record: a sibling's defect may have stopped it there."""
    results: list[Any] = []
    errors: list[Exception] = []
    for lane in work:
        try:
            results.append(await lane)
        except Exception as error:
            errors.append(error)
    if errors:
        # Of several lanes whose log took no more, the closing names the first; the others just end.
        unkept = [each.error for each in results if isinstance(each, Left)]
        raise min([*unkept, *errors], key=_rank)
    return results


def _rank(error: Exception) -> int:
    """Order errors by what a replay looks for: records that do not fit, then defects, then records that end early."""
    return 0 if isinstance(error, Diverged) else 2 if isinstance(error, Exhausted) else 1


async def _together(work: Sequence[Any]) -> list[Any]:
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(lane) for lane in work]
    except BaseExceptionGroup as several:
        raise first_of(several) from several
    return [task.result() for task in tasks]


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
    coroutine.close()
    raise RuntimeError("a closed world never waits")
