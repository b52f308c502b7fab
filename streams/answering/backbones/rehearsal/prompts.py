"""Prompts taken apart: the fields that one asks for, and its marked sections.

Everything that the simulator knows it reads here, from the messages alone: a prompt that forgets a
field gets a reply without it, one that forgets a section gets a reply that does not know of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeVar

from handlers.answers.stated import bare
from schemas.fence import sections_of
from schemas.prompt import Message
from schemas.reply import ABOUT, LEADS

T = TypeVar("T")

_LINE = re.compile(r"(?P<label>[^:<>]{1,60}): ?(?P<shape>.*)")
_NOTE = re.compile(r"- (?P<label>[^:<>]{1,60}): (?P<about>.*)")
_ONLY, _IS = "; only if ", " is "
_COUNT = re.compile(
    r"; (?:exactly (\d+) items?|(\d+) to (\d+) items|(\d+) or more items|up to (\d+) items?, or NONE"
    r"|any number of items, or NONE)$"
)

_RESPONSE = re.compile(r"\A(?:<turn[^>]*>\n)?<tool_response>(.*)</tool_response>", re.DOTALL)

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
    when: tuple[str, tuple[str, ...]] | None = None
    words: str = ""

    def speaks_of(self, *stems: str) -> bool:
        """Whether label or description has one of these stems."""
        return any(stem in self.words for stem in stems)

    def one_of(self, table: Sequence[tuple[tuple[str, ...], T]]) -> T | None:
        """What a table of stems has for this field: by its label, else by its description."""
        # The label first: a description explains, and may name what other fields are for.
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
        # Tests, and people who try it out, send a bare problem.
        unmarked = self.sections[0][1] if [head for head, _ in self.sections] == [""] else None
        return None if (said := self.section(_PROBLEM) or unmarked) is None else bare(said)

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
        # By what sections are not, so that guidance under a heading that nobody foresaw steers too.
        apart = (*_PROBLEM, *_TRAJECTORY, *_ANSWERED, *_REPORT)
        return tuple(text for head, text in self.sections if text and not _has(head, apart))

    @cached_property
    def may_stay_open(self) -> bool:
        """Whether a part of the work is enough, and none then stands for its answer."""
        return "still open" in self.instructions

    @cached_property
    def in_steps(self) -> bool:
        """Whether the part is one step, and not as much as can be done."""
        return "in steps" in self.instructions

    def asks(self, *stems: str) -> bool:
        """Whether a field speaks of one of these stems."""
        return any(field.speaks_of(*stems) for field in self.asked)


def read(messages: Sequence[Message]) -> Prompt:
    """The prompt in a list of messages."""
    system = "\n".join(text for speaker, text in messages if speaker == "system")
    said = next((text for speaker, text in messages if speaker == "user"), "")
    instructions, asked = _instructions(system)
    if not asked:  # some prompts have no system message and say it all in the user's
        said, asked = _instructions(said)
    parts = ((head.strip().casefold(), body.strip()) for head, body in sections_of(said))
    sections = tuple((head, body) for head, body in parts if head or body)
    # What stands before the first heading belongs to no section; without headings it is all there is.
    marked = tuple((head, body) for head, body in sections if head)
    # What tools returned comes in later turns of the conversation, each as a section of its own.
    returned = tuple(
        ("Search results", found[1])
        for speaker, text in messages
        if speaker == "user" and (found := _RESPONSE.search(text)) is not None
    )
    return Prompt(instructions, asked, (marked or sections) + returned)


@lru_cache(maxsize=512)
def _instructions(text: str) -> tuple[str, tuple[Asked, ...]]:
    # The last format block counts: what stands before it may quote another prompt.
    at, lead = max((text.rfind(lead), lead) for lead in LEADS)
    if at < 0:
        return text, ()
    before, about, notes = text[:at].rpartition(f"{ABOUT}\n")
    before, notes = (before, notes) if about else (notes, "")
    form = text[at + len(lead) :]
    said = {
        note["label"]: note["about"] for note in map(_NOTE.fullmatch, notes.split("\n")) if note
    }
    asked: list[Asked] = []
    lines = form.strip().split("\n")
    for line, below in zip(lines, (*lines[1:], ""), strict=True):
        found = _LINE.fullmatch(line)
        if found is not None and not line.startswith("- "):
            shape = found["shape"] or below
            asked.append(_asked(found["label"].strip(), shape, said.get(found["label"], "")))
    return f"{before.strip()}\n{lead}", tuple(asked)


def _asked(label: str, shape: str, about: str) -> Asked:
    """A field from the shape of its line and from what is said about it."""
    when = None
    # The condition stands last in the description, behind the count, so it is cut off first.
    rest, _, only = about.rpartition(_ONLY)
    field, told, values = only.partition(_IS)
    if rest and told:
        when, about = (field, tuple(values.split(" or "))), rest
    least, most = 1, None
    if counted := _COUNT.search(about):
        exactly, from_, to, or_more, up_to = counted.groups()
        least = int(exactly or from_ or or_more or 0)
        most = int(last) if (last := exactly or to or up_to) else None
        about = about[: counted.start()]
    choices = tuple(shape.split(" | ")) if " | " in shape else ()
    if "\\boxed" in shape:
        kind = "answer"
    elif choices:
        kind = "choice"
    elif shape.startswith("- "):
        kind = "list"
    else:
        kind = "number" if shape in ("0.xx", "N") else "text"
    words = _words(label, f"{shape} {about}" if shape.startswith("- ") else about)
    return Asked(label, kind, about, choices, least, most, when=when, words=words)


def _words(label: str, about: str) -> str:
    return f"{label} {about}".replace("_", " ").casefold()


def _has(heading: str, stems: Sequence[str]) -> bool:
    return any(stem in heading for stem in stems)
