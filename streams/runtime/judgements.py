"""Judgements from outside, of problems and of single episodes, with the order in which they came."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, TypeAlias

from schemas.events.learning import Reflected
from schemas.problem import Feedback

Said: TypeAlias = tuple[int, Feedback]
"""When, in an order that all judgements of a log share; and what."""


@dataclass(slots=True)
class Judgements:
    """Feedback by what it speaks of."""

    of_problem: dict[tuple[str, str], list[Said]] = field(
        default_factory=lambda: defaultdict[tuple[str, str], list[Said]](list)
    )
    """By domain and problem id."""
    of_episode: dict[str, list[Said]] = field(
        default_factory=lambda: defaultdict[str, list[Said]](list)
    )

    def __bool__(self) -> bool:
        """Whether anything was said at all."""
        return bool(self.of_problem or self.of_episode)

    def add(self, at: int, feedback: Feedback) -> bool:
        """Keep a judgement. Returns whether it is new: saying it twice is saying it once."""
        if feedback.episode is not None:
            kept = self.of_episode[feedback.episode]
        else:
            kept = self.of_problem[feedback.domain or "", feedback.problem_id or ""]
        if any(known == feedback for _, known in kept):
            return False
        kept.append((at, feedback))
        return True

    def of(self, episode: str, reflected: Reflected) -> list[Feedback]:
        """Return the judgements of an episode's answer, the newest last. Of verdicts that one counts."""
        said = [
            *self.of_problem.get((reflected.domain, reflected.problem_id), ()),
            *self.of_episode.get(episode, ()),
        ]
        about = (each for each in said if each[1].judges(reflected.answer))
        return [feedback for _, feedback in sorted(about, key=itemgetter(0))]

    def reply(self, episode: str, address: str) -> Feedback | None:
        """What a person answered last to a question of an open episode; nothing where nobody has."""
        said = (each for each in self.of_episode.get(episode, ()) if each[1].review == address)
        newest = max(said, key=itemgetter(0), default=None)
        return None if newest is None else newest[1]

    def reference(self, domain: str, problem_id: str) -> Any:
        """The newest reference of a problem; none where nobody gave one."""
        said = (feedback.reference for _, feedback in self.of_problem.get((domain, problem_id), ()))
        return next((each for each in reversed([*said]) if each is not None), None)
