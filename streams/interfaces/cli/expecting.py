"""Expectations of what work will take, said before the first call that is paid for.

Measured means of this log come first, then what a policy's own settings and limits allow; what neither
says is unknown, and said to be. Nothing is said where nobody is asked: of the simulator and of recordings.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from handlers.policies.base import learn_nothing
from schemas.problem import Problem
from schemas.settings import BadSetting, PolicySettings
from streams.core.grants import Lacking
from streams.engine.episode import settings_of
from streams.engine.policies import NoPolicy, find
from streams.interfaces.cli.config import display
from streams.interfaces.cli.flags import FLAGS
from streams.interfaces.cli.output import say
from streams.runtime.embedded.queries import spending
from streams.views.words import amount, kilo, plural

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
        cost = "; cost unknown: --prices FILE says what tokens cost"
        if self.cost is not None:
            cost = f"; cost about {amount(self.cost * problems)}"
        # Measured figures come with their number of episodes: a mean of two is to be read
        # otherwise than one of a thousand.
        if self.measured:
            each = f"{self.calls or 0:.1f} and {_tokens(self.tokens, 1)} each"
            said = f"about {plural(round((self.calls or 0) * problems), 'call')}, {_tokens(self.tokens, problems)}"
            means = f" ({each}, mean of {self.measured} closed on this log)"
            return said + means + cost
        calls = "calls unknown before the first has closed: --call-limit bounds them"
        if self.most_calls is not None:
            calls = f"at most {plural(self.most_calls * problems, 'call')}"
        tokens = "tokens unknown before the first has closed"
        if self.most_tokens is not None:
            tokens = f"at most {_tokens(self.most_tokens, problems)}"
        return f"{calls}; {tokens}{cost}"


def _tokens(each: float | None, problems: int) -> str:
    return "unknown tokens" if each is None else f"{kilo(round(each * problems))} tokens"


def say_expected(world: World, log: SqliteLog | None, policy: str) -> None:
    """What the problems that wait on a log are expected to take; of one whose problems cannot be counted, each."""
    if not is_told(world):
        return
    import orjson

    waiting = [] if log is None else list(spending.waiting(log, MOST))
    for kind in waiting or (None,):
        said: dict[str, Any] = {}
        if kind is not None:
            said["profile"] = kind.profile or "service"
            said["settings"] = orjson.loads(kind.settings or "{}")
            said["limits"] = orjson.loads(kind.limits or "{}")
        problem = Problem(id="expected", problem="expected", domain="default", **said)
        count = 1 if kind is None else kind.problems
        name = (kind and kind.policy) or policy
        many = f"{plural(count, 'problem')}{' or more' if count >= MOST else ''}"
        try:
            found = find(name)
        except NoPolicy:
            if kind is not None:
                say(f"expected: {name}, {many}: its policy is not here, so they wait")
            continue
        try:
            told = _each(world, log, found, problem).told(count)
        except Lacking as why:
            say(f"expected: {name}, {many}: {why.where}: {why.detail}")
            continue
        # Learning is paid for too, but nobody knows beforehand how many lessons there will be.
        if found.learn is not learn_nothing:
            told += "; what it learns from them comes on top"
        if kind is None:
            many = "what waits is not counted here" if log is None else "nothing waits yet"
            say(f"expected: {many}; a problem for {found.name}: {told}")
        else:
            say(f"expected: {found.name}, {many}: {told}")


def say_expected_of_one(
    world: World, log: SqliteLog, policy: Policy[Any], problem: Problem
) -> None:
    """What one problem is expected to take."""
    if is_told(world):
        say(f"expected: {_each(world, log, policy, problem).told(1)}")


def is_told(world: World) -> bool:
    """Whether it is said: where a model is asked now, to a person (with ``--json`` standard error is for errors)."""
    # Scripts read one object from standard error, and only where something failed.
    if FLAGS.json or display() == "none":
        return False
    # A simulator and recordings cost nothing, so that there is nothing to be warned of.
    kinds = {each.name.partition(":")[0].partition("(")[0] for each in world.models}
    return not kinds <= set(FREE)


def _each(world: World, log: SqliteLog | None, policy: Policy[Any], problem: Problem) -> Each:
    """One problem's share: as measured under the same backbones, else as settings and limits allow."""
    limits = problem.limits.over(world.grant.limits)
    settings: PolicySettings | None = None
    with suppress(BadSetting):  # such problems are refused, and nothing is known of what they take
        settings = settings_of(policy, problem)
    terms = world.terms(None if settings is None else settings.backbone)
    taken = None if log is None else spending.taken(log, policy.name, terms.backbones, SPAN)
    if taken is not None:
        prompt, completion = taken.prompt_tokens, taken.completion_tokens
        if prompt is None or completion is None:
            return Each(measured=taken.closed, calls=taken.calls)
        # Means do not say which model took which tokens: with several there is no one price.
        price = terms.grant.prices.get("*")
        cost = None
        if len(world.backbones) == 1 and price is not None:
            cost = price.of(round(prompt), round(completion))
        return Each(measured=taken.closed, calls=taken.calls, tokens=prompt + completion, cost=cost)
    allowed = None if settings is None else policy.most_calls(settings)
    # An answer of another form than its problem's type is asked for once more.
    if allowed is not None and problem.answer_type is not None:
        allowed *= 2
    # Whichever is met first ends the episode, so that the lower one is what can be promised.
    bounds = [each for each in (allowed, limits.calls) if each is not None]
    return Each(most_calls=min(bounds, default=None), most_tokens=limits.tokens)
