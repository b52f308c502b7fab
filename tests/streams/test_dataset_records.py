"""Every field of what a reader makes of a file, and the place that is named where a file is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from streams.support.datasets import NAMES, game24, hotpotqa, hub, lines, open_source
from streams.support.datasets.source import parse

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A file of items, one a line; of an array where its name ends so."""

    def written(*items: Any, name: str = "dev.jsonl") -> Path:
        path = tmp_path / name
        told = [each if isinstance(each, str) else json.dumps(each) for each in items]
        text = f"[{','.join(told)}]" if name.endswith(".json") else "\n".join(told)
        path.write_text(text, encoding="utf-8")
        return path

    return written


def read(source: str, path: Path) -> list[Any]:
    return list(open_source(source, path=str(path)))


def refused(reader: Callable[..., Iterable[object]], *asked: Any, **more: Any) -> str:
    """What is said of a file that cannot be read."""
    try:
        list(reader(*asked, **more))
    except ValueError as error:
        return str(error)
    return ""


# ── Each data set ────────────────────────────────────────────────────────────────────────────


def test_word_problems(write: Write) -> None:
    said = "4 + 5 = 9 #### of them\n#### 1,234,567 "
    path = write(
        {"question": "How many?", "answer": said}, "", {"question": "q", "answer": "####2"}
    )
    assert read("gsm8k", path) == [
        {"id": "dev-1", "problem": "How many?", "answer": "1234567", "domain": "gsm8k", "dataset": "gsm8k"},
        {"id": "dev-2", "problem": "q", "answer": "2", "domain": "gsm8k", "dataset": "gsm8k"},
    ]  # fmt: skip
    bare = write({"question": "q", "answer": "9"})
    assert refused(read, "gsm8k", bare) == "dev.jsonl:1: answer: no '####' before the label"


def test_mathematics(write: Write) -> None:
    item = {
        "unique_id": "test/algebra/12.json", "problem": "p", "answer": "\\frac{1}{2}", "level": 3,
        "subject": "Algebra",
    }  # fmt: skip
    less = {"unique_id": "train/test/7", "problem": "p", "answer": "2"}
    assert read("math500", write(item, less)) == [
        {"id": "algebra-12", "problem": "p", "answer": "\\frac{1}{2}", "domain": "math500",
         "dataset": "math500", "traits": {"level": "3", "subject": "Algebra"}},
        {"id": "train-test-7", "problem": "p", "answer": "2", "domain": "math500", "dataset": "math500"},
    ]  # fmt: skip


def test_competitions(write: Write) -> None:
    path = write(
        {"id": 7, "problem": "p", "answer": " 045 "},
        {"id": 0, "problem": "p", "answer": 12},
        {"problem": "p", "answer": "3"},
        name="aime24.jsonl",
    )
    found = read("aime", path)
    assert [(one["id"], one["answer"]) for one in found] == [
        ("7", "045"),
        ("aime24-2", "12"),
        ("aime24-3", "3"),
    ]
    assert found[0]["domain"] == found[0]["dataset"] == "aime"
    for label in ("-1", "1.5", None, ""):
        wrong = write({"problem": "p", "answer": label})
        assert refused(read, "aime", wrong) == ("dev.jsonl:1: answer: a whole number is expected")


def test_textbooks(write: Write) -> None:
    path = write(
        {
            "problem_text": "How far?",
            "answer_number": " 2.5 ",
            "unit": " km ",
            "source": " atkins ",
        },
        {"problem_text": "How many?", "answer_number": "3", "unit": "", "source": ""},
        {"problem_text": "And now?", "answer_number": "4"},
        name="book.json",
    )
    base = {"domain": "scibench", "dataset": "scibench"}
    assert read("scibench", path) == [
        {**base, "id": "book-1", "problem": "How far? The unit of the answer is km.",
         "answer": "2.5 km", "traits": {"book": "atkins"}},
        {**base, "id": "book-2", "problem": "How many?", "answer": "3"},
        {**base, "id": "book-3", "problem": "And now?", "answer": "4"},
    ]  # fmt: skip
    half = write({"problem_text": "p", "answer_number": " "}, name="book.json")
    assert refused(read, "scibench", half) == ("book.json[0]: answer_number: a text is expected")


