"""The worker process of ``streams.answering.grading.grader``: a line of JSON in, an outcome out, until input ends.

A process and not a thread, because sympy may compute for ever and math-verify can run in a main
thread only; its parent kills it at the time limit. Memory is limited here.
"""

from __future__ import annotations

import json
import re
import resource
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any

from handlers.answers.equal import same
from handlers.answers.units import named
from handlers.answers.value import Value
from schemas.outcome import Outcome
from streams.answering.grading.algebra import NAMES, NotAlgebra, algebra

MEMORY_BYTES = 2 << 30
LETTERS = 3
"""Longer words are no product of symbols."""
_WORD = re.compile(r"\\?[A-Za-z]+")
_UNIT = re.compile(r"(?<![A-Za-z\\])([A-Za-z]{1,3})(?:\^\{?-?\d\}?)?[)\]}]?$")
_MAGNITUDES = frozenset("kKMBu")
"""Letters behind a number that count thousands, millions, billions, or units of no name."""


def by_sympy(answer: str, reference: str) -> Outcome:
    """Equal, if every difference is zero: by simplification, else by exact test at points."""
    return same(answer, reference, _same_formula)


def _same_formula(a: Value, b: Value) -> Outcome:
    # sympy would read a word as a product of its letters, and find two anagrams equal.
    texts = (a.text, b.text)
    words = (word for text in texts for word in _WORD.findall(text) if len(word) > LETTERS)
    if any(word[0] != "\\" and word not in NAMES for word in words):
        return "unknown"
    try:
        one, other = map(algebra, texts)
        # 36 pi cm and 5 K are not another number than 36 pi and 5000 because of their letters.
        if bool(one.free_symbols) != bool(other.free_symbols):
            behind = _UNIT.search(texts[0] if one.free_symbols else texts[1])
            if behind and (len(behind[1]) > 1 or behind[1] in _MAGNITUDES or named(behind[1])):
                return "unknown"
        same = one.equals(other)
    except (NotAlgebra, RecursionError):
        return "unknown"
    return "unknown" if same is None else "right" if same else "wrong"


def by_math_verify(answer: str, reference: str) -> Outcome:
    """What math-verify makes of both, each typeset as a formula."""
    library: Any = import_module("math_verify")
    gold, given = (library.parse(f"${text}$", parsing_timeout=None) for text in (reference, answer))
    if not gold or not given:
        return "unknown"
    return "right" if library.verify(gold, given, timeout_seconds=None) else "wrong"


OPINIONS: Mapping[str, Callable[[str, str], Outcome]] = {
    "sympy": by_sympy,
    "math-verify": by_math_verify,
}


def opinion(grader: str, answer: str, reference: str) -> Outcome:
    """A grader's outcome; whatever goes wrong inside a library is ``unknown``."""
    try:
        return OPINIONS[grader](answer, reference)
    except Exception:
        return "unknown"


def serve() -> None:
    """Answer requests until standard input ends. The first line says that the worker is ready."""
    with suppress(ValueError, OSError):  # not every system can
        # A formula of few signs can take all memory, and the kernel would then end whichever
        # process it likes.
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    for name in sys.argv[1:]:
        import_module(name)
    print("ready", flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        print(opinion(asked["grader"], asked["answer"], asked["reference"]), flush=True)


if __name__ == "__main__":
    serve()
