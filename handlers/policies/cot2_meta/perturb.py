"""Perturbations of a run, and confidence asked again about stored trajectories.

S4 cuts the scratchpad by half; S5 shuffles options and writes LaTeX another way; S6 degrades what was
read off a picture. All are seeded and pure; a re-score generates nothing.

Source: CoT2-Meta § H.1 (table 18), stress tests S4 to S6; design/cot2_meta.md D12.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from handlers.roles.again import Meter
from handlers.roles.confidence import Wording, trust
from schemas.asking import Steps
from schemas.events.search import ConfidenceStated
from schemas.identity import hash01

# A perturbed problem is another problem with another reference, made before it is put. Chance is a
# hash of the seed and the place, so the same stress can be put on every method.
_OPTION = re.compile(r"^([ \t]*\(?)([A-J])([).:][ \t]*)(.+)$", re.MULTILINE)
_JITTER: tuple[tuple[str, str], ...] = (
    ("\\dfrac", "\\frac"),
    ("\\frac", "\\dfrac"),
    ("\\left(", "("),
    ("\\right)", ")"),
    ("\\cdot", "\\times"),
)

_JITTERED = re.compile(
    "|".join(re.escape(was) + (r"(?![a-zA-Z])" if was[-1].isalpha() else "") for was, _ in _JITTER)
)
"""A command ends where no letter follows; a bracket ends by itself, whatever follows."""


def halved(steps: Sequence[str]) -> tuple[str, ...]:
    """S4: the first half of each thought; as many steps as before.

    The newest, too: most prompts of a shallow tree show no other, and would not be truncated at all.
    """
    return tuple(step[: (len(step) + 1) // 2] for step in steps)


@dataclass(frozen=True, slots=True)
class Shuffled:
    """S5: the problem as it is put now, and which letter each old one became."""

    problem: str
    letters: Mapping[str, str]
    seed: int

    def gold(self, answer: str) -> str:
        """The reference after the shuffle: a letter moves, a text stays."""
        bare = answer.strip("() .").upper()
        return self.letters.get(bare, answer)


def shuffled(problem: str, seed: int) -> Shuffled:
    """S5: options in another order under the same letters, and LaTeX jitter."""
    options = list(_OPTION.finditer(problem))
    letters = [found[2] for found in options]
    # Two lists of options, or a letter that stands twice: nobody could say where
    # the reference went.
    if len(set(letters)) != len(letters) or len(letters) < 2:
        return Shuffled(jittered(problem, seed), {}, seed)
    order = sorted(range(len(options)), key=lambda at: hash01(seed, "option", problem, at))
    parts: list[str] = []
    end = 0
    for place, found in enumerate(options):
        parts += [problem[end : found.start()], found[1] + found[2] + found[3]]
        moved_here = options[order[place]][4]
        # Without the blanks behind it; one of nothing but blanks keeps the first, or
        # no option would stand.
        parts.append(moved_here.rstrip(" \t") or moved_here[:1])
        end = found.end()
    text = "".join((*parts, problem[end:]))
    moved = {letters[was]: letters[place] for place, was in enumerate(order)}
    return Shuffled(jittered(text, seed), moved, seed)


_SEEN = re.compile(r"^(OCR|Caption):[ \t]*(.+)$", re.MULTILINE)
_MISREAD: Mapping[str, str] = {"0": "O", "O": "0", "1": "l", "l": "1", "5": "S", "S": "5", "8": "B"}
MISREAD_SHARE = 0.1


def degraded(problem: str, seed: int) -> str:
    """S6: on lines ``OCR: …`` a tenth of the characters lost or misread; captions by half their words.

    What the paper degraded is not said; lines without these marks are left as they are.
    """

    def spoilt(found: re.Match[str]) -> str:
        if found[1] == "Caption":
            words = found[2].split()
            return f"Caption: {' '.join(words[: (len(words) + 1) // 2])}"
        read = (
            character
            if hash01(seed, "ocr", found.start() + at) >= MISREAD_SHARE
            else _MISREAD.get(character, "")
            for at, character in enumerate(found[2])
        )
        return f"OCR: {''.join(read)}"

    return _SEEN.sub(spoilt, problem)


def jittered(text: str, seed: int) -> str:
    """The same formula in other words: one spelling for another, here and there."""

    def respell(found: re.Match[str]) -> str:
        spelt = dict(_JITTER)[found[0]]
        return spelt if hash01(seed, "latex", found.start()) < 0.5 else found[0]

    return _JITTERED.sub(respell, text)


def rescore(
    problem: str, trajectories: Mapping[str, Sequence[str]], wordings: Sequence[Wording]
) -> Steps[dict[str, dict[Wording, float | None]]]:
    """Confidence in stored trajectories under several wordings of the query (a probe); unknown where unread."""
    found: dict[str, dict[Wording, float | None]] = {}
    for node, steps in trajectories.items():
        for wording in wordings:
            heard = yield from trust(problem, steps, Meter(spare=1), wording)
            value = None if heard.value is None else float(heard.value)
            yield ConfidenceStated(
                node=node, value=value, source=heard.source, wording=wording, parse=heard.parse
            )
            found.setdefault(node, {})[wording] = value
    return found
