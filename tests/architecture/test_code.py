"""Conventions of the code itself: sizes, words, layers, and what may not be named."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TypeAlias

import pytest

from handlers.policies.registry import POLICIES
from schemas.events import union
from schemas.events.base import AnswerEvent, Event
from schemas.events.codec import UnknownEvent
from tests.architecture.pages import ROOT

PACKAGES = ("schemas", "handlers", "state", "streams")
# A function may be as long as its one thought; complexity (at most 10) is the linter's, see pyproject.
FILE_LINES, FUNCTION_LINES = 500, 60
MEDIAN_FILE, MEDIAN_FUNCTION = 150, 10

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Definition: TypeAlias = Function | ast.ClassDef


@cache
def tracked() -> tuple[Path, ...]:
    """What git would commit, whether it has been added yet or not."""
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [ROOT / line for line in listed.splitlines()]
    return tuple(path for path in paths if path.is_file())


TOP = {
    *(
        ".ci",
        ".editorconfig",
        ".gitignore",
        ".pre-commit-config.yaml",
        "pyproject.toml",
        "Makefile",
    ),
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE"),
    *("streams", "handlers", "state", "schemas", "deploy", "tests"),
}


def test_the_top_level_holds_what_was_fixed_and_nothing_that_a_command_left() -> None:
    """What ``analyse`` writes where it is started was committed twice."""
    assert {path.relative_to(ROOT).parts[0] for path in tracked()} == TOP


def sources(*folders: str) -> list[Path]:
    """Python files in folders."""
    within = [ROOT / folder for folder in folders]
    return [p for p in tracked() if p.suffix == ".py" and any(f in p.parents for f in within)]


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def functions(path: Path) -> Iterator[Function]:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def length(function: Function) -> int:
    """Lines from ``def`` to the end."""
    return (function.end_lineno or function.lineno) - function.lineno + 1


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


# ── Sizes ────────────────────────────────────────────────────────────────────────────────────


def test_no_file_is_long() -> None:
    found = {name_of(path): lines(path) for path in sources(*PACKAGES)}
    assert found
    assert {name: size for name, size in found.items() if size > FILE_LINES} == {}


def test_no_function_is_long() -> None:
    found = {
        f"{name_of(path)}:{each.lineno} {each.name}": length(each)
        for path in sources(*PACKAGES)
        for each in functions(path)
    }
    assert {name: size for name, size in found.items() if size > FUNCTION_LINES} == {}


def test_most_are_short() -> None:
    """Elegance is lost in the tail, but it lives in the middle."""
    paths = sources(*PACKAGES)
    sizes = sorted(lines(path) for path in paths if path.name != "__init__.py")
    bodies = sorted(length(each) for path in paths for each in functions(path))
    assert sizes[len(sizes) // 2] <= MEDIAN_FILE
    assert bodies[len(bodies) // 2] <= MEDIAN_FUNCTION


# ── Words ────────────────────────────────────────────────────────────────────────────────────


def public(body: list[ast.stmt], within: str = "") -> Iterator[tuple[str, Definition]]:
    """What others may use: no leading underscore, no override of a base class's own word."""
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name.startswith("_"):
                continue
            yield f"{within}{node.name}", node
            if isinstance(node, ast.ClassDef):
                yield from public(node.body, f"{within}{node.name}.")


def is_stub(node: Definition) -> bool:
    """The body is only ``...``: a port's attribute or an overload."""
    if isinstance(node, ast.ClassDef):
        return False
    (last,) = node.body[-1:]
    return isinstance(last, ast.Expr) and isinstance(last.value, ast.Constant)


def undocumented(path: Path) -> list[str]:
    module = parsed(path)
    found = [] if ast.get_docstring(module) or path.name == "__init__.py" else [name_of(path)]
    bases = {node.name: node.bases for node in module.body if isinstance(node, ast.ClassDef)}
    for name, node in public(module.body):
        inherits = bool(bases.get(name.partition(".")[0])) and "." in name
        if ast.get_docstring(node) is None and not inherits and not is_stub(node):
            found.append(f"{name_of(path)}:{node.lineno} {name}")
    return found


