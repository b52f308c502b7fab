"""A prompt in other words: its texts may change, its form may not.

The texts are the instructions, what is said of each section, what each field of the reply holds, and what is
said last. Sections with their variables, and fields with their labels and kinds, are the role's own: the
policy fills the ones and reads the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from schemas.fence import reads_like_a_heading
from schemas.prompt import Template
from schemas.settings import PromptWords, meant

_NAMED = re.compile(r"(?<![\\\w^_{}])\{([a-z][a-z_]{2,40})\}(?!\})")
"""A variable as it might be named in a text: LaTeX puts braces behind a command, an index or another brace."""


def worded(template: Template, words: PromptWords) -> Template:
    """The template in these words. What it does not have, such as a section of an earlier build, is passed over."""
    notes, abouts = words.get("sections", {}), words.get("reply", {})
    sections = tuple(
        replace(each, note=notes.get(each.variable, each.note)) for each in template.sections
    )
    fields = tuple(
        replace(each, about=abouts.get(each.label, each.about)) for each in template.reply.fields
    )
    return replace(
        template,
        instructions=words.get("instructions", template.instructions),
        sections=sections,
        reply=replace(template.reply, fields=fields),
        closing=words.get("closing", template.closing),
    )


def words_of(template: Template) -> PromptWords:
    """All the words of a template that may change; its sections and fields in order."""
    return {
        "instructions": template.instructions.strip(),
        "sections": {each.variable: each.note for each in template.sections},
        "closing": template.closing,
        "reply": {each.label: each.about for each in template.reply.fields},
    }


def changed(template: Template, words: PromptWords) -> PromptWords:
    """Those of the words that are not the template's own: nothing where all of them are."""
    # Only what differs becomes part of a policy's settings and so of the episode's name: words
    # that are spelled out as they are must not make another run.
    own = dict(texts_of(words_of(template)))
    found: PromptWords = {}
    for where, text in texts_of(words):
        if own.get(where) == text:
            continue
        part, _, name = where.partition(".")
        if part == "instructions":
            found["instructions"] = text
        elif part == "closing":
            found["closing"] = text
        elif part == "sections":
            found.setdefault("sections", {})[name] = text
        else:
            found.setdefault("reply", {})[name] = text
    return found


def lacking(template: Template, words: PromptWords) -> Iterator[tuple[str, str]]:
    """What a whole prompt must say and these words do not: where, and what is wrong."""
    if "instructions" not in words:
        yield "instructions", "missing: the role is told nothing"
    for section in template.sections:
        if section.variable not in words.get("sections", {}):
            yield f"sections.{section.variable}", "missing: the role needs this variable"
    for field in template.reply.fields:
        if field.label not in words.get("reply", {}):
            yield f"reply.{field.label}", "missing: the reply needs this field"


def faults(template: Template, words: PromptWords) -> Iterator[tuple[str, str]]:
    """What is wrong with the words that are given: where, and what."""
    yield from _names(template, words)
    if not words.get("instructions", "-").strip():
        yield "instructions", "blank: the role is told nothing"
    for label, about in words.get("reply", {}).items():
        if not about.strip():
            yield f"reply.{label}", "blank: nothing says what goes into this field"
        elif len(about.splitlines()) > 1:
            yield f"reply.{label}", "has several lines; a field is explained on one"
    known = frozenset(each.variable for each in template.sections)
    own = dict(texts_of(words_of(template)))
    # A heading within a text would open a section that the policy did not fill, in which a reply's
    # words could pose as the problem.
    for where, text in texts_of(words):
        if where != "instructions" and any(map(reads_like_a_heading, text.splitlines())):
            yield where, "has a line that reads like the heading of a section"
        allowed = {found[1] for found in _NAMED.finditer(own.get(where, ""))}
        for found in _NAMED.finditer(text):
            name = found[1]
            if name in allowed:
                continue
            if name in known:
                yield where, f"{{{name}}} is filled in its own section, and nowhere else"
            else:
                yield where, f"no such variable: {{{name}}}; {meant(name, known)}"


def _names(template: Template, words: PromptWords) -> Iterator[tuple[str, str]]:
    """Variables and fields that the prompt does not have."""
    variables = tuple(each.variable for each in template.sections)
    labels = tuple(each.label for each in template.reply.fields)
    for variable in words.get("sections", {}):
        if variable not in variables:
            yield f"sections.{variable}", f"no such variable; {meant(variable, variables)}"
    for label in words.get("reply", {}):
        if label not in labels:
            yield f"reply.{label}", f"no such field; {meant(label, labels)}"


def texts_of(words: PromptWords) -> Iterator[tuple[str, str]]:
    """Every text with its place."""
    if "instructions" in words:
        yield "instructions", words["instructions"]
    for variable, note in words.get("sections", {}).items():
        yield f"sections.{variable}", note
    if "closing" in words:
        yield "closing", words["closing"]
    for label, about in words.get("reply", {}).items():
        yield f"reply.{label}", about
