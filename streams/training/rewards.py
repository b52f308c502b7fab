"""What a reply earns: exact match or token F1 of the answer that it gives, by the agent's protocol.

Source: trainable graph memory, settings (R: exact match, usual normalisation, or token F1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from handlers.answers.grade import References, grade_reference, references_of
from handlers.roles.agent import move_of


def exact_match(reply: str, reference: References, dataset: str = "hotpotqa") -> float:
    """1 for a right answer, else 0: a call of a tool is no answer yet."""
    answer = move_of(reply).answer
    return float(grade_reference(answer, reference, dataset=dataset).outcome == "right")


def f1(reply: str, reference: References, dataset: str = "hotpotqa") -> float:
    """Token F1 of the answer, from 0 to 1."""
    answer = move_of(reply).answer
    return grade_reference(answer, reference, dataset=dataset).credit or 0.0


Scored: TypeAlias = Literal["exact_match", "f1"]


def reward(
    completions: Sequence[Any], reference: Sequence[References], **columns: Any
) -> list[float]:
    """Exact match as TRL asks for it: one for each completion, plain or as a list of messages."""
    return _each(exact_match, completions, reference)


def f1_reward(
    completions: Sequence[Any], reference: Sequence[References], **columns: Any
) -> list[float]:
    """Token F1 as TRL asks for it."""
    return _each(f1, completions, reference)


REWARDS: Mapping[Scored, Callable[..., list[float]]] = {"exact_match": reward, "f1": f1_reward}


def _each(
    rule: Callable[[str, References], float],
    completions: Sequence[Any],
    reference: Sequence[References],
) -> list[float]:
    texts = [each if isinstance(each, str) else each[-1]["content"] for each in completions]
    return [rule(text, wanted) for text, wanted in zip(texts, reference, strict=True)]


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
            "reference": _aliases(group["reference"]),
            "problem": f"{group['domain']}/{group['problem_id']}",
        }


def _aliases(said: Any) -> list[str]:
    """A reference as a list of aliases, one or more: a data set's column is of one type."""
    found = references_of(said)
    return [found] if isinstance(found, str) else list(found)
