"""Small wrong changes of Python files, one at a time: made by mutmut's operators and two of ours, drawn by a seed.

Left alone is what no result shows: annotations, decorators, imports, the words of errors and of log lines, and texts of
more than a word, which the snapshots of prompts and pages hold. Left out are mutmut's operators whose changes nearly
always end in an error at once (nothing assigned, a lambda emptied, an argument lost by its place): any test of the line
notices them, so they would flatter the share.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators

Operator: TypeAlias = Callable[[Any], Iterable[cst.CSTNode]]

PLACES = (
    *("handlers", "schemas", "state/folds"),
    *(
        "streams/core/drive.py",
        "streams/answering/world.py",
        "state/folds/windows.py",
        "streams/engine/learner.py",
    ),
    *(
        "streams/research/analysis",
        "streams/research/bench",
        "streams/answering/grading",
        "streams/support/datasets",
    ),
)
"""What decides, what remembers, and what measures."""
WORD = re.compile(r"""["'][A-Za-z][\w.-]*["']""")
SAYS = {"debug", "info", "warning", "error", "exception", "warn", "cast", "TypeVar", "ParamSpec"}
"""Calls whose arguments no result shows."""
KEPT = {
    "strict",
    "stacklevel",
    "maxsize",
    "repr",
    "timeout",
    "ensure_ascii",
    "flush",
    "description",
}
"""Keyword arguments that guard, or bound, and show in no result."""
CLOCKS = {"perf_counter", "monotonic", "process_time", "time"}
"""How long something took is judged by eye."""
LOUD = {"operator_assignment", "operator_lambda", "operator_dict_arguments"}
INVERSE: dict[type[cst.BaseCompOp], type[cst.BaseCompOp]] = {
    cst.LessThan: cst.GreaterThanEqual,
    cst.LessThanEqual: cst.GreaterThan,
    cst.GreaterThan: cst.LessThanEqual,
    cst.GreaterThanEqual: cst.LessThan,
}


@dataclass(frozen=True)
class Change:
    """One wrong change of one file. ``text`` is the whole file with it; ``first`` the line where its statement begins.

    ``called`` says whether its line runs when a function is called, and not at import.
    """

    path: str
    line: int
    first: int
    function: str
    called: bool
    kind: str
    source: str
    before: str
    after: str
    text: str

    @property
    def key(self) -> str:
        """What tells it from every other change, wherever its line has moved to."""
        told = (self.path, self.function, self.source, self.before, self.after)
        return sha256("\0".join(told).encode()).hexdigest()[:16]

    def __str__(self) -> str:
        said = f"{short(self.before)} -> {short(self.after)}"
        return f"{self.path}:{self.line} {self.function or 'module'}: {said}"


def short(code: str) -> str:
    """A piece of code on one line, cut where it is long."""
    line = " ".join(code.split())
    return line if len(line) <= 70 else f"{line[:67]}..."


def branches(node: cst.If | cst.IfExp) -> Iterator[cst.CSTNode]:
    """The condition never and always holds."""
    for value in ("False", "True"):
        yield node.with_changes(test=cst.Name(value))


def inverted(node: cst.ComparisonTarget) -> Iterator[cst.CSTNode]:
    """A comparison the other way round, beside mutmut's own, which moves its edge."""
    other = INVERSE.get(type(node.operator))
    if other is not None:
        yield node.with_changes(operator=other())


OPERATORS: tuple[tuple[type, Operator], ...] = (
    *((kind, operator) for kind, operator in mutation_operators if operator.__name__ not in LOUD),
    (cst.If, branches),
    (cst.IfExp, branches),
    (cst.ComparisonTarget, inverted),
)


@dataclass(frozen=True)
class Place:
    """Where an operator applies: a node and what takes its place."""

    node: cst.CSTNode
    other: cst.CSTNode
    kind: str
    line: int
    first: int
    function: str
    called: bool


class Visitor(cst.CSTVisitor):
    """Collects what each operator makes of each node that a result may hang on."""

    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Place] = []
        self.within: list[str] = []
        self.functions = 0
        self.line = self.first = 1

    def on_visit(self, node: cst.CSTNode) -> bool:
        if left_alone(node):
            return False
        where = self.get_metadata(PositionProvider, node, None)
        if where is not None:
            self.line = where.start.line
        if isinstance(node, cst.BaseSmallStatement | cst.BaseCompoundStatement):
            self.first = self.line
        if isinstance(node, cst.FunctionDef | cst.ClassDef):
            self.within.append(node.name.value)
            self.functions += isinstance(node, cst.FunctionDef)
        for kind, operator in OPERATORS:
            if isinstance(node, kind) and self.applies(node):
                self.take(node, operator)
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        if isinstance(original_node, cst.FunctionDef | cst.ClassDef):
            self.within.pop()
            self.functions -= isinstance(original_node, cst.FunctionDef)

    def take(self, node: cst.CSTNode, operator: Operator) -> None:
        """All that an operator makes of a node."""
        name = operator.__name__.removeprefix("operator_")
        function = ".".join(self.within)
        for other in list(operator(node))[: 1 if isinstance(node, cst.SimpleString) else None]:
            if may_show(node, other):
                where = (self.line, self.first, function, self.functions > 0)
                self.found.append(Place(node, other, name, *where))

    def applies(self, node: cst.CSTNode) -> bool:
        """A text is changed where it is one word, and within a function."""
        if isinstance(node, cst.SimpleString):
            return WORD.fullmatch(node.value) is not None and self.functions > 0
        return True


