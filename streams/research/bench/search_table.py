"""Search policies beside each other at equal limits of calls, on the simulator: a table, no evidence.

Every run is produced, worked and analysed by the ordinary commands, on a log that can be looked at.

Source: design/evaluation.md#metrics; CoT2-Meta table 3 and § B.6, as a rehearsal.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from handlers.policies.cot2_meta.settings import VARIANTS

BUDGETS = (4, 8, 16, 32)
ABLATIONS = (
    "full",
    "no tree",
    "no evaluator",
    "no pruning",
    "process-only",
    "outcome-only",
    "repair-all",
    "no repair",
)

Command = Callable[[Sequence[str]], int]


def runs(calls: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Policies and settings that spend at most so many calls."""
    yield "greedy", {}
    yield "best_of_n", {"samples": calls, "pick": "vote"}
    yield "best_of_n", {"samples": calls, "pick": "verifier"}
    yield "self_consistency", {"samples": calls}
    yield "tot", {}
    yield "rest_mcts", {"primary_calls": calls}
    for name in ABLATIONS:
        yield "cot2_meta", {"primary_calls": calls, **VARIANTS[name]}


class Failed(RuntimeError):
    """A command that a bench is made of failed; ``code`` is its exit code."""

    def __init__(self, what: str, code: int) -> None:
        super().__init__(what)
        self.code = code


def produce(command: Command, log: str, problems: int) -> None:
    """Announce every run. Raises ``Failed`` where a command fails."""
    # The hard hundred of Game of 24, which papers report on.
    source = f"game24:901-{900 + problems}"
    for calls in BUDGETS:
        for policy, values in runs(calls):
            chosen = [
                part
                for name, value in values.items()
                for part in ("--set", f"{name}={said(value)}")
            ]
            must(
                command,
                ["produce", source, "--policy", policy, *chosen, "--call-limit", str(calls),
                 "--series", f"c{calls}", "--profile", "paper", "--log", log, "--json"],
            )  # fmt: skip


def work(command: Command, log: str, backbone: str) -> None:
    """Work on all of them to the end."""
    must(command, ["worker", "--backbone", backbone, "--until-idle", "--settle", "--log", log])


def must(command: Command, arguments: Sequence[str], fine: Collection[int] = (0,)) -> None:
    """Run a command; it ends the bench unless its exit code is one of these."""
    if (code := command(arguments)) not in fine:
        raise Failed(f"{' '.join(arguments)}: exit {code}", code)


def said(value: Any) -> str:
    """A value as ``--set`` takes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
