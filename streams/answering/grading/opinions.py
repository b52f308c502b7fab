"""The worker process of ``streams.answering.grading.grader``: a line of JSON in, an outcome out, until input ends.

A process and not a thread, because sympy may compute for ever and math-verify can run in a main
thread only; its parent kills it at the time limit. Memory is limited here.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any

from handlers.answers.equal import compare
from handlers.answers.value import Value, read
from schemas.outcome import Outcome
from streams.answering.grading.algebra import NotAlgebra, algebra

MEMORY_BYTES = 2 << 30
LETTERS = 3
"""Longer words are no product of symbols."""


def by_sympy(answer: str, reference: str) -> Outcome:
    """Equal, if every difference is zero: by simplification, else by exact test at points."""
    return compare(read(answer), read(reference), _same_formula)


def _same_formula(a: Value, b: Value) -> Outcome:
    # sympy would read a word as a product of its letters, and find two anagrams equal.
    if any(v.kind == "words" and max(map(len, v.text.split())) > LETTERS for v in (a, b)):
        return "unknown"
    try:
        same = algebra(a.text).equals(algebra(b.text))
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
