"""Rules of sampling, computed over chains of thought that were recorded once: which result would each have had?

A bank holds several chains for each problem that do not see each other. Whichever of them a vote of five, or a
vote that stops early, had drawn, they would have said what they say here: so every such rule is evaluated by
replay, over seeded orders of the chains, and no model is asked. A rule sees what was drawn so far and nothing else.

All intervals are over problems: orders of one problem's chains are no further evidence.

Source: Wang et al. 2023 (votes); Aggarwal et al. 2023, § 3 (stopping early, by a Beta posterior); MC² App. B.1.
"""

# `evaluate` and `beside` draw every problem's chains in a hundred seeded orders, ask a rule how
# many it would take of each, look up what their vote came to, and average over orders before
# anything is said of problems. Two things must never happen: that a rule sees whether a chain is
# right, and that orders count as evidence, which would make intervals as narrow as one likes.

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from heapq import heapify, heappop, heappush
from math import fsum
from typing import TypeAlias

from handlers.learning.metrics import any_of_n
from handlers.learning.votes import gain, to_turn
from schemas.identity import hash01
from streams.research.analysis.intervals import chance_interval, mean_interval
from streams.research.analysis.statistics import beta_share, mcnemar

ORDERS = 100
"""Orders of a problem's chains that a rule is averaged over."""
VOTES = 5
STANDARD = f"vote of {VOTES}"
"""What every other rule is held against."""
EASE = 0.5
"""How easy a problem feels to who knows none like it."""

Interval: TypeAlias = tuple[float, float]
Kinds: TypeAlias = Sequence[str | None]
"""What a problem's chains answer, in the order in which they are drawn: equal answers are equal, none is none."""
Rule: TypeAlias = Callable[[Sequence[Kinds]], list[int]]
"""How many chains of each problem are drawn."""


@dataclass(frozen=True, slots=True)
class Chain:
    """One chain: what it answers, whether that is right, and the tokens of its prompt and its reply."""

    kind: str | None
    right: bool
    tokens: int | None


@dataclass(frozen=True, slots=True)
class Drawn:
    """The chains of one problem."""

    problem: str
    chains: tuple[Chain, ...]

    def ordered(self, turn: int) -> tuple[Chain, ...]:
        """The chains in one of the seeded orders."""
        places = range(len(self.chains))
        # Drawn by hash and not by a generator: a problem's
        # orders are the same whatever else is in the bank.
        order = sorted(places, key=lambda at: hash01("curve", self.problem, turn, at))
        return tuple(self.chains[at] for at in order)


@dataclass(frozen=True, slots=True)
class Sampled:
    """The result of a rule: shares in [0, 1], means per problem, and intervals of 95 % over problems."""

    rule: str
    chains: float | None
    tokens: float | None
    """Unknown where one chain's are."""
    right: float
    interval: Interval | None
    gain: float | None = None
    """How much more often it is right than the standard vote."""
    gain_interval: Interval | None = None
    price: float | None = None
    """Its tokens as a share of the standard vote's."""
    equal: int | None = None
    """As many chains as a run made calls in the mean, rounded; unknown where the bank has not so many."""
    equal_gain: float | None = None
    """How much more often it is right than the vote of as many."""
    equal_interval: Interval | None = None
    p: float | None = None
    """Of McNemar's exact test against the vote of the first five chains as they were drawn."""
    equal_p: float | None = None
    """Of that against the vote of the first as many."""


@dataclass(frozen=True, slots=True)
class Ended:
    """One episode of another run on a problem of the bank: whether it was right, its calls and their tokens."""

    right: bool
    calls: int
    tokens: float | None


# ── Rules ────────────────────────────────────────────────────────────────────────────────────


def vote_of(count: int) -> Rule:
    """So many chains, whatever they say."""
    return lambda drawn: [min(count, len(kinds)) for kinds in drawn]


def until(agree: int, most: int) -> Rule:
    """Chains until so many say the same, or until there are ``most``."""
    return _one_by_one(most, lambda first, _: first >= agree)


def until_sure(level: float, most: int) -> Rule:
    """Chains until the leading answer would win the whole vote with this posterior chance over the next one.

    Source: Aggarwal et al. 2023, § 3 (Beta), with a uniform prior over the shares of both.
    """

    @cache
    def sure(first: int, second: int) -> bool:
        return 1 - beta_share(first + 1, second + 1, 0.5) >= level

    return _one_by_one(most, sure)


