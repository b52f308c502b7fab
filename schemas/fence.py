"""Fences: what comes from outside stands in a prompt so that none of it can be taken for a section of ours.

A prompt's sections are opened by ``### Heading``. A problem, a reply, a lesson or a page that a tool found
may hold such lines too. A text of which a line reads like a heading, or is nothing but a tag, therefore
stands between two tags that it does not hold itself; every other text stands as it is. ``sections_of``
reads a prompt's sections back, exactly as they were filled, whatever they hold.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping

MARK = "### "
"""What opens a section of ours."""
# Full-width and small number signs look the same to a reader, and to some tokenizers.
_SIGNS = "#\uff03\ufe5f"
_LOOKS = re.compile(f"[{_SIGNS}<]")
_HEADING = re.compile(rf"[^\w{_SIGNS}]*(?:[{_SIGNS}]{{1,6}}(?:\s|$)|[{_SIGNS}]{{3}})")
"""A line that people, or a model, might read as a heading, however it is set off."""
_ALONE = re.compile(r"\s*<[^<>]*>\s*")
"""A line that would open or close something itself."""
_TAG = re.compile(r"<([^\s<>/]+)>\n")
_CLOSE = re.compile(r"\n</([^\s<>/]+)>")
_OPENS = re.compile(r"\n?\n### (?![^\n]*###[ \t]*(?:\n|$))([^\n]*)(?:\n|$)")
"""A section's heading; a line that ends in ``###`` is an answer, and opens none."""


def reads_like_a_heading(line: str) -> bool:
    """Whether a line might be taken for one that opens a section."""
    return _HEADING.match(line) is not None


def fenced(name: str, text: str) -> str:
    """A text as it stands in a prompt; ``name`` is what its tags are called, should it need any."""
    # Every prompt is filled through here, and nearly every text holds none of these.
    if _LOOKS.search(text) is None or not any(
        reads_like_a_heading(line) or _ALONE.fullmatch(line) for line in text.splitlines()
    ):
        return text
    return tagged(name, text)


def tagged(name: str, text: str) -> str:
    """A text between two tags that it does not hold."""
    # The tag is the first of ``name``, ``name-2``, ``name-3`` … by which nothing in the text is
    # called, closed or not. Otherwise the text could close its own fence and go on in our name.
    said = re.finditer(rf"<[\s/]{{0,8}}{re.escape(name)}(?:-(\d{{1,9}}))?", text, re.IGNORECASE)
    taken = {int(found[1] or 1) for found in said}
    number = next(each for each in range(1, len(taken) + 2) if each not in taken)
    tag = name if number == 1 else f"{name}-{number}"
    return f"<{tag}>\n{text}\n</{tag}>"


def sections_of(prompt: str) -> Iterator[tuple[str, str]]:
    """Heading and text of each section, in order; before the first, what has no heading, if there is any."""
    text = f"\n{prompt}"  # a first line like the others
    closes = defaultdict[str, list[int]](list)
    # Closing tags are looked up by name in one pass; a search from each opening tag would take the
    # square of a prompt that only opens.
    for found in _CLOSE.finditer(text):
        closes[found[1]].append(found.start())
    opened = _OPENS.search(text)
    if before := text[1 : opened.start() if opened else None]:
        yield "", before
    while opened is not None:
        body, end = _filled(text, opened.end(), closes)
        yield opened[1], body
        opened = _OPENS.search(text, end)


def _filled(text: str, at: int, closes: Mapping[str, list[int]]) -> tuple[str, int]:
    """What a section that begins here was filled with, and where it ends."""
    tag = _TAG.match(text, at)
    places = [] if tag is None else closes.get(tag[1], [])
    after = 0 if tag is None else bisect_left(places, tag.end())
    if tag is not None and after < len(places):
        close = places[after]
        end = close + len(f"\n</{tag[1]}>")
        # A closing tag ends the section only where a heading of ours, or nothing, follows it;
        # others are part of the text.
        if end == len(text) or _OPENS.match(text, end):
            return text[tag.end() : close], end
    following = _OPENS.search(text, at)
    end = len(text) if following is None else following.start()
    return text[at:end], end