def may_show(node: cst.CSTNode, other: cst.CSTNode) -> bool:
    """Whether a call's argument that changed was given by name, and may show in a result."""
    if not isinstance(node, cst.Call) or not isinstance(other, cst.Call):
        return True
    lost = [each for each in node.args if all(each is not kept for kept in other.args)]
    return all(each.keyword is not None and each.keyword.value not in KEPT for each in lost)


def left_alone(node: cst.CSTNode) -> bool:
    """Whether neither this nor anything below it can show in a result."""
    match node:
        case cst.Annotation() | cst.Decorator() | cst.Import() | cst.ImportFrom():
            return True
        case cst.Raise() | cst.Assert() | cst.FormattedString() | cst.ConcatenatedString():
            return True
        case cst.AnnAssign(annotation=cst.Annotation(annotation=cst.Name(value="TypeAlias"))):
            return True
        case cst.Expr(value=cst.SimpleString()):
            return True
        case cst.Arg(keyword=cst.Name(value=name)):
            return name in KEPT
        case cst.If(test=cst.Name(value="TYPE_CHECKING")):
            return True
        case cst.BinaryOperation(left=cst.Call(func=cst.Attribute(attr=cst.Name(value=name)))):
            return name in CLOCKS
        case (
            cst.Call(func=cst.Name(value=name))
            | cst.Call(func=cst.Attribute(attr=cst.Name(value=name)))
        ):
            return name in SAYS
        case _:
            return False


class Source:
    """A file that was read: every place where an operator applies. A change is made only when it is asked for."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text
        wrapper = MetadataWrapper(cst.parse_module(text))
        visitor = Visitor()
        wrapper.visit(visitor)
        self.module, self.lines = wrapper.module, text.splitlines()
        self.places: dict[int, list[Place]] = {}
        for place in visitor.found:
            self.places.setdefault(place.line, []).append(place)

    def made(self, place: Place) -> Change | None:
        """The change; none where Python would not read it, or would read the same program."""
        before, after = (self.module.code_for_node(each) for each in (place.node, place.other))
        text = "" if before == after else replaced(self.module, place.node, place.other)
        if not text or ast.dump(ast.parse(text)) == ast.dump(ast.parse(self.text)):
            return None
        return Change(
            *(self.path, place.line, place.first, place.function, place.called, place.kind),
            *(self.lines[place.line - 1].strip(), before.strip(), after.strip(), text),
        )

    def draw(self, rng: random.Random) -> Change | None:
        """A line, a kind of change that it allows, and one of these."""
        if not self.places:
            return None
        here = self.places[rng.choice(sorted(self.places))]
        kind = rng.choice(sorted({each.kind for each in here}))
        return self.made(rng.choice([each for each in here if each.kind == kind]))


def replaced(module: cst.Module, node: cst.CSTNode, other: cst.CSTNode) -> str:
    """The file with one node for another; nothing where that is no Python."""
    try:
        changed = module.deep_replace(node, other)
        text = changed.code if isinstance(changed, cst.Module) else ""
        compile(text, "<changed>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, cst.CSTValidationError):
        return ""
    return text


def files(root: Path, places: Iterable[str]) -> list[str]:
    """The Python files of places, each a file or a folder; sorted. Raises ``ValueError`` for a place without any."""
    found: set[str] = set()
    for place in places:
        path = root / place
        here = [path] if path.is_file() else sorted(path.rglob("*.py"))
        if not here:
            raise ValueError(f"{place}: no Python file is there")
        found.update(str(each.relative_to(root)) for each in here)
    return sorted(found)


def draw(root: Path, paths: Sequence[str], seed: int, count: int) -> list[Change]:
    """So many different changes: a file (long ones more often, by the root of their length), a line, a kind, a change.

    Fewer where so many cannot be found in forty times as many draws.
    """
    rng = random.Random(seed)
    sources = {path: (root / path).read_text(encoding="utf-8") for path in paths}
    weights = [len(sources[path].splitlines()) ** 0.5 for path in paths]
    read: dict[str, Source] = {}
    chosen: dict[str, Change] = {}
    for _ in range(40 * count):
        if len(chosen) == count or not any(weights):
            break
        (path,) = rng.choices(paths, weights)
        if path not in read:
            read[path] = Source(path, sources[path])
        change = read[path].draw(rng)
        if change is not None:
            chosen.setdefault(change.key, change)
    return list(chosen.values())
