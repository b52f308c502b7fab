"""Data sets by name: positions, ids, labels, and messages that name what is wrong."""

from __future__ import annotations

import codecs
import json
from pathlib import Path

import pytest

from handlers.answers.grade import grade_reference
from streams.support.datasets import NAMES, Record, open_source
from tests.data import shared


def read(source: str, file: str | None = None) -> list[Record]:
    return list(open_source(source, path=str(shared() / file) if file else None))


def test_game24_is_enumerated_without_a_file() -> None:
    found = list(open_source("game24:901-1000"))
    assert [found[0]["id"], found[-1]["id"]] == ["n901", "n1000"]
    assert len(found) == 100
    assert found[0] == {"id": "n901", "problem": "4 4 4 5", "domain": "game24", "dataset": "game24"}
    assert len(list(open_source("game24"))) == 1362


def test_game24_has_ranks_with_its_file() -> None:
    found = read("game24:901-1000", "game24/24.csv")
    assert (found[0]["id"], found[0]["problem"]) == ("r901", "4 5 6 10")
    ranked = {one["problem"] for one in read("game24", "game24/24.csv")}
    assert ranked == {one["problem"] for one in read("game24")}


@pytest.mark.parametrize(
    ("source", "file", "count", "skipped"),
    [
        ("gsm8k", "gsm8k/test_dev.jsonl", 1056, 0),
        ("gsm8k", "gsm8k/train_1000.jsonl", 1000, 0),
        ("gsm8k:1-100", "gsm8k/test_dev.jsonl", 100, 0),
        ("math500", "math500/test_dev.jsonl", 400, 0),
        ("theoremqa", "theoremqa/test_dev.json", 604, 36),
        ("hotpotqa", "hotpotqa/dev_closedbook_1000.jsonl", 1000, 0),
        ("hotpotqa:7", "hotpotqa/dev_distractor_100.jsonl", 1, 0),
    ],
)
def test_files_are_read_whole(source: str, file: str, count: int, skipped: int) -> None:
    records = open_source(source, path=str(shared() / file))
    found = list(records)
    assert (len(found), records.skipped) == (count, skipped)
    assert len({one["id"] for one in found}) == count
    assert not any("/" in one["id"] for one in found)
    assert all(one["domain"] == one["dataset"] == source.partition(":")[0] for one in found)
    labels = [one.get("answer", "") for one in found]
    assert all(
        grade_reference(x, x, dataset=found[0]["dataset"]).outcome == "right" for x in labels
    )


