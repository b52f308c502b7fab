"""The steps of an episode as rows: what was asked where, what came of it, and what it cost."""

# `rows` turns the record of an episode into what the timeline, `show` and the demo print. A reply
# and the facts that were drawn from it are one row, because a reader asks what a call brought; a
# fact whose source is no reply of this record (a fork's parent may hold it) has a row of its own.

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    found: list[Row] = []
    for at, event in steps:
        if at in owned:
            continue
        if isinstance(event, Completed):
            found.append(_called(at, event, tuple(drawn.get(at, ()))))
        elif isinstance(event, AnswerEvent):
            found.append(Row(at, *_answered(event)))
        else:
            found.append(Row(at, *says(event, None), round=getattr(event, "round", None)))
    return _with_rounds(found)


def grouped(found: Sequence[Row]) -> bool:
    """Whether the rows fall into tries that are worth a line each."""
    rounds = [row.round for row in found if row.called and row.round is not None]
    voices = {row.asked for row in found if row.called}
    return len(voices) > 1 and any(rounds.count(round) > 1 for round in rounds)


def _called(at: str, event: Completed, said: tuple[tuple[str, Event], ...]) -> Row:
    if said:  # the last fact is what the policy made of the reply; those before it led there
        asked, answered, tone = says(said[-1][1], event)
    else:
        # Cut before it is cleaned: a reply may be long, and a screen asks for hundreds of rows.
        excerpt = one_line(event.text[:EXCERPT])
        asked, answered, tone = role_of(event), f'"{excerpt}"' if excerpt else "(nothing)", "dim"
    if event.finish not in ("stop", "length"):
        why = answered if event.detail is None else one_line(event.detail[:EXCERPT])
        answered, tone = f"({event.finish}) {why}", "bad"
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


def _answered(event: AnswerEvent) -> tuple[str, str, str]:
    """Whom something other than a model was asked of, the answer in words, and its tone."""
    match event:
        case Recalled():
            # Rules are given whole, so nothing was compared: only lessons bear a similarity.
            rules = sum(similarity is None for _, _, similarity in event.items)
            lessons = plural(len(event.items) - rules, "lesson")
            found = f"{plural(rules, 'rule')}, {lessons} of version {event.memory_version}"
            return "recall", found, ""
        case Embedded():
            texts = f"{plural(len(event.vectors), 'text')} by {one_line(event.embedder)}"
            return "embed", texts, "dim"
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


def _with_rounds(found: Sequence[Row]) -> list[Row]:
    """A step without a round of its own belongs to the next that has one, else to the last."""
    following: int | None = None
    known: list[int | None] = []
    for row in reversed(found):
        following = following if row.round is None else row.round
        known.append(following)
    last: int | None = None
    made: list[Row] = []
    for row, round in zip(found, reversed(known), strict=True):
        last = last if round is None else round
        # What asked no model (a recall, a limit) stands between tries and is part of none.
        made.append(replace(row, round=last if row.called or row.round is not None else None))
    return made


def items_of(found: Iterable[Row]) -> list[str]:
    """Ids of the memory items that guided any step, in the order of their use."""
    facts = (fact for row in found for _, fact in row.said if isinstance(fact, KnowledgeReached))
    return list(dict.fromkeys(item for fact in facts for item in fact.items))
