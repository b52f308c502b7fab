"""Tables and figures of the papers that no recipe prints, each with the reason."""

# A test compares this list with the papers' contents: a table is printed by a recipe or stands
# here. What is not measured shall be missing for a reason, and not because nobody thought of it.

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

DRAWN: Final = "a drawing: nothing is measured"
PROMPTS: Final = "prompts or a case in words: nothing is measured"
SET_UP: Final = "the paper's own set-up: nothing is measured"

UNCOVERED: Final[Mapping[str, Mapping[str, str]]] = {
    "MC²": {
        "figure 2": DRAWN,
        "figure 4": PROMPTS,
        **{f"figure {number}": PROMPTS for number in range(7, 26)},
        "table 3": SET_UP,
        "table 5": SET_UP,
        "table 10": "metalogue knowledge show prints rules; which are representative is a person's choice",
    },
    "Meta-Reasoner": {"figure 1": DRAWN, "figure 2": DRAWN, "table 1": PROMPTS},
    "Trainable graph memory": {"figure 1": DRAWN, "figure 2": DRAWN, "figure 5": DRAWN},
    "Monitor–Generate–Verify": {
        "tables and figures": "it prints none; mgv-report measures what its theory says must show",
    },
    "CoT2-Meta": {
        "figure 1": DRAWN,
        "figure 2": DRAWN,
        "figure 8": "not measured: its paper says neither whose vectors they are nor how they were projected",
        "figure 10": PROMPTS,
        "figure 11": DRAWN,
        "table 4": SET_UP,
        "table 5": "metalogue analyse: calls by what they were for",
        "table 6": SET_UP,
        "table 22": PROMPTS,
        "table 23": PROMPTS,
        "table 24": PROMPTS,
    },
}
"""By paper, then by what it calls it."""