THEOREMS: list[tuple[str, Any, str]] = [
    ("bool", True, "True"),
    ("bool", " FALSE ", "False"),
    ("integer", 11760, "11760"),
    ("integer", " -3 ", "-3"),
    ("float", 0.33, "0.33"),
    ("float", "2", "2.0"),
    ("float", "1e-3", "0.001"),
    ("option", "(a)", "(a)"),
    ("option", "12", "12"),
    ("list of integer", [0, 5], "[0, 5]"),
    ("list of integer", "[1,2]", "[1, 2]"),
    ("list of float", [0.5, 2], "[0.5, 2]"),
]


@pytest.mark.parametrize(("kind", "answer", "label"), THEOREMS)
def test_theorems(write: Write, kind: str, answer: Any, label: str) -> None:
    item = {"Question": "q", "Answer": answer, "Answer_type": kind, "Picture": None}
    whole = {**item, "id": "wiki/a.json", "field": "Algebra"}
    base = {"problem": "q", "answer": label, "domain": "theoremqa", "dataset": "theoremqa"}
    assert read("theoremqa", write(whole, item, name="t.json")) == [
        {"id": "wiki-a", **base, "traits": {"field": "Algebra"}},
        {"id": "t-2", **base},
    ]


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        ("bool", "yes"), ("bool", 1), ("integer", True), ("integer", "true"), ("integer", 2.5),
        ("integer", "x"), ("float", "true"), ("float", 2), ("option", 3), ("list of integer", "1, 2"),
        ("integer", None), ("list of float", "[" * 100_000),
    ],
)  # fmt: skip
def test_a_theorem_s_answer_is_of_its_type(write: Write, kind: str, answer: Any) -> None:
    path = write({"Question": "q", "Answer": answer, "Answer_type": kind}, name="t.json")
    assert refused(read, "theoremqa", path) == f"t.json[0]: Answer: not of its type, {kind}"


def test_a_theorem_that_needs_its_picture_is_skipped_and_keeps_its_place(write: Write) -> None:
    item = {"Question": "q", "Answer": 1, "Answer_type": "integer"}
    drawn = {**item, "Picture": "a.png"}
    path = write(drawn, item, drawn, drawn, item, name="t.json")
    records = open_source("theoremqa", path=str(path))
    assert [one["id"] for one in records] == ["t-2", "t-5"]
    assert records.skipped == 3
    assert read("theoremqa:1-2", path) == [next(open_source("theoremqa:2", path=str(path)))]
    odd = write({**item, "Answer_type": "word"}, name="t.json")
    assert refused(read, "theoremqa", odd) == (
        "t.json[0]: Answer_type: 'word' is none of bool, integer, float, option, list of integer, list of float"
    )


CONTEXT = {"title": ["A", 1], "sentences": [[" One. ", "Two. "], ["Three."]]}
QUESTION = {"question": "Who?", "answer": "Ada", "type": "bridge", "level": "hard"}


def test_questions_with_their_paragraphs_before_them_or_left_to_a_search(write: Write) -> None:
    path = write(
        {**QUESTION, "context": CONTEXT, "dev_index": 0, "id": "x"}, QUESTION | {"id": "y"}
    )
    base = {"answer": "Ada", "domain": "hotpotqa", "dataset": "hotpotqa"}
    assert read("hotpotqa", path) == [
        {"id": "dev-0", "problem": "A: One. Two.\n\n1: Three.\n\nWho?", **base,
         "traits": {"type": "bridge", "level": "hard"}},
        {"id": "y", "problem": "Who?", **base, "traits": {"type": "bridge", "level": "hard"}},
    ]  # fmt: skip
    assert read("hotpotqa_open", path) == [
        {"id": "dev-0", "problem": "Who?", **base},
        {"id": "y", "problem": "Who?", **base},
    ]
    assert [one["id"] for one in read("hotpotqa_open", write(QUESTION, name="h.jsonl"))] == ["h-1"]


