"""The review queue as a log holds it: which answers a person should look at, why, and what he makes of them.

It is a view, kept nowhere: an answer is on it from its closing until somebody judges it, and what a person says is
feedback as any other (a verdict, a score, the right answer), which becomes a label. Who cannot judge passes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import orjson
from pydantic import ValidationError

from handlers.reviewing import USUAL, Ended, Reason, Thresholds, reasons
from schemas.events.codec import decode
from schemas.events.learning import Graded, ProblemForgotten
from schemas.identity import canonical, digest
from schemas.problem import Feedback
from state.folds.grades import GradesFold
from streams.cli.errors import usage

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
    ended: Ended
    reasons: tuple[Reason, ...]

    @property
    def answer(self) -> str | None:
        """The answer to be judged."""
        return self.ended.answer

    def record(self) -> dict[str, Any]:
        """The item as plain values."""
        names = ("episode", "problem_id", "domain", "policy", "memory", "problem", "at_ms")
        told = asdict(self.ended) | {"reasons": list(self.reasons)}
        return {name: getattr(self, name) for name in names} | told

    def why(self) -> str:
        """Why a person should look at it, in words."""
        return "; ".join(_told(each, self.ended) for each in self.reasons) or "nothing calls for it"


def _told(reason: Reason, ended: Ended) -> str:
    match reason:
        case "asked":
            return "asked: the policy waits for a person"
        case "abstained":
            by_limit = ended.status == "exhausted"
            return f"no answer: {'a limit ended it' if by_limit else 'it abstained'}"
        case "disputed":
            return f"disputed: {ended.votes} of {ended.of} votes for this answer"
        case "unsure":
            how = "claimed" if ended.calibrated is None else "calibrated"
            return f"unsure: its chance of being right is {ended.chance:.2f} ({how})"


def queue(log: SqliteLog, thresholds: Thresholds = USUAL, before: int = NEWEST) -> Iterator[Item]:
    """The answers that wait for a person, newest first, from those admitted ``before`` an offset on."""
    judged = {episode for (episode,) in log.db.execute(SPOKEN)}
    forgotten = _forgotten(log)
    for row in log.db.execute(CLOSED.format(one=""), {"before": before}):
        if row[1] in judged:
            continue
        item = _item(row, thresholds)
        is_left = bool(item.reasons) and (item.domain, item.problem_id) not in forgotten
        if is_left and not _is_known(log, item.episode):
            yield item


def item_of(log: SqliteLog, episode: str, thresholds: Thresholds = USUAL) -> Item:
    """The answer of one episode, on the queue or not. Raises a usage error where it has none yet."""
    values = {"before": NEWEST, "episode": episode}
    row = log.db.execute(CLOSED.format(one="and a.episode = :episode"), values).fetchone()
    if row is None:
        raise usage(f"{episode} has not ended", field="ID", error="review.open")
    return _item(row, thresholds)


def is_judged(log: SqliteLog, episode: str) -> bool:
    """Whether an answer needs no person any more: somebody spoke of it, or it is known how it turned out."""
    return episode in {name for (name,) in log.db.execute(SPOKEN)} or _is_known(log, episode)


def judgement(item: Item, by: str, **word: Any) -> Feedback:
    """What a person makes of an answer, as feedback: one ``word`` of verdict, score, reference, passed.

    Raises a usage error where it is none, or judges an answer that is not there.
    """
    said = {name: value for name, value in word.items() if value is not None}
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


def _item(row: tuple[Any, ...], thresholds: Thresholds) -> Item:
    offset, episode, at_ms, admitted, opened, closed, voted = row
    problem = orjson.loads(admitted)["problem"]
    began: dict[str, Any] = {} if opened is None else orjson.loads(opened)
    said: dict[str, Any] = orjson.loads(closed)
    vote: dict[str, Any] = {} if voted is None else orjson.loads(voted)
    names = ("answer", "confidence", "calibrated")
    ended = Ended(status=said["status"], **{name: said.get(name) for name in names}, **vote)
    return Item(
        offset=offset,
        episode=episode,
        problem_id=problem["id"],
        domain=problem["domain"],
        problem=problem["problem"],
        policy=began.get("policy", ""),
        memory=problem["memory"],
        at_ms=at_ms,
        ended=ended,
        reasons=reasons(ended, thresholds),
    )


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
