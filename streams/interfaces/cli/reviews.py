"""The review queue as a log holds it: which answers a person should look at, why, and what he makes of them.

It is a view, kept nowhere: an answer is on it from its closing until somebody judges it, and what a person says is
feedback as any other (a verdict, a score, the right answer), which becomes a label. Who cannot judge passes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from heapq import merge
from typing import TYPE_CHECKING, Any

import orjson
from pydantic import ValidationError

from handlers.reviewing import USUAL, Ended, Reason, Thresholds, reasons
from schemas.events.codec import decode
from schemas.events.episode import ReviewAsked
from schemas.faults import first_fault
from schemas.identity import canonical, digest
from schemas.problem import Feedback
from schemas.written import feedback_of
from state.folds.grades import GradesFold
from streams.interfaces.cli.errors import usage
from streams.producing.sources import BadLine
from streams.producing.typed import need_fit
from streams.runtime.embedded.queries import reviews
from streams.runtime.embedded.queries.reviews import NEWEST, ToReview
from streams.views.states import ASKING

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One answer that a person may look at. ``reasons`` say why he should; ``offset`` orders the queue."""

    offset: int
    episode: str
    problem_id: str
    domain: str
    problem: str
    policy: str
    memory: str
    """The memory that its problem names; of a guest of the door, the guest's own."""
    at_ms: int
    ended: Ended | None
    """How its episode ended; nothing of one that waits."""
    reasons: tuple[Reason, ...]
    asked: ReviewAsked | None = None
    """The question that its episode waits with."""

    @property
    def answer(self) -> str | None:
        """The answer to be judged."""
        if self.ended is not None:
            return self.ended.answer
        return None if self.asked is None else self.asked.proposed

    def record(self) -> dict[str, Any]:
        """The item as plain values."""
        names = ("episode", "problem_id", "domain", "policy", "memory", "problem", "at_ms")
        told: dict[str, Any] = {"status": ASKING, "answer": self.answer}
        if self.ended is not None:
            told = asdict(self.ended)
        told["reasons"] = list(self.reasons)
        if self.asked is not None:
            told |= {"question": self.asked.question, "address": self.asked.address}
        return {name: getattr(self, name) for name in names} | told

    def why(self) -> str:
        """Why a person should look at it, in words."""
        if self.ended is None:
            return "asked: its policy waits for a person"
        ended, said = self.ended, list[str]()
        for reason in self.reasons:
            match reason:
                case "abstained":
                    by_limit = ended.status == "exhausted"
                    said.append(f"no answer: {'a limit ended it' if by_limit else 'it abstained'}")
                case "disputed":
                    said.append(f"disputed: {ended.votes} of {ended.of} votes for this answer")
                case _:
                    how = "claimed" if ended.calibrated is None else "calibrated"
                    said.append(f"unsure: its chance of being right is {ended.chance:.2f} ({how})")
        return "; ".join(said) or "nothing calls for it"


def queue(log: SqliteLog, thresholds: Thresholds = USUAL, before: int = NEWEST) -> Iterator[Item]:
    """What waits for a person, newest first, from what was admitted ``before`` an offset on."""
    # Nobody is to read again what was asked to be forgotten.
    forgotten = reviews.forgotten(log)
    # Both come newest first, so that they can be merged without holding either of them.
    both = merge(
        asking(log, before), _ended(log, thresholds, before), key=lambda item: -item.offset
    )
    for item in both:
        if (item.domain, item.problem_id) not in forgotten:
            yield item


def _ended(log: SqliteLog, thresholds: Thresholds, before: int) -> Iterator[Item]:
    """The answers that call for a person, of whom nobody has spoken and nobody knows how they turned out."""
    judged = reviews.spoken_of(log)
    for row in reviews.closed(log, before):
        if row.episode in judged:
            continue
        item = _item(row, thresholds)
        if item.reasons and not _is_known(log, item.episode):
            yield item


def asking(log: SqliteLog, before: int = NEWEST, episode: str | None = None) -> Iterator[Item]:
    """The questions to people that nobody has answered; of one episode, if it is named."""
    replied = reviews.replied(log)
    for row in reviews.asked(log, before, episode):
        question = decode("review.asked", row.body)
        assert isinstance(question, ReviewAsked)
        if (row.episode, question.address) not in replied:
            yield Item(**_of_problem(row), ended=None, reasons=("asked",), asked=question)


