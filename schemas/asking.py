"""How a policy speaks: it asks questions, states facts and opens parallel branches; it never acts.

A policy is a generator of these three. A driver answers each question from the record first and from
the world second, so the same generator serves live runs, resumption after a crash, and audit.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, cast

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Ask(Generic[R_co]):
    """A question for the outside world, answered with an ``R_co``. Subclasses are frozen dataclasses or structs."""

    __slots__ = ()

    # A question is iterable, so that a policy writes ``answer = yield from question`` and a type
    # checker knows the answer's type.
    def __iter__(self) -> Generator[Ask[Any], Any, R_co]:
        answer: R_co = yield self
        return answer

    def parts(self) -> Sequence[tuple[str, str]]:
        """Names and digests of what the question is made of, in a fixed order."""
        raise NotImplementedError(f"{type(self).__name__} must name its parts")

    # Questions that are recorded with many variables make their own; the digests of parts must
    # come in the same order in both.
    def fingerprint(self) -> str:
        """The question in one line; equal exactly if every part is equal."""
        return " ".join((type(self).__name__, *(digest for _, digest in self.parts())))


class Fact(Protocol):
    """Something that the policy decided: one of the events that ``schemas.events.union.FACTS`` lists."""

    @property
    def kind(self) -> str:
        """The event's type."""
        ...


@dataclass(frozen=True, slots=True)
class Stopped:
    """What a lane returns when its own limit or allowance ran out and it had caught nothing."""

    which: str


class All(Generic[R]):
    """Several branches at once; their results come back in the order given.

    ``allow`` gives each lane its share of the remaining calls and tokens; left out, they are split
    equally with the remainder in lane order. What a lane leaves over returns at the join. ``twins``
    share their luck: at equal places in their lanes they are answered under equal seeds.
    """

    __slots__ = ("allow", "branches", "twins")

    def __init__(
        self,
        branches: Iterable[Steps[R] | Ask[R]],
        allow: Sequence[int] | None = None,
        *,
        twins: bool = False,
    ) -> None:
        # A lone question is a branch of one step.
        self.branches: tuple[Steps[R], ...] = tuple(
            iter(branch) if isinstance(branch, Ask) else branch for branch in branches
        )
        self.allow = None if allow is None else tuple(allow)
        self.twins = twins

    def __iter__(self) -> Generator[All[R], Any, tuple[R | Stopped, ...]]:
        results: tuple[R | Stopped, ...] = yield self
        return results


Steps: TypeAlias = Generator[Ask[Any] | All[Any] | Fact, Any, R]
"""What a policy is: a generator that yields questions, facts and parallel branches, and returns an ``R``."""


# It is no ``ReplayError``: a policy may catch it and return the best answer so far, live and on
# replay alike.
class OutOfLimit(Exception):
    """Raised inside the policy where a question was not asked because a limit does not cover it."""

    def __init__(self, which: str) -> None:
        super().__init__(which)
        self.which = which


class Unanswered(OutOfLimit):
    """Raised inside a learner where a question was given up: its endpoint never answered it."""

    def __init__(self, reason: str) -> None:
        super().__init__("patience")
        self.reason = reason


def passing(
    steps: Steps[R],
    put: Callable[[Any], Any] | None = None,
    got: Callable[[Any, Any], Any] | None = None,
) -> Steps[R]:
    """The same steps with others' hands on them: what ``put`` makes of a request is yielded in its place.

    ``got`` is given a request and its reply, and what it makes of them is what the steps get.
    """
    act: Callable[[Any], Any] = steps.send
    given: Any = None
    while True:
        try:
            request = act(given)
        except StopIteration as done:
            return cast("R", done.value)
        asked = request if put is None else put(request)
        try:
            reply = yield asked
        except OutOfLimit as limit:
            # The policy may catch it and give its best answer, so it is raised where it asked.
            act, given = steps.throw, limit
        else:
            act, given = steps.send, reply if got is None else got(request, reply)


# These are never caught by policies. A record that does not fit is told to a person, and never
# papered over by asking again.
class ReplayError(Exception):
    """The record and the policy do not fit together."""


class Diverged(ReplayError):
    """The policy asked or stated something else than the record holds at this address.

    ``part`` names what changed, ``recorded`` and ``now`` are both sides (digests, for the parts of a
    question), ``question`` is what is asked now, if it is a question.
    """

    def __init__(
        self,
        episode: str,
        address: str,
        part: str,
        recorded: str,
        now: str,
        question: Ask[Any] | None = None,
    ) -> None:
        super().__init__(f"{episode} at {address}: {part} changed")
        self.episode, self.address, self.part = episode, address, part
        self.recorded, self.now, self.question = recorded, now, question


class Exhausted(ReplayError):
    """A replay ran past the end of the record; it never falls through to a live call."""

    def __init__(self, episode: str, address: str) -> None:
        super().__init__(f"{episode} at {address}: the record ends here")
        self.episode, self.address = episode, address
