"""Curves over recorded samples: exact in small worlds, the known ends of GPT-4's, and that more samples never hurt."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.answers.alike import vote
from streams.research.bench import game24_recorded
from streams.research.bench.curves import (
    DRAWS,
    POINTS,
    Point,
    Samples,
    curve,
    markdown,
    order,
    read,
    running_votes,
    spread,
    votes_by_n,
)
from tests.data import shared

RIGHT, OTHER = "(1 + 1) * 1 * 12 = 24", "12 * (1 + 1) / 1"


def samples(*answers: str | None, problem: str = "p") -> Samples:
    return Samples(problem, answers, tuple(solves(problem, each) for each in answers))


def solves(problem: str, answer: str | None) -> bool:
    return problem == "p" and answer in ("yes", " YES")


def recorded(folder: Path, name: str, texts: Sequence[tuple[str, bool]]) -> None:
    """Texts on the second puzzle, each with the authors' own label."""
    said = {
        "idx": 1,
        "ys": [text for text, _ in texts],
        "infos": [{"r": int(label)} for _, label in texts],
    }
    (folder / "logs").mkdir(exist_ok=True)
    (folder / "logs" / name).write_text(json.dumps([said]))
    (folder / "24.csv").write_text("Rank,Puzzles\n1,1 1 4 6\n2,1 1 1 12\n")


@given(st.lists(st.none() | st.sampled_from("abc"), min_size=1, max_size=9))
def test_the_running_vote_is_the_vote_of_what_came(keys: list[str | None]) -> None:
    for n, winner in enumerate(running_votes(keys), 1):
        assert winner == vote(keys[:n])[0]


def test_a_vote_is_right_as_often_as_its_orders_say() -> None:
    first = [order("p", turn, 3)[0] for turn in range(DRAWS)]
    alone, two, three = votes_by_n(samples("yes", "no", None), solves)
    assert alone == first.count(0) / DRAWS
    # Of two that differ the first one wins, and what cannot be read has no vote.
    assert alone < two == three < 1
    assert votes_by_n(samples("no", "yes", " YES"), solves)[2] == 1.0, "written otherwise"
    assert votes_by_n(samples("yes", problem="q"), solves) == [0.0], "of another puzzle"
    assert votes_by_n(samples(None, None), lambda _, said: said is None) == [0.0, 0.0]


def test_orders_are_the_same_in_every_build_and_others_for_each_turn_and_puzzle() -> None:
    assert order("1 1 4 6", 0, 6) == [0, 1, 3, 4, 2, 5]
    assert order("1 1 4 6", 1, 6) == [1, 5, 3, 4, 2, 0]
    assert order("1 1 11 11", 0, 6) == [1, 3, 4, 2, 0, 5]


def test_a_curve_stands_at_each_n_with_its_interval_over_puzzles() -> None:
    solved = [Samples("1 1 1 12", (RIGHT, None), (True, False))] * 2
    lost = [Samples("1 1 1 12", ("1 + 1", None), (False, False))]
    one, two = curve([*solved, *lost], (1, 2))
    share = [order("1 1 1 12", turn, 2)[0] for turn in range(DRAWS)].count(0) / DRAWS
    assert (one.n, two.n) == (1, 2)
    assert [one.any_of_n, one.vote] == pytest.approx([1 / 3, share * 2 / 3])
    assert [two.any_of_n, two.vote] == pytest.approx([2 / 3, 2 / 3])
    assert one.any_interval == spread([0.5, 0.5, 0.0])
    assert one.vote_interval == spread([share, share, 0.0])
    assert two.any_interval == two.vote_interval == spread([1.0, 1.0, 0.0])


def test_without_a_word_a_curve_has_its_seven_points() -> None:
    [*points] = curve([Samples("1 1 1 12", (RIGHT,) * 100, (True,) * 100)] * 2)
    assert [point.n for point in points] == [*POINTS] == [1, 2, 5, 10, 20, 50, 100]
    assert {(point.vote, point.any_of_n) for point in points} == {(1.0, 1.0)}


def test_one_puzzle_says_nothing_of_others() -> None:
    assert spread([0.5]) == (0.0, 1.0)
    # Student's t of three values, not beyond what a share can be.
    half = 4.30265 * 0.2 / 3**0.5
    assert [*spread([0.2, 0.4, 0.6])] == pytest.approx([0.0, 0.4 + half], abs=1e-5)


def test_the_table_prints_votes_before_any_of_n() -> None:
    points = [Point(1, 0.25, (0.125, 0.5), 0.5, (0.375, 1.0)), Point(100, 1.0, (0.9, 1), 1, (1, 1))]
    assert markdown(points).splitlines() == [
        "| n | self-consistency | 95 % | any of n | 95 % |",
        "|---:|---:|---:|---:|---:|",
        "| 1 | 25.0 % | 12.5–50.0 | 50.0 % | 37.5–100.0 |",
        "| 100 | 100.0 % | 90.0–100.0 | 100.0 % | 100.0–100.0 |",
    ]


def test_recorded_texts_are_read_as_policies_read_them(tmp_path: Path) -> None:
    texts = [(f"so\nAnswer: {RIGHT}\n", True), ("Answer: 1 + 1", False), ("I give up", False)]
    recorded(tmp_path, "a_naive_cot_sample_100.json", texts)
    answers = ("(1 + 1) * 1 * 12 = 24", "1 + 1", None)
    assert read(tmp_path) == [Samples("1 1 1 12", answers, (True, False, False))]


def test_each_label_that_we_contradict_is_counted(tmp_path: Path) -> None:
    right, wrong = f"Answer: {RIGHT}", "Answer: 1 + 1"
    recorded(tmp_path, "naive_cot_sample_.json", [(right, True), (wrong, True), (wrong, False)])
    trees = [
        (wrong, False),
        (right, False),
        (f"Answer: {OTHER}", False),
        ("?", True),
        (wrong, False),
    ]
    recorded(tmp_path, "a_propose1_value1_greedy5.json", trees)
    assert game24_recorded.run(tmp_path) == {
        "single": pytest.approx(1 / 3),
        "any_of_100": 1,
        "samples": 3,
        "problems": 1,
        "disagreements": 1,
        "tot": {"first": 0, "any_of_5": 1, "texts": 5, "disagreements": 3},
    }


def test_two_files_of_one_kind_are_not_mixed(tmp_path: Path) -> None:
    for name in ("a_naive_cot_sample.json", "b_naive_cot_sample.json"):
        recorded(tmp_path, name, [("?", False)])
    with pytest.raises(ValueError, match="2 files like"):
        game24_recorded.run(tmp_path)


@pytest.mark.slow
def test_the_ends_are_the_published_figures() -> None:
    puzzles = read(shared() / "game24")
    assert len(puzzles) == 100
    assert sum(map(len, (each.answers for each in puzzles))) == 10_000
    one, hundred = curve(puzzles, (1, 100))
    assert one.any_of_n == pytest.approx(0.0403)
    assert hundred.any_of_n == pytest.approx(0.49)
    assert hundred.any_interval[0] < 0.49 < hundred.any_interval[1]
    assert one.vote <= 0.06
    assert "| 100 | " in markdown([hundred])
    few = puzzles[:20]
    rising = [point.any_of_n for point in curve(few, (1, 3, 10, 50))]
    assert rising == sorted(rising)