def until_leads(by: int, most: int) -> Rule:
    """Chains until an answer has so many votes more than the next one, or until there are ``most``."""
    return _one_by_one(most, lambda first, second: first - second >= by)


def while_it_pays(worth: float, most: int) -> Rule:
    """Two chains, then as many as can change who leads, as long as that is expected to pay: ``most`` at most.

    A right answer is worth so many chains. What more of them bring is what the votes let expect of a problem that
    feels like any other. ``cascade`` begins by this rule, but that its chains cost what their tokens do and that what
    it has hardly tried is given something in advance.
    """

    @cache
    def draws(first: int, second: int, of: int) -> int:
        more = to_turn(first, second)
        return more if gain(first, second, of, EASE) > more / worth else 0

    def taken(kinds: Kinds) -> int:
        at, leads = min(2, len(kinds)), _leads(tuple(kinds))
        while at < len(kinds):
            more = draws(*leads[at - 1], at)
            if not more or at + more > most:
                break
            at = min(at + more, len(kinds))
        return at

    return lambda drawn: [taken(kinds) for kinds in drawn]


def shared_out(mean: int) -> Rule:
    """Two chains for each problem; what is left of ``mean`` a problem goes one by one to where the lead is smallest.

    The lead is of the first answer over the next, by the chains drawn; ties go to the problem that comes first.
    """

    def allotted(drawn: Sequence[Kinds]) -> list[int]:
        taken = [min(2, len(kinds)) for kinds in drawn]
        leads = [_leads(tuple(kinds)) for kinds in drawn]

        def lead(at: int) -> float:
            first, second = leads[at][taken[at] - 1]
            return (first - second) / taken[at]

        # A heap, for after each chain the lead of one problem alone has changed.
        closest = [(lead(at), at) for at, kinds in enumerate(drawn) if len(kinds) > 2]
        heapify(closest)
        for _ in range(mean * len(drawn) - sum(taken)):
            if not closest:
                break
            _, at = heappop(closest)
            taken[at] += 1
            if taken[at] < len(drawn[at]):
                heappush(closest, (lead(at), at))
        return taken

    return allotted


def _one_by_one(most: int, stops: Callable[[int, int], bool]) -> Rule:
    """Chains until the votes of the first two answers say to stop; two chains at least."""

    def taken(kinds: Kinds) -> int:
        # A single chain agrees with itself: every rule that stops would stop there.
        for at, (first, second) in enumerate(_leads(tuple(kinds))[1:most], 2):
            if stops(first, second):
                return at
        return min(most, len(kinds))

    return lambda drawn: [taken(kinds) for kinds in drawn]


# Twenty rules look at the same chains in the same order.
@lru_cache(maxsize=65_536)
def _leads(kinds: tuple[str | None, ...]) -> tuple[tuple[int, int], ...]:
    """By number of chains the votes of the leading answer and of the next one: what is drawn later changes none."""
    votes: Counter[str] = Counter()
    found: list[tuple[int, int]] = []
    for kind in kinds:
        if kind is not None:
            votes[kind] += 1
        found.append(_two(votes))
    return tuple(found)


def two(kinds: Kinds) -> tuple[int, int]:
    """The votes of the leading answer and of the next one."""
    return _two(Counter(kind for kind in kinds if kind is not None))


def _two(votes: Counter[str]) -> tuple[int, int]:
    first = second = 0
    for count in votes.values():
        if count > first:
            first, second = count, first
        elif count > second:
            second = count
    return first, second


@cache  # one of them keeps what it has worked out
def rules(size: int) -> dict[str, Rule]:
    """The rules that so many chains a problem can tell of, by name, but for those that need all problems at once."""
    found = {f"vote of {n}": vote_of(n) for n in (1, 3, 5, 10, 16) if n <= size}
    found |= {f"until {k} agree, at most {size}": until(k, size) for k in (2, 3, 4)}
    found |= {f"until 2 agree, at most {n}": until(2, n) for n in (4, 5) if n < size}
    found[f"until one leads by 2, at most {size}"] = until_leads(2, size)
    found |= {f"until sure at {p}, at most {size}": until_sure(p, size) for p in (0.8, 0.95)}
    return found | {
        f"while it pays at {worth}, at most {size}": while_it_pays(worth, size)
        for worth in (16, 20, 200)
    }


def sharing_rules(size: int) -> dict[str, Rule]:
    """Those that share chains out among all problems, by name."""
    return {f"{n} a problem, shared out by lead": shared_out(n) for n in (3, 5) if n <= size}