def test_the_paragraphs_of_all_questions_once_and_the_titles_that_an_answer_takes(
    write: Write,
) -> None:
    facts: Any = {"title": ["A", "A", 1]}
    first: Any = {**QUESTION, "supporting_facts": facts}
    other = {"title": ["A", "B"], "sentences": [["One. Two."], ["Two."]]}
    path = write({**first, "context": CONTEXT}, {**first, "context": other})
    assert list(hotpotqa.passages(path)) == [("A", "One. Two."), ("1", "Three."), ("B", "Two.")]
    assert list(hotpotqa.supporting(path)) == [("Who?", frozenset({"A", "1"}))] * 2
    for wrong in (None, {}, {"title": 3}, 3):
        bad = write({**QUESTION, "supporting_facts": wrong})
        assert refused(hotpotqa.supporting, bad) == (
            "dev.jsonl:1: supporting_facts: titles are expected"
        )
    for context in ({}, {"title": ["A"], "sentences": []}, 3, {"title": ["A"], "sentences": [3]}):
        bad = write({**QUESTION, "context": context})
        assert refused(hotpotqa.passages, bad) == (
            "dev.jsonl:1: context: titles and sentences are expected"
        )
    closed = write(QUESTION, {**QUESTION, "question": "What?"}, name="closed.jsonl")
    assert [one["problem"] for one in hotpotqa.evaluable(closed, path)] == ["What?"]


def test_a_graph_s_questions_are_split_into_three_parts_without_a_common_one() -> None:
    parts = list(hotpotqa.SPLITS.values())
    assert list(hotpotqa.SPLITS) == ["memory", "weights", "evaluation"]
    assert [len(each) for each in parts] == [20, 50, 30]
    assert sorted(at for each in parts for at in each) == list(range(1, 101))


def test_puzzles_by_their_rank(tmp_path: Path) -> None:
    path = tmp_path / "24.csv"
    path.write_text("Rank,Puzzles,Other\n1,1 1 4 6,x\n2,1 1 11 11,y\n", encoding="utf-8")
    base = {"domain": "game24", "dataset": "game24"}
    assert read("game24", path) == [
        {"id": "r1", "problem": "1 1 4 6", **base},
        {"id": "r2", "problem": "1 1 11 11", **base},
    ]
    assert next(game24.enumerated()) == {"id": "n1", "problem": "1 1 1 8", **base}
    for row in ("3,1 1 4 6", "2,", ",1 1 4 6"):
        path.write_text(f"Rank,Puzzles\n1,1 1 4 6\n{row}\n", encoding="utf-8")
        assert refused(read, "game24", path) == "24.csv:3: no Rank 2 with its Puzzles"


# ── Sources and files ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("source", "parsed"),
    [
        ("gsm8k", ("gsm8k", 1, None)),
        ("gsm8k:7", ("gsm8k", 7, 7)),
        ("gsm8k:7-9", ("gsm8k", 7, 9)),
        ("gsm8k:7-7", ("gsm8k", 7, 7)),
        ("hotpotqa_open:123456789", ("hotpotqa_open", 123456789, 123456789)),
    ],
)
def test_a_source_names_its_positions(source: str, parsed: object) -> None:
    assert parse(source) == parsed


def test_a_source_that_is_none_is_named() -> None:
    for source in ("mmlu", "gsm8k:", "gsm8k:1-", "gsm8k:1234567890", "GSM8K", "gsm8k:-1"):
        told = f"{source!r} is no built-in set; these are: {', '.join(NAMES)}"
        assert refused(parse, source) == told
    for source in ("gsm8k:0", "gsm8k:3-2", "gsm8k:0-2"):
        told = f"{source!r}: positions count from 1, and the first comes first"
        assert refused(parse, source) == told
    assert refused(open_source, "gsm8k") == "gsm8k needs a path to its file"
    assert refused(open_source, "gsm8k", path="/no") == "gsm8k: no file at /no"
    assert len(list(open_source("game24:1362"))) == 1
    assert refused(open_source, "game24:1360-1363") == (
        "'game24:1360-1363': the set ends before position 1363"
    )


