"""Figures of a real run's log, derived from its replies and grades: tables by policy, by role and by chains.

No model is asked. Answers count as graders recorded them, and what nobody could judge is in no share.
"""

# These tables stand in the documentation, and the logs beside it; `metalogue
# evidence` derives them again and compares. So nothing here may hang on the clock,
# the machine or an order of sets. Forks and side runs are left out of every table:
# they are experiments upon the run, and would be counted as parts of it.

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import fsum
from typing import TYPE_CHECKING, TypeAlias

from handlers.policies.cascade.settings import STRONG, CascadeSettings
from schemas.events.episode import Completed, EpisodeOpened, ProblemAdmitted
from schemas.usage import total_of
from streams.engine.policies import find
from streams.replay.unread import How, unread
from streams.replay.verify import Verifier
from streams.research.analysis.cases import Case, Reading, name_of, read, role_of
from streams.research.analysis.equal_price import Priced, priced
from streams.research.analysis.figures import confidences
from streams.research.analysis.intervals import of_outcomes
from streams.research.analysis.routing import Routed, routed
from streams.research.analysis.sampling import Drawn, Ended, Sampled, beside, evaluate
from streams.research.analysis.statistics import least_found, mcnemar, paired_interval
from streams.research.analysis.withholding import Selected, select
from streams.research.bench.sampled import samples
from streams.research.evidence.drafts import Drafts, chains_of, drafts
from streams.research.evidence.learned import Learned, learned
from streams.runtime.embedded.queries.counts import span_ms

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

CHAINS = "self_consistency"
"""The policy whose episodes hold chains of thought that do not see each other."""
BANK = 8
"""So many chains a problem are a bank, of which every smaller number can be drawn."""
VOTES = (5, 16)
"""Numbers of chains whose votes are also shown with the doubtful ones withheld."""
LEVELS = (0.5, 0.8)
"""Calibrated chances of being right below which a vote is withheld."""
Interval: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Row:
    """One policy under one setting: how far it came, and what that took."""

    name: str
    closed: int
    unfinished: int
    """Episodes that have not ended; they are in no figure."""
    right: int
    graded: int
    interval: Interval | None
    """The accuracy's 95 %."""
    calls: float | None
    """Calls of a closed episode, in the mean."""
    tokens: float | None
    tokens_unknown: int
    answered: float
    """The share of closed episodes that gave an answer; the others withheld it."""
    seconds: float | None
    """What a closed episode's calls took together, in the mean of those that know it."""


@dataclass(frozen=True, slots=True)
class Sure:
    """How well the confidence of a run's answers tells right ones from wrong ones."""

    run: str
    source: str
    """What the confidence is: its origin, raw or calibrated."""
    answers: int
    """Answers that have a confidence and a grade."""
    ece: float
    ece_interval: Interval | None
    aurc: float
    """The mean error among the surest answers, over all shares of them."""
    selective: tuple[float, ...]
    """Shares of right ones among the surest quarter, half, three quarters, and all."""


@dataclass(frozen=True, slots=True)
class Role:
    """One role: how many of its first askings were read as they came."""

    name: str
    first: int
    read: int
    again: int
    """Askings that repeat one, with what was wrong with its reply."""
    again_read: int
    refused: int
    """Whole replies that were not read in the end."""
    cut: int
    """Replies that ended at their length: no answer and no score is taken from them."""


@dataclass(frozen=True, slots=True)
class Bank:
    """Results of rules of sampling on the recorded chains of a run's problems, of one data set or of all."""

    name: str
    dataset: str | None
    """None where the bank is of several sets."""
    problems: int
    undecided: int
    """Problems of which an answer could not be judged; they are in no figure."""
    rules: tuple[Sampled, ...]
    selected: tuple[Selected, ...]
    """Votes that are withheld where too few agree."""


@dataclass(frozen=True, slots=True)
class Beside:
    """Other runs on the problems of a bank, each paired with the vote of five, and of how many problems."""

    name: str
    dataset: str | None
    runs: tuple[tuple[Sampled, int], ...]
    priced: tuple[Priced, ...] = ()
    """Each at its own price."""


