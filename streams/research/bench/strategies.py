"""Ways of choosing a strategy beside each other on Game of 24, on the simulator: curves, no evidence.

Every run is produced, worked and analysed by the ordinary commands, on a log that can be looked at.

Source: Meta-Reasoner tables 6 and 7, figure 3, as a rehearsal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streams.research.bench.search_table import Command, must, said

POLICY = "meta_reasoner"
RUNS: Mapping[str, Mapping[str, Any]] = {
    "fixed-3": {"strategies": "fixed"},
    "fixed-5": {"strategies": "fixed", "start_arms": 5},
    "dynamic": {},
    "random": {"choice": "random"},
    "direct": {"choice": "direct"},
    "no-report": {"report": False},
}
JUDGED: Mapping[str, Any] = {"first_judgement": "always"}
"""Every round is judged, also where nobody uses it: for the curves."""


def produce(command: Command, log: str, problems: int) -> None:
    """Announce every run as a series by its name. Raises ``Failed`` where a command fails."""
    for name, values in RUNS.items():
        # Judged in every run alike, or the curves of those that learn would be the only ones.
        chosen = [
            part
            for key, value in {**values, **JUDGED}.items()
            for part in ("--set", f"{key}={said(value)}")
        ]
        must(
            command,
            ["produce", f"game24:901-{900 + problems}", "--policy", POLICY, *chosen,
             "--series", name, "--log", log, "--json"],
        )  # fmt: skip
