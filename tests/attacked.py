"""Whatever of the product reads texts from outside, found by import: patterns, functions and roles.

A *reader* is every pattern that a module holds, and every public function of the packages in ``READERS`` that
can be called with nothing but texts, the first parameter among them. ``tests.growth`` makes texts to hurt them.
"""

from __future__ import annotations

import ast
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, cast

from handlers.roles.role import Check, Role
from schemas.reply import Field
from tests.growth import Call, Text

# ── Finding readers ──────────────────────────────────────────────────────────────────────────

ROOTS = ("handlers", "schemas", "state", "streams")


@cache
def modules() -> tuple[ModuleType, ...]:
    """Every module of the product that can be imported here."""
    found: list[ModuleType] = []
    for root in ROOTS:
        for each in pkgutil.walk_packages(import_module(root).__path__, f"{root}."):
            if not each.name.endswith("__main__"):
                with suppress(ImportError):  # an extra that is not installed
                    found.append(import_module(each.name))
    return tuple(found)


def patterns() -> Iterator[tuple[str, re.Pattern[Any], tuple[str, ...]]]:
    """Every pattern that a module holds, by name, with the methods by which the module asks it."""
    seen = set[int]()
    for module in modules():
        source = inspect.getsource(module)
        for name, value in vars(module).items():
            for pattern in _held(value):
                asked = tuple(
                    dict.fromkeys(
                        re.findall(
                            rf"\b{name}\.(match|search|fullmatch|finditer|findall|sub|split)\b",
                            source,
                        )
                    )
                )
                if id(pattern) not in seen and (
                    asked or re.search(rf"^{name}\b", source, re.MULTILINE)
                ):
                    seen.add(id(pattern))
                    yield f"{module.__name__}.{name}", pattern, asked or ("match", "search")


def _held(value: object) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield cast("re.Pattern[Any]", value)
    elif isinstance(value, tuple | list | frozenset):
        for each in cast("Iterable[object]", value):
            yield from _held(each)
    elif isinstance(value, dict):
        for each in cast("Mapping[object, object]", value).values():
            yield from _held(each)


def asked(pattern: re.Pattern[Any], method: str) -> Call:
    """A pattern's method as a call with a text."""
    of_bytes = isinstance(pattern.pattern, bytes)

    def call(text: str) -> object:
        what: Any = text.encode() if of_bytes else text
        if method == "sub":
            return len(cast("str", pattern.sub(what[:0], what)))
        found: Any = getattr(pattern, method)(what)
        return sum(1 for _ in found) if method == "finditer" else None

    return call


# ── Functions that read ──────────────────────────────────────────────────────────────────────

READERS = (
    *("handlers", "schemas", "state.folds"),
    *(
        "streams.answering.backbones.openai",
        "streams.answering.backbones.llamacpp.body",
        "streams.answering.backbones.rehearsal",
    ),
    *(
        "streams.answering.grading.algebra",
        "streams.replay.change",
        "streams.support.datasets.source",
    ),
    *("streams.runtime.kafka.lenient", "streams.telemetry.otlp", "streams.engine.prompts.files"),
    *(
        "streams.producing.traces.messages",
        "streams.producing.traces.spans",
        "streams.producing.traces.chat",
    ),
)
"""Where texts are read beside ``untouching``; whatever takes one there opens nothing and asks nobody."""
_WORLD = frozenset([
    *("asyncio", "aiohttp", "aiokafka", "concurrent", "faust", "http", "httpx", "importlib", "io"),
    *("lancedb", "multiprocessing", "openai", "os", "pathlib", "pyarrow", "shutil", "signal", "socket"),
    *("sqlite3", "subprocess", "sys", "tempfile", "threading", "typer", "urllib.request", "webbrowser"),
])  # fmt: skip
"""What touches files, processes or the network, or may import what does."""
_PUMPS = (
    *("a", " ", "\n", "1", "a ", "word ", "\\", "\\n", "- a\n", "1) a ", "1. a\n", "é", "\u0301"),
    *(
        "(",
        "((",
        "()",
        ")",
        "[",
        "[]",
        "{",
        "{}",
        '{"a":',
        "<",
        "<a>",
        "</a>",
        "|",
        "#",
        "### ",
        "### a\n",
    ),
    *(
        '"',
        "'",
        "`",
        "```\n",
        "```json\n{\n",
        "$",
        "$$",
        "*",
        "**",
        "-",
        "+",
        "^",
        "^{",
        "_{",
        "!",
        "%",
    ),
    *(
        "\\frac{",
        "\\frac{1}{",
        "\\frac12",
        "\\sqrt{",
        "\\left(",
        "\\boxed{",
        "\\begin{pmatrix}",
        "\\text{a",
    ),
    *(
        "1,",
        "1.",
        ".1",
        "1/",
        "1e",
        "1+",
        "-1",
        "10^",
        "a=",
        "\\cup",
        "&",
        "\\\\",
        ",",
        ";",
        ":",
        "=",
    ),
    *(
        "IF a ",
        "IF a THEN b ",
        "IF a THEN b BECAUSE c ",
        "Answer: ",
        "Final answer: ",
        "final_answer: ###",
    ),
    *("<answer>", "<tool_call>", "<next_step>", "<reasoning>", "the answer is ", "Step 1: a\n"),
    *("confidence = ", "q/", "b/", "%25", "\\u0041"),
)
COMMON = tuple(Text("", pump, "!") for pump in _PUMPS)
"""Texts that hurt somebody: delimiters, keywords, brackets, blanks, backslashes, LaTeX, again and again."""


