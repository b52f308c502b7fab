"""Which tests and recipes show what the papers claim: the table of ``deploy/docs/design/claims.md``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml

from tests.architecture.pages import ROOT

PAPERS = {
    "mc2": "MC²",
    "mgv": "Monitor–Generate–Verify",
    "cot2": "CoT2-Meta",
    "mr": "Meta-Reasoner",
    "gm": "Trainable graph memory",
    "bl": "Baselines",
}
"""By what the ids of its claims begin with."""
RECIPES = ROOT / "streams" / "research" / "bench" / "recipes"
_ID = re.compile(rf"({'|'.join(PAPERS)})-[a-z0-9-]+")


def ids_in(node: ast.AST) -> Iterator[str]:
    """The claims that a call of ``claim`` names."""
    if isinstance(node, ast.Call):
        called = getattr(node.func, "id", None) or getattr(node.func, "attr", None)
        for each in node.args if called == "claim" else ():
            if isinstance(each, ast.Constant) and _ID.fullmatch(str(each.value)):
                yield str(each.value)


def tested() -> dict[str, dict[Path, list[str]]]:
    """What tests show of each claim, by file, in the words of their names; claims of recipes have none."""
    found: dict[str, dict[Path, list[str]]] = {}
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        if "claim(" in (text := file.read_text(encoding="utf-8")):
            module = ast.parse(text)
            for each in (claim for node in ast.walk(module) for claim in ids_in(node)):
                found.setdefault(each, {})
            for node in ast.walk(module):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    words = node.name.removeprefix("test_").replace("_", " ").strip()
                    for each in (
                        claim for marked in node.decorator_list for claim in ids_in(marked)
                    ):
                        found[each].setdefault(file, []).append(words)
    return found


def _told(by_file: Mapping[Path, list[str]]) -> str:
    return "<br>".join(
        f"[{file.stem}](../../../{file.relative_to(ROOT)}): {'; '.join(words)}"
        for file, words in by_file.items()
    )


def printed() -> dict[str, list[str]]:
    """Recipes by the claims that they print."""
    found: dict[str, list[str]] = {}
    for file in sorted(RECIPES.glob("*.yaml")):
        for each in yaml.safe_load(file.read_text(encoding="utf-8")).get("claims", ()):
            found.setdefault(each, []).append(f"`{file.stem}`")
    return found


def claims() -> str:
    """A table for each paper."""
    tests, recipes = tested(), printed()
    parts: list[str] = []
    for prefix, paper in PAPERS.items():
        ours = sorted(each for each in {*tests, *recipes} if each.startswith(f"{prefix}-"))
        rows = (
            f"| `{each}` | {_told(tests.get(each, {})) or '–'} "
            f"| {', '.join(recipes.get(each, ())) or '–'} |\n"
            for each in ours
        )
        head = f"### {paper}\n\n| claim | what tests hold | recipe |\n|---|---|---|\n"
        parts.append(head + "".join(rows))
    return "\n" + "\n".join(parts) + "\n"
