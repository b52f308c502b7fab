"""No text hangs a process: whatever reads texts from outside is linear in their length, found by import."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial

import pytest

from tests.attacked import COMMON, ROOTS, asked, patterns, readers, replies, roles
from tests.growth import Text, families, growth
from tests.laws.test_same_readers import SLOW

NOT_LINEAR: Mapping[str, str] = {
    "handlers.learning.linucb.restored": "a matrix is as large as its dimension squared",
}
"""Readers that may take longer, and why."""


@pytest.mark.parametrize("root", ROOTS)
def test_every_pattern_is_linear_in_its_text(root: str) -> None:
    wrong = [
        f"{name}.{method}: {said}"
        for name, pattern, methods in patterns()
        if name.startswith(f"{root}.")
        for method in methods
        for said in filter(
            None, (growth(asked(pattern, method), each) for each in families(pattern))
        )
    ]
    assert not wrong


def test_every_reader_is_linear_in_its_text() -> None:
    found = dict(readers())
    assert set(NOT_LINEAR) <= set(found)
    wrong = [
        f"{name}: {said}"
        for name, call in found.items()
        if name not in NOT_LINEAR
        for said in filter(None, (growth(call, each) for each in COMMON))
    ]
    assert not wrong


def test_every_role_is_linear_in_its_reply() -> None:
    wrong = [
        f"{name}: {said}"
        for name, role, check in roles()
        for said in filter(
            None, (growth(partial(role.read, check=check), each) for each in replies(role))
        )
    ]
    assert not wrong


@pytest.mark.parametrize("times", [150, 500, 5_000])
def test_no_reader_falls_over_what_is_nested(times: int) -> None:
    """Whatever else it says of it: a ``RecursionError`` would be called a defect."""
    for name, call in readers():
        for opens, closes in NESTS:
            for text in (opens * times + "1" + closes * times, opens * times):
                assert not falls(call, text), (name, opens)
    for name, role, check in roles():
        for field in role.reply.fields:
            for opens, closes in (("[", "]"), ('{"a":', "}")):
                text = f'{{"{field.label}": {opens * times}1{closes * times}}}'
                assert not falls(partial(role.read, check=check), text), (name, field.label)


NESTS = (
    *(("[", "]"), ("(", ")"), ("{", "}"), ('{"a":', "}"), ("-", ""), ("[[1,", "]]"), ("- ", "")),
    *((r"\frac{", "}{2}"), (r"\sqrt{", "}"), (r"\begin{matrix}", r"\end{matrix}"), ("x^{", "}")),
)


def falls(call: Callable[[str], object], text: str) -> bool:
    """Whether a reader runs out of stack over a text; what else it raises is its own way to refuse."""
    try:
        call(text)
    except RecursionError:
        return True
    except Exception:
        return False
    return False


def test_readers_are_found() -> None:
    """Those that once hung a worker are among them, and so is whatever is written tomorrow."""
    names = {*(name for name, _ in readers()), *(name for name, _, _ in patterns())}
    assert names > {
        *(
            "handlers.roles.agent.move_of",
            "handlers.roles.inducer.rated",
            "handlers.roles.step.as_fields",
        ),
        *("handlers.roles.confidence.read_confidence", "handlers.answers.grade.grade_reference"),
        *(
            "streams.replay.words.word_diff",
            "streams.views.words.wrap",
            "streams.answering.grading.algebra.algebra",
            "streams.support.web.hosts.host_of",
            "streams.answering.embedders.reading.read_vectors",
        ),
    }
    assert sum(1 for _ in roles()) > 40


@pytest.mark.parametrize(("pattern", "method"), SLOW)
def test_the_law_notices_a_slow_pattern(pattern: re.Pattern[str], method: str) -> None:
    """As ours were: the Distiller's was cubic."""
    assert any(growth(asked(pattern, method), each) for each in families(pattern))


def test_the_law_notices_a_slow_function() -> None:
    """A word that is cut and copied again for each line, as screens once did it."""

    def wrapped(text: str) -> list[str]:
        lines: list[str] = []
        while text:
            room = sum(1 for at, _ in enumerate(text) if at < 40)
            lines.append(text[:room])
            text = text[room:]
        return lines

    # Whoever else is at work may make the short text take as long as half of the long one, once.
    assert any(growth(wrapped, Text("", "a", "")) for _ in range(4))
    assert not growth(str.split, Text("", "a ", ""))


def test_families_come_from_the_pattern_itself() -> None:
    assert {"IF a", "IF a THEN a"} <= {each.pump for each in families(SLOW[0][0])}
