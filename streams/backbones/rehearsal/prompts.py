"""What a prompt holds: the fields it asks for, and its marked sections.

Everything that the simulator knows it reads here, from the messages alone: a prompt that forgets a
field gets a reply without it, one that forgets a section gets a reply that does not know of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeVar

from schemas.fence import sections_of
from schemas.prompt import Message
from schemas.reply import BLOCK

T = TypeVar("T")

_LABEL = re.compile(r"([^:<>]{1,60}): (.+)")
_ONLY, _IS = " (only if ", " is "
_BODY = re.compile(r"<(?P<kind>choice|number|text|list): (?P<rest>.*)>", re.DOTALL)
_COUNT = re.compile(r"(\d+)(?:-(\d+))? items?, one a line; ?(.*)", re.DOTALL)
_ANSWER = "<answer>"

_PROBLEM = ("problem", "question", "task")
_TRAJECTORY = ("trajectory", "solution", "attempt", "draft", "so far")
_ANSWERED = ("candidate",)
_GIVEN = ("result", "observation", "passage", "paragraph", "context", "document", "evidence")
_REPORT = ("report", "critique", "audit", "assessment")


@dataclass(frozen=True, slots=True)
class Asked:
    """One field that the format block asks for."""

    label: str
    kind: str
    about: str = ""
    choices: tuple[str, ...] = ()
    least: int = 1
    most: int | None = None
    boxed: bool = False
    when: tuple[str, tuple[str, ...]] | None = None
    words: str = ""

    def speaks_of(self, *stems: str) -> bool:
        """Whether label or description has one of these stems."""
        return any(stem in self.words for stem in stems)

    def one_of(self, table: Sequence[tuple[tuple[str, ...], T]]) -> T | None:
        """What a table of stems has for this field: by its label, else by its description."""
        for words in (_words(self.label, ""), self.words):
            for stems, entry in table:
                if any(stem in words for stem in stems):
                    return entry
        return None


@dataclass(frozen=True)
class Prompt:
    """The instructions, the fields asked for and the sections, by heading."""

    instructions: str
    asked: tuple[Asked, ...]
    sections: tuple[tuple[str, str], ...]

    def section(self, stems: Sequence[str]) -> str | None:
        """The text of the first section whose heading has one of these stems."""
        return next((text for head, text in self.sections if _has(head, stems)), None)

    @cached_property
    def problem(self) -> str | None:
        """What is to be solved, if a section says; a prompt without sections is its own problem."""
        unmarked = self.sections[0][1] if [head for head, _ in self.sections] == [""] else None
        return self.section(_PROBLEM) or unmarked

    @cached_property
    def trajectory(self) -> str | None:
        """A solution to be looked at or carried on."""
        return self.section(_TRAJECTORY)

    @cached_property
    def answered(self) -> str | None:
        """The answer of that solution, where a section gives it."""
        return self.section(_ANSWERED)

    @cached_property
    def given(self) -> str:
        """Paragraphs to find the answer in: from a tool, or put beside the problem."""
        return "\n".join(text for head, text in self.sections if _has(head, _GIVEN))

    @cached_property
    def report(self) -> str | None:
        """What somebody found in the candidate."""
        return self.section(_REPORT)

    @cached_property
    def told(self) -> tuple[str, ...]:
        """All that may steer: every section that is neither problem, solution nor report."""
        apart = (*_PROBLEM, *_TRAJECTORY, *_ANSWERED, *_REPORT)
        return tuple(text for head, text in self.sections if text and not _has(head, apart))

    def asks(self, *stems: str) -> bool:
        """Whether a field speaks of one of these stems."""
        return any(field.speaks_of(*stems) for field in self.asked)


def read(messages: Sequence[Message]) -> Prompt:
    """The prompt in a list of messages."""
    system = "\n".join(text for speaker, text in messages if speaker == "system")
    said = next((text for speaker, text in messages if speaker == "user"), "")
    instructions, asked = _instructions(system)
    if not asked:
        said, asked = _instructions(said)
    return Prompt(instructions, asked, _sections(said))


@lru_cache(maxsize=512)
def _instructions(text: str) -> tuple[str, tuple[Asked, ...]]:
    before, _, block = text.rpartition(BLOCK)
    if not before and not text.startswith(BLOCK):
        return text, ()
    lines = map(_LABEL.fullmatch, block.strip().splitlines())
    return before.strip(), tuple(_field(line[1], line[2]) for line in lines if line is not None)


def conditional(said: str) -> tuple[str, str, str]:
    """``BODY (only if FIELD is VALUES)`` in its three parts; the last two are empty where nothing is said."""
    only = said.find(_ONLY, 1)
    field = only + len(_ONLY)
    last = max(said.rfind("(", 0, -1), said.rfind(")", 0, -1))
    close = said.find(_IS, max(field + 1, last + 1 - len(_IS)))
    if only < 0 or not said.endswith(")") or not 0 <= close < len(said) - 1 - len(_IS):
        return said, "", ""
    return said[:only], said[field:close], said[close + len(_IS) : -1]


def _field(label: str, said: str) -> Asked:
    label = label.strip()
    body, field, values = conditional(said)
    when = (field, tuple(values.split(" or "))) if field else None
    if _ANSWER in body:
        boxed = "\\boxed" in body
        return Asked(label, "answer", body, boxed=boxed, when=when, words=_words(label, body))
    shape = _BODY.fullmatch(body)
    kind, rest = (shape["kind"], shape["rest"]) if shape else ("text", body)
    return _shaped(label, kind, rest, when)


def _shaped(label: str, kind: str, rest: str, when: tuple[str, tuple[str, ...]] | None) -> Asked:
    choices: tuple[str, ...] = ()
    least, most = 1, None
    if kind == "choice":
        listed, _, rest = rest.partition("; ")
        choices = tuple(option.strip() for option in listed.split("|"))
    elif kind == "list" and (counted := _COUNT.fullmatch(rest)):
        least, rest = int(counted[1]), counted[3]
        most = int(counted[2]) if counted[2] else None
    return Asked(label, kind, rest, choices, least, most, when=when, words=_words(label, rest))


def _words(label: str, about: str) -> str:
    return f"{label} {about}".replace("_", " ").casefold()


def _sections(text: str) -> tuple[tuple[str, str], ...]:
    """Marked sections in order, without the blanks around them."""
    found = ((head.strip().casefold(), body.strip()) for head, body in sections_of(text))
    return tuple((head, body) for head, body in found if head or body)


def _has(heading: str, stems: Sequence[str]) -> bool:
    return any(stem in heading for stem in stems)
