"""How the time of a reader grows with its text: readers found by import, and texts made to hurt them.

A *reader* is whatever meets text from outside: every pattern that a module holds, and every public function of
the packages in ``READERS`` that can be called with nothing but texts, the first parameter among them. Patterns
are attacked with what their own grammar repeats; functions with the same and with the families of ``COMMON``.
"""

from __future__ import annotations

import inspect
import pkgutil
import re
import signal
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import combinations
from types import FrameType, ModuleType
from typing import Any, TypeAlias, cast

from handlers.roles.role import Check, Role
from schemas.reply import Field

SIZES = (4_096, 16_384)
"""Characters of a text, small and large."""
FLOOR_S = 0.02
"""What takes less is not looked at: at these sizes anything quadratic takes longer."""
GROWTH = 8.0
"""Four times the text takes a linear reader four times as long, a quadratic one sixteen times."""
LIMIT_S = 1.5
"""A text of ``SIZES`` takes no reader so long, however slow the machine."""
ROUNDS = (1, 2, 3, 4)
"""Timings of a round; the first that shows no growth ends the matter."""
TICK_S = 0.004
"""What a process's own time may be wrong by."""

Call: TypeAlias = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Text:
    """A family of texts: ``head``, then ``pump`` as often as there is room for, then ``tail``."""

    head: str
    pump: str
    tail: str

    def at(self, chars: int) -> str:
        """The family's text of about so many characters."""
        room = max(chars - len(self.head) - len(self.tail), len(self.pump))
        return self.head + self.pump * (room // len(self.pump)) + self.tail

    def __str__(self) -> str:
        return f"{self.head!r} + {self.pump!r} * n + {self.tail!r}"


class TooLong(BaseException):
    """A reader went on beyond ``LIMIT_S``; no reader's own ``except Exception`` takes it."""


# ── Measuring ────────────────────────────────────────────────────────────────────────────────


@contextmanager
def limited(seconds: float) -> Generator[None]:
    """``TooLong`` after so much of this process's own time; patterns too heed it."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooLong

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def seconds(call: Call, text: str, times: int = 1) -> float:
    """The least time that a call took, its own or the clock's; what it raises is no matter here.

    A short call's time is told by the clock, unless somebody else had the processor; a long one's by the
    process, which does not count what others take.
    """
    least = float("inf")
    for _ in range(times):
        own, began = time.process_time(), time.perf_counter()
        with suppress(Exception):
            call(text)
        taken = time.perf_counter() - began
        least = min(least, taken, time.process_time() - own + TICK_S)
    return least


def growth(call: Call, family: Text) -> str | None:
    """What is wrong with the growth of a call's time over a family; none where it is linear.

    Only a text that takes longer than ``FLOOR_S`` is looked at, and only what grows too fast in every round, the
    least of ever more timings, is wrong: others on the machine may spoil one round, seldom two, and never all.
    """
    small, large = (family.at(size) for size in SIZES)
    before = after = 0.0
    try:
        for times in ROUNDS:
            with limited(times * LIMIT_S):
                after = seconds(call, large, times)
            if after < FLOOR_S:
                return None
            before = seconds(call, small, 2 * times)
            if after < GROWTH * before:
                return None
    except TooLong:
        return f"{family}: more than {LIMIT_S:g} s for {len(large)} characters"
    return f"{family}: {SIZES[0]} to {SIZES[1]} characters, {before:.4f} to {after:.4f} s"


# ── What a pattern repeats ───────────────────────────────────────────────────────────────────

_PARSER: Any = import_module("re._parser")
_USUAL = "a1 \n_-.,:\\{}()<>\"'/*#A$;|é"
_PICKED = 3
"""Samples that are kept of a class, of a choice, of a sequence."""


WIDE = 64
"""A repetition of fewer is no loop, and a pattern that takes fewer characters has none."""
TAILS = ("", "!", "\n", "a")


@cache
def families(pattern: re.Pattern[Any]) -> tuple[Text, ...]:
    """Texts that make a pattern try again: what it repeats, and every stretch of its parts, again and again."""
    flags, source = pattern.flags, pattern.pattern
    if isinstance(source, bytes):
        source = source.decode("latin-1")
    tree = _PARSER.parse(source, flags)
    if tree.getwidth()[1] < WIDE:
        return ()
    pumps = dict.fromkeys(_pumps(list(tree), ""))
    return tuple(Text(head, pump, tail) for head, pump in pumps if pump for tail in TAILS)


def _pumps(nodes: list[Any], head: str) -> Iterator[tuple[str, str]]:
    """What is repeated somewhere in a sequence, with what stands before it; and stretches of the sequence."""
    parts = _parts(nodes)
    firsts = [_samples(part)[0] for part in parts]
    for start, end in combinations(range(len(parts) + 1), 2):
        if any(map(_is_wide, parts)) and end - start < 8:
            yield head, "".join(firsts[start:end])
            yield head, " ".join(filter(None, (text.strip() for text in firsts[start:end])))
    for at, part in enumerate(parts):
        before = head + "".join(firsts[:at])
        if _is_wide(part):
            for sample in _samples(part):
                yield before, sample[:WIDE]
                yield "", sample[:WIDE]
            for inner in _inner(part[0]):
                yield from _pumps(inner, before)


def _parts(nodes: list[Any]) -> list[tuple[Any, ...]]:
    """The nodes of a sequence, with letters in a row as one part."""
    parts: list[tuple[Any, ...]] = []
    for node in nodes:
        if str(node[0]) == "LITERAL" and parts and str(parts[-1][0][0]) == "LITERAL":
            parts[-1] = (*parts[-1], node)
        else:
            parts.append((node,))
    return parts


def _is_wide(part: tuple[Any, ...]) -> bool:
    """Whether something in a part may be repeated without a small bound."""
    name, value = str(part[0][0]), part[0][1]
    if name.endswith("_REPEAT") and int(value[1]) >= WIDE:
        return True
    return any(_is_wide((node,)) for inner in _inner(part[0]) for node in inner)


def _inner(node: Any) -> Iterator[list[Any]]:
    name, value = str(node[0]), node[1]
    if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        yield list(value[2])
    elif name == "SUBPATTERN":
        yield list(value[3])
    elif name == "ATOMIC_GROUP":
        yield list(value)
    elif name in ("ASSERT", "ASSERT_NOT"):
        yield list(value[1])
    elif name == "BRANCH":
        yield from (list(branch) for branch in value[1])
    elif name == "GROUPREF_EXISTS":
        yield from (list(branch) for branch in value[1:] if branch is not None)


def _samples(part: Sequence[Any]) -> list[str]:
    """A few texts that a part of a pattern matches."""
    if len(part) > 1:
        return ["".join(chr(node[1]) for node in part)]
    name, value = str(part[0][0]), part[0][1]
    if name == "LITERAL":
        return [chr(value)]
    if name in ("NOT_LITERAL", "IN", "ANY"):
        return _signs(name, value)
    if name.endswith("_REPEAT"):
        return [sample * min(max(1, value[0]), WIDE) for sample in _sequence(list(value[2]))]
    found: list[str] = []
    if name not in ("ASSERT", "ASSERT_NOT", "AT", "GROUPREF"):
        for inner in _inner(part[0]):
            found += _sequence(inner)[:_PICKED]
    return found[: 2 * _PICKED] or [""]


def _sequence(nodes: list[Any]) -> list[str]:
    parts = [_samples(part)[:2] for part in _parts(nodes)]
    if len(parts) == 1:
        return _samples(_parts(nodes)[0])
    return list(
        dict.fromkeys(("".join(part[0] for part in parts), "".join(part[-1] for part in parts)))
    )


def _signs(name: str, value: Any) -> list[str]:
    if name == "ANY":
        return ["a", " ", "("]
    matches = [sign for sign in _USUAL if _takes(name, value, sign)]
    own = [chr(item[1]) for item in value if str(item[0]) == "LITERAL"] if name == "IN" else []
    own = [sign for sign in own if _takes(name, value, sign)]
    return list(dict.fromkeys((*matches[:_PICKED], *own[:_PICKED]))) or [""]


def _takes(name: str, value: Any, sign: str) -> bool:
    """Whether a class of a pattern holds a sign."""
    if name == "NOT_LITERAL":
        return sign != chr(value)
    negated, held = False, False
    for kind, item in ((str(kind), item) for kind, item in value):
        if kind == "NEGATE":
            negated = True
        elif kind == "LITERAL":
            held |= ord(sign) == item
        elif kind == "RANGE":
            held |= item[0] <= ord(sign) <= item[1]
        elif kind == "CATEGORY":
            held |= re.fullmatch(_CATEGORIES[str(item)], sign) is not None
    return held != negated


_CATEGORIES = {
    "CATEGORY_DIGIT": r"\d", "CATEGORY_NOT_DIGIT": r"\D", "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S", "CATEGORY_WORD": r"\w", "CATEGORY_NOT_WORD": r"\W",
}  # fmt: skip


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
    *(
        "handlers",
        "schemas",
        "state.folds",
        "streams.normalise",
        "streams.yamls",
        "streams.defects",
    ),
    *("streams.backbones.openai", "streams.backbones.llamacpp.body", "streams.backbones.rehearsal"),
    *("streams.embedders.reading", "streams.grading.algebra", "streams.producing.perturbing"),
    *(
        "streams.cli.show.words",
        "streams.cli.errors",
        "streams.replay.words",
        "streams.replay.change",
    ),
    *("streams.web.hosts", "streams.datasets.source", "streams.runtime.kafka.lenient"),
    *("streams.training.rewards", "streams.dashboard.words", "streams.telemetry.otlp"),
)
"""Where texts from outside are read. Whatever else takes a text there opens nothing and asks nobody."""
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
    """Every public function of ``READERS`` that takes a text first and can be called with texts alone."""
    for module in modules():
        if not f"{module.__name__}.".startswith(tuple(f"{each}." for each in READERS)):
            continue
        for name, value in vars(module).items():
            if inspect.isfunction(value) and value.__module__ == module.__name__ and name[0] != "_":
                call = as_reader(value)
                if call is not None:
                    yield f"{module.__name__}.{name}", call


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
