"""Judgements from outside that are kept in rows, so that a worker need not read all of ``feedback`` at its start."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from schemas.identity import canonical
from schemas.problem import Feedback
from streams.engine.judgements import Judgements, Said, Subject, subject_of
from streams.runtime.kafka.kept import KeptRows
from streams.runtime.kafka.names import feedback_name

PART = "said"


class KeptJudgements(Judgements):
    """Feedback by what it speaks of, in rows: when, as the how manyth of its subject, and what."""

    def __init__(self, rows: KeptRows) -> None:
        super().__init__()
        self.rows = rows
        self._any: bool | None = None

    def __bool__(self) -> bool:
        """Whether anything was said at all."""
        # Every worker asks this of each answer of all of them, and nobody but us puts any.
        if self._any is None:
            self._any = self.rows.has_any(PART)
        return self._any

    def add(self, at: int, feedback: Feedback) -> bool:
        """Keep a judgement. Returns whether it is new: saying it twice is saying it once."""
        under = _under(subject_of(feedback))
        known, key = self.rows.under(PART, under), under + feedback_name(feedback)
        if any(each == key for each, _ in known):
            return False
        body = canonical(feedback.model_dump(mode="json", exclude_unset=True))
        # Its number too, since keys are in no order of time, and two judgements may come in one millisecond.
        self.rows.put(PART, key, b"%d %d " % (at, len(known)) + body)
        self._any = True
        return True

    def about(self, subject: Subject) -> Sequence[Said]:
        """What was said of a problem or an episode, in the order in which it came."""
        if not self:
            return ()
        found = (body.split(b" ", 2) for _, body in self.rows.under(PART, _under(subject)))
        ordered = sorted((int(number), int(at), body) for at, number, body in found)
        return [(at, Feedback.model_validate(orjson.loads(body))) for _, at, body in ordered]


def _under(subject: Subject) -> str:
    """What the keys of a subject begin with, and those of no other."""
    return canonical(subject).decode()
