"""Markdown pages taken apart: fenced blocks with what is said above them, and commands that are named."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
DOCS = ROOT / "deploy" / "docs"
SETTINGS = DOCS / "policies"
DESIGN = DOCS / "design"
API = DOCS / "api"
DECISIONS = ROOT / "deploy" / "decisions"

_FENCE = re.compile(r"```(\w+)")
_ABOVE = re.compile(r"<!-- ([a-z ]+?)(?:: (.*))? -->")
_INLINE = re.compile(r"`([^`\n]+)`")
_COMMAND = re.compile(r"(?<![\w/-])(?:\.venv/bin/)?metalogue((?: +[^\s|&;<>()`#]+)+)")


@dataclass(frozen=True)
class Block:
    """One fenced block. ``above`` holds the comment on the line before it, as name and value."""

    line: int
    language: str
    text: str
    above: tuple[str, str] | None

    def said(self, name: str) -> str | None:
        """What the comment above says under this name, if it does."""
        return self.above[1] if self.above is not None and self.above[0] == name else None


def pages() -> list[Path]:
    """Every page for readers."""
    folders = (ROOT, ROOT / "deploy", DOCS, SETTINGS, DESIGN, API, DECISIONS)
    return [page for folder in folders for page in sorted(folder.glob("*.md"))]


def name(page: Path) -> str:
    """Its path from the root, as failures and the names of tests say it."""
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    found: list[Block] = []
    lines = page.read_text(encoding="utf-8").splitlines()
    number = 0
    while number < len(lines):
        fence = _FENCE.fullmatch(lines[number])
        if fence is not None:
            end = lines.index("```", number + 1)
            above = _ABOVE.fullmatch(lines[number - 1])
            text = "\n".join(lines[number + 1 : end]) + "\n"
            told = None if above is None else (above[1], above[2] or "")
            found.append(Block(number + 1, fence[1], text, told))
            number = end
        number += 1
    return found


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return re.sub(
        r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )


def anchors(page: Path) -> set[str]:
    """What a link into the page may end in: its headings, as GitHub spells them."""
    headings = re.findall(r"^#+ (.+)$", prose(page), flags=re.MULTILINE)
    return {re.sub(r"[^a-z0-9 -]", "", head.lower()).replace(" ", "-") for head in headings}


def commands(page: Path) -> Iterator[list[str]]:
    """The words after each ``metalogue`` in code, inline or in shell blocks."""
    inline = [code for code in _INLINE.findall(prose(page)) if code.startswith("metalogue ")]
    fenced = [block.text for block in blocks(page) if block.language in ("bash", "text")]
    for code in (*inline, *fenced):
        for line in code.splitlines():
            yield from (found.split() for found in _COMMAND.findall(line))
