"""The review queue as a log holds it: which answers a person should look at, why, and what he makes of them.

It is a view, kept nowhere: an answer is on it from its closing until somebody judges it, and what a person says is
feedback as any other (a verdict, a score, the right answer), which becomes a label. Who cannot judge passes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from heapq import merge
from typing import TYPE_CHECKING, Any

import orjson
from pydantic import ValidationError

from handlers.reviewing import USUAL, Ended, Reason, Thresholds, reasons
from schemas.events.codec import decode
from schemas.events.episode import ReviewAsked
from schemas.events.learning import Graded, ProblemForgotten
from schemas.identity import canonical, digest
from schemas.problem import Feedback
from state.folds.grades import GradesFold
from streams.interfaces.cli.errors import usage

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

NEWEST = 1 << 62
VOTED = """
select json_object('votes', json_extract(v.body, '$.votes'), 'of', json_extract(v.body, '$.of'))
  from records v where v.episode = c.episode and v.kind = 'voted' order by v.offset desc limit 1
"""
CLOSED = f"""
select a.offset, c.episode, c.at_ms, a.body, o.body, c.body, ({VOTED})
  from records a
  join records c on c.episode = a.episode and c.address = 'closed'
  left join records o on o.episode = a.episode and o.address = 'opened'
  where a.address = 'admitted' and a.offset < :before {{one}} order by a.offset desc
"""
ASKED = """
select a.offset, q.episode, q.at_ms, a.body, o.body, q.body, 0
  from records a
  join records q on q.episode = a.episode and q.address >= 'asked.' and q.address < 'asked/'
  left join records o on o.episode = a.episode and o.address = 'opened'
  where a.address = 'admitted' and a.offset < :before {one}
  and not exists (select 1 from records c where c.episode = a.episode and c.address = 'closed')
  and not exists (select 1 from records r where r.episode = a.episode
    and r.address = json_extract(q.body, '$.address'))
  and not exists (select 1 from records v where v.episode = a.episode and v.kind = 'episode.adopted'
    and json_extract(v.body, '$.void'))
  order by a.offset desc, q.offset
"""
REPLIED = """
select json_extract(cast(value as text), '$.episode'), json_extract(cast(value as text), '$.review')
  from messages where topic = 'feedback' and json_valid(cast(value as text))
  and json_extract(cast(value as text), '$.review') is not null
"""
GRADED = "select kind, body from records where episode = ? and kind = 'graded' order by offset"
SPOKEN = """
select distinct json_extract(cast(value as text), '$.episode') from messages
  where topic = 'feedback' and json_valid(cast(value as text))
