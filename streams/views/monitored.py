"""Facts of monitoring in a few words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from schemas.events.base import Event
from schemas.events.monitoring import (
    Allocated,
    CasesReached,
    EpisodeAbandoned,
    Experience,
    ExperienceFelt,
    ExperienceKept,
    SearchSteered,
    StrategyMatched,
    ThresholdsSet,
)
from streams.views.words import one_line, plural

SHOWN: Final = 6
"""Numbers that fit a line."""
FELT: Final[Mapping[Experience, str]] = {
    "EOL": "ease of learning",
    "FOK": "feeling of knowing",
    "JOL": "judgement of learning",
    "evaluative": "evaluation",
}


def monitored(fact: Event) -> tuple[str, str, str] | None:
    """Who, what and tone of a fact of monitoring; none of any other."""
    match fact:
        case CasesReached():
            reached = plural(len(fact.items), "case")
            return "recall", f"{reached} reached, {fact.near} near, {fact.held} held", "dim"
        case ExperienceFelt():
            value = "unknown" if fact.value is None else f"{fact.value:.2f}"
            inputs = f", from {numbers(fact.inputs)}" if fact.inputs else ""
            # Difficulty and confidence are words already; the papers' abbreviations are none.
            name = FELT.get(fact.experience, fact.experience)
            return "feels", f"{name} {value}{inputs}", "" if fact.value is not None else "warn"
        case StrategyMatched():
            rates = f"; {numbers(fact.rates)}" if fact.rates else ""
            return "strategy", f"{fact.strategy} for {fact.diagnosis}{rates}", ""
        case Allocated():
            # Subjects are episodes by their whole path, which would fill the line: the last part
            # tells them apart within a set.
            shares = ", ".join(
                f"{one_line(subject.rpartition('/')[2])} {calls}"
                for subject, calls in fact.shares[:SHOWN]
            )
            more = f" and {len(fact.shares) - SHOWN} more" if len(fact.shares) > SHOWN else ""
            return "limit", f"{plural(fact.total, 'call')} shared out: {shares}{more}", "dim"
        case ThresholdsSet():
            knowing = "" if fact.knowing is None else f", knowing {fact.knowing:.2f}"
            origin = f", by {', '.join(fact.history)}" if fact.history else ""
            return "norm", f"enough at {fact.confidence:.2f}{knowing}{origin}", "dim"
        case SearchSteered():
            known = f"known {fact.known:.2f}, unknown {fact.unknown:.2f} at {fact.threshold:.2f}"
            return (
                "search",
                f"{fact.intensity}: {known}",
                "warn" if fact.intensity == "stop" else "",
            )
        case EpisodeAbandoned():
            return "given up", f"by {fact.criterion}", "warn"
        case ExperienceKept():
            return "keeps", f"{len(fact.rounds)} of {plural(fact.of, 'round')}", "dim"
        case _:
            return None


def numbers(parts: Sequence[tuple[str, float]]) -> str:
    """Names with their numbers, the first few."""
    return ", ".join(f"{one_line(name)} {value:.2f}" for name, value in parts[:SHOWN])
