"""One call as the simulator takes it in: the prompt, what its problem hides, and the dice."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache

from handlers.answers.extract import extract
from streams.answering.backbones.rehearsal.grounds import Latent, Work
from streams.answering.backbones.rehearsal.hints import Hint, Topic, checks, hints
from streams.answering.backbones.rehearsal.noise import Dice
from streams.answering.backbones.rehearsal.options import Options
from streams.answering.backbones.rehearsal.prompts import Prompt

_STEP = re.compile(r"^Step (\d+): (-?[\d/]+) ([-+*/]) (-?[\d/]+) = (-?[\d/]+)$", re.MULTILINE)
_TOPICS: dict[Topic, tuple[str, ...]] = {
    "solving": ("recipe", "solution", "guidance", "approach"),
    "checking": ("error", "review", "fault", "flag", "detect", "diagnos"),
    "deciding": ("decision", "action", "signal", "restart"),
}


@dataclass
class Turn:
    """A turn holds what a faculty may use, and the fields that are filled already, by label."""

    prompt: Prompt
    latent: Latent
    options: Options
    dice: Dice
    said: dict[str, str] = field(default_factory=dict[str, str])
    made: tuple[int, Work] | None = None
    """The attempt of this reply, once there is one: its approach and its work."""

    @cached_property
    def hints(self) -> tuple[tuple[Hint, ...], ...]:
        """The hints of each section that may steer, newest section first."""
        return tuple(hints(text, self.latent.ground) for text in reversed(self.prompt.told))

    @cached_property
    def checks(self) -> int:
        """How many checks those sections name."""
        return sum(checks(text, self.latent.ground) for text in self.prompt.told)

    @cached_property
    def answer(self) -> str | None:
        """The answer of the solution in the prompt."""
        # Where a section says the answer it stands above the work: a mended answer may differ from
        # the lines.
        given = self.prompt.answered
        if given:
            return extract(f"Final_answer: {given}")
        text = self.prompt.trajectory
        return extract(text) if text else None

    @cached_property
    def right(self) -> bool:
        """Whether that answer is right: the exact check."""
        answer = self.answer
        return answer is not None and self.latent.ground.right(self.latent.problem, answer)

    @cached_property
    def tried(self) -> int | None:
        """The approach that the solution in the prompt names."""
        found = hints(self.prompt.trajectory or "", self.latent.ground)
        return found[0].approach if found else None

    @cached_property
    def topic(self) -> Topic:
        """What is to be learned or passed on: how to solve, to check or to decide."""
        words = " ".join(asked.words for asked in self.prompt.asked)
        return topic(words) or topic(self.prompt.instructions.casefold()) or "solving"

    @property
    def situation(self) -> str:
        """The problem's situation in words."""
        return self.latent.ground.situations[self.latent.situation]


@lru_cache(maxsize=512)
def topic(words: str) -> Topic | None:
    """What these words speak of most, if of anything."""
    counts = {name: sum(words.count(stem) for stem in stems) for name, stems in _TOPICS.items()}
    most = max(_TOPICS, key=lambda name: counts[name])
    return most if counts[most] else None


@lru_cache(maxsize=8192)
def false_step(trajectory: str) -> tuple[str, str] | None:
    """The first step whose arithmetic does not hold, and what it should make."""
    for number, a, sign, b, said in _STEP.findall(trajectory):
        x, y = _number(a), _number(b)
        if x is None or y is None or (sign == "/" and not y):
            continue  # no arithmetic: nothing here can tell whether it holds
        apply = {"+": x.__add__, "-": x.__sub__, "*": x.__mul__, "/": x.__truediv__}[sign]
        if (value := apply(y)) != _number(said):
            return number, str(value)
    return None


def _number(text: str) -> Fraction | None:
    # Nearly all numbers are plain digits, and Fraction is slow to parse a text.
    if text.isdecimal():
        return Fraction(int(text))
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        return None
