"""What a log says of learning: effects of rules and lessons, results walk by walk, and a cascade's arms.

No model is asked, and nothing is measured anew: rules were held out and candidates weighed while the run went on.
"""

# `figures` hands over the learner that its verification has fed, so that no log is folded twice
# for these tables. Nothing here says why a figure is as it is; `learned_page` prints them.

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, sqrt
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from handlers.learning.retire import BY_ITSELF, OVERTURNED, one
from handlers.learning.trials import tried_of
from handlers.policies.cascade.settings import MEANS
from schemas.events.cascade import AnswerWeighed
from schemas.events.episode import Completed, ProblemAdmitted
from schemas.events.learning import BatchClosed
from schemas.events.strategy import StrategyChosen
from schemas.memory import Memory
from schemas.usage import total_of
from streams.research.analysis.cases import Case, Reading
from streams.research.analysis.intervals import of_outcomes, share_interval
from streams.research.analysis.sampling import Interval
from streams.research.analysis.statistics import mcnemar

if TYPE_CHECKING:
    from streams.engine.learner import Learner
    from streams.runtime.embedded.log import SqliteLog

Against: TypeAlias = Literal["held out by chance", "others of its batch", "pairs of runs"]
"""What the episodes with an item are compared with."""
PAIRS: Final = "pairs@1"
"""The rule of retirement under which every item is measured by runs with it and without it."""
DIGITS: Final = 6
"""Sums over batches are rounded each time, so that what adds up to nothing may miss it by their last digits."""
SURE: Final = 1.96
"""Standard errors beyond which a difference is more than chance lets expect, once in twenty."""
CASCADE: Final = "cascade"
Change: TypeAlias = Literal["none", "put right", "spoilt", "another", "undecided"]
"""What a pull did to the answer that led: nothing, from wrong to right, the reverse, or from wrong to wrong or right
to right in other words."""


@dataclass(frozen=True, slots=True)
class Worth:
    """What is known of one item: right answers beyond those that were expected, and of how many episodes."""

    gain: float
    sure: bool
    """Whether that is more than chance lets expect; never where no chance decided who had it."""
    uses: float
    without: float | None
    """Episodes that it was held out of; unknown where nobody counted them."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The items of one kind in the newest version of a memory, and what was measured of them."""

    runs: tuple[str, ...]
    """Whose memory it is."""
    domain: str
    kind: str
    against: Against
    items: int
    """Of which those that say the same are one; retired ones are among them."""
    retired: int
    known: int
    """Items of which there are episodes on both sides."""
    above: int
    sure_above: int
    below: int
    sure_below: int
    uses: float
    without: float | None

    @property
    def junk(self) -> float | None:
        """The share of the measured ones that did not help: their effect is not above 0."""
        return 1 - self.above / self.known if self.known else None

    @property
    def interval(self) -> Interval | None:
        """The same's 95 %."""
        return of_outcomes(at >= self.above for at in range(self.known))


@dataclass(frozen=True, slots=True)
class Walk:
    """One pass of a run over its problems, held against its first pass."""

    run: str
    walk: int
    closed: int
    right: int
    graded: int
    interval: Interval | None
    """The accuracy's 95 %, over problems."""
    both: int
    """Problems of which this walk and the first have an answer that could be judged."""
    only_now: int
    """Those of them that this walk alone solved."""
    only_first: int

    @property
    def p(self) -> float | None:
        """Of McNemar's exact test, two-sided; none of the first walk, nor without a problem of both."""
        paired = self.walk > 1 and self.both
        return mcnemar(self.only_now, self.only_first) if paired else None


@dataclass(frozen=True, slots=True)
class Pull:
    """One time that an arm was tried: which answer led before and after it."""

    arm: str
    before: str | None
    after: str | None
    tokens: int | None
    weighed: bool = True
    """Whether the answers were weighed after it; not where a limit ended the episode."""


