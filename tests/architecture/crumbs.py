"""Whether the code is cut into crumbs: ``python -m tests.architecture.crumbs [FOLDER...]``.

A private function that is named once, beside its definition, is a detour unless its name teaches something; and a
reader who asks *why* wants a comment. Both are counted as beside h11 and httpx, which have 6 private functions per
1,000 lines, 33 and 44 % of them named once, and comments in 26 and 4 % of their lines.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

FOR_TOOLS = re.compile(r"#\s*(?:type:|noqa|pragma|pyright|fmt:|!)")
"""Comments that only tools read."""


@dataclass(frozen=True, slots=True)
class Crumbs:
    """Counts over files; ``once`` are the private functions whose file names them once beside the definition."""

    lines: int = 0
    code: int = 0
    """Lines that are neither blank, comment nor docstring."""
    comments: int = 0
    """Comments that people read, one a line."""
    private: int = 0
    once: int = 0

    def __add__(self, other: Crumbs) -> Crumbs:
        return Crumbs(
            self.lines + other.lines,
            self.code + other.code,
            self.comments + other.comments,
            self.private + other.private,
            self.once + other.once,
        )

    @property
    def private_per_1000(self) -> float:
        """Private functions per 1,000 lines."""
        return 1000 * self.private / self.lines

    @property
    def share_once(self) -> float:
        """The share of private functions that are named once."""
        return self.once / self.private if self.private else 0.0

    @property
    def share_comments(self) -> float:
        """The share of lines with a comment."""
        return self.comments / self.lines

    def __str__(self) -> str:
        return (
            f"{self.lines:,} lines, {self.code:,} of them code, {self.share_comments:.1%} comments; "
            f"{self.private_per_1000:.1f} private functions per 1,000 lines, {self.share_once:.0%} named once"
        )


def of(text: str) -> Crumbs:
    """The counts of one file."""
    lines = text.splitlines()
    tree = ast.parse(text)
    private = [each.name for each in _functions(tree) if re.match(r"_[a-z]", each.name)]
    named = Counter(re.findall(r"\b_[a-z]\w*", text))
    comments = {
        token.start[0]
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT and not FOR_TOOLS.match(token.string)
    }
    told = {at for first, last in _docstrings(tree) for at in range(first, last + 1)}
    code = [
        at
        for at, line in enumerate(lines, 1)
        if line.strip() and not line.lstrip().startswith("#") and at not in told
    ]
    once = sum(named[name] <= 2 for name in private)
    return Crumbs(len(lines), len(code), len(comments), len(private), once)


def over(paths: Iterable[Path]) -> Crumbs:
    """The counts of files together."""
    return sum((of(path.read_text(encoding="utf-8")) for path in paths), Crumbs())


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _docstrings(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """First and last line of each text that stands alone: docstrings, and those below attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            value = node.value
            if isinstance(value.value, str) and value.end_lineno is not None:
                yield value.lineno, value.end_lineno


if __name__ == "__main__":
    for folder in sys.argv[1:] or ("schemas", "handlers", "state", "streams"):
        print(f"{folder}: {over(Path(folder).rglob('*.py'))}")
