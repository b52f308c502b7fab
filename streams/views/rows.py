"""The steps of an episode as rows: what was asked where, what came of it, and what it cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from schemas.events.base import AnswerEvent, Event
from schemas.events.episode import (
    Completed,
    Embedded,
    Forked,
    LimitReached,
    QuestionAbandoned,
    Recalled,
    ReviewAnswered,
)
from schemas.events.reasoning import KnowledgeReached
from streams.views.facts import role_of, says
from streams.views.words import one_line, plural

EXCERPT = 400


@dataclass(frozen=True, slots=True)
class Row:
    """One step. ``said`` are the facts that were drawn from it, by address."""

    at: str
    asked: str
    answered: str
    tone: str = ""
    round: int | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float | None = None
    model: str | None = None
    called: bool = False
    said: tuple[tuple[str, Event], ...] = ()
    attempts: int = 1


def rows(steps: Sequence[tuple[str, Event]]) -> list[Row]:
    """A row for each answer, and for each fact that belongs to none."""
    replies = {at: event for at, event in steps if isinstance(event, Completed)}
    drawn: dict[str, list[tuple[str, Event]]] = {}
    for at, event in steps:
        source = getattr(event, "source", None)
        if source in replies:
            drawn.setdefault(source, []).append((at, event))
    owned = {at for facts in drawn.values() for at, _ in facts}
    found = [
        _row(at, event, tuple(drawn.get(at, ())), replies) for at, event in steps if at not in owned
    ]
    return list(_rounded(found))


def grouped(found: Sequence[Row]) -> bool:
    """Whether the rows fall into tries that are worth a line each."""
    rounds = [row.round for row in found if row.called and row.round is not None]
    voices = {row.asked for row in found if row.called}
    return len(voices) > 1 and any(rounds.count(round) > 1 for round in rounds)


def _row(
    at: str, event: Event, said: tuple[tuple[str, Event], ...], replies: Mapping[str, Completed]
) -> Row:
    if isinstance(event, Completed):
        return _called(at, event, said)
    if isinstance(event, AnswerEvent):
        asked, answered, tone = _answered(event)
        return Row(at, asked, answered, tone)
    asked, answered, tone = says(event, None)
    return Row(at, asked, answered, tone, round=getattr(event, "round", None))


def _called(at: str, event: Completed, said: tuple[tuple[str, Event], ...]) -> Row:
    asked, answered, tone = role_of(event), _excerpt(event), "dim"
    if said:
        asked, answered, tone = says(said[-1][1], event)
    if event.finish not in ("stop", "length"):
        answered, tone = f"({event.finish}) {answered}", "bad"
    rounds = [round for _, fact in said if (round := getattr(fact, "round", None)) is not None]
    return Row(
        at,
        asked,
        answered,
        tone,
        rounds[-1] if rounds else None,
        event.prompt_tokens,
        event.completion_tokens,
        event.seconds,
        event.model,
        True,
        said,
        event.attempts,
    )


def _excerpt(event: Completed) -> str:
    said = one_line(event.text[:EXCERPT])
    return f'"{said}"' if said else "(nothing)"


def _answered(event: AnswerEvent) -> tuple[str, str, str]:
    match event:
        case Recalled():
            rules = sum(similarity is None for _, _, similarity in event.items)
            lessons = plural(len(event.items) - rules, "lesson")
            return (
                "recall",
                f"{plural(rules, 'rule')}, {lessons} of version {event.memory_version}",
                "",
            )
        case Embedded():
            return (
                "embed",
                f"{plural(len(event.vectors), 'text')} by {one_line(event.embedder)}",
                "dim",
            )
        case Forked():
            return "fork", plural(event.lanes, "lane"), "dim"
        case LimitReached():
            return "limit", f"{event.which} spent: not asked", "warn"
        case ReviewAnswered():
            return "person", *_heard(event)
        case QuestionAbandoned():
            return "given up", one_line(event.reason), "warn"
        case _:
            return event.kind, "", ""


def _heard(event: ReviewAnswered) -> tuple[str, str]:
    """What a person made of a question, and the tone of it."""
    if event.result == "nobody":
        return "nobody to ask", "dim"
    who = one_line(event.by or "somebody")
    if event.result == "passed":
        return f"{who} cannot tell", "dim"
    if event.answer is not None:
        return f"{who}: {one_line(event.answer)}", "note"
    return (f"{who}: it is right", "good") if event.verdict else (f"{who}: it is wrong", "warn")


def _rounded(found: Sequence[Row]) -> Iterator[Row]:
    """A step without a round of its own belongs to the next that has one, else to the last."""
    known: list[int | None] = [None] * len(found)
    following: int | None = None
    for index in range(len(found) - 1, -1, -1):
        following = found[index].round if found[index].round is not None else following
        known[index] = following
    last: int | None = None
    for row, round in zip(found, known, strict=True):
        last = last if round is None else round
        yield replace(row, round=last if row.called or row.round is not None else None)


def items_of(found: Iterable[Row]) -> list[str]:
    """Ids of the memory items that guided any step, in the order of their use."""
    facts = (fact for row in found for _, fact in row.said if isinstance(fact, KnowledgeReached))
    return list(dict.fromkeys(item for fact in facts for item in fact.items))
