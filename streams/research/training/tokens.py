"""Exported roll-outs as rows of tokens: the prompt, the conversation after it, and which tokens are the model's own.

What a tool returned, and the marks that a chat template puts around turns, are nobody's to learn: they are
masked. Where a template writes earlier turns otherwise than they were said, as those do that take thoughts
off, the conversation is cut there, and each part is a row.

Source: trainable graph memory, eq. (5), (12); tool text is an observation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import nan
from typing import Any, TypedDict


class Row(TypedDict):
    """One sequence. ``own``: 1 for a token that the model said; ``logprobs``: NaN where nobody kept it."""

    prompt: str
    prompt_ids: list[int]
    completion_ids: list[int]
    own: list[int]
    logprobs: list[float]
    advantage: float


def rows_of(groups: Sequence[Mapping[str, Any]], tokenizer: Any) -> Iterator[Row]:
    """Every conversation of every roll-out; those in which the model said nothing are left out."""
    for group in groups:
        for rollout in group["rollouts"]:
            for sequence in rollout["sequences"]:
                for row in _rows(rollout["turns"], sequence, tokenizer):
                    if any(row.own):
                        yield row.told(rollout["advantage"])


@dataclass(slots=True)
class _Row:
    """A row as it grows; ``text`` is all that stands in it."""

    prompt: str
    text: str
    prompt_ids: list[int]
    ids: list[int] = field(default_factory=list[int])
    own: list[int] = field(default_factory=list[int])
    logprobs: list[float] = field(default_factory=list[float])

    def say(self, text: str, ids: list[int], logprobs: Sequence[float], *, own: bool) -> None:
        """What comes next, the model's own or not."""
        self.text += text
        self.ids += ids
        self.own += [int(own)] * len(ids)
        self.logprobs += logprobs

    def told(self, advantage: float) -> Row:
        """The row with what its roll-out was better by than its group."""
        return {
            "prompt": self.prompt,
            "prompt_ids": self.prompt_ids,
            "completion_ids": self.ids,
            "own": self.own,
            "logprobs": self.logprobs,
            "advantage": float(advantage),
        }


def _rows(
    turns: Sequence[Mapping[str, Any]], sequence: Mapping[str, Any], tokenizer: Any
) -> Iterator[_Row]:
    row: _Row | None = None
    places: list[int] = sequence["turns"]
    for at in places:
        turn = turns[at]
        before: str = tokenizer.apply_chat_template(
            list(turn["prompt"]), tokenize=False, add_generation_prompt=True
        )
        # By text and not by tokens, which may be cut otherwise where two turns meet.
        if row is not None and before.startswith(row.text):
            came = before[len(row.text) :]
            ids = _ids(came, tokenizer)
            row.say(came, ids, [0.0] * len(ids), own=False)
        else:
            if row is not None:
                yield row
            row = _Row(before, before, _ids(before, tokenizer))
        # By itself and not as part of what stands before: the model chose these tokens one by one,
        # and no token of its own reaches over where it began.
        ids = _ids(turn["completion"], tokenizer)
        row.say(turn["completion"], ids, aligned(turn, ids, tokenizer), own=True)
    if row is not None:
        yield row


def aligned(turn: Mapping[str, Any], ids: Sequence[int], tokenizer: Any) -> list[float]:
    """The log-probabilities that the log kept; NaN where its tokens are not this tokenizer's."""
    kept: list[tuple[str, float]] = turn.get("token_logprobs") or []
    # All of them or none: one token that was cut otherwise shifts every one behind it.
    if [token for token, _ in kept] != [tokenizer.decode([each]) for each in ids]:
        return [nan] * len(ids)
    return [float(value) for _, value in kept]


def _ids(text: str, tokenizer: Any) -> list[int]:
    found: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
    return found
