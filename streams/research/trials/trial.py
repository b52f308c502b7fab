"""Trial runs of a policy in a simulated world: recorded in memory, crashed, resumed, replayed."""

# A trial drives a policy exactly as a worker does, over a record that lies in memory. `fresh` runs
# it through, `crashed` stops it after so many records, `resumed` goes on from there, and `closed`
# derives it from the record alone, without a world that could answer. What is wrong with a policy
# is raised as `Broken`, with the case and the address: whoever writes one sees where to look.

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from handlers.limits import Ledger
from handlers.policies.base import Conclusion, Policy, Task
from schemas.asking import All, Ask, OutOfLimit, Steps, passing
from schemas.events.base import AnswerEvent, Event
from schemas.identity import address_order, seed_of
from schemas.memory import Memory
from schemas.problem import Limits, Profile
from schemas.settings import PolicySettings
from state.journal import Crashed, MemoryRecorder
from streams.answering.backbones.rehearsal import Options, Rehearsal
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.core.defects import describe
from streams.core.drive import Run, drive, replayed

R = TypeVar("R")

EPISODE = "check"
MOST_RECORDS = 5_000
"""More than this in one episode counts as never ending."""
PROBLEMS = (
    "4 5 6 10",
    "Ada has 3 boxes of 12 eggs and drops 5 eggs. How many eggs are whole?",
    "Name two primes p < q with p·q = 91. Give p+q.\n(Ünïcode, “quotes” and \\n stay as they are.)",
)
MANNERS = {"usual": Options(), "rough": Options(malformed=0.4, truncated=0.1, empty=0.1)}
"""How the simulated model replies: mostly as asked, or often unreadable, cut or empty."""


@dataclass(frozen=True, slots=True)
class Case:
    """One situation that a policy is tried in."""

    problem: str
    manner: str = "usual"
    profile: Profile = "service"
    memory: Memory = field(default_factory=lambda: Memory("check", 0))
    calls: int | None = None

    @property
    def name(self) -> str:
        """The name that tells it apart, for people."""
        calls = "" if self.calls is None else f", {self.calls} calls"
        return f"{self.problem[:20]!r}, {self.manner} replies, profile {self.profile}{calls}"

    def task(self) -> Task:
        """The task that the policy is given."""
        seed = seed_of("check", self.problem, self.manner)
        return Task("check-1", self.problem, "default", seed, self.memory.number)

    def world(self) -> World:
        """The simulator as this case wants it."""
        return World({"*": Rehearsal(MANNERS[self.manner])}, HashedEmbedder(), patient=False)


CASES = tuple(
    Case(problem, manner, profile)
    for problem in PROBLEMS
    for manner in MANNERS
    for profile in ("service", "paper")
)


class Broken(Exception):
    """A policy broke its contract: in which case, and at which address where that is known."""

    def __init__(self, case: Case, detail: str, address: str | None = None) -> None:
        super().__init__(detail)
        self.case, self.detail, self.address = case, detail, address


class Endless(Exception):
    """An episode that never ends. ``address`` is where it was stopped."""

    def __init__(self, address: str) -> None:
        super().__init__(f"still goes on after {MOST_RECORDS} records")
        self.address = address


class Bounded(MemoryRecorder):
    """A log in memory that stops an episode which never ends."""

    def state(self, topic: str, episode: str, address: str, event: Event) -> None:
        """Keep the record. Raises ``Endless``."""
        # Looked at with each record, for an episode that goes on for ever leaves one after another.
        if len(self.records) >= MOST_RECORDS:
            raise Endless(address)
        super().state(topic, episode, address, event)


@dataclass(slots=True)
class Trial:
    """The result of a run: its record and its conclusion."""

    case: Case
    journal: dict[str, Event]
    conclusion: Conclusion

    @property
    def addresses(self) -> list[str]:
        """The recorded addresses in order."""
        return sorted(self.journal, key=address_order)


def settings_of(policy: Policy[Any], case: Case) -> PolicySettings:
    """The policy's settings in a case."""
    settings: PolicySettings = policy.settings.resolve(case.profile, {})
    return settings


async def fresh(policy: Policy[Any], case: Case) -> Trial:
    """A run from the start to its end. Raises ``Broken``."""
    return await resumed(policy, case, {})


async def resumed(policy: Policy[Any], case: Case, journal: dict[str, Event]) -> Trial:
    """A run that goes on from a record. Raises ``Broken``."""
    run = _run(case, dict(journal), Bounded())
    return Trial(case, run.journal, await _solved(policy, case, run))


async def crashed(policy: Policy[Any], case: Case, after: int) -> dict[str, Event]:
    """Return the log as it is if it stops after so many records."""
    recorder = Bounded(stop_after=after)
    with suppress(Crashed):
        await _solved(policy, case, _run(case, {}, recorder))
    return recorder.journal(EPISODE)


def closed(policy: Policy[Any], trial: Trial) -> tuple[Conclusion, set[str]]:
    """A run over the record alone; its conclusion, and the addresses that it met."""
    case = trial.case
    run = Run(EPISODE, dict(trial.journal), case.task().seed, case.memory)
    return replayed(_solved(policy, case, run)), run.visited


def _run(case: Case, journal: dict[str, Event], recorder: MemoryRecorder) -> Run:
    task, world = case.task(), case.world()
    return Run(EPISODE, journal, task.seed, case.memory, recorder=recorder, world=world)


async def _solved(policy: Policy[Any], case: Case, run: Run) -> Conclusion:
    def begin() -> Steps[Conclusion]:
        return policy.solve(case.task(), settings_of(policy, case))

    try:
        return await steered(begin, case, run, Ledger.of(Limits(calls=case.calls)))
    except OutOfLimit as limit:
        return Conclusion(answer=None, ended_by="limit", limit=limit.which)


async def steered(begin: Callable[[], Steps[R]], case: Case, run: Run, ledger: Ledger) -> R:
    """Drive a policy; what goes wrong in it is ``Broken``, with the address where it did."""
    place = Place()
    try:
        return await drive(place.follow(begin()), run, ledger)
    # A limit is no fault of the policy: it is handed on to whoever set it.
    except OutOfLimit:
        raise
    except Exception as error:
        # Errors of the driver know better where they were;
        # all others came where the policy last yielded.
        address = getattr(error, "address", None) or place.address
        detail = str(error) if isinstance(error, (Endless, Foul)) else describe(error)
        raise Broken(case, detail, address) from error


class Foul(Exception):
    """Something was yielded that no policy may yield."""


@dataclass(slots=True)
class Place:
    """How far a policy came: the number of what it yielded last."""

    turn: int = -1

    @property
    def address(self) -> str | None:
        """The address of what was yielded last, if anything was."""
        return None if self.turn < 0 else str(self.turn)

    def follow(self, steps: object) -> Steps[Any]:
        """The same policy, counted. Raises ``Foul``."""
        if not isinstance(steps, Generator):
            raise Foul(f"is no generator: it gave a {type(steps).__name__} without any yield")

        def put(request: object) -> object:
            self.turn += 1
            if isinstance(request, AnswerEvent):
                name = type(request).__name__
                raise Foul(f"states a {name} itself; answers come from the world")
            if not isinstance(request, (Ask, All, Event)):
                shown = repr(request)[:60]
                raise Foul(
                    f"yields {shown}; a policy may only ask (Ask), state (an event) or fork (All)"
                )
            return cast("object", request)

        return passing(cast("Steps[Any]", steps), put)
