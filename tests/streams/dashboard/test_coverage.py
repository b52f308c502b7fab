"""How many were not graded stands beside each share of right answers that a page or the board shows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from streams.interfaces.cli.show.board import trend
from streams.interfaces.dashboard.app import templates
from streams.interfaces.dashboard.items import among_all
from streams.research.analysis.progress import Batch, figures, picture
from streams.telemetry.figures import BatchFigures, Spent


def batch(number: int, right: int, graded: int, members: int = 10) -> BatchFigures:
    return BatchFigures("d/mc2", number, members, Spent(), right=right, graded=graded)


def right_of(each: Any) -> str:
    module: Any = templates().get_template("parts.html").module
    return str(module.right_of(each))


def test_a_page_says_how_many_of_a_batch_were_not_graded() -> None:
    assert right_of(batch(1, 3, 8)) == '3 of 8 <span class="dim">(2 not graded)</span>'
    assert right_of(batch(1, 3, 10)) == "3 of 10"


def test_a_share_of_a_scope_is_of_its_graded_members() -> None:
    every = {("d/mc2", 1): batch(1, 3, 8), ("d/mc2", 2): batch(2, 1, 2)}
    among = among_all(every, "d/mc2")
    assert (among.share, among.members) == (0.4, 20)
    assert right_of(among).endswith("(10 not graded)</span>")
    assert among_all(every, "another").share is None


def test_a_drawing_of_batches_is_told_in_words_with_what_was_not_graded() -> None:
    """It said the share of all members, as if what nobody graded were wrong."""
    outcomes = (*[True] * 3, *[False] * 5, None, None)
    one = Batch(1, outcomes, (2,) * 10, (None,) * 10, 4)
    told = picture("d", figures([one, replace(one, number=2, outcomes=outcomes[:8])])).told
    assert "from batch 1: 3 of 8 right, 2 not graded, to batch 2: 3 of 8 right" in told
    assert not told.endswith("not graded")


def test_the_board_says_how_many_its_halves_leave_out() -> None:
    told = trend([batch(1, 3, 8), batch(2, 5, 10)])
    assert told[-1] == (" by half, 2 not graded", "dim")
    assert trend([batch(1, 3, 10), batch(2, 5, 10)])[-1] == (" by half", "dim")
