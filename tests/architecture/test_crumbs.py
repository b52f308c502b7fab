"""The code is no heap of crumbs, and says why; and the measure counts what it says."""

from __future__ import annotations

import pytest

from tests.architecture import crumbs
from tests.architecture.crumbs import Crumbs
from tests.architecture.test_code import PACKAGES, sources

PRIVATE_PER_1000, SHARE_ONCE, SHARE_COMMENTS = 12.0, 0.50, 0.05
"""Half of what there were of private functions before this was measured, and ten times as many comments."""

SAMPLE = '''"""A module
of two lines."""

import os  # noqa: F401

LIMIT = 3
"""What is most."""


def _once(x):  # because callers may not see it
    return x + 1


def _twice(x):
    # It is asked for by both.
    return _once(x) * "# none"


def seen(x):
    """Twice."""
    return _twice(x) + _twice(2)


class Thing:
    def _method(self):
        return self._method

    def __init__(self):
        pass
'''


def test_a_file_is_counted() -> None:
    assert crumbs.of(SAMPLE) == Crumbs(lines=29, code=13, comments=2, private=3, once=2)
    assert crumbs.of(SAMPLE) + Crumbs(1, 1, 1, 1, 1) == Crumbs(30, 14, 3, 4, 3)
    assert str(Crumbs(1000, 700, 50, 12, 6)) == (
        "1,000 lines, 700 of them code, 5.0% comments; "
        "12.0 private functions per 1,000 lines, 50% named once"
    )


@pytest.fixture(scope="module")
def house() -> Crumbs:
    return crumbs.over(sources(*PACKAGES))


def test_private_functions_are_few_and_most_are_used_more_than_once(house: Crumbs) -> None:
    assert house.private_per_1000 <= PRIVATE_PER_1000
    assert house.share_once <= SHARE_ONCE


def test_comments_say_why(house: Crumbs) -> None:
    assert house.share_comments >= SHARE_COMMENTS
