"""What a reply earns: exact match of the answer that it gives, read as the agent's protocol reads it.

Source: trainable graph memory, settings (R: exact match, usual normalisation).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from handlers.answers.grade import grade_reference
from handlers.roles.agent import move_of


def exact_match(reply: str, reference: str, dataset: str = "hotpotqa") -> float:
    """1 for a right answer, else 0: a call of a tool is no answer yet."""
    answer = move_of(reply).answer
    return float(grade_reference(answer, reference, dataset=dataset).outcome == "right")


def reward(completions: Sequence[Any], reference: Sequence[str], **columns: Any) -> list[float]:
    """Rewards as TRL asks for them: one for each completion, plain or as a list of messages."""
    texts = [each if isinstance(each, str) else each[-1]["content"] for each in completions]
    return [exact_match(text, wanted) for text, wanted in zip(texts, reference, strict=True)]


def prompts(groups: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """One training prompt a group: that of its longest roll-out's last turn, which all evidence precedes.

    The memory that was shown stands in it. Groups without a reference have nothing to be rewarded by.
    """
    for group in groups:
        if group["reference"] is None or not group["rollouts"]:
            continue
        longest = max(group["rollouts"], key=lambda each: len(each["turns"]))
        yield {
            "prompt": longest["turns"][-1]["prompt"],
            "reference": str(group["reference"]),
            "problem": f"{group['domain']}/{group['problem_id']}",
        }