def test_labels_are_read_as_numbers_and_paragraphs_stand_in_the_problem() -> None:
    first = read("gsm8k:1", "gsm8k/test_dev.jsonl")[0]
    assert (first["id"], first.get("answer")) == ("test_dev-1", "18")
    (item,) = read("hotpotqa:1", "hotpotqa/dev_distractor_100.jsonl")
    assert "VIVA Media: VIVA Media GmbH (until 2004" in item["problem"]
    assert item["problem"].endswith("stand for?")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("gsm9k", "no built-in set; these are: game24, gsm8k"),
        ("game24:9-1", "the first comes first"),
        ("game24:0", "count from 1"),
        ("game24:", "no built-in set"),
        ("game24:1-x", "no built-in set"),
        ("game24:1300-1400", "ends before position 1400"),
        ("game24:2000", "ends before position 2000"),
        ("gsm8k", "gsm8k needs a path to its file"),
    ],
)
def test_wrong_sources_are_named(source: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        list(open_source(source))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("gsm8k", '{"question": "q", "answer": "7"}', "f:1: answer: no '####'"),
        ("gsm8k", '\n{"question": 3, "answer": "#### 7"}', "f:2: question: a text is expected"),
        ("gsm8k", "{", "f:1: not JSON"),
        ("gsm8k", "[]", "f:1: an object is expected"),
        ("math500", '{"problem": "p", "unique_id": "u"}', "f:1: answer: missing"),
        ("aime", '{"problem": "p", "answer": "x"}', "f:1: answer: a whole number"),
        ("theoremqa", "{}", "f: an array is expected"),
        ("theoremqa", '[{"Answer_type": "odd", "id": "i", "Question": "q"}]', "Answer_type: 'odd'"),
        (
            "theoremqa",
            '[{"Answer_type": "integer", "Answer": true, "id": "i", "Question": "q"}]',
            r"f\[0\]: Answer: not of its type, integer",
        ),
        ("hotpotqa", '{"question": "q", "answer": "a", "context": 3}', "f:1: context: titles"),
        ("game24", "Rank,Puzzles\n2,1 1 4 6\n", "f:2: no Rank 1"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    (tmp_path / "f").write_text(text)
    with pytest.raises(ValueError, match=message):
        list(open_source(name, path=str(tmp_path / "f")))


def test_a_missing_file_is_named_at_once(tmp_path: Path) -> None:
    for name in NAMES:
        with pytest.raises(ValueError, match=f"{name}: no file at"):
            open_source(name, path=str(tmp_path / "none"))


def test_aime_and_scibench(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(
        '{"problem": "p", "answer": 33, "id": 7}\n{"problem": "q", "answer": "033"}'
    )
    found = list(open_source("aime", path=str(tmp_path / "a")))
    assert [(one["id"], one.get("answer")) for one in found] == [("7", "33"), ("a-2", "033")]
    book = [{"problem_text": "How far?", "answer_number": "+1.5", "unit": "km"}]
    (tmp_path / "atkins.json").write_text(json.dumps(book))
    (one,) = open_source("scibench", path=str(tmp_path / "atkins.json"))
    assert one.get("answer") == "+1.5 km"
    assert one["problem"] == "How far? The unit of the answer is km."


def test_theoremqa_s_answers_are_texts_on_its_hub(tmp_path: Path) -> None:
    rows = [
        ("bool", "True", "True"),
        ("integer", "11760", "11760"),
        ("float", "0.33", "0.33"),
        ("float", "3", "3.0"),
        ("option", "(a)", "(a)"),
        ("list of integer", "[0, 5]", "[0, 5]"),
        ("list of float", "[0.5, 2]", "[0.5, 2]"),
    ]
    lines = [
        json.dumps({"Question": f"q{at}", "Answer": said, "Answer_type": kind, "Picture": None})
        for at, (kind, said, _) in enumerate(rows)
    ]
    (tmp_path / "hub.jsonl").write_text("\n".join(lines))
    found = list(open_source("theoremqa", path=str(tmp_path / "hub.jsonl")))
    assert [one.get("answer") for one in found] == [label for _, _, label in rows]
    (tmp_path / "f.jsonl").write_text('{"Question": "q", "Answer": "x", "Answer_type": "integer"}')
    with pytest.raises(ValueError, match="Answer: not of its type, integer"):
        list(open_source("theoremqa", path=str(tmp_path / "f.jsonl")))


def test_theoremqa_says_of_which_field_a_problem_is(tmp_path: Path) -> None:
    item = {
        "Question": "q",
        "Answer": 3,
        "Answer_type": "integer",
        "id": "a.json",
        "field": "Physics",
    }
    (tmp_path / "f.json").write_text(json.dumps([item, {**item, "id": "b.json", "field": None}]))
    fields = [
        each.get("traits", {}).get("field")
        for each in open_source("theoremqa", path=str(tmp_path / "f.json"))
    ]
    assert fields == ["Physics", None]


def test_a_mark_of_byte_order_before_a_file_says_nothing(tmp_path: Path) -> None:
    file = tmp_path / "24.csv"
    file.write_bytes(codecs.BOM_UTF8 + b"Rank,Puzzles\r\n1,1 1 4 6\r\n")
    assert [each["problem"] for each in open_source("game24", path=str(file))] == ["1 1 4 6"]
    file = tmp_path / "test.jsonl"
    file.write_bytes(codecs.BOM_UTF8 + b'{"question": "1 + 1", "answer": "#### 2"}\r\n')
    assert [each["problem"] for each in open_source("gsm8k", path=str(file))] == ["1 + 1"]