def test_everything_public_says_what_it_is_in_a_line() -> None:
    assert [each for path in sources(*PACKAGES) for each in undocumented(path)] == []


@pytest.mark.parametrize("word", ["TO" + "DO", "FIX" + "ME", "XX" + "X"])
def test_nothing_is_left_for_later(word: str) -> None:
    pattern = re.compile(rf"\b{word}\b")
    readable = [p for p in tracked() if p.suffix in (".py", ".md", ".toml", ".sh", ".yml")]
    assert [name_of(p) for p in readable if pattern.search(p.read_text(encoding="utf-8"))] == []


def test_no_name_says_what_a_folder_says_already() -> None:
    """No helpers, no managers, no utilities: a noun that is missing hides behind each."""
    vague = re.compile(r"(^|_)(utils?|helpers?|managers?|misc|common)(_|$)")
    found = {name_of(path) for path in sources(*PACKAGES) if vague.search(path.stem)}
    assert found == set()


# ── Layers ───────────────────────────────────────────────────────────────────────────────────

ABOVE = {
    "schemas": {"handlers", "state", "streams", "tests"},
    "handlers": {"state", "streams", "tests"},
    "state": {"streams", "tests"},
    "streams": {"tests"},
}
WORLDLY = {
    *("time", "random", "secrets", "uuid", "asyncio", "threading", "subprocess", "os", "sqlite3"),
    *("socket", "http", "urllib.request", "aiohttp", "openai", "faust", "aiokafka", "lancedb"),
}
PURE = ("schemas", "handlers", "state/folds", "streams/core/topology.py")


def imported(path: Path) -> set[str]:
    """Modules that a file imports, wherever it does so, but for type checkers alone."""
    found: set[str] = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


@pytest.mark.parametrize("package", ABOVE)
def test_a_layer_imports_nothing_from_above(package: str) -> None:
    for path in sources(package):
        tops = {module.partition(".")[0] for module in imported(path)}
        assert not tops & ABOVE[package], name_of(path)


@pytest.mark.parametrize("place", PURE)
def test_what_is_pure_never_touches_the_world(place: str) -> None:
    paths = [ROOT / place] if place.endswith(".py") else sources(place)
    assert paths
    for path in paths:
        modules = imported(path)
        touched = modules & WORLDLY | {m.partition(".")[0] for m in modules} & WORLDLY
        assert not touched, f"{name_of(path)}: {touched}"


INEXACT = {
    *("math.exp", "math.log", "math.log2", "math.log10", "math.log1p", "math.expm1", "math.pow"),
    *("math.sin", "math.cos", "math.tan", "math.tanh", "math.erf", "math.lgamma", "math.gamma"),
}


@pytest.mark.parametrize("place", PURE)
def test_nothing_that_decides_rests_on_the_last_bit_of_a_processor(place: str) -> None:
    """No function of the C library that has a version for each set of instructions, no product of
    matrices, and no power of a float: it is such a function as well."""
    paths = [ROOT / place] if place.endswith(".py") else sources(place)
    for path in paths:
        assert not imported(path) & INEXACT, name_of(path)
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                assert f"{node.value.id}.{node.attr}" not in INEXACT, (
                    f"{name_of(path)}:{node.lineno}"
                )
            if isinstance(node, ast.BinOp):
                assert not isinstance(node.op, ast.MatMult), f"{name_of(path)}:{node.lineno}"
                whole = isinstance(node.op, ast.Pow) and is_whole(node.left)
                assert not isinstance(node.op, ast.Pow) or whole, f"{name_of(path)}:{node.lineno}"


def is_whole(base: ast.expr) -> bool:
    """A whole number, a fraction made on the spot, or an exact power of two."""
    if isinstance(base, ast.Call) and isinstance(base.func, ast.Name):
        return base.func.id == "Fraction"
    return isinstance(base, ast.Constant) and (isinstance(base.value, int) or base.value == 2.0)


