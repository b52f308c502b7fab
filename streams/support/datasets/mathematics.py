"""Word problems and mathematics: GSM8K, MATH-500, AIME, SciBench."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from streams.support.datasets.lines import json_array, json_lines, text_of
from streams.support.datasets.record import Record, record


def gsm8k(path: Path) -> Iterator[Record]:
    """GSM8K (Cobbe et al. 2021): the label stands behind ``####``, thousands with commas."""
    for number, (place, item) in enumerate(json_lines(path), 1):
        _, mark, label = text_of(place, item, "answer").rpartition("####")
        if not mark:
            raise ValueError(f"{place}: answer: no '####' before the label")
        problem = text_of(place, item, "question")
        yield record("gsm8k", f"{path.stem}-{number}", problem, label.strip().replace(",", ""))


def math500(path: Path) -> Iterator[Record]:
    """MATH-500 (Lightman et al. 2023), a part of MATH (Hendrycks et al. 2021); labels are LaTeX."""
    for place, item in json_lines(path):
        name = text_of(place, item, "unique_id").removeprefix("test/").removesuffix(".json")
        problem, label = text_of(place, item, "problem"), text_of(place, item, "answer")
        level, subject = item.get("level"), item.get("subject")
        yield record(
            "math500", name.replace("/", "-"), problem, label, level=level, subject=subject
        )


def aime(path: Path) -> Iterator[Record]:
    """AIME: whole numbers from 0 to 999; JSONL with ``problem`` and ``answer``."""
    for number, (place, item) in enumerate(json_lines(path), 1):
        name, label = item.get("id") or f"{path.stem}-{number}", str(item.get("answer")).strip()
        # A label that is no number is a mistake of the file, and no answer could ever equal it.
        if not label.isdecimal():
            raise ValueError(f"{place}: answer: a whole number is expected")
        yield record("aime", str(name), text_of(place, item, "problem"), label)


def scibench(path: Path) -> Iterator[Record]:
    """SciBench (Wang et al. 2024): one book's array; the label is a number with its unit."""
    for number, (place, item) in enumerate(json_array(path), 1):
        # The label is in this unit, and many of the problems do not say which one they want.
        unit = str(item.get("unit") or "").strip()
        label = f"{text_of(place, item, 'answer_number').strip()} {unit}".strip()
        problem = text_of(place, item, "problem_text")
        if unit:
            problem = f"{problem} The unit of the answer is {unit}."
        name, book = f"{path.stem}-{number}", str(item.get("source") or "").strip() or None
        yield record("scibench", name, problem, label, book=book)
