"""How far into a text each reader of answers looks: to its bound, and no sign further."""

from __future__ import annotations

import pytest

from handlers.answers.choice import choice, letter_of
from handlers.answers.dataset_rules import scibench, theoremqa
from handlers.answers.extract import extract
from handlers.answers.forms_choice import listed
from handlers.answers.forms_json import JSON_CHARS, fenced, loaded
from handlers.answers.game24 import check
from handlers.answers.grade import grade_reference
from handlers.answers.value import read
from schemas.answer_type import WrongForm


def test_a_letter_and_a_label_stand_within_five_hundred_characters() -> None:
    assert letter_of(f"{' ' * 499}B", "") == "B"
    assert letter_of(f"{' ' * 500}B", "") is None
    assert choice("B", f"{' ' * 497}(B)", "") == "right"
    assert choice("B", f"{' ' * 498}(B)", "") is None
    assert choice(f"{' ' * 493}(B) ten", "ten", "") == "right"
    assert choice(f"{' ' * 494}(B) ten", "ten", "") is None


def test_true_or_false_is_said_within_twenty() -> None:
    assert theoremqa(f"{' ' * 16}true", "True") == "right"
    assert theoremqa(f"{' ' * 17}true", "True") == "unknown"
    assert grade_reference("yes", f"{' ' * 16}true").outcome == "right"
    assert grade_reference("yes, so", f"{' ' * 16}true").detail == "by yes or no"
    assert grade_reference("yes, so", f"{' ' * 17}true").outcome == "unknown"


def test_a_quantity_stands_within_a_thousand() -> None:
    assert scibench(f"{' ' * 997}5 m", "500 cm") == "right"
    assert scibench(f"{' ' * 998}5 m", "500 cm") == "wrong", "its unit is cut off, and 5 is no 500"


def test_options_stand_among_the_last_twenty_thousand() -> None:
    two = "A) x\nB) y\n"
    assert listed(two.ljust(20_000)) == ("x", "y")
    assert listed(two.ljust(20_001)) == ()


def test_a_tag_closes_a_reply_within_its_last_forty() -> None:
    reply = "Final answer: 2\n<answer>1</answer>"
    assert extract(reply + " " * 31) == "1"
    assert extract(reply + " " * 32) == "2"


def test_a_fence_is_marked_on_a_short_line_of_a_text_that_is_not_long() -> None:
    opens = "```".ljust(79)
    assert fenced(f"{opens}\na\n```") == ["a"]
    assert fenced(f"{opens} \na\n```") == []
    assert fenced(f"```\na\n{opens}") == ["a"]
    assert fenced(f"```\na\n{opens} ") == []
    text = "```\n5\n```\n"
    assert loaded(text.ljust(4 * JSON_CHARS)) == 5
    with pytest.raises(WrongForm, match="longer than"):
        loaded(text.ljust(4 * JSON_CHARS, "x") + "x")


def test_a_puzzle_is_solved_within_two_thousand() -> None:
    answer = "(10 - 4) * 5 - 6"
    assert check("4 5 6 10", answer.rjust(2_000))[0] == "right"
    assert check("4 5 6 10", answer.rjust(2_001))[0] == "wrong"


def test_a_time_is_short_and_a_measure_has_five_parts_at_most() -> None:
    assert read("3:30 pm".rjust(39)).kind == "time"
    assert read("3:30 pm".rjust(40)).kind != "time"
    parts = ["1 wk", "1 d", "1 h", "1 min", "1 s"]
    assert read(" ".join(parts)).unit is not None
    assert read(" ".join([*parts, "1 ms"])).unit is None
