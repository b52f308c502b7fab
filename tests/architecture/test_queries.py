"""All SQL of a log stands in `streams.runtime`: whoever reads a log asks `streams.runtime.embedded.queries`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.architecture.pages import ROOT
from tests.architecture.test_code import name_of, parsed, sources

HOME: Final = ROOT / "streams" / "runtime"
RUNS: Final = frozenset({"execute", "executemany", "executescript"})
SQL: Final = re.compile(
    r"(\A|\()\s*(select|with \w+ as)\b.*\bfrom\b|\binsert (or \w+ )?into\b|\bdelete from\b|\bupdate \w+ set\b"
    r"|\bcreate (unique )?(table|view|index)\b|\bpragma \w",
    re.DOTALL,
)
OF_THEIR_OWN: Final[Mapping[str, str]] = {
    "streams/research/export/parquet.py": "queries of the Parquet files that it writes, for their readers",
    "streams/research/bench/rebuild.py": "times folding against bare reads of the same rows, on a log made for it",
    "streams/research/bench/speed.py": "times the log against a table of its own, written by hand",
}
"""Modules with SQL that is no reader's of a log, and why they have it."""


def outside() -> list[Path]:
    """Every module of `streams` but those of the runtime."""
    return [path for path in sources("streams") if HOME not in path.parents]


def held(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The texts that a module holds but its docstrings, with their lines; of one with places the parts together."""
    passed = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if id(node) in passed:
            continue
        match node:
            case ast.JoinedStr(values=parts):
                passed |= {id(part) for part in parts}
                said = (part.value if isinstance(part, ast.Constant) else "x" for part in parts)
                yield node.lineno, "".join(map(str, said))
            case ast.Constant(value=str(text)):
                yield node.lineno, text
            case _:
                pass


def sql_of(tree: ast.Module) -> Iterator[str]:
    """Where a module runs or holds SQL."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr=called)) if called in RUNS:
                yield f"{node.lineno}: {called}"
            case _:
                pass
    for line, text in held(tree):
        if SQL.search(text):
            yield f"{line}: {text.strip()[:60]}"


def test_sql_of_a_log_stands_in_the_runtime_alone() -> None:
    found = {name_of(path): [*sql_of(parsed(path))] for path in outside()}
    assert {
        name: where for name, where in found.items() if where and name not in OF_THEIR_OWN
    } == {}
    assert [name for name in OF_THEIR_OWN if not found[name]] == []  # what has none is struck off


@pytest.mark.parametrize(
    "text",
    [
        "log.db.execute(text)",
        'ROWS = "select offset from records"',
        'ROWS = f"select {columns} from records"',
        'ROWS = "select a.offset from records a"',
        'IS_KNOWN = "exists (select 1 from records)"',
        'PUT = "insert or ignore into records values (?)"',
        'log.db.executescript("")',
        'MODE = "pragma journal_mode=wal"',
    ],
)
def test_sql_is_seen(text: str) -> None:
    assert [*sql_of(ast.parse(text))]


@pytest.mark.parametrize(
    "text",
    [
        '"""Which to select from what is insert into nothing."""',
        'HINT = "Choose which lessons to select"',
        'run(select("from"))',
    ],
)
def test_prose_is_no_sql(text: str) -> None:
    assert not [*sql_of(ast.parse(text))]