@dataclass(frozen=True, slots=True)
class Arm:
    """All pulls of an arm in a run's episodes."""

    run: str
    name: str
    pulls: int
    changed: int
    """Pulls after which another answer led."""
    put_right: int
    spoilt: int
    undecided: int
    """Pulls of which nobody can say whether they put anything right or spoilt it."""
    tokens: float | None
    """Of a pull, in the mean of those that know it."""


@dataclass(frozen=True, slots=True)
class Learned:
    """All that is told of learning."""

    measured: tuple[Measured, ...] = ()
    walks: tuple[Walk, ...] = ()
    arms: tuple[Arm, ...] = ()


def learned(log: SqliteLog, reading: Reading, cases: Sequence[Case], learner: Learner) -> Learned:
    """Everything of a log that was read already, from memories that ``learner`` folded."""
    memories = {name: learner.memory(name).latest for name in (*learner.scopes, *learner.lost)}
    rules: dict[str, str | None] = {}
    for record in log.records("learning", kinds=("batch.closed",)):
        assert isinstance(record.event, BatchClosed)
        rules[record.event.scope] = record.event.retirement
    runs: dict[str, set[str]] = {}
    for case in cases:
        admitted = reading.journals[case.episode]["admitted"]
        assert isinstance(admitted, ProblemAdmitted)
        runs.setdefault(admitted.scope, set()).add(case.name)
    found = (
        each
        for name, memory in memories.items()
        for each in measured(memory, rules.get(name), sorted(runs.get(name, ())))
    )
    return Learned(
        tuple(sorted(found, key=lambda each: (each.runs, each.domain, each.kind))),
        tuple(walks(cases)),
        tuple(arms(cases)),
    )


# ── Rules and lessons ────────────────────────────────────────────────────────────────────────


def measured(memory: Memory, rule: str | None, runs: Iterable[str]) -> Iterator[Measured]:
    """By kind, the items of a memory version of which something was measured; ``rule`` retires them."""
    standing = memory.standing
    turned = standing.get(OVERTURNED, ())
    aside = {item.mark for _, item in memory.aside if item.mark not in turned}
    kinds: dict[str, dict[str, bool]] = {}
    for item in memory.whole():
        # Lessons that say the same are measured as one, and would count that one's episodes again.
        marks = kinds.setdefault(item.kind, {})
        first = one(standing, item.mark)
        marks[first] = marks.get(first, False) or item.mark in aside
    for kind, marks in sorted(kinds.items()):
        against: Against = "others of its batch"
        if rule == PAIRS:
            against = "pairs of runs"
        elif rule == BY_ITSELF and kind == "rule":
            against = "held out by chance"
        said = (worth(standing, mark, against) for mark in marks)
        known = [each for each in said if each is not None]
        retired = sum(marks.values())
        if not known and not retired:
            continue
        without = [each.without for each in known if each.without is not None]
        yield Measured(
            runs=tuple(runs),
            domain=memory.scope.partition("/")[0],
            kind=kind,
            against=against,
            items=len(marks),
            retired=retired,
            known=len(known),
            above=sum(each.gain > 0 for each in known),
            sure_above=sum(each.gain > 0 and each.sure for each in known),
            below=sum(each.gain < 0 for each in known),
            sure_below=sum(each.gain < 0 and each.sure for each in known),
            uses=fsum(each.uses for each in known),
            without=fsum(without) if len(without) == len(known) else None,
        )


def worth(standing: Mapping[str, Any], mark: str, against: Against) -> Worth | None:
    """What was measured of an item; none where it has episodes on one side alone, or on none."""
    if against == "held out by chance":
        tried = tried_of(standing, mark)
        if tried is None or tried.effect is None:
            return None
        sure = abs(tried.excess) > SURE * sqrt(tried.variance)
        return Worth(round(tried.excess, DIGITS), sure, tried.shown, tried.held_out)
    counted: Sequence[float] | None = standing.get("tally", {}).get(mark)
    if counted is None:
        return None
    right, wrong, expected = counted
    uses = right + wrong
    # Each run with it has one without it; the others of a batch are in no count.
    without = uses if against == "pairs of runs" else None
    return Worth(round(right - expected, DIGITS), False, uses, without)


