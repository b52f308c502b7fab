"""A prompt: instructions that never change, then marked sections filled from variables.

The static part comes first so that prefix caches hit; it is kept once per log under its digest, so that
a divergence can show both sides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from schemas.fence import MARK, fenced
from schemas.identity import text_digest
from schemas.reply import Reply

# So many words of a prompt's sentences are copied; four, such as "the problem is solved", a reply
# may say itself.
SENTENCE_WORDS = 5
# As many words of ours stand in no reply by chance.
COPIED_WORDS = 4

Message: TypeAlias = tuple[str, str]  # speaker (system, user, assistant), text


@dataclass(frozen=True, slots=True)
class Section:
    """One marked part of a prompt: its heading and the variable that fills it."""

    heading: str
    variable: str
    optional: bool = False
    note: str = ""
    """What is said of it, and only where it is shown: before all sections."""


@dataclass(frozen=True, slots=True)
class Argument:
    """What a tool is called with: a name, a kind of JSON value, and what it is."""

    name: str
    kind: Literal["string", "integer"]
    about: str
    required: bool = True


@dataclass(frozen=True, slots=True)
class Tool:
    """What a model may call. The instructions name it too: not every endpoint has calls of its own."""

    name: str
    about: str
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Template:
    """A role's prompt. An optional section whose variable is empty is left out."""

    name: str
    instructions: str
    sections: tuple[Section, ...]
    reply: Reply
    tools: tuple[Tool, ...] = ()
    """What may be called in a reply; endpoints that have calls of their own are told so."""
    closing: str = ""
    """What is said last, after all sections: small models do what they read last, such as solve instead of judge."""
    system: str = field(init=False, compare=False, repr=False)
    """The static part: instructions and format block."""
    words: str = field(init=False, compare=False, repr=False)
    """The static part on one line, in small letters."""
    text: str = field(init=False, compare=False, repr=False)
    digest: str = field(init=False, compare=False)
    schema: dict[str, Any] = field(init=False, compare=False, repr=False)
    heads: tuple[tuple[str, str, bool, str], ...] = field(init=False, compare=False, repr=False)
    counts: bool = field(init=False, compare=False, repr=False)
    """Whether the form of a reply hangs on what is asked: how many items it holds, its variables say."""

    def __post_init__(self) -> None:
        # Reckoned once for each role. A prompt is asked for at every call, and its static part
        # never changes.
        object.__setattr__(self, "system", f"{self.instructions.strip()}\n\n{self.reply.block()}")
        object.__setattr__(self, "words", _words(f"{self.system} {self.closing}"))
        marks = "\n".join(
            f"{MARK}{section.heading}\n{{{section.variable}}}" for section in self.sections
        )
        # Notes are part of the digest though they are shown only with their sections: a changed
        # note is a changed prompt.
        notes = "".join(f"[{s.heading}] {s.note}\n" for s in self.sections if s.note)
        text = f"{self.system}\n\n{notes}{marks}" + (f"\n\n{self.closing}" if self.closing else "")
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "digest", text_digest(text))
        object.__setattr__(self, "schema", self.reply.json_schema())
        heads = tuple(
            (f"{MARK}{s.heading}\n", s.variable, s.optional, s.note) for s in self.sections
        )
        object.__setattr__(self, "heads", heads)
        object.__setattr__(self, "counts", any(each.counted for each in self.reply.fields))

    def says(self, text: str) -> bool:
        """Whether a text of some words stands in the static part, word for word: who writes it says nothing."""
        # A text that is longer than the whole prompt cannot stand in it, and need not be folded to
        # find that out.
        said = "" if len(text) > len(self.system) else _words(text).strip(" .,;:\"'*_`")
        return said.count(" ") >= SENTENCE_WORDS - 1 and said in self.words

    def user(self, variables: Mapping[str, str]) -> str:
        """The sections with their variables, fenced where they need it. Raises ``KeyError`` for one missing."""
        parts: list[str] = []
        notes: dict[str, None] = {}  # in order, and what is said of two sections once
        for head, variable, optional, note in self.heads:
            # An empty optional section says nothing, and its note would speak of what is not
            # there.
            if not optional or variables.get(variable):
                parts.append(head + fenced(variable, variables[variable]))
                if note:
                    notes[note] = None
        if notes:
            parts.insert(0, "\n".join(notes))
        if self.closing:
            parts.append(self.closing)
        return "\n\n".join(parts)

    def form(self, variables: Sequence[tuple[str, str]]) -> Reply:
        """The form of the reply to one question."""
        # Most forms hang on nothing, and are asked for at every call.
        return self.reply.asked(dict(variables)) if self.counts else self.reply

    def render(self, variables: Mapping[str, str]) -> tuple[Message, ...]:
        """The messages that a model sees."""
        return (("system", self.system), ("user", self.user(variables)))


def _words(text: str) -> str:
    return " ".join(text.split()).casefold()
