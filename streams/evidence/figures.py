"""What the log of a real run shows, derived from its replies and grades: a table by policy, one by role, one by chains.

No model is asked. Answers count as graders recorded them, and what nobody could judge is in no share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from schemas.events.episode import Completed, EpisodeOpened, ProblemAdmitted
from streams.analysis.cases import Case, Reading, name_of, read, role_of
from streams.analysis.found import Metric
from streams.analysis.intervals import of_outcomes
from streams.bench.metrics import METRICS
from streams.bench.sampled import samples
from streams.policies import find
from streams.replay.unread import unread
from streams.replay.verify import Verifier

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

CHAINS = "self_consistency"
"""The policy whose episodes hold chains of thought that do not see each other."""
BANK = 8
"""So many chains a problem are a bank, of which every smaller number can be drawn."""
POINTS = (1, 2, 5, 10)
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
    """Replies that were not read in the end."""
    cut: int
    """Replies that ended at their length: no answer and no score is taken from them."""


@dataclass(frozen=True, slots=True)
class Point:
    """So many chains of a problem: the share of votes that are right, of which any is right, and their tokens."""

    chains: int
    vote: float | None
    vote_interval: Interval | None
    any: float | None
    any_interval: Interval | None
    tokens: float | None


@dataclass(frozen=True, slots=True)
class Bank:
    """What more chains of the same problems bring."""

    name: str
    problems: int
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Figures:
    """All that is told of a log."""

    rows: tuple[Row, ...]
    roles: tuple[Role, ...]
    banks: tuple[Bank, ...]
    models: Mapping[str, int]
    """Replies by model."""
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


def figures(log: SqliteLog) -> Figures:
    """Everything that is told of a log."""
    reading = read(log)
    cases = [case for case in reading.cases() if case.opened.parent is None]
    replies = [record.event for record in log.records(kinds=("completed",))]
    said = [event for event in replies if isinstance(event, Completed)]
    checked = Verifier(log, find).run()
    first, last = log.db.execute("select min(at_ms), max(at_ms) from records").fetchone()
    totals = [event.tokens for event in said]
    return Figures(
        rows=tuple(_rows(reading, cases)),
        roles=tuple(_roles(log)),
        banks=tuple(banks(cases)),
        models=dict(sorted(Counter(event.model or "unknown" for event in said).items())),
        backbones=tuple(sorted({case.opened.backbones for case in cases})),
        seeds=tuple(sorted({case.problem.seed for case in cases})),
        tokens=None if None in totals else sum(each or 0 for each in totals),
        hours=(last - first) / 3_600_000,
        verified=checked.episodes,
        facts=checked.facts,
        diverged=tuple(f"{each.episode} at {each.address}" for each in checked.diverged),
        other_builds=len(checked.unverifiable),
    )


# ── By policy ────────────────────────────────────────────────────────────────────────────────


def _rows(reading: Reading, cases: Sequence[Case]) -> Iterator[Row]:
    unfinished = _unfinished(reading)
    for name, mine in sorted(_by_name(cases).items()):
        right = [case.outcome == "right" for case in mine if case.outcome != "unknown"]
        tokens = [case.closed.usage.tokens for case in mine]
        known = [each for each in tokens if each is not None]
        calls = [case.closed.usage.calls for case in mine]
        yield Row(
            name=name,
            closed=len(mine),
            unfinished=unfinished[name],
            right=sum(right),
            graded=len(right),
            interval=of_outcomes(right),
            calls=_mean(calls),
            tokens=_mean(known),
            tokens_unknown=len(tokens) - len(known),
        )


def _by_name(cases: Sequence[Case]) -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = {}
    for case in cases:
        found.setdefault(case.name, []).append(case)
    return found


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _unfinished(reading: Reading) -> Counter[str]:
    """How many episodes of each row have not ended."""
    found: Counter[str] = Counter()
    for journal in reading.journals.values():
        admitted, opened = journal.get("admitted"), journal.get("opened")
        if isinstance(admitted, ProblemAdmitted) and isinstance(opened, EpisodeOpened):
            found[name_of(admitted.problem, opened)] += "closed" not in journal
    return found


# ── By role ──────────────────────────────────────────────────────────────────────────────────


def _roles(log: SqliteLog) -> Iterator[Role]:
    """Each role's askings, those apart that repeat one whose reply could not be read."""
    how = {(each.episode, each.at): each.how for each in unread(log)}
    found: dict[str, Counter[str]] = {}
    repeats: set[tuple[str, str]] = set()  # episodes and roles whose next asking is a repeated one
    for record in log.records(kinds=("completed",)):
        assert isinstance(record.event, Completed)
        name = role_of(record.event)
        fate, asker = how.get((record.episode, record.address)), (record.episode, name)
        which = "again" if asker in repeats else "first"
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
    for name, mine in sorted(_by_name(cases).items()):
        whole = [case for case in mine if len(samples(case).answers) >= BANK]
        if whole and mine[0].opened.policy == CHAINS:
            points = tuple(_point(whole, n) for n in POINTS)
            yield Bank(name, len(whole), points)


def _point(cases: Sequence[Case], chains: int) -> Point:
    vote, any_right = (METRICS[f"{which}_{chains}"] for which in ("vote_of", "any_of"))
    tokens = [case.closed.usage.tokens for case in cases]
    known = [
        tokens_of / len(samples(case).answers)
        for case, tokens_of in zip(cases, tokens, strict=True)
        if tokens_of is not None
    ]
    a_chain = _mean(known)
    return Point(
        chains,
        *_share(vote, cases),
        *_share(any_right, cases),
        None if a_chain is None else chains * a_chain,
    )


def _share(metric: Metric, cases: Sequence[Case]) -> tuple[float | None, Interval | None]:
    found = metric.found(cases)
    return found.value, metric.interval(found.sample)