# ── Walks ────────────────────────────────────────────────────────────────────────────────────


def walks(cases: Iterable[Case]) -> Iterator[Walk]:
    """Each walk of the runs that went over the same problems more than once with one memory."""
    runs: dict[str, dict[str, list[Case]]] = {}
    for case in cases:
        memories = runs.setdefault(case.name, {})
        memories.setdefault(f"{case.problem.domain}/{case.problem.memory}", []).append(case)
    for name, memories in sorted(runs.items()):
        # A run may go over one set twice, and over another once: that says nothing of walks.
        of: dict[int, list[Case]] = {}
        for mine in memories.values():
            if len({case.problem.walk for case in mine}) > 1:
                for case in mine:
                    of.setdefault(case.problem.walk, []).append(case)
        known = {
            walk: {
                (case.about, case.problem.seed): case.outcome == "right"
                for case in mine
                if case.outcome != "unknown"
            }
            for walk, mine in sorted(of.items())
        }
        for walk, now in known.items():
            first = known.get(1, {})
            both = [(now[at], first[at]) for at in now if at in first]
            of_problem: dict[str, list[bool]] = {}
            for (about, _), right in now.items():
                of_problem.setdefault(about, []).append(right)
            yield Walk(
                run=name,
                walk=walk,
                closed=len(of[walk]),
                right=sum(now.values()),
                graded=len(now),
                interval=share_interval(
                    [(float(sum(each)), len(each)) for each in of_problem.values()]
                ),
                both=len(both),
                only_now=both.count((True, False)),
                only_first=both.count((False, True)),
            )


# ── Arms ─────────────────────────────────────────────────────────────────────────────────────


def arms(cases: Iterable[Case]) -> Iterator[Arm]:
    """What each arm of each cascade changed, in the order in which arms are tried by default."""
    found: dict[str, dict[str, list[tuple[Case, Pull]]]] = {}
    for case in cases:
        if case.opened.policy == CASCADE:
            for pull in pulls(case):
                by_arm = found.setdefault(case.name, {})
                by_arm.setdefault(pull.arm, []).append((case, pull))
    for run, by_arm in sorted(found.items()):
        # Arms of other versions, which this build does not have, come last.
        mine_first = [name for name in MEANS if name in by_arm]
        for name in (*mine_first, *sorted(by_arm.keys() - MEANS.keys())):
            pulled = [pull for _, pull in by_arm[name]]
            changes = Counter(change(*each) for each in by_arm[name])
            known = [pull.tokens for pull in pulled if pull.tokens is not None]
            yield Arm(
                run=run,
                name=name,
                pulls=len(pulled),
                changed=sum(pull.weighed and pull.before != pull.after for pull in pulled),
                put_right=changes["put right"],
                spoilt=changes["spoilt"],
                undecided=changes["undecided"],
                tokens=sum(known) / len(known) if known else None,
            )


def pulls(case: Case) -> Iterator[Pull]:
    """Each time that an episode's cascade tried an arm."""
    chosen: str | None = None
    led: str | None = None
    spent: list[int | None] = []
    for _, event in case.trace.events:
        match event:
            # What an arm begins may choose something of its own; that is part of the pull.
            case StrategyChosen() if chosen is None:
                chosen, spent = event.arm, []
            case Completed():
                spent.append(event.tokens)
            case AnswerWeighed():
                if event.arm is not None:
                    yield Pull(event.arm, led, event.answer, total_of(spent))
                chosen, led = None, event.answer
            case _:
                pass
    if chosen is not None:
        yield Pull(chosen, led, None, total_of(spent), weighed=False)


def change(case: Case, pull: Pull) -> Change:
    """What a pull did to the answer that led, by what is known of answers now."""
    if not pull.weighed:
        return "undecided"
    # The same answer is as right as it was, whether or not anybody could judge it.
    if pull.before == pull.after:
        return "none"
    before, after = case.judged(pull.before), case.judged(pull.after)
    if before is None or after is None:
        return "undecided"
    if before == after:
        return "another"
    return "put right" if after else "spoilt"