def test_a_file_s_mistakes_are_named_with_their_place(write: Write, tmp_path: Path) -> None:
    def said(*items: Any, name: str = "dev.jsonl") -> str:
        path = write(*items, name=name)
        reader = lines.json_array if name.endswith(".json") else lines.json_lines
        return refused(reader, path)

    assert said("{}", " ", "[1]") == "dev.jsonl:3: an object is expected"
    assert said("{}", "{").startswith("dev.jsonl:2: not JSON: Expecting property name")
    assert said("[" * 100_000) == "dev.jsonl:1: not JSON: nested too deep"
    assert said("{}", "3", name="a.json") == "a.json[1]: an object is expected"
    (tmp_path / "b.json").write_text("{}")
    assert refused(lines.json_array, tmp_path / "b.json") == "b.json: an array is expected"
    long = json.dumps({"a": "x" * (lines.LINE_CHARS - 11)})
    assert len(long) == lines.LINE_CHARS - 2
    assert len(list(lines.json_lines(write(long + " ", long + "  ")))) == 2
    assert said(long + "   ") == "dev.jsonl:1: longer than 4,194,304 characters"
    for value, why in ((None, "missing"), (3, "a text is expected"), (" ", "a text is expected")):
        assert refused(lines.text_of, "p:1", {"a": value}, "a") == f"p:1: a: {why}"
    by_line = [place for place, _ in lines.json_array(write({}, "", {}))]
    assert by_line == ["dev.jsonl:1", "dev.jsonl:3"], "a hub's data set is kept by line"


# ── A hub ────────────────────────────────────────────────────────────────────────────────────


class Hub:
    """Data sets by what is asked of it."""

    def __init__(self, *rows: dict[str, Any]) -> None:
        self.rows = rows
        self.asked: list[tuple[str, str | None, str]] = []

    def load_dataset(self, name: str, config: str | None, *, split: str) -> Any:
        self.asked.append((name, config, split))
        if name == "a/none":
            raise LookupError("no such set")
        return self.rows


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Hub:
    found = Hub({"a": "é", "at": Path("x")}, {"a": 2})
    monkeypatch.setattr(hub, "import_module", {"datasets": found}.__getitem__)
    return found


@pytest.mark.parametrize(
    ("spelling", "asked", "file"),
    [
        ("hub:openai/gsm8k#main/train", ("openai/gsm8k", "main", "train"), "openai-gsm8k-main-train.jsonl"),
        ("hub:a/b", ("a/b", None, "test"), "a-b.jsonl"),
        ("hub:a/b.c-d/dev", ("a/b.c-d", None, "dev"), "a-b.c-d-dev.jsonl"),
    ],
)  # fmt: skip
def test_a_hub_s_data_set_is_fetched_once(
    library: Hub, tmp_path: Path, spelling: str, asked: object, file: str
) -> None:
    folder = tmp_path / "deep" / "er"
    path = hub.fetch(spelling, folder)
    assert path == folder / file
    assert path.read_text(encoding="utf-8") == '{"a": "é", "at": "x"}\n{"a": 2}\n'
    assert [each.name for each in folder.iterdir()] == [file], "no half of it is left"
    library.rows = ()
    assert hub.fetch(spelling, folder).stat().st_size > 0
    assert library.asked == [asked]


def test_a_hub_s_data_set_that_cannot_be_had(
    library: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(hub.NoHub) as error:
        hub.fetch("hub:a", tmp_path)
    assert str(error.value) == "'hub:a' is not hub:OWNER/NAME[#CONFIG][/SPLIT]"
    with pytest.raises(hub.NoHub, match=r"^a/none: LookupError: no such set$"):
        hub.fetch("hub:a/none", tmp_path)
    assert list(tmp_path.iterdir()) == []

    def missing(name: str) -> Any:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(hub, "import_module", missing)
    with pytest.raises(
        hub.NoHub, match=r"^a/b: a hub needs the extra: .*\(No module named 'datasets'\)$"
    ):
        hub.fetch("hub:a/b", tmp_path)
    assert hub.is_hub("hub:a/b")
    assert not hub.is_hub("github:a/b")
