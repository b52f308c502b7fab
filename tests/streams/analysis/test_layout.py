"""The page that reports, trees and graphs share with the dashboard."""

from __future__ import annotations

from streams.research.analysis.layout import FOLDED, STATIC, bullets, html_table, page, style


def test_a_page_needs_nothing_else_and_has_the_dashboard_s_style() -> None:
    made = page("<a>", ["<h1>x</h1>"], kind="report & co")
    assert "<title>&lt;a&gt;</title>" in made
    assert "report &amp; co" in made
    assert f"<style>{(STATIC / 'style.css').read_text(encoding='utf-8')}</style>" in made
    assert "http" not in made
    assert "<script" not in made
    assert "prefers-color-scheme: dark" in style()
    assert '<meta name="viewport"' in made


def test_a_table_scrolls_by_itself_and_its_numbers_end_in_line() -> None:
    made = html_table(("run", "right", "note"), [("<a>", "3 of 4", "x" * 30)], "Runs & co")
    assert made.startswith(
        '<div class="scroll" role="region" tabindex="0" aria-label="Runs &amp; co">'
    )
    assert '<th scope="row" class="text">&lt;a&gt;</th>' in made
    assert '<td class="n">3 of 4</td>' in made
    assert f'<td class="text">{"x" * 30}</td>' in made
    words = html_table(("id", "problem"), [("a", "1 2 3")], words=("problem",))
    assert '<td class="text">1 2 3</td>' in words


def test_a_long_list_is_folded() -> None:
    assert not bullets(["a"] * FOLDED).startswith("<details>")
    assert bullets(["a"] * (FOLDED + 1)).startswith(
        f"<details><summary>{FOLDED + 1} lines</summary>"
    )
