"""How a trajectory is shown: its steps, numbered, one thought each."""

from __future__ import annotations

from collections.abc import Sequence

FINAL = "Final answer:"


def shown(steps: Sequence[str], first: int = 1) -> str:
    """The steps as roles see them, numbered from ``first``; empty for the empty trajectory."""
    return "\n\n".join(f"[Step {at}]\n{step}" for at, step in enumerate(steps, first))


def with_answer(thought: str, answer: str | None) -> str:
    """A thought with the answer that it comes to, where it does not say so itself."""
    # A thought that ends with its answer is not given it again: roles that count steps would see
    # two.
    if answer is None or f"{FINAL} {answer}" in thought:
        return thought
    return f"{thought}\n{FINAL} {answer}".strip()
