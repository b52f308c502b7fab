"""Problems of two subjects and of nobody, each in words that stand nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

ANN, BEN = "Ann Ångström", "Ben"
SAYS = {
    ANN: ("4 4 6 8 for the quokka", "1 2 6 8 for the numbat", "2 3 5 7 for the wombat"),
    BEN: ("1 1 2 6 for the okapi", "3 3 8 8 for the tapir"),
    None: ("2 4 6 8 for anybody", "1 5 5 5 for anybody"),
}
ANSWERS = {ANN: "the bilby's own number", BEN: "the dingo's"}


def source_lines() -> Iterator[dict[str, Any]]:
    for subject, texts in SAYS.items():
        for number, text in enumerate(texts):
            said = {"id": f"{(subject or 'all')[0]}{number}", "problem": text, "domain": "zoo"}
            if subject is not None:
                said |= {"subject": subject, "answer": ANSWERS[subject]}
            yield said
