"""A fold over grades: one rule for what counts as known of an answer, for all that learn from it or show it.

A person's verdict stands until the next one. Where nobody gave one, the newest comparison with a reference
counts, be it the first or made anew by another grader, else what the domain's own checker said. Verdicts of
earlier builds (``verdict@1``) stood only until the next feedback of any kind; their logs fold as they did.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from handlers.answers.grade import VERDICT
from schemas.events.learning import Graded
from schemas.outcome import Outcome, Standing


class Word(NamedTuple):
    """One grade: the outcome, and who gave it: a person by name, or a grader."""

    outcome: Outcome
    who: str
    person: bool
    anew: bool = False
    """Whether the answer was graded anew: what was learned from it follows."""


class Known(NamedTuple):
    """The newest grades of one answer, of each kind."""

    verdict: Word | None = None
    feedback: Word | None = None
    checker: Word | None = None

    @property
    def word(self) -> Word | None:
        """The grade that counts; none where nobody tried."""
        return self.verdict or self.feedback or self.checker

    @property
    def outcome(self) -> Outcome:
        """How the answer turned out, as far as is known."""
        return "unknown" if self.word is None else self.word.outcome

    @property
    def by(self) -> str | None:
        """The person whose verdict counts; none where a grader's word does."""
        return self.word.who if self.word is not None and self.word.person else None

    def standing(self, answered: bool = True) -> Standing:
        """The outcome, with *undecided* and *not graded* told apart; no answer is withheld."""
        if not answered:
            return "withheld"
        if self.word is None:
            return "not graded"
        return "undecided" if self.word.outcome == "unknown" else self.word.outcome


NOTHING = Known()


# A worker keeps the grades of every episode, and most of them are one of a few.
@lru_cache(maxsize=4096)
def _shared(known: Known) -> Known:
    """One for all episodes that have it alike: a worker keeps those of all."""
    return known


def word_of(event: Graded) -> Word:
    """A grade, without its place and its reasons."""
    # Logs of earlier builds hold verdicts of version 1. They stood until the next feedback of any
    # kind, and go on to do so: a log must not fold to something else because the product was
    # updated.
    person = event.by == "feedback" and event.grader.startswith("verdict@")
    who = event.source or "unknown" if person else event.grader
    return Word(event.outcome, who, person, event.by == "regrade")


@dataclass(slots=True)
class GradesFold:
    """The grades of every episode's answer."""

    known: dict[str, Known] = field(default_factory=dict[str, Known])
    earlier: Callable[[str], Known] | None = field(default=None, compare=False)
    """Where the grades that came before those of this fold are looked up; without it there are none."""

    def feed(self, episode: str, event: Graded) -> None:
        """Take one grade; a later one of the same kind replaces the earlier."""
        known, word = self.of(episode), word_of(event)
        if event.by == "checker":
            known = known._replace(checker=word)
        elif event.grader == VERDICT:
            known = known._replace(verdict=word)
        else:
            known = known._replace(feedback=word)
        self.known[episode] = _shared(known)

    def of(self, episode: str) -> Known:
        """Return everything that is known of an episode's answer."""
        known = self.known.get(episode)
        if known is not None:
            return known
        return NOTHING if self.earlier is None else self.earlier(episode)

    def outcome(self, episode: str) -> Outcome:
        """How it turned out, as far as is known."""
        return self.of(episode).outcome

    def anew(self, episode: str) -> Outcome | None:
        """The outcome of an answer that was graded anew, where that grade counts; nothing of another."""
        word = self.of(episode).word
        return None if word is None or not word.anew else word.outcome
