"""`bench retrieval` on a file of three questions: whose titles are found among the first three."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from state.tables.corpus import Corpus
from streams.answering.embedders.hashed import HashedEmbedder
from streams.research.bench.retrieval import recalls, run

FACTS = {
    "Bern": "Bern lies on the Aare.",
    "Basel": "Basel lies on the Rhine.",
    "Aare": "The Aare flows into the Rhine.",
    "Etna": "Etna is a volcano of Sicily.",
    "Plato": "Plato taught philosophy at Athens.",
}
ASKED = (
    ("Which volcano stands in Sicily?", ["Etna"]),
    ("Who taught philosophy at Athens?", ["Plato", "Nobody"]),
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Each question stands beside half of the paragraphs: together they are one corpus."""
    halves = [[*FACTS.items()][:3], [*FACTS.items()][2:]]
    lines = [
        {
            "question": question,
            "answer": "x",
            "context": {
                "title": [title for title, _ in half],
                "sentences": [[text] for _, text in half],
            },
            "supporting_facts": {"title": titles},
        }
        for (question, titles), half in zip(ASKED, halves, strict=True)
    ]
    path = tmp_path / "hotpot.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    return path


def test_questions_are_searched_in_the_paragraphs_of_all_items(file: Path, tmp_path: Path) -> None:
    made = run(file, HashedEmbedder(), tmp_path / "kept")
    assert made["recall_at_3"]["bm25"] == 0.75
    assert made["all_at_3"]["bm25"] == 0.5
    assert set(made["recall_at_3"]) == set(made["all_at_3"]) == {"bm25", "vector", "hybrid"}
    assert (made["questions"], made["passages"], made["embedder"]) == (2, 5, "hashed-256")
    kept = Corpus(tmp_path / "kept", "hashed-256")
    assert [each.title for each in kept.search("volcano", (0.0,) * 256, 1, "bm25")] == ["Etna"]
    assert run(file, HashedEmbedder()) == made, "in a folder that passes"


def test_shares_are_of_each_question_s_own_titles() -> None:
    found: Any = {
        "bm25": [frozenset("abc"), frozenset("xyz"), frozenset("a")],
        "vector": [frozenset("a"), frozenset("b"), frozenset("ab")],
    }
    wanted = [frozenset("ab"), frozenset("b"), frozenset("abc")]
    assert recalls(found, wanted) == {
        "recall_at_3": {"bm25": 0.4444, "vector": 0.7222},
        "all_at_3": {"bm25": 0.3333, "vector": 0.3333},
    }
