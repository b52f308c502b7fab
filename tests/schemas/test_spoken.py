"""A reply is cut where it ends within a thought, and nowhere else."""

from __future__ import annotations

import pytest

from schemas.spoken import Spoken, spoken


@pytest.mark.parametrize(("text", "said", "cut"), [
    ("42", "42", False),
    ("<think>41?</think>42", "42", False),
    ("41?</think> 42", "42", False),
    ("42 <think>or 41", "42", True),
    ("<THINKING>41? <think>", "", True),
    ("42<|im_end|>\n", "42", False),
    ("41?</think> 42 <|eot_id|><|end of text|>", "42", False),
    ("42<end_of_turn>", "42", False),
    ("<|im_end|> ends a turn", "<|im_end|> ends a turn", False),
])  # fmt: skip
def test_what_is_said_and_whether_it_is_whole(text: str, said: str, cut: bool) -> None:
    assert spoken(text) == Spoken(said, cut)
