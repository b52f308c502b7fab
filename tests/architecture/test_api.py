"""The pages of the package: every public name stands on one of them, and is said to be what it is."""

from __future__ import annotations

import re

import metalogue
import pytest

from tests.architecture.api import PAGES, apart, api, prose, spaced
from tests.architecture.pages import API


def test_every_public_name_stands_on_one_page() -> None:
    names = [name for ours in PAGES.values() for name in ours]
    assert sorted(names) == sorted(metalogue.__all__)
    assert {page.stem for page in API.glob("*.md")} == {*PAGES, "README"}


@pytest.mark.parametrize("page", PAGES)
def test_the_index_lists_what_a_page_holds(page: str) -> None:
    index = (API / "README.md").read_text(encoding="utf-8")
    (row,) = (line for line in index.splitlines() if f"({page}.md)" in line)
    assert tuple(re.findall(r"`(\w+)`", row)) == PAGES[page]


@pytest.mark.parametrize("page", PAGES)
def test_each_name_says_what_it_is(page: str) -> None:
    entries = re.split(r"^## ", api(page), flags=re.MULTILINE)[1:]
    assert len(entries) == len(PAGES[page])
    for each in entries:
        assert re.search(r"^[A-Z`].*[.:]$", each, flags=re.MULTILINE), each


def test_signatures_are_written_as_the_formatter_would() -> None:
    assert apart("self, a: dict[str, int]={}, *, b=(1, 2)") == [
        "self",
        "a: dict[str, int]={}",
        "*",
        "b=(1, 2)",
    ]
    assert spaced("a: dict[str, int]={}") == "a: dict[str, int] = {}"
    assert spaced("b=1") == "b=1"
    assert spaced("policy: str=DEFAULT_POLICY") == "policy: str = 'cot'"
    assert spaced("*") == "*"


def test_a_docstring_becomes_markdown() -> None:
    assert (
        prose("Uses ``a``.\n\n>>> f(1)\n2\n\nMore.")
        == "Uses `a`.\n\n```python\n>>> f(1)\n2\n```\n\nMore."
    )
