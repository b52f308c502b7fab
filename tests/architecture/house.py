"""The house in one picture: which floor imports from which, drawn from the code's own imports.

The four packages and the floors of ``streams`` stand above each other as the import contracts say. Of their
arrows those are drawn that do not follow from others.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.architecture.pages import ROOT

PACKAGES = {
    "schemas": "what is said",
    "handlers": "what is decided",
    "state": "what is remembered",
}
"""From the ground up; above them stand the floors of streams."""
FLOORS = {
    "support": "child processes, YAML files, data sets, guards of HTTP servers",
    "core": "the kernel: the driver, and what an episode leaves when it ends",
    "answering": "who answers questions: models, embedders, tools, graders",
    "engine": "episodes and sets are run, learned from and scheduled",
    "runtime": "the flow on SQLite and on Kafka, producing, telemetry",
    "replay": "verify, fork, diff, forgetting",
    "research": "analysis, effects, recipes, training, trials of policies, evidence, export; rows that people read",
    "interfaces": "command line, dashboard, HTTP and MCP door, the package metalogue",
}
"""Names for the layers of the contract *the floors of streams*, the lowest first."""
CONTRACT = "the floors of streams"


@dataclass(frozen=True, slots=True)
class House:
    """Floors from the ground up, what lies on each, and which imports from which."""

    floors: tuple[str, ...]
    modules: Mapping[str, tuple[str, ...]]
    arrows: frozenset[tuple[str, str]]

    def upwards(self) -> list[tuple[str, str]]:
        """Arrows that lead to a higher floor."""
        height = {floor: at for at, floor in enumerate(self.floors)}
        return sorted((a, b) for a, b in self.arrows if height[b] > height[a])

    def drawn(self) -> list[tuple[str, str]]:
        """Downward arrows less those that follow from two others."""
        down = self.arrows - set(self.upwards())
        return sorted(
            (
                (a, b)
                for a, b in down
                if not any((a, c) in down and (c, b) in down for c in self.floors)
            ),
            key=lambda arrow: (-self.floors.index(arrow[0]), -self.floors.index(arrow[1])),
        )


def contract() -> Mapping[str, list[str]]:
    """The contract that orders the floors of streams."""
    made = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = made["tool"]["importlinter"]["contracts"]
    found: Mapping[str, list[str]]
    (found,) = (each for each in contracts if each["name"] == CONTRACT)
    return found


@cache
def house() -> House:
    """The house as the code is."""
    layers = [re.split(r"\s*:\s*", layer) for layer in reversed(contract()["layers"])]
    modules = {floor: tuple(layer) for floor, layer in zip(FLOORS, layers, strict=True)}
    floor_of = {module: floor for floor, ours in modules.items() for module in ours}
    floor_of["public"] = "interfaces"  # `import metalogue` is no package of its own within streams
    arrows: set[tuple[str, str]] = set()
    for package in (*PACKAGES, "streams"):
        for file in sorted((ROOT / package).rglob("*.py")):
            parts = file.relative_to(ROOT).with_suffix("").parts
            if parts[1] == "__init__":
                continue
            here = floor_of[parts[1]] if package == "streams" else package
            for module in imports(file):
                top, _, rest = module.partition(".")
                there = floor_of.get(rest.partition(".")[0]) if top == "streams" else top
                if there is not None and there != here and (top == "streams" or top in PACKAGES):
                    arrows.add((here, there))
    return House((*PACKAGES, *FLOORS), modules, frozenset(arrows))


def imports(file: Path) -> Iterator[str]:
    """Modules that a file imports when it runs, wherever in it that is."""
    left: list[ast.AST] = [ast.parse(file.read_text(encoding="utf-8"))]
    while left:
        node = left.pop()
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            continue
        left.extend(ast.iter_child_nodes(node))
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "streams":
            yield from (f"streams.{each.name}" for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def picture() -> str:
    """The picture as Mermaid."""
    found = house()
    about = {**PACKAGES, **FLOORS}
    lines = [
        "flowchart TD",
        *(f'  {floor}["<b>{floor}</b><br>{about[floor]}"]' for floor in reversed(found.floors)),
        *(f"  {a} --> {b}" for a, b in found.drawn()),
    ]
    return "```mermaid\n" + "\n".join(lines) + "\n```\n"
