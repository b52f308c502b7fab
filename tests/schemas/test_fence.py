"""Fences and thoughts: what a prompt's sections hold, and what of a reply was said aloud."""

from __future__ import annotations

import pytest

from schemas.fence import fenced, reads_like_a_heading, sections_of
from schemas.spoken import Spoken, spoken


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("### Problem", True),
        ("# Problem", True),
        ("  - ## Problem", True),
        ("#", True),
        ("###Problem", True),
        ("\uff03\uff03 Problem", True),
        ("#Problem", False),
        ("##Problem", False),
        ("####### x", True),
        ("a # b", False),
        ("C# is", False),
        ("", False),
    ],
)
def test_what_reads_like_a_heading(line: str, heading: bool) -> None:
    assert reads_like_a_heading(line) == heading
    text = f"before\n{line}\nafter"
    assert fenced("work", text) == (f"<work>\n{text}\n</work>" if heading else text)


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("# x", "work"),
        ("<b>", "work"),
        (" </other> ", "work"),
        ("# x <work>", "work-2"),
        ("# x </WORK >", "work-2"),
        ("# x <work-2>", "work"),
        ("# x <work> <work-2", "work-3"),
        ("# x <work> <work-3>", "work-2"),
        ("a <b> c", None),
        ("2 < 3 and 4 > 3", None),
    ],
)
def test_a_fence_has_a_name_that_its_text_does_not_hold(text: str, tag: str | None) -> None:
    assert fenced("work", text) == (text if tag is None else f"<{tag}>\n{text}\n</{tag}>")


@pytest.mark.parametrize(
    ("prompt", "sections"),
    [
        ("", []),
        ("no heading", [("", "no heading")]),
        ("### A\none\n\n### B\ntwo\nthree", [("A", "one"), ("B", "two\nthree")]),
        ("before\n\n### A\none", [("", "before"), ("A", "one")]),
        ("### A\n\n\n### B\n", [("A", ""), ("B", "")]),
        ("### A\none\n### B", [("A", "one"), ("B", "")]),
        ("### A\n<a>\n### B\nx\n</a>\n\n### C\ny", [("A", "### B\nx"), ("C", "y")]),
        ("### A\n<a>\nx\n</a>\nmore\n</a>", [("A", "<a>\nx\n</a>\nmore\n</a>")]),
        ("### A\n<a>\nx\n</b>", [("A", "<a>\nx\n</b>")]),
        ("### A\n<a>\nx", [("A", "<a>\nx")]),
        ("### A\nfirst </a>\n\n### B\n<b>\n\n</b>", [("A", "first </a>"), ("B", "")]),
        ("### A\none\n\n### 42 ###\n\n### B\ntwo", [("A", "one\n\n### 42 ###"), ("B", "two")]),
    ],
)
def test_sections_are_read_back(prompt: str, sections: list[tuple[str, str]]) -> None:
    assert [*sections_of(prompt)] == sections


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (" as it is ", Spoken(" as it is ")),
        ("<think>hm</think> 4", Spoken("4")),
        ("first <THINKING>hm</thinking> then", Spoken("first  then")),
        ("hm</think>4", Spoken("4")),
        ("a<think>b</think>c</thought>d", Spoken("d")),
        ("4 <think>or 5", Spoken("4", cut=True)),
        ("<think>a<think>b</think>c", Spoken("c")),
        ("a<think>b<think>c", Spoken("a", cut=True)),
        ("</think>4<think>", Spoken("4", cut=True)),
    ],
)
def test_thoughts_are_taken_off_a_reply(text: str, said: Spoken) -> None:
    assert spoken(text) == said