"""
FORGOTTEN = "select kind, body from records where episode >= 'n/' and episode < 'n0' and kind = 'problem.forgotten'"


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
        told: dict[str, Any] = {"status": "waiting", "answer": self.answer}
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
        return "; ".join(_told(each, self.ended) for each in self.reasons) or "nothing calls for it"


def _told(reason: Reason, ended: Ended) -> str:
    match reason:
        case "abstained":
            by_limit = ended.status == "exhausted"
            return f"no answer: {'a limit ended it' if by_limit else 'it abstained'}"
        case "disputed":
            return f"disputed: {ended.votes} of {ended.of} votes for this answer"
        case _:
            how = "claimed" if ended.calibrated is None else "calibrated"
            return f"unsure: its chance of being right is {ended.chance:.2f} ({how})"


def queue(log: SqliteLog, thresholds: Thresholds = USUAL, before: int = NEWEST) -> Iterator[Item]:
    """What waits for a person, newest first, from what was admitted ``before`` an offset on."""
    forgotten = _forgotten(log)
    both = merge(
        asking(log, before), _ended(log, thresholds, before), key=lambda item: -item.offset
    )
    for item in both:
        if (item.domain, item.problem_id) not in forgotten:
            yield item


def _ended(log: SqliteLog, thresholds: Thresholds, before: int) -> Iterator[Item]:
    """The answers that call for a person, of whom nobody has spoken and nobody knows how they turned out."""
    judged = {episode for (episode,) in log.db.execute(SPOKEN)}
    for row in log.db.execute(CLOSED.format(one=""), {"before": before}):
        if row[1] in judged:
            continue
        item = _item(row, thresholds)
        if item.reasons and not _is_known(log, item.episode):
            yield item


def asking(log: SqliteLog, before: int = NEWEST, episode: str | None = None) -> Iterator[Item]:
    """The questions to people that nobody has answered; of one episode, if it is named."""
    replied = {(named, address) for named, address in log.db.execute(REPLIED)}
    one = "" if episode is None else "and a.episode = :episode"
    values = {"before": before, "episode": episode}
    for row in log.db.execute(ASKED.format(one=one), values):
        item = _open_item(row)
        if item.asked is not None and (item.episode, item.asked.address) not in replied:
            yield item


def item_of(log: SqliteLog, episode: str, thresholds: Thresholds = USUAL) -> Item:
    """The answer of one episode, on the queue or not, or what it asks.

    Raises a usage error where it has no answer yet and asks nothing.
    """
    waiting = waiting_of(log, episode)
    if waiting is not None:
        return waiting
    values = {"before": NEWEST, "episode": episode}
    row = log.db.execute(CLOSED.format(one="and a.episode = :episode"), values).fetchone()
    if row is None:
        raise usage(f"{episode} has not ended, and asks nobody", field="ID", error="review.open")
    return _item(row, thresholds)


def waiting_of(log: SqliteLog, episode: str) -> Item | None:
    """What an open episode asks a person; nothing of one that waits for nobody."""
    return next(asking(log, NEWEST, episode), None)


def is_judged(log: SqliteLog, episode: str) -> bool:
    """Whether an answer needs no person any more: somebody spoke of it, or it is known how it turned out."""
    return episode in {name for (name,) in log.db.execute(SPOKEN)} or _is_known(log, episode)


def judgement(item: Item, by: str, **word: Any) -> Feedback:
    """What a person makes of an answer, as feedback: one ``word`` of verdict, score, reference, passed.

    Raises a usage error where it is none, or judges an answer that is not there.
    """
    said = {name: value for name, value in word.items() if value is not None}
    if item.asked is not None:
        said |= {"review": item.asked.address, "of": item.asked.proposed}
    if item.answer is None and ("verdict" in said or "score" in said):
        hint = "Give the right answer, or pass it"
        what = f"{item.problem_id} has no answer that could be right or wrong"
        raise usage(what, error="review.no_answer", hint=hint)
    try:
        return Feedback(episode=item.episode, by=by, **said)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise usage(first["msg"].removeprefix("Value error, "), field=field) from error


def put(log: SqliteLog, said: Feedback) -> bool:
    """Publish a judgement. Returns whether it is new: the same word twice is one."""
    value = said.model_dump(mode="json", exclude_none=True)
    return log.publish([("feedback", digest(value), {}, canonical(value))]) > 0


def _open_item(row: tuple[Any, ...]) -> Item:
    asked = decode("review.asked", row[5])
    assert isinstance(asked, ReviewAsked)
    return Item(**_of_problem(row), ended=None, reasons=("asked",), asked=asked)


def _item(row: tuple[Any, ...], thresholds: Thresholds) -> Item:
    voted, said = row[6], orjson.loads(row[5])
    vote: dict[str, Any] = {} if voted is None else orjson.loads(voted)
    names = ("answer", "confidence", "calibrated")
    ended = Ended(status=said["status"], **{name: said.get(name) for name in names}, **vote)
    return Item(**_of_problem(row), ended=ended, reasons=reasons(ended, thresholds))


def _of_problem(row: tuple[Any, ...]) -> dict[str, Any]:
    """What an item says of its episode: where its admission stands, its problem and policy, and since when."""
    offset, episode, at_ms, admitted, opened, *_ = row
    problem = orjson.loads(admitted)["problem"]
    began: dict[str, Any] = {} if opened is None else orjson.loads(opened)
    return {
        "offset": offset,
        "episode": episode,
        "problem_id": problem["id"],
        "domain": problem["domain"],
        "problem": problem["problem"],
        "policy": began.get("policy", ""),
        "memory": problem["memory"],
        "at_ms": at_ms,
    }


def _is_known(log: SqliteLog, episode: str) -> bool:
    """Whether it is known how an answer turned out, whoever said it."""
    fold = GradesFold()
    for kind, body in log.db.execute(GRADED, (episode,)):
        event = decode(kind, body)
        if isinstance(event, Graded):
            fold.feed(episode, event)
    return fold.outcome(episode) in ("right", "wrong")


def _forgotten(log: SqliteLog) -> set[tuple[str, str]]:
    """Domain and id of the problems that a person had forgotten."""
    events = (decode(kind, body) for kind, body in log.db.execute(FORGOTTEN))
    return {
        (event.domain, event.problem_id) for event in events if isinstance(event, ProblemForgotten)
    }