def item_of(log: SqliteLog, episode: str, thresholds: Thresholds = USUAL) -> Item:
    """The answer of one episode, on the queue or not, or what it asks.

    Raises a usage error where it has no answer yet and asks nothing.
    """
    waiting = waiting_of(log, episode)
    if waiting is not None:
        return waiting
    row = next(reviews.closed(log, NEWEST, episode), None)
    if row is None:
        raise usage(f"{episode} has not ended, and asks nobody", field="ID", error="review.open")
    return _item(row, thresholds)


def _answered(log: SqliteLog, episode: str) -> Item | None:
    """What an open episode asked a person whose word no worker has taken up yet: until then it may be another."""
    for row in reviews.asked(log, NEWEST, episode):
        question = decode("review.asked", row.body)
        assert isinstance(question, ReviewAsked)
        if log.find(row.episode, question.address) is None:
            return Item(**_of_problem(row), ended=None, reasons=("asked",), asked=question)
    return None


def waiting_of(log: SqliteLog, episode: str) -> Item | None:
    """What an open episode asks a person, also where somebody spoke whose word nobody has taken up yet."""
    return next(asking(log, NEWEST, episode), None) or _answered(log, episode)


def is_judged(log: SqliteLog, episode: str) -> bool:
    """Whether an answer needs no person any more: somebody spoke of it, or it is known how it turned out."""
    return episode in reviews.spoken_of(log) or _is_known(log, episode)


def judgement(item: Item, by: str, **word: Any) -> Feedback:
    """What a person makes of an answer, as feedback: one ``word`` of verdict, score, reference, passed.

    Raises a usage error where it is none, or judges an answer that is not there.
    """
    said = {name: value for name, value in word.items() if value is not None}
    if item.asked is not None:
        # Bound to the question and to what was proposed: a word that comes late must not answer
        # the next one.
        said |= {"review": item.asked.address, "of": item.asked.proposed}
    if item.answer is None and ("verdict" in said or "score" in said):
        hint = "Give the right answer, or pass it"
        what = f"{item.problem_id} has no answer that could be right or wrong"
        raise usage(what, error="review.no_answer", hint=hint)
    try:
        return Feedback(episode=item.episode, by=by, **said)
    except ValidationError as error:
        field, what = first_fault(error)
        raise usage(what, field=field) from error


def as_newest(log: SqliteLog, said: Feedback) -> Feedback:
    """The judgement; with its time, where it was said before and something else since.

    The same word twice is one, and would otherwise be the earlier one: nobody could go back to what he first said.
    """
    if said.episode is None or said.at is not None:
        return said
    before: list[Feedback] = []
    for value in reviews.said_of(log, said.episode):
        with suppress(ValidationError):  # anybody may have put it there
            before.append(feedback_of(value))
    if said not in before:
        return said
    if before[-1].model_copy(update={"at": None}) == said:
        return before[-1]
    return said.model_copy(update={"at": datetime.now(UTC).isoformat(timespec="milliseconds")})


def put(log: SqliteLog, said: Feedback) -> bool:
    """Publish a judgement. Returns whether it is new: the same word twice is one, unless another came between.

    Raises a usage error for a right answer of another form than its problem's type.
    """
    try:
        need_fit(log, said)
    except BadLine as error:
        raise usage(error.what, field=error.field, error=error.code) from error
    value = as_newest(log, said).model_dump(mode="json", exclude_none=True)
    return log.publish([("feedback", digest(value), {}, canonical(value))]) > 0


def _item(row: ToReview, thresholds: Thresholds) -> Item:
    said = orjson.loads(row.body)
    # Of a policy that does not vote there is none, and nothing can be disputed.
    vote: dict[str, Any] = {} if row.voted is None else orjson.loads(row.voted)
    names = ("answer", "confidence", "calibrated")
    ended = Ended(status=said["status"], **{name: said.get(name) for name in names}, **vote)
    return Item(**_of_problem(row), ended=ended, reasons=reasons(ended, thresholds))


def _of_problem(row: ToReview) -> dict[str, Any]:
    """What an item says of its episode: where its admission stands, its problem and policy, and since when."""
    problem = orjson.loads(row.admitted)["problem"]
    began: dict[str, Any] = {} if row.opened is None else orjson.loads(row.opened)
    return {
        "offset": row.offset,
        "episode": row.episode,
        "problem_id": problem["id"],
        "domain": problem["domain"],
        "problem": problem["problem"],
        "policy": began.get("policy", ""),
        "memory": problem["memory"],
        "at_ms": row.at_ms,
    }


def _is_known(log: SqliteLog, episode: str) -> bool:
    """Whether it is known how an answer turned out, whoever said it."""
    fold = GradesFold()
    for grade in reviews.grades_of(log, episode).values():
        fold.feed(episode, grade)
    return fold.outcome(episode) in ("right", "wrong")