def readers() -> Iterator[tuple[str, Call]]:
    """Every public function that takes a text first, can be called with texts alone and touches nothing."""
    named, pure = tuple(f"{each}." for each in READERS), untouching()
    for module in modules():
        if not f"{module.__name__}.".startswith(named) and module.__name__ not in pure:
            continue
        for name, value in vars(module).items():
            if inspect.isfunction(value) and value.__module__ == module.__name__ and name[0] != "_":
                call = as_reader(value)
                if call is not None:
                    yield f"{module.__name__}.{name}", call


@cache
def untouching() -> frozenset[str]:
    """Modules that touch no file, process or network: neither they nor what they import of the product."""
    imports = {module.__name__: frozenset(_imports(module)) for module in modules()}
    touching = set(_WORLD)
    while more := {name for name, takes in imports.items() if takes & touching} - touching:
        touching |= more
    return frozenset(imports) - touching


def _imports(module: ModuleType) -> Iterator[str]:
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Import):
            yield from (part for each in node.names for part in _packages(each.name))
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from _packages(node.module)
            yield from (f"{node.module}.{each.name}" for each in node.names)
        elif isinstance(node, ast.Name) and node.id in ("open", "exec", "eval", "__import__"):
            yield "io"


def _packages(name: str) -> Iterator[str]:
    """A module's name, and the packages that it lies in where they are not ours."""
    yield name
    if name.partition(".")[0] not in ROOTS:
        yield name.partition(".")[0]


def as_reader(function: Callable[..., object]) -> Call | None:
    """A function as a call with a text that it is given wherever it takes one; none where it wants something else."""
    makers: dict[str, Callable[[str], object]] = {}
    takes = list(inspect.signature(function).parameters.values())
    if (
        not takes
        or _maker(takes[0].annotation) is None
        or "Steps" in str(inspect.signature(function).return_annotation)
    ):
        return None
    for each in takes:
        maker = _maker(each.annotation)
        if maker is not None and (each.default is each.empty or each.annotation in _TEXTS):
            makers[each.name] = maker
        elif each.default is each.empty:
            return None
    positional = [
        each.name for each in takes if each.kind is not each.KEYWORD_ONLY and each.name in makers
    ]
    named = [each.name for each in takes if each.kind is each.KEYWORD_ONLY and each.name in makers]

    def call(text: str) -> object:
        found = function(
            *(makers[name](text) for name in positional),
            **{name: makers[name](text) for name in named},
        )
        return list(cast("Iterator[object]", found)) if isinstance(found, Iterator) else found

    return call


_TEXTS: Mapping[str, Callable[[str], object]] = {
    "str": str,
    "bytes": str.encode,
    "str | None": str,
    "str | bytes": str,
    "bytes | str": str,
    "bytes | None": str.encode,
    "References": str,
    "Iterable[str]": lambda text: [text],
    "Sequence[str]": lambda text: [text],
    "tuple[str, ...]": lambda text: (text,),
    "list[str]": lambda text: [text],
    "Values": lambda text: {},
}


def _maker(annotation: object) -> Callable[[str], object] | None:
    return (lambda text: 40) if annotation == "int" else _TEXTS.get(str(annotation))


# ── Roles ────────────────────────────────────────────────────────────────────────────────────

_FILLED = (
    "a",
    "a ",
    " ",
    "\n",
    "- a\n",
    "(",
    "((",
    "1,",
    "IF a THEN b ",
    "\\boxed{",
    "**",
    "```\n",
    "A. ",
    "action 1 ",
)
"""What a role's fields are filled with; patterns of their own have been attacked by themselves."""


def roles() -> Iterator[tuple[str, Role, Check | None]]:
    """Every role that a module holds, once, with the check that its replies must pass besides."""
    seen = set[int]()
    for module in modules():
        for name, value in vars(module).items():
            for role, check in _roles_in(value):
                if id(role) not in seen:
                    seen.add(id(role))
                    yield f"{module.__name__}.{name}: {role.template.name}", role, check


def _roles_in(value: object) -> Iterator[tuple[Role, Check | None]]:
    if isinstance(value, Role):
        yield value, None
    elif isinstance(value, dict):
        for each in cast("dict[object, object]", value).values():
            yield from _roles_in(each)
    elif isinstance(role := getattr(value, "role", None), Role):
        check = cast("Callable[[], Check] | None", getattr(value, "check", None))
        yield role, None if check is None else check()


def replies(role: Role) -> Iterator[Text]:
    """Families of replies in which every field but the last is filled as it should be, and which goes on and on.

    The last of each kind is the one that grows; and labels alone, again and again.
    """
    fields = role.reply.fields
    last = {field.kind: at for at, field in enumerate(fields) if field.kind != "choice"}
    for at in last.values():
        before = "\n".join(_filled(field) for field in fields[:at])
        behind = "\n".join(_filled(field) for field in fields[at + 1 :])
        for pump in _FILLED:
            yield Text(f"{before}\n{fields[at].label}: ", pump, f"!\n{behind}")
    for field in fields[:1]:
        for pump in (f"{field.label}: ", f"**{field.label}** a\n", f'{{"{field.label}": "a"}}'):
            yield Text("", pump, "")


def _filled(field: Field) -> str:
    said = {
        "number": "1",
        "choice": (*field.choices, "")[0],
        "answer": "1",
        "text": "a",
        "list": "",
    }
    items = "".join(f"\n- item {'abcdefgh'[at]}" for at in range(field.least))
    return f"{field.label}: {said[field.kind]}{items if field.kind == 'list' else ''}"