@dataclass(frozen=True, slots=True)
class Grader:
    """Who graded, and what the graders of this build say of the same answers."""

    name: str
    """Of a person's verdicts whose they are."""
    answers: int
    now: str | None = None
    """The grader that decides of these answers in this build, where it is another; of persons none."""
    same: int = 0
    """Answers of which it says the same."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two runs on the same problems, as far as both have an answer there that could be judged."""

    one: str
    other: str
    problems: int
    only_one: int
    """Problems that the one solved and the other did not."""
    only_other: int

    def against(self, policy: str | None) -> Pair | None:
        """The same pair with a run of this policy as the other one; none where neither is. No policy: as it is."""
        if policy is None or self.other.split()[0] == policy:
            return self
        if self.one.split()[0] != policy:
            return None
        return Pair(self.other, self.one, self.problems, self.only_other, self.only_one)

    @property
    def difference(self) -> float:
        """How much more often the one is right, from -1 to 1."""
        return (self.only_one - self.only_other) / self.problems

    @property
    def interval(self) -> Interval | None:
        """The difference's 95 %."""
        return paired_interval(self.only_one, self.only_other, self.problems)

    @property
    def p(self) -> float:
        """Of McNemar's exact test, two-sided."""
        return mcnemar(self.only_one, self.only_other)

    @property
    def least(self) -> float | None:
        """The smallest difference that so many problems would have shown in four of five such runs."""
        return least_found(self.problems, (self.only_one + self.only_other) / self.problems)


@dataclass(frozen=True, slots=True)
class Figures:
    """All that is told of a log."""

    rows: tuple[Row, ...]
    sure: tuple[Sure, ...]
    roles: tuple[Role, ...]
    banks: tuple[Bank, ...]
    beside: tuple[Beside, ...]
    routed: tuple[Routed, ...]
    """Runs that may ask a larger model, held against fixed rules of when to."""
    pairs: tuple[Pair, ...]
    graders: tuple[Grader, ...]
    models: Mapping[str, int]
    """Replies by model."""
    policies: tuple[str, ...]
    """Whose work its episodes are, with versions."""
    backbones: tuple[str, ...]
    seeds: tuple[int, ...]
    tokens: int | None
    """Prompt and completion tokens of all replies; unknown where one does not say."""
    hours: float
    """From the first record to the last."""
    verified: int
    facts: int
    diverged: tuple[str, ...]
    other_builds: int
    """Episodes of policies, or versions of them, that are not in this build."""
    learned: Learned = field(default_factory=Learned)
    drafts: tuple[Drafts, ...] = ()
    """What the answers on the way were worth, of runs that have more than one."""


def figures(
    log: SqliteLog, banked: Sequence[Case] | None = None, larger: Sequence[Case] | None = None
) -> Figures:
    """Everything that is told of a log; its runs beside the chains that it holds itself, or that ``banked`` are.

    Runs that may ask a larger model are held against thresholds too where chains of that are given.
    """
    reading = read(log)
    cases = finished(reading)
    banked = cases if banked is None else banked
    replies = [record.event for record in log.records(kinds=("completed",))]
    said = [event for event in replies if isinstance(event, Completed)]
    verifier = Verifier(log, find)
    checked = verifier.run()
    first, last = span_ms(log)

    return Figures(
        rows=tuple(_rows(reading, cases)),
        sure=tuple(sure(cases)),
        roles=tuple(_roles(log)),
        banks=tuple(banks(cases)),
        beside=tuple(runs_beside(cases, banked)),
        routed=() if larger is None else tuple(runs_routed(cases, banked, larger)),
        pairs=tuple(pairs(cases)),
        graders=tuple(graders(cases)),
        models=dict(sorted(Counter(event.model or "unknown" for event in said).items())),
        policies=tuple(
            sorted({f"{each.opened.policy}@{each.opened.policy_version}" for each in cases})
        ),
        backbones=tuple(sorted({case.opened.backbones for case in cases})),
        seeds=tuple(sorted({case.problem.seed for case in cases})),
        tokens=total_of([event.tokens for event in said]),
        hours=(last - first) / 3_600_000,
        verified=checked.episodes,
        facts=checked.facts,
        diverged=tuple(f"{each.episode} at {each.address}" for each in checked.diverged),
        other_builds=len(checked.unverifiable),
        learned=learned(log, reading, cases, verifier.learner),
        # What votes come to is told of a bank's chains in full.
        drafts=tuple(drafts([case for case in cases if case.opened.policy != CHAINS])),
    )


def finished(reading: Reading) -> list[Case]:
    """Finished episodes that nobody forked from others."""
    return [case for case in reading.cases() if case.opened.parent is None]