def test_imports_are_absolute() -> None:
    relative = re.compile(r"^\s*from \.", re.MULTILINE)
    paths = sources(*PACKAGES, "tests")
    assert [name_of(p) for p in paths if relative.search(p.read_text(encoding="utf-8"))] == []


# ── Events ───────────────────────────────────────────────────────────────────────────────────


def descendants(model: type[Event]) -> Iterator[type[Event]]:
    for child in model.__subclasses__():
        yield child
        yield from descendants(child)


def test_every_event_is_in_the_union_and_says_when_and_what_it_is() -> None:
    ours = {
        model
        for model in descendants(Event)
        if model.__module__.startswith("schemas.events.") and model is not AnswerEvent
    }
    ours.remove(UnknownEvent)
    assert ours == set(union.KINDS.values())
    assert len(union.KINDS) == len(ours), "two events of one kind"
    for kind, model in union.KINDS.items():
        assert model.__doc__, kind
        assert model.__struct_config__.frozen, kind
        assert model.__struct_config__.forbid_unknown_fields, kind
        assert re.fullmatch(r"[a-z]+(\.[a-z]+)*", kind), kind
        assert issubclass(model, AnswerEvent) == (kind in union.ANSWER_KINDS), kind


def test_no_event_holds_time_or_place() -> None:
    """Those are the record's: an event says what happened."""
    forbidden = {"at", "at_ms", "time", "timestamp", "epoch", "worker_id", "uuid"}
    for kind, model in union.KINDS.items():
        if kind not in ("partition.claimed", "episode.opened"):
            assert not forbidden & {*model.__struct_fields__}, kind


# ── What may not be named ────────────────────────────────────────────────────────────────────


def strings(path: Path) -> Iterator[str]:
    """The string constants of a file that are not docstrings."""
    module = parsed(path)
    docs = {
        id(node.body[0].value)
        for node in ast.walk(module)
        if isinstance(node, ast.Module | ast.ClassDef | Function) and ast.get_docstring(node)
        if isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(module):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.value


ROLES = ("reasoner", "monitor", "controller", "composer", "distiller", "consolidator", "critic")


def test_the_simulator_knows_no_policy_and_no_role() -> None:
    """It reads prompts as a model would, so that whatever is built runs on it."""
    named = re.compile(rf"\b({'|'.join((*ROLES, *POLICIES))})\b", re.IGNORECASE)
    found = {
        f"{name_of(path)}: {text[:60]!r}"
        for path in sources("streams/answering/backbones/rehearsal")
        for text in strings(path)
        if named.search(text)
    }
    assert found == set()


def test_nothing_tracked_names_this_machine() -> None:
    """No path of a desk, no host of a private registry."""
    home = Path.home()
    paths = {f"/{ROOT.parts[1]}/", "/root/", "/home/", "/Users/"}
    if len(home.parts) > 1:
        paths.add(f"{home}/")
    hosts = {
        value
        for name in ("PIP_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX")
        if (value := os.environ.get(name))
    }
    told = [*(re.escape(path) for path in paths), *(re.escape(host) for host in hosts)]
    pattern = re.compile("|".join(rf"(?<![\w.]){each}" for each in told))
    mine = Path(__file__)
    for path in tracked():
        if path == mine or path.suffix in (".png", ".svg", ".db"):
            continue
        found = pattern.search(path.read_bytes().decode("utf-8", "replace"))
        assert found is None, name_of(path)


def test_no_secret_is_tracked() -> None:
    pattern = re.compile(r"\b(sk-[A-Za-z0-9]{20,}|ghp_[A-Za-z0-9]{30,}|AKIA[0-9A-Z]{16})\b")
    for path in tracked():
        assert not pattern.search(path.read_bytes().decode("utf-8", "replace")), name_of(path)


def test_generated_files_are_up_to_date() -> None:
    words = [sys.executable, "-c", "from streams.interfaces.cli.main import main; main()"]
    done = subprocess.run(
        [*words, "schema", "check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
