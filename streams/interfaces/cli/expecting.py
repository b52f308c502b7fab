"""Expectations of what work will take, said before the first call that is paid for.

Measured means of this log come first, then what a policy's own settings and limits allow; what neither
says is unknown, and said to be. Nothing is said where nobody is asked: of the simulator and of recordings.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from handlers.policies.base import learn_nothing
from schemas.problem import Problem
from schemas.settings import BadSetting
from streams.answering.backbones.prices import price_for
from streams.engine.episode import settings_of
from streams.engine.policies import NoPolicy, find
from streams.interfaces.cli.flags import FLAGS
from streams.interfaces.cli.output import say
from streams.runtime.embedded.queries import spending
from streams.views.words import kilo, plural

if TYPE_CHECKING:
    from handlers.policies.base import Policy
    from streams.answering.world import World
    from streams.runtime.embedded.log import SqliteLog

FREE = ("rehearsal", "recorded")
"""Kinds of backbones that ask nobody."""
SPAN = 50_000
"""Records at a log's end in which closed episodes are looked for."""
MOST = 20_000
"""Problems that are looked at one by one."""


@dataclass(frozen=True, slots=True)
class Each:
    """The expected effort for one problem: means of ``measured`` episodes, else calls at most; ``None`` is unknown."""

    measured: int = 0
    calls: float | None = None
    tokens: float | None = None
    cost: float | None = None
    most_calls: int | None = None
    most_tokens: int | None = None

    def told(self, problems: int) -> str:
        """For so many problems, in words."""
        if self.measured:
            each = f"{self.calls or 0:.1f} and {_tokens(self.tokens, 1)} each"
            said = f"about {_calls(self.calls or 0, problems)}, {_tokens(self.tokens, problems)}"
            means = f" ({each}, mean of {self.measured} closed on this log)"
            return said + means + _cost(self.cost, problems)
        calls = "calls unknown before the first has closed: --call-limit bounds them"
        if self.most_calls is not None:
            calls = f"at most {_calls(self.most_calls, problems)}"
        tokens = "tokens unknown before the first has closed"
        if self.most_tokens is not None:
            tokens = f"at most {_tokens(self.most_tokens, problems)}"
        return f"{calls}; {tokens}" + _cost(None, problems)


def _calls(each: float, problems: int) -> str:
    return plural(round(each * problems), "call")


def _tokens(each: float | None, problems: int) -> str:
    return "unknown tokens" if each is None else f"{kilo(round(each * problems))} tokens"


def _cost(each: float | None, problems: int) -> str:
    unknown = "; cost unknown: --prices FILE says what tokens cost"
    return unknown if each is None else f"; cost about {each * problems:.4g}"


def say_expected(world: World, log: SqliteLog | None, policy: str) -> None:
    """What the problems that wait on a log are expected to take; of one whose problems cannot be counted, each."""
    if not is_told(world):
        return
    waiting = [] if log is None else list(_waiting(log))
    for name, problem, count in waiting:
        _say(world, log, name or policy, problem, count)
    if not waiting:
        many = "what waits is not counted here" if log is None else "nothing waits yet"
        found = _found(policy)
        if found is not None:
            each = _each(world, log, found, _problem({}))
            say(f"expected: {many}; a problem for {found.name}: {each.told(1)}{_learning(found)}")


def say_expected_of_one(
    world: World, log: SqliteLog, policy: Policy[Any], problem: Problem
) -> None:
    """What one problem is expected to take."""
    if is_told(world):
        say(f"expected: {_each(world, log, policy, problem).told(1)}")


def is_told(world: World) -> bool:
    """Whether it is said: where a model is asked now, to a person (with ``--json`` standard error is for errors)."""
    if FLAGS.json or FLAGS.display == "none":
        return False
    kinds = {each.name.partition(":")[0].partition("(")[0] for each in world.backbones.values()}
    return not kinds <= set(FREE)


def _waiting(log: SqliteLog) -> Iterator[tuple[str | None, Problem, int]]:
    """Kinds of problems that wait: policy, a problem of its settings and limits, and how many."""
    import orjson

    for each in spending.waiting(log, MOST):
        said = {
            "profile": each.profile or "service",
            "settings": orjson.loads(each.settings or "{}"),
            "limits": orjson.loads(each.limits or "{}"),
        }
        yield each.policy, _problem(said), each.problems


def _problem(said: dict[str, Any]) -> Problem:
    return Problem(id="expected", problem="expected", domain="default", **said)


def _found(name: str) -> Policy[Any] | None:
    try:
        return find(name)
    except NoPolicy:
        return None


def _say(world: World, log: SqliteLog | None, name: str, problem: Problem, count: int) -> None:
    policy = _found(name)
    many = f"{plural(count, 'problem')}{' or more' if count >= MOST else ''}"
    if policy is None:
        say(f"expected: {name}, {many}: its policy is not here, so they wait")
        return
    told = _each(world, log, policy, problem).told(count)
    say(f"expected: {policy.name}, {many}: {told}{_learning(policy)}")


def _learning(policy: Policy[Any]) -> str:
    return "" if policy.learn is learn_nothing else "; what it learns from them comes on top"


def _each(world: World, log: SqliteLog | None, policy: Policy[Any], problem: Problem) -> Each:
    """One problem's share: as measured under the same backbones, else as settings and limits allow."""
    limits = problem.limits.over(world.grant.limits)
    if log is not None and (found := _measured(world, log, policy)) is not None:
        return found
    try:
        allowed = policy.most_calls(settings_of(policy, problem))
    except BadSetting:
        allowed = None
    bounds = [each for each in (allowed, limits.calls) if each is not None]
    return Each(most_calls=min(bounds, default=None), most_tokens=limits.tokens)


def _measured(world: World, log: SqliteLog, policy: Policy[Any]) -> Each | None:
    taken = spending.taken(log, policy.name, world.description, SPAN)
    if taken is None:
        return None
    prompt, completion = taken.prompt_tokens, taken.completion_tokens
    tokens = None if prompt is None or completion is None else prompt + completion
    price = price_for(world.caller.prices, world.backbones["*"].name)
    cost = None
    if (
        len(world.backbones) == 1
        and price is not None
        and prompt is not None
        and completion is not None
    ):
        cost = price.of(round(prompt), round(completion))
    return Each(measured=taken.closed, calls=taken.calls, tokens=tokens, cost=cost)