# ── Evaluation ───────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Outcome:
    """One problem under one rule, averaged over the orders."""

    right: float
    chains: float
    tokens: float | None


def evaluate(bank: Sequence[Drawn], orders: int = ORDERS) -> list[Sampled]:
    """What each rule comes to on a bank, and below them what nobody can beat: whether any chain is right.

    Every problem has the same number of chains, or more of which only as many count.
    """
    # The same number for all, for a rule that could draw
    # more of one problem would be judged on that one.
    size = min((len(each.chains) for each in bank), default=0)
    if not size:
        return []
    by_itself = zip(*(_by_itself(each, size, orders) for each in bank), strict=True)
    came_to = dict(zip(rules(size), map(list, by_itself), strict=True))
    together = sharing_rules(size)
    came_to |= zip(together, outcomes(bank, together.values(), size, orders), strict=True)
    standard = came_to.get(STANDARD)
    found = [sampled(name, each, standard) for name, each in came_to.items()]
    # A ceiling, which no rule that cannot tell right chains from wrong ones reaches.
    for count in (n for n in (5, 10, 16) if n <= size):
        chances = [any_of_n([chain.right for chain in each.chains], count) for each in bank]
        right, spread = fsum(chances) / len(bank), chance_interval([(one, 1) for one in chances])
        found.append(Sampled(f"any of {count}", None, None, right, spread))
    return found


# All problems of a bank are told of, and then those of each data set.
@lru_cache(maxsize=4_096)
def _by_itself(problem: Drawn, size: int, orders: int) -> tuple[Outcome, ...]:
    """What each of ``rules`` comes to on a problem."""
    return tuple(came_to for [came_to] in outcomes([problem], rules(size).values(), size, orders))


def beside(
    bank: Sequence[Drawn], run: str, ended: Mapping[str, Ended], orders: int = ORDERS
) -> tuple[Sampled, int] | None:
    """Another run's result on the problems of the bank that it has ended, and how many these are.

    Each problem is paired with its own vote of five, and with that of as many chains as the run made calls in the mean
    of these problems; both in the mean of all orders. McNemar's exact test needs votes that are right or wrong: those
    of the first chains, as they were drawn. None where no problem is shared.
    """
    shared = [each for each in bank if each.problem in ended]
    if not shared or min(len(each.chains) for each in shared) < VOTES:
        return None
    mine = [ended[each.problem] for each in shared]
    found = [Outcome(float(each.right), each.calls, each.tokens) for each in mine]
    votes = [votes_of(each, orders) for each in shared]
    first = [Course.of(each.chains).right for each in shared]

    def exact(count: int) -> float:
        both = [(one.right, own[count - 1]) for one, own in zip(mine, first, strict=True)]
        return mcnemar(both.count((True, False)), both.count((False, True)))

    held = replace(sampled(run, found, [own[VOTES - 1] for own in votes]), p=exact(VOTES))
    equal = max(round(held.chains or 0), 1)
    if min(map(len, votes)) >= equal:
        other = sampled(run, found, [own[equal - 1] for own in votes])
        held = replace(
            held, equal=equal, equal_gain=other.gain, equal_interval=other.gain_interval,
            equal_p=exact(equal),
        )  # fmt: skip
    return held, len(shared)


# A dozen runs and as many rules are held against the same problems, each on all of them and on those of each data set.
@lru_cache(maxsize=4_096)
def votes_of(problem: Drawn, orders: int) -> tuple[Outcome, ...]:
    """The votes of one chain, of two and so on up to all of one problem, each in the mean of all orders."""
    drawn = courses(problem, orders)
    return tuple(
        mean_of([Outcome(float(each.right[at]), at + 1, each.tokens[at]) for each in drawn])
        for at in range(len(problem.chains))
    )


@lru_cache(maxsize=4_096)
def courses(problem: Drawn, orders: int) -> tuple[Course, ...]:
    """All chains of one problem in each of the seeded orders."""
    return tuple(Course.of(problem.ordered(turn)) for turn in range(orders))


