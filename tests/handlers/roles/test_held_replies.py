"""What a model of 1.5 billion parameters said, free and held to the grammar of its form: the same calls, both ways.

Qwen2.5-Coder-1.5B-Instruct through OpenVINO, greedily, at most 512 tokens: the oracle's and the confidence's question
about each of thirty-five trajectories that it had made of twelve problems of GSM8K.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from handlers.roles.confidence import CONFIDENCES, read_confidence
from handlers.roles.oracle import ORACLE, read_scores
from handlers.roles.role import Role
from streams.answering.backbones.openvino.held import standing

REPLIES = Path(__file__).with_name("qwen_held_replies.jsonl.gz")
ENOUGH = 0.95
"""The share of a role's replies that is to be read at first asking."""
COST = 1.05
"""How many times the tokens a grammar may take."""


@cache
def replies() -> tuple[dict[str, Any], ...]:
    with gzip.open(REPLIES, "rt", encoding="utf-8") as lines:
        return tuple(map(json.loads, lines))


def role_of(reply: dict[str, Any]) -> Role:
    return ORACLE if reply["role"] == "oracle" else CONFIDENCES["A"]


def is_read(reply: dict[str, Any], text: str, finish: str) -> bool:
    if finish != "stop":
        return False
    if reply["role"] == "oracle":
        return read_scores(text, *reply["steps"]).whole
    return read_confidence(text) is not None


def both() -> Iterator[tuple[dict[str, Any], bool, bool]]:
    """Each reply, whether it is read as it was said, and whether it is with its form decoded anew."""
    for reply in replies():
        free = is_read(reply, reply["text"], reply["finish"])
        stands = standing(reply["text"], reply["finish"], role_of(reply).reply)
        held = reply["held"]
        yield reply, free, free if held is None else is_read(reply, f"{stands}{held}", "stop")


def test_shares_of_replies_that_are_read_free_and_held() -> None:
    asked, free, held = Counter[str](), Counter[str](), Counter[str]()
    tokens, more = Counter[str](), Counter[str]()
    for reply, was, now in both():
        role = reply["role"]
        asked[role] += 1
        free[role] += was
        held[role] += now
        tokens[role] += reply["tokens"]
        more[role] += reply["held_tokens"] or 0
    for role in asked:
        print(
            f"{role}: {free[role]} of {asked[role]} read free, {held[role]} held to a grammar, "
            f"for {tokens[role]:,} and {tokens[role] + more[role]:,} tokens"
        )
        assert held[role] >= ENOUGH * asked[role]
    assert more.total() <= (COST - 1) * tokens.total()


def test_a_grammar_touches_no_reply_that_is_read_and_every_other_that_was_not_cut() -> None:
    for reply, free, held in both():
        stands = standing(reply["text"], reply["finish"], role_of(reply).reply)
        assert (stands is None) == (reply["held"] is None)
        assert not (free and reply["held"] is not None), reply["text"]
        assert held or not free
