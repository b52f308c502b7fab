from __future__ import annotations

import json
from pathlib import Path

import pytest

from streams.support.datasets.mathematics import aime


def test_problems_of_aime_have_the_file_s_ids_or_their_place_and_whole_numbers(
    tmp_path: Path,
) -> None:
    file = tmp_path / "year.jsonl"
    items = [{"id": "I-1", "problem": "What is 1 + 1?", "answer": " 2 "}]
    items += [{"problem": "What is 2 + 2?", "answer": "004"}]
    file.write_text("\n".join(map(json.dumps, items)))
    shared = {"domain": "aime", "dataset": "aime"}
    assert [*aime(file)] == [
        {"id": "I-1", "problem": "What is 1 + 1?", "answer": "2", **shared},
        {"id": "year-2", "problem": "What is 2 + 2?", "answer": "004", **shared},
    ]
    file.write_text(json.dumps({"problem": "What is 1/2?", "answer": "1/2"}))
    with pytest.raises(ValueError, match="answer: a whole number is expected"):
        list(aime(file))
