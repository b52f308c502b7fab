"""Answers that are long, or of several lines: in lists, and on their own pages."""

from __future__ import annotations

from pathlib import Path

from tests.streams.cli.learned import change
from tests.streams.cli.test_foreign_messages import shown
from tests.streams.test_strays import spoilt


def test_lists_show_the_beginning_of_a_long_answer(tmp_path: Path) -> None:
    """Answers of 65,536 characters made a page of megabytes, which browsers fetch again with each change."""
    path = spoilt(tmp_path / "a.db")
    long = f"begins {'x' * 60_000}"
    change(
        path,
        "update records set body = json_set(body, '$.answer', ?) where kind = 'episode.closed'",
        long,
    )
    change(
        path,
        "update messages set value = json_set(cast(value as text), '$.answer', ?) where topic = 'answers'",
        long,
    )
    pages = shown(path)
    for address in ("/", "/answers", "/episodes"):
        text = pages.get(address).text
        assert len(text) < 60_000, address
        assert "begins xxx" in text
        assert "xxx…" in text


def test_an_answer_of_several_lines_keeps_them_on_its_page(tmp_path: Path) -> None:
    """A program as an answer stood there on one line, and was none any more."""
    path, code = spoilt(tmp_path / "a.db"), "def f(x):\n    return x < 2"
    closed = "update records set body = json_set(body, '$.answer', ?) where kind = 'episode.closed'"
    change(path, closed, code)
    page = shown(path).get("/episode?id=n901").text
    assert 'tabindex="0">def f(x):\n    return x &lt; 2</pre>' in page
    change(path, closed, "42")
    assert '<strong class="answer">42</strong>' in shown(path).get("/episode?id=n901").text
