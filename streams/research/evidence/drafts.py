"""What an episode's own answers were worth: the first, the vote of all, and the one that was given.

A policy that checks, mends or chooses has to give more right answers than the first thing that it was told, and than
the plain vote of what it paid for anyway. Both can be read off the log, with nobody to ask.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from handlers.answers.alike import kinds
from schemas.events.episode import Completed
from schemas.events.reasoning import Generated
from streams.research.analysis.cases import Case
from streams.research.analysis.report import number, table
from streams.research.analysis.sampling import Chain, Drawn, winner
from streams.research.analysis.statistics import mcnemar


@dataclass(frozen=True, slots=True)
class Drafts:
    """A run's episodes with answers on the way that could all be judged, as the one that was given could."""

    run: str
    episodes: int
    answers: float
    """Of an episode, in the mean."""
    first: int
    """Episodes whose first answer is right."""
    voted: int
    """Those in which the vote of all answers is; ties go to the one first seen."""
    given: int
    put_right: int
    """The given is right, the first was not."""
    spoilt: int
    given_alone: int
    """The given is right, the vote is not."""
    voted_alone: int


def chains_of(case: Case) -> Drawn | None:
    """An episode's chains; none where one of their answers cannot be judged."""
    said = [event for _, event in case.trace.events if isinstance(event, Generated)]
    spent = {at: event.tokens for at, event in case.trace.events if isinstance(event, Completed)}
    answers = [event.answer for event in said]
    if any(case.judged(answer) is None for answer in answers):
        return None
    # Answers that say the same in other words are one kind, as they are in a vote.
    given = [answer for answer in answers if answer is not None]
    kinds_of = dict(zip(given, kinds(given, case.problem.problem), strict=True))
    chains = (
        Chain(
            None if event.answer is None else kinds_of[event.answer],
            case.right(event.answer),
            spent.get(event.source),
        )
        for event in said
    )
    return Drawn(case.about, tuple(chains))


def drafts(cases: Sequence[Case]) -> Iterator[Drafts]:
    """By run; none of a run that never has a second answer, for there is nothing to hold against each other."""
    by_name: dict[str, list[tuple[bool, bool, bool, int]]] = {}
    for case in cases:
        own = chains_of(case)
        if own is not None and own.chains and case.outcome != "unknown":
            given, voted = case.outcome == "right", winner(own.chains)[0]
            came_to = (own.chains[0].right, voted, given, len(own.chains))
            by_name.setdefault(case.name, []).append(came_to)
    for name, found in sorted(by_name.items()):
        if any(count > 1 for *_, count in found):
            turned = [(first, given) for first, _, given, _ in found]
            held = [(given, voted) for _, voted, given, _ in found]
            yield Drafts(
                name,
                episodes=len(found),
                answers=sum(count for *_, count in found) / len(found),
                first=sum(first for first, _ in turned),
                voted=sum(voted for _, voted in held),
                given=sum(given for given, _ in held),
                put_right=turned.count((False, True)),
                spoilt=turned.count((True, False)),
                given_alone=held.count((True, False)),
                voted_alone=held.count((False, True)),
            )


_HEAD = (
    "The answers on an episode's way, where all could be judged: how often the first is right, the vote of all of "
    "them, and the one that was given; what the episode put right of its first answer and what it spoilt, and where "
    "the given one or the vote alone is right, each with McNemar's exact test:"
)
_COLUMNS = (
    "run",
    "episodes",
    "answers each",
    "first right",
    "vote right",
    "given right",
    "put right",
    "spoilt",
    "p",
    "given alone",
    "vote alone",
    "p",
)


def table_of(found: Sequence[Drafts]) -> list[str]:
    """The table of all runs, as Markdown."""
    rows = [
        [
            f"`{each.run}`",
            f"{each.episodes}",
            number(each.answers, 1),
            *map(str, (each.first, each.voted, each.given, each.put_right, each.spoilt)),
            number(mcnemar(each.put_right, each.spoilt), 3),
            *map(str, (each.given_alone, each.voted_alone)),
            number(mcnemar(each.given_alone, each.voted_alone), 3),
        ]
        for each in found
    ]
    return [_HEAD, "", *table(_COLUMNS, rows)]