@dataclass(frozen=True, slots=True)
class Course:
    """One problem's chains in one order, and for each number of them whether their vote is right, and their tokens.

    What all rules share is worked out once.
    """

    kinds: tuple[str | None, ...]
    right: tuple[bool, ...]
    tokens: tuple[int | None, ...]

    @classmethod
    def of(cls, chains: Sequence[Chain]) -> Course:
        """The course of chains in the order in which they are drawn."""
        spent: list[int | None] = []
        for chain in chains:
            before = spent[-1] if spent else 0
            # Once a chain's tokens are unknown, so is every sum that it is part of.
            unknown = before is None or chain.tokens is None
            spent.append(None if unknown else (before or 0) + (chain.tokens or 0))
        kinds = tuple(chain.kind for chain in chains)
        return cls(kinds, tuple(winners(chains)), tuple(spent))

    def upto(self, size: int) -> Course:
        """The course of the first chains alone."""
        if size >= len(self.kinds):
            return self
        return Course(self.kinds[:size], self.right[:size], self.tokens[:size])


def outcomes(
    bank: Sequence[Drawn], wanted: Iterable[Rule], size: int, orders: int
) -> list[list[Outcome]]:
    """By rule and problem what it comes to, in the order of the bank, in the mean of all orders of ``size`` chains."""
    # By order, and in each all problems beside each other.
    turns = list(zip(*(courses(each, orders) for each in bank), strict=True))
    found: list[list[Outcome]] = []
    for rule in wanted:
        mine: list[list[Outcome]] = [[] for _ in bank]
        for whole in turns:
            drawn = [each.upto(size) for each in whole]
            # A rule is asked for all problems at once: one that
            # shares calls out must see them beside each other.
            counts = rule([each.kinds for each in drawn])
            for came_to, each, count in zip(mine, drawn, counts, strict=True):
                at = count - 1
                came_to.append(Outcome(float(each.right[at]), count, each.tokens[at]))
        found.append([mean_of(each) for each in mine])
    return found


def mean_of(orders: Sequence[Outcome]) -> Outcome:
    """One problem's, in the mean of all orders."""
    return Outcome(
        fsum(each.right for each in orders) / len(orders),
        fsum(each.chains for each in orders) / len(orders),
        _mean([each.tokens for each in orders]),
    )


def _mean(tokens: Sequence[float | None]) -> float | None:
    """The mean; unknown where one of them is, for the others are no sample of it."""
    known = [each for each in tokens if each is not None]
    return fsum(known) / len(known) if len(known) == len(tokens) else None


def winners(chains: Sequence[Chain]) -> Iterator[bool]:
    """For each number of chains whether their ``winner`` is right."""
    seen: dict[str, tuple[int, bool]] = {}
    votes: Counter[str] = Counter()
    # Ties go to the answer that was seen first.
    rank = (0, 0)
    right = False
    for at, chain in enumerate(chains):
        if chain.kind is not None:
            votes[chain.kind] += 1
            first, is_right = seen.setdefault(chain.kind, (-at, chain.right))
            rank, right = max((rank, right), ((votes[chain.kind], first), is_right))
        yield right


def winner(chains: Sequence[Chain]) -> tuple[bool, float]:
    """Whether the answer with most votes is right, ties to the one first seen, and its share of all chains."""
    # A chain without an answer votes for nothing, and still counts among all: it was paid for.
    votes = Counter(chain.kind for chain in chains if chain.kind is not None)
    if not votes:
        return False, 0.0
    kind, count = votes.most_common(1)[0]
    return next(chain.right for chain in chains if chain.kind == kind), count / len(chains)


def sampled(name: str, found: Sequence[Outcome], standard: Sequence[Outcome] | None) -> Sampled:
    """What a rule comes to over all problems, and against a standard on the same ones, in the same order."""
    made = Sampled(
        name,
        chains=fsum(each.chains for each in found) / len(found),
        tokens=_mean([each.tokens for each in found]),
        right=fsum(each.right for each in found) / len(found),
        interval=chance_interval([(each.right, 1) for each in found]),
    )
    if standard is None or name == STANDARD:
        return made
    gains = [(one.right - other.right, 1) for one, other in zip(found, standard, strict=True)]
    tokens = [each.tokens for each in found if each.tokens is not None]
    theirs = [each.tokens for each in standard if each.tokens is not None]
    # Of the same problems on both sides: a sum that lacks some of the vote's would make it look cheap.
    priced = len(tokens) == len(theirs) == len(found) and fsum(theirs) > 0
    return replace(
        made,
        gain=fsum(gain for gain, _ in gains) / len(gains),
        gain_interval=mean_interval(gains),
        price=fsum(tokens) / fsum(theirs) if priced else None,
    )
