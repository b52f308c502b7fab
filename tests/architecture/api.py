"""The pages of ``deploy/docs/api``: what ``import metalogue`` offers, from its docstrings and signatures."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

import metalogue

from tests.architecture.pages import ROOT

PAGES = {
    "solving": ("solve", "asolve", "Answer", "Usage", "Error"),
    "engine": ("Engine", "Client", "Handle", "Asked", "Problem", "Limits"),
    "reading": ("open_log", "Log", "Episode", "Record", "Memory", "MemoryItem"),
    "replay": ("verify", "Verified", "fork", "Forked"),
    "policies": (
        *("Policy", "PolicySettings", "Task", "Conclusion", "Role", "choice", "number", "text"),
        *("All", "Steps", "Review", "Reviewed", "play"),
    ),
}
"""What each page holds, in this order."""
WIDTH = 100

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


def api(page: str) -> str:
    """The generated part of a page."""
    return "\n" + "\n".join(entry(name) for name in PAGES[page])


def entry(name: str) -> str:
    """One public name: how it is called, what it says of itself, what it has."""
    (home,) = (module for module, names in metalogue.PLACES.items() if name in names)
    parts = [f"## `{name}`", ""]
    match node_of(home, name):
        case ast.ClassDef() as found:
            parts += [prose(ast.get_docstring(found) or ""), *members(found)]
        case ast.FunctionDef() | ast.AsyncFunctionDef() as found:
            parts += [
                f"```python\n{signature(found)}\n```",
                "",
                prose(ast.get_docstring(found) or ""),
            ]
        case text:
            parts.append(prose(str(text)))
    return "\n".join([*parts, "", f"Defined in `{home}`.", ""])


@cache
def module_of(home: str) -> ast.Module:
    """A module taken apart."""
    file = ROOT.joinpath(*home.split(".")).with_suffix(".py")
    return ast.parse(Path(file).read_text(encoding="utf-8"))


def node_of(home: str, name: str) -> ast.ClassDef | Function | str:
    """Where a name is defined; of an alias what is said below it."""
    body = module_of(home).body
    for at, node in enumerate(body):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name == name:
                return node
        elif isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name:
            return below(body, at)
    raise LookupError(f"{home} defines no {name}")


def below(body: list[ast.stmt], at: int) -> str:
    """The docstring below an attribute, if there is one."""
    match body[at + 1 : at + 2]:
        case [ast.Expr(value=ast.Constant(value=str(text)))]:
            return textwrap.dedent(text).strip()
        case _:
            return ""


def members(found: ast.ClassDef) -> Iterator[str]:
    """Fields as a list, methods with their signatures."""
    fields = [
        (ast.unparse(node.target), ast.unparse(node.annotation), below(found.body, at))
        for at, node in enumerate(found.body)
        if isinstance(node, ast.AnnAssign) and "ClassVar" not in ast.unparse(node.annotation)
    ]
    shown = [each for each in fields if not each[0].startswith("_")]
    if shown:
        yield ""
    for name, kind, said in shown:
        yield f"- `{name}: {kind}`" + (f": {flat(said)}" if said else "")
    for node in found.body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if node.name == "__init__" or not node.name.startswith("_"):
            is_property = any(
                ast.unparse(each).endswith("property") for each in node.decorator_list
            )
            yield from _method(found.name, node, is_property)


def _method(of: str, node: Function, is_property: bool) -> Iterator[str]:
    said = ast.get_docstring(node) or ""
    if node.name == "__init__":
        yield f"\n```python\n{signature(node, of)}\n```"
    elif is_property:
        kind = "" if node.returns is None else f": {ast.unparse(node.returns)}"
        yield f"\n**`{node.name}{kind}`** (property)"
    else:
        yield f"\n```python\n{signature(node)}\n```"
    if said:
        yield f"\n{prose(said)}"


def signature(node: Function, name: str = "") -> str:
    """How something is called, a parameter a line where one line is too short."""
    start = "async def " if isinstance(node, ast.AsyncFunctionDef) else "" if name else "def "
    back = "" if node.returns is None or name else f" -> {ast.unparse(node.returns)}"
    parts = [
        spaced(each) for each in apart(ast.unparse(node.args)) if each not in ("self", "cls", "")
    ]
    line = f"{start}{name or node.name}({', '.join(parts)}){back}"
    if len(line) <= WIDTH:
        return line
    below = "".join(f"    {each},\n" for each in parts)
    return f"{start}{name or node.name}(\n{below}){back}"


def apart(arguments: str) -> list[str]:
    """Parameters, split at the commas that stand in no bracket."""
    found, depth = [""], 0
    for sign in arguments:
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 0:
            found.append("")
        else:
            found[-1] += sign
    return [each.strip() for each in found]


def spaced(parameter: str) -> str:
    """A parameter as the formatter would write it; a default that is a constant of ours by its value."""
    head, has_default, value = parameter.partition("=")
    if value.isupper():
        (value,) = {repr(getattr(module, value)) for module in homes() if hasattr(module, value)}
    return head + (" = " if ":" in head else "=") * bool(has_default) + value


@cache
def homes() -> tuple[ModuleType, ...]:
    """The modules that define public names."""
    return tuple(import_module(home) for home in metalogue.PLACES)


def prose(text: str) -> str:
    """A docstring as Markdown: names in single quotes, examples fenced."""
    said = re.sub(r"``([^`]+)``", r"`\1`", textwrap.dedent(text).strip())
    return re.sub(
        r"(?:^>>> .*(?:\n(?!\n).*)*)",
        lambda found: f"```python\n{found[0]}\n```",
        said,
        flags=re.MULTILINE,
    )


def flat(text: str) -> str:
    """A docstring in one line."""
    return " ".join(prose(text).split())
