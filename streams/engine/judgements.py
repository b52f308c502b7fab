"""Judgements from outside, of problems and of single episodes, with the order in which they came."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from operator import itemgetter
from typing import Any, TypeAlias

from schemas.events.learning import Reflected
from schemas.identity import digest
from schemas.problem import Feedback

Said: TypeAlias = tuple[int, Feedback]
"""When, in an order that all judgements of a log share; and what."""
Subject: TypeAlias = tuple[str, ...]
"""Domain and problem id, or the name of one episode."""


def subject_of(feedback: Feedback) -> Subject:
    """What a judgement speaks of."""
    if feedback.episode is not None:
        return (feedback.episode,)
    return feedback.domain or "", feedback.problem_id or ""


def feedback_name(feedback: Feedback) -> str:
    """Feedback is known by its content: saying it twice is saying it once."""
    return digest(feedback.model_dump(mode="json", exclude_none=True))


class Judgements:
    """Feedback by what it speaks of."""

    def __init__(self) -> None:
        self.said: dict[Subject, list[Said]] = defaultdict(list)

    def __bool__(self) -> bool:
        """Whether anything was said at all."""
        return bool(self.said)

    def add(self, at: int, feedback: Feedback) -> bool:
        """Keep a judgement. Returns whether it is new."""
        # A judgement has no id. One that is sent again, after a crash or by a client that saw no
        # answer, is told by its content alone, so saying it twice must be saying it once.
        kept = self.said[subject_of(feedback)]
        if any(known == feedback for _, known in kept):
            return False
        kept.append((at, feedback))
        return True

    def about(self, subject: Subject) -> Sequence[Said]:
        """What was said of a problem or an episode, in the order in which it came."""
        return self.said.get(subject, ())

    def of(self, episode: str, reflected: Reflected) -> list[Feedback]:
        """Return the judgements of an episode's answer, the newest last. Of verdicts that one counts."""
        return self.on(episode, reflected.domain, reflected.problem_id, reflected.answer)

    def on(self, episode: str, domain: str, problem_id: str, answer: str | None) -> list[Feedback]:
        """The same for any answer to a problem, also one that leaves no reflection."""
        # A person may have judged an answer that this episode did not give: that says
        # nothing of this one.
        said = [*self.about((domain, problem_id)), *self.about((episode,))]
        about = (each for each in said if each[1].judges(answer))
        return [feedback for _, feedback in sorted(about, key=itemgetter(0))]

    def reply(self, episode: str, address: str) -> Feedback | None:
        """What a person answered last to a question of an open episode; nothing where nobody has."""
        said = (each for each in self.about((episode,)) if each[1].review == address)
        newest = max(said, key=itemgetter(0), default=None)
        return None if newest is None else newest[1]

    def reference(self, domain: str, problem_id: str) -> Any:
        """The newest reference of a problem; none where nobody gave one."""
        # Newest first, and over verdicts, which hold no reference.
        said = (feedback.reference for _, feedback in self.about((domain, problem_id)))
        return next((each for each in reversed([*said]) if each is not None), None)
