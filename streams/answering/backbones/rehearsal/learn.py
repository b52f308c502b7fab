"""Learning from a prompt's texts together: the hints that hold, the checks they name, and rules brought up to date."""

from __future__ import annotations

import re
from collections import Counter
from typing import TypeAlias

from streams.answering.backbones.rehearsal.hints import Hint, hints
from streams.answering.backbones.rehearsal.turn import Turn

Votes: TypeAlias = Counter[tuple[int | None, int]]

RULES = 6
_NEW = 2
_CLEARLY = 2
"""By how many lessons another way must lead to drive out a rule."""
_ROW = re.compile(r"[-*\s]*+(?:\[?[A-Za-z]?-?\d+\]?[:.)]\s*+)?(.*\S)\s*$", re.MULTILINE)
_PLAIN = (
    "State what is asked before the first line of work.",
    "Keep every intermediate value in sight until the end.",
    "Give the answer in exactly the form that is asked for.",
    "Read each condition again before the work is closed.",
    "Stop and look back when a line cannot be explained.",
    "Prefer short lines of work over long ones.",
)


def holding(turn: Turn) -> list[Hint]:
    """The hints for this problem's situation that are not outweighed, recommendations first."""
    votes: Counter[int] = Counter()
    for section in turn.hints:
        for hint in section:
            if hint.fits(turn.latent.situation):
                votes[hint.approach] += 1 if hint.good else -1
    # Ties are broken by number, for a reply is a function of its prompt to the last letter.
    ranked = sorted(votes.items(), key=lambda vote: (-vote[1], vote[0]))
    return [Hint(a, turn.latent.situation, vote > 0) for a, vote in ranked if vote]


def checks_named(turn: Turn) -> list[str]:
    """The ground's checks that the prompt's texts name, as sentences."""
    said = "\n".join(turn.prompt.told).casefold()
    return [sentence(check) for check in turn.latent.ground.checks if check in said]


def checks(turn: Turn) -> list[str]:
    """The ground's checks as sentences, the first one by chance."""
    known = turn.latent.ground.checks
    first = int(turn.dice.roll("check") * len(known))
    return [sentence(known[(first + at) % len(known)]) for at in range(len(known))]


def sentence(phrase: str) -> str:
    """A phrase as a sentence."""
    return f"{phrase[0].upper()}{phrase[1:]}."


def rules(turn: Turn) -> list[str]:
    """Six rules: what stands uncontradicted, then what most lessons say, then plain advice.

    What tells only what not to do makes room for what tells what to do. What was withdrawn is not said again, nor
    another rule of its hints.
    """
    ground = turn.latent.ground
    present = rows(turn.prompt.section(("rule", "knowledge")) or "")
    votes: Votes = Counter()
    for lesson in (turn.prompt.section(("lesson",)) or "").split("\n\n"):
        # A lesson has one vote for each hint, however often it repeats it.
        for hint in set(hints(lesson, ground)):
            votes[hint.situation, hint.approach] += 1 if hint.good else -1
    kept = [rule for rule in present if not _contradicted(hints(rule, ground), votes)]
    solid = [rule for rule in kept if rule not in _PLAIN]
    good = [rule for rule in solid if all(hint.good for hint in hints(rule, ground))]
    withdrawn = set(hints(turn.prompt.section(("withdrawn",)) or "", ground))
    new = [
        rule
        for rule in _proposed(turn, votes)
        if rule not in solid and not withdrawn.intersection(hints(rule, ground))
    ]
    # Where rules stand already only a few may come in at once: a single batch of lessons, some of
    # them wrong, must not be able to turn over all that was learned before.
    new = new[: _NEW if present else RULES]
    return list(dict.fromkeys((*good, *new, *solid, *kept, *_PLAIN)))[:RULES]


def _contradicted(said: tuple[Hint, ...], votes: Votes) -> bool:
    """Whether lessons speak against a rule, or clearly for another way in its situation."""
    for hint in said:
        own = votes[hint.situation, hint.approach] * (1 if hint.good else -1)
        rival = max((n for (at, _), n in votes.items() if at == hint.situation), default=0)
        if own < 0 or (hint.good and rival >= own + _CLEARLY):
            return True
    return False


def _proposed(turn: Turn, votes: Votes) -> list[str]:
    """New rules, best backed first, one for each situation before a second; checks where due."""
    ranked = sorted(votes.items(), key=lambda vote: (vote[1] < 0, -abs(vote[1]), str(vote[0])))
    seen: Counter[int | None] = Counter()
    sentences: list[tuple[int, str]] = []
    for (situation, approach), vote in ranked:
        if vote:
            hint = Hint(approach, situation, vote > 0)
            sentences.append((seen[situation], hint.says(turn.latent.ground, turn.topic)))
            seen[situation] += 1
    sentences.sort(key=lambda ranked: ranked[0])
    due = checks_named(turn) if turn.topic == "checking" else []
    return [*due, *(said for _, said in sentences)]


def rows(text: str) -> list[str]:
    """The rows of a list, without bullets and numbers; one of nothing but bullets at its end says the last."""
    text, found = text.rstrip(), list[str]()
    start = 0
    while start < len(text) and (row := _ROW.match(text, start)) is not None:
        found.append(row[1])
        end = row.end()
        start = end if text[end - 1] == "\n" else (text.find("\n", end) + 1 or len(text))
    return found if start >= len(text) else [*found, text[-1]]