# ── By policy ────────────────────────────────────────────────────────────────────────────────


def _rows(reading: Reading, cases: Sequence[Case]) -> Iterator[Row]:
    unfinished: Counter[str] = Counter()
    for journal in reading.journals.values():
        admitted, opened = journal.get("admitted"), journal.get("opened")
        if isinstance(admitted, ProblemAdmitted) and isinstance(opened, EpisodeOpened):
            unfinished[name_of(admitted.problem, opened)] += "closed" not in journal
    for name, mine in sorted(_by_name(cases).items()):
        right = [case.outcome == "right" for case in mine if case.outcome != "unknown"]
        tokens = [case.closed.usage.tokens for case in mine]
        known = [each for each in tokens if each is not None]
        calls = [case.closed.usage.calls for case in mine]
        seconds = [case.closed.usage.seconds for case in mine]
        timed = [each for each in seconds if each is not None]
        yield Row(
            name=name,
            closed=len(mine),
            unfinished=unfinished[name],
            right=sum(right),
            graded=len(right),
            interval=of_outcomes(right),
            calls=sum(calls) / len(calls),
            tokens=sum(known) / len(known) if known else None,
            tokens_unknown=len(tokens) - len(known),
            answered=sum(case.closed.answer is not None for case in mine) / len(mine),
            seconds=fsum(timed) / len(timed) if timed else None,
        )


def sure(cases: Sequence[Case]) -> Iterator[Sure]:
    """By run and origin of its confidence, raw beside calibrated over the same answers."""
    for name, mine in sorted(_by_name(cases).items()):
        for source, said in sorted(confidences(mine).items()):
            interval = said["ece_interval"]
            yield Sure(
                name,
                source,
                said["answers"],
                said["ece"],
                None if interval is None else (interval[0], interval[1]),
                said["aurc"],
                tuple(said["selective_accuracy"].values()),
            )


def _by_name(cases: Sequence[Case]) -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = {}
    for case in cases:
        found.setdefault(case.name, []).append(case)
    return found


# ── By role ──────────────────────────────────────────────────────────────────────────────────


def _roles(log: SqliteLog) -> Iterator[Role]:
    """Each role's askings, those apart that repeat one whose reply could not be read."""
    how: dict[tuple[str, str], How] = {}
    for reply in unread(log):
        # One that was cut had no end to be read: no reader
        # refused it, and a longer reply may be fine.
        refused = reply.how == "refused" and reply.finish != "length"
        is_whole = refused or reply.how == "asked again"
        how[reply.episode, reply.at] = reply.how if is_whole else "cut"
    found: dict[str, Counter[str]] = {}
    repeats: set[tuple[str, str]] = set()  # episodes and roles whose next asking is a repeated one
    for record in log.records(kinds=("completed",)):
        assert isinstance(record.event, Completed)
        name = role_of(record.event)
        fate, asker = how.get((record.episode, record.address)), (record.episode, name)
        which = "again" if asker in repeats else "first"
        # Whatever this asking came to, it is the one that
        # was announced: the next one is a first again.
        repeats.discard(asker)
        if fate == "asked again":
            repeats.add(asker)
        counts = found.setdefault(name, Counter())
        counts[which] += 1
        counts[f"{which} {fate or 'read'}"] += 1
        counts[fate or "read"] += 1
    for name, counts in sorted(found.items()):
        yield Role(
            name,
            first=counts["first"],
            read=counts["first read"],
            again=counts["again"],
            again_read=counts["again read"],
            refused=counts["refused"],
            cut=counts["cut"],
        )


# ── By chains ────────────────────────────────────────────────────────────────────────────────


def banks(cases: Sequence[Case]) -> Iterator[Bank]:
    """What more chains bring, for each run whose episodes hold enough of them that do not see each other."""
    for name, dataset, drawn, undecided in _held(cases):
        yield Bank(
            name,
            dataset,
            len(drawn),
            undecided,
            tuple(evaluate(drawn)),
            tuple(select(drawn, VOTES, LEVELS)),
        )


