"""The wrong changes that people made can be made still, and the tests that are to notice them are there."""

from __future__ import annotations

import ast

import pytest

from tests.architecture.pages import ROOT
from tests.mutation.known import KNOWN, Known


@pytest.mark.parametrize("known", KNOWN, ids=lambda each: each.what)
def test_a_known_change_is_another_program_and_has_a_test(known: Known) -> None:
    text = (ROOT / known.path).read_text(encoding="utf-8")
    assert ast.dump(ast.parse(known.applied(text))) != ast.dump(ast.parse(text))
    path, _, name = known.test.partition("::")
    tests = ast.parse((ROOT / path).read_text(encoding="utf-8")).body
    assert name in {each.name for each in tests if isinstance(each, ast.FunctionDef)}


def test_there_are_as_many_as_people_made() -> None:
    assert len(KNOWN) == len({(each.path, each.put, each.find) for each in KNOWN}) >= 40


def test_a_change_whose_place_has_gone_is_told() -> None:
    with pytest.raises(LookupError, match="stands there 0 times"):
        KNOWN[0].applied("nothing of it")
