"""HotpotQA's items and paragraphs: how they are named, what stands before a question, and what a corpus holds once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from streams.support.datasets import hotpotqa


def item(question: str, *pairs: tuple[str, list[str]], **fields: Any) -> dict[str, Any]:
    """A question with these paragraphs, each a title with its sentences."""
    context = {"title": [one for one, _ in pairs], "sentences": [parts for _, parts in pairs]}
    return {"question": question, "answer": "yes", "context": context, **fields}


def written(folder: Path, *items: dict[str, Any]) -> Path:
    path = folder / "dev.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in items))
    return path


def test_an_item_is_named_by_its_number_its_id_or_its_place(tmp_path: Path) -> None:
    asked = {"question": "Who?", "answer": "a", "type": "bridge", "level": "hard"}
    path = written(
        tmp_path,
        {**asked, "dev_index": 0, "id": "x"},
        {**asked, "dev_index": "7", "id": "y"},
        asked,
        {**asked, "id": ""},
    )
    names = ["dev-0", "y", "dev-3", "dev-4"]
    assert [one["id"] for one in hotpotqa.read(path)] == names
    assert [one["id"] for one in hotpotqa.questions(path)] == names
    assert {str(one.get("traits")) for one in hotpotqa.read(path)} == {
        "{'type': 'bridge', 'level': 'hard'}"
    }


def test_paragraphs_stand_before_the_question_or_are_the_corpus(tmp_path: Path) -> None:
    path = written(tmp_path, item("Where?", ("A", [" One.", " Two. "]), ("B", ["Three."])))
    (whole,), (alone,) = hotpotqa.read(path), hotpotqa.questions(path)
    assert whole["problem"] == "A: One. Two.\n\nB: Three.\n\nWhere?"
    assert alone["problem"] == "Where?"
    assert (whole.get("answer"), alone.get("answer")) == ("yes", "yes")


def test_a_paragraph_is_in_the_corpus_once_and_the_same_title_or_text_is_no_paragraph_twice(
    tmp_path: Path,
) -> None:
    """A title runs on into no text: where one ends is told apart."""
    half = "\ud800"  # half a character, as JSON can write it
    path = written(
        tmp_path,
        item("p?", ("Paris", ["In France."]), ("Paris", ["In Texas."]), ("Ab", ["c"])),
        item("q?", ("Lyon", ["In France."]), ("Paris", ["In France."]), ("A", ["bc"])),
        item("r?", ("Half", [half]), ("Half", [half])),
    )
    assert list(hotpotqa.passages(path)) == [
        ("Paris", "In France."),
        ("Paris", "In Texas."),
        ("Ab", "c"),
        ("Lyon", "In France."),
        ("A", "bc"),
        ("Half", half),
    ]


def test_titles_and_texts_come_in_pairs(tmp_path: Path) -> None:
    lopsided = item("p?", ("A", ["a"]))
    lopsided["context"]["title"].append("B")
    path = written(tmp_path, item("o?"), lopsided)
    with pytest.raises(
        ValueError, match=r"dev\.jsonl:2: context: titles and sentences are expected"
    ):
        list(hotpotqa.passages(path))


def test_supporting_titles_are_a_set_by_question(tmp_path: Path) -> None:
    told = item("p?", supporting_facts={"title": ["A", "B", "A"], "sent_id": [0, 0, 1]})
    assert list(hotpotqa.supporting(written(tmp_path, told))) == [("p?", frozenset({"A", "B"}))]
    with pytest.raises(ValueError, match=r"dev\.jsonl:1: supporting_facts: titles are expected"):
        list(hotpotqa.supporting(written(tmp_path, item("p?"))))