def runs_beside(cases: Sequence[Case], banked: Sequence[Case]) -> Iterator[Beside]:
    """Runs held against the vote of five on the problems that they share with each bank of chains."""
    by_name = _ended(cases)
    found: list[Beside] = []
    for bank, dataset, drawn, _ in _held(banked):
        others = [(name, ended) for name, ended in by_name.items() if name != bank]
        held = (beside(drawn, name, ended) for name, ended in others)
        runs = tuple(each for each in held if each is not None)
        if runs:
            at_price = (priced(drawn, name, ended) for name, ended in others)
            found.append(Beside(bank, dataset, runs, tuple(filter(None, at_price))))
    # Runs on one of a bank's sets would be shown twice: once among all problems, and once among those of the set.
    of_sets = [(each.name, each.runs) for each in found if each.dataset is not None]
    yield from (
        each for each in found if each.dataset is not None or (each.name, each.runs) not in of_sets
    )


def runs_routed(
    cases: Sequence[Case], small: Sequence[Case], large: Sequence[Case]
) -> Iterator[Routed]:
    """Each run that may ask a larger model, beside fixed rules over the first bank of each model's chains."""
    smaller, larger = (
        next((drawn for _, _, drawn, _ in _held(each)), list[Drawn]()) for each in (small, large)
    )
    for name, mine in sorted(_by_name(cases).items()):
        if mine[0].opened.policy != "cascade":
            continue
        settings = CascadeSettings.model_validate(mine[0].problem.settings)
        if settings.strong:
            ended = _ended(mine, settings.strong_price)[name]
            found = routed(name, ended, (smaller, larger), settings.strong_price)
            yield from filter(None, [found])


def graders(cases: Sequence[Case]) -> Iterator[Grader]:
    """By grader on record: how many answers, and what a later one would have said of them."""
    found: dict[tuple[str, str], Counter[str]] = {}
    for case in cases:
        word, again = case.known.word, case.graded_now()
        if word is None or case.closed.answer is None:
            continue
        # What exact rules leave open goes to others, which take longer and are not asked here.
        is_other = again is not None and again.outcome != "unknown" and again.grader != word.who
        now = again.grader if again is not None and is_other and not word.person else ""
        counts = found.setdefault((word.who, now), Counter())
        counts["answers"] += 1
        counts["same"] += again is not None and again.outcome == word.outcome
    for (name, now), counts in sorted(found.items()):
        yield Grader(name, counts["answers"], now or None, counts["same"])


def _ended(cases: Sequence[Case], price: float = 1.0) -> dict[str, dict[str, Ended]]:
    """By run and problem, what came of each that could be judged; a token of a larger model costs ``price``."""
    by_name: dict[str, dict[str, Ended]] = {}
    for name, mine in sorted(_by_name(cases).items()):
        ended = by_name.setdefault(name, {})
        for case in mine:
            used, at = case.closed.usage, case.about
            # Of several walks over a problem the first counts: later ones may know it already.
            if case.outcome != "unknown":
                tokens = used.tokens if price == 1.0 else _priced(case, price)
                ended.setdefault(at, Ended(case.outcome == "right", used.calls, tokens))
    return by_name


def _priced(case: Case, price: float) -> float | None:
    """An episode's tokens, each of the larger model's counted at its price."""
    used = case.closed.usage.tokens
    strong = total_of(
        [
            event.tokens
            for _, event in case.trace.events
            if isinstance(event, Completed) and role_of(event) == STRONG
        ]
    )
    return None if used is None or strong is None else used + (price - 1) * strong


def pairs(cases: Sequence[Case]) -> Iterator[Pair]:
    """Every two runs that worked on some of the same problems."""
    for (one, mine), (other, theirs) in combinations(_ended(cases).items(), 2):
        both = [(mine[at].right, theirs[at].right) for at in mine if at in theirs]
        if both:
            yield Pair(one, other, len(both), both.count((True, False)), both.count((False, True)))


def _held(cases: Sequence[Case]) -> Iterator[tuple[str, str | None, list[Drawn], int]]:
    """Each bank's run and data set (none: all of several), its chains by problem, and how many are undecided."""
    for name, mine in sorted(_by_name(cases).items()):
        if mine[0].opened.policy == CHAINS:
            whole = [case for case in mine if len(samples(case).answers) >= BANK]
            sets = sorted({case.problem.dataset or "" for case in whole})
            # All of several sets first, then each; a bank of one set is not shown twice.
            for dataset in [None, *sets] if len(sets) > 1 else sets:
                of = [case for case in whole if dataset in (None, case.problem.dataset or "")]
                drawn = [found for found in map(chains_of, of) if found is not None]
                yield name, dataset, drawn, len(of) - len(drawn)
