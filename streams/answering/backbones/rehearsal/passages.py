"""Short factual questions over given paragraphs, and whatever text is no other kind of problem.

Right is a name, date or number of the sentence that shares most words with the question; wrong are
those of the next best sentences. Without paragraphs the question's own words have to do.
"""

from __future__ import annotations

import re
from functools import lru_cache

from streams.answering.backbones.rehearsal.grounds import Ground, Work

_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_WORD = re.compile(r"\w+")
_NAME = re.compile(r"(?:[A-Z][\w'-]*|\d[\d,.]*)(?: (?:of |the )?(?:[A-Z][\w'-]*|\d[\d,.]*))*")
_NUMERIC = (1, 3)
"""Situations whose answers are numbers."""
_LONGEST = 20_000
_KEPT = 6
_LEAST = 4
"""Letters of a word that counts as one of the question's."""
_KINDS = (
    ("who", "whose"),
    ("when", "year", "date"),
    ("where", "city", "country"),
    ("how",),
    ("which",),
)


def question_of(text: str) -> str:
    """The question of a text: its last sentence with a question mark, else its last one."""
    sentences = _sentences(text)
    asking = [sentence for sentence in sentences if sentence.endswith("?")]
    # The last one, for paragraphs come before their question and may ask something themselves.
    return (asking or sentences or [text])[-1]


def _sentences(text: str) -> list[str]:
    return [sentence.strip() for sentence in _SENTENCE.findall(text) if sentence.strip()]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


@lru_cache(maxsize=4096)
def _ranked(problem: str) -> tuple[tuple[str, str], ...]:
    """Answers with the sentence that each stands in, best first; at least two."""
    question = question_of(problem)
    wanted = {word for word in _words(question) if len(word) >= _LEAST}
    telling = [sentence for sentence in _sentences(problem) if sentence != question]
    best = sorted(telling, key=lambda sentence: -len(wanted & set(_words(sentence))))[:_KEPT]
    found: dict[str, str] = {}
    for sentence in best:
        for name in _NAME.findall(sentence):
            said = name.rstrip(".,'")
            # What the question itself says is no answer to it, however often the text repeats it.
            if not wanted & set(_words(said)):
                found.setdefault(said, sentence)
    numeric = PASSAGES.situation(problem) in _NUMERIC
    fitting = sorted(found.items(), key=lambda pair: pair[0][0].isdigit() != numeric)
    answers = fitting or [(word, question) for word in sorted(wanted)]
    # "yes" and "no" come last: with them even an empty text has a right answer and a wrong one.
    return tuple([*answers, ("yes", question), ("no", question)][:_KEPT])


class Passages(Ground):
    """Questions over paragraphs; it reads any text, so it has to be tried last."""

    name = "passages"
    example = "Ada Lovelace was born in London.\n\nWho was born in London?"
    approaches = (
        "find the subject's sentence",
        "follow linked names",
        "line up the dates",
        "match the described title",
        "read past the match",
        "filter by kind",
    )
    situations = (
        "questions for a person",
        "questions for a time",
        "questions for a place",
        "questions for an amount",
        "questions that choose between things",
        "questions for a thing",
    )
    checks = (
        "quote the words that carry the answer",
        "test the answer against the question's kind",
        "look for a second passage that agrees",
    )

    def reads(self, text: str) -> str | None:
        """The text itself, cut where looking for names in it would take long."""
        return text[:_LONGEST].strip()

    def situation(self, problem: str) -> int:
        """By the question's own word: who, when, where, how, which, or anything else."""
        words = set(_words(question_of(problem)))
        kinds = (i for i, signs in enumerate(_KINDS) if words & set(signs))
        return next(kinds, len(_KINDS))

    def work(self, problem: str, rightly: bool, pick: float) -> Work:
        """The best answer, or one of the others, with the sentence that it is drawn from."""
        ranked = _ranked(problem)
        # Wrong answers are taken from the text as well: one that stands nowhere would be too easy
        # to find out.
        answer, sentence = ranked[0 if rightly else 1 + int(pick * (len(ranked) - 1))]
        steps = (f'the passage says "{sentence[:160]}"', f"so the answer is {answer}")
        return Work(steps, answer)

    def right(self, problem: str, answer: str) -> bool:
        """Whether the answer is the best one."""
        return answer.strip(" .").casefold() == _ranked(problem)[0][0].casefold()


PASSAGES = Passages()
