"""The page that reports, trees and graphs share with the dashboard."""

from __future__ import annotations

import re

from streams.research.analysis.layout import (
    FOLDED,
    STATIC,
    bullets,
    folded,
    gallery,
    html_table,
    page,
    style,
    warning,
)


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


def test_a_column_is_of_numbers_where_every_cell_is_short_and_on_one_line() -> None:
    def kinds(*cells: str) -> list[str]:
        made = html_table(("id", "n"), [("a", cell) for cell in cells])
        return re.findall(r'<th scope="col" class="(\w+)">', made)

    assert kinds("x" * 23, "1") == ["text", "n"]
    assert kinds("1", "x" * 24) == ["text", "text"]
    assert kinds("1\n2") == ["text", "text"]
    assert kinds() == ["text", "n"]
    assert '<th scope="col" class="text">n</th>' in html_table(("id", "n"), [("a", "1")], words="n")


def test_a_table_says_each_cell_in_its_place() -> None:
    assert html_table(("run", "a<b"), iter([("r&d", "1"), ("s", "<2>")]), "R") == (
        '<div class="scroll" role="region" tabindex="0" aria-label="R"><table class="figures"><thead><tr>'
        '<th scope="col" class="text">run</th><th scope="col" class="n">a&lt;b</th></tr></thead><tbody>'
        '<tr><th scope="row" class="text">r&amp;d</th><td class="n">1</td></tr>'
        '<tr><th scope="row" class="text">s</th><td class="n">&lt;2&gt;</td></tr></tbody></table></div>'
    )
    assert 'aria-label="Table"' in html_table(("run",), [])


def test_pieces_of_a_page() -> None:
    assert bullets(["a"] * 12).startswith("<ul>")
    assert bullets(["a"] * 13).startswith("<details>"), "too long to stand open"
    assert bullets(["<b>a</b>", "c"]) == "<ul><li><b>a</b></li><li>c</li></ul>"
    assert bullets(["a"] * (FOLDED + 1), "<all>").startswith(
        "<details><summary>&lt;all&gt;</summary><ul><li>a</li>"
    )
    assert folded("a&b", "<i>x</i>") == ("<details><summary>a&amp;b</summary><i>x</i></details>")
    assert warning("<no>") == '<p class="notice warn">&lt;no&gt;</p>'
    assert gallery(["<a>", "<b>"]) == '<div class="gallery"><a><b></div>'
    assert gallery([]) == ""


def test_a_page_shows_the_project_s_mark_and_its_parts_one_below_the_other() -> None:
    made = page("t", iter(["<h1>x</h1>", "", "<p>y</p>"]))
    assert made.endswith("<main>\n<h1>x</h1>\n\n<p>y</p>\n</main></body></html>\n")
    assert made.startswith('<!doctype html>\n<html lang="en"><head><meta charset="utf-8">')
    assert '<span class="dim">report</span>' in made
    shape = (STATIC / "mark.svg").read_text(encoding="utf-8").strip().partition(" viewBox")[2]
    begun = '<span class="brand"><svg width="22" height="22" aria-hidden="true" viewBox'
    assert f"{begun}{shape} Metalogue</span>" in made
