"""How much of its prompts each policy finds read already: the share of cached tokens on llama.cpp.

Prompts begin with what never changes, so calls of one role share their beginning; within an episode
the trajectory that grows is shared as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from schemas.usage import Usage
from streams.research.analysis.report import number, share, table
from streams.research.bench.local import Walk, log_of, produce, work, write
from streams.research.bench.search_table import Command
from streams.research.bench.sums import sums

POLICIES = ("cot", "self_consistency", "mc2", "meta_reasoner", "mgv_flavell", "cot2_meta")
SEED = 17
HEAD = ("policy", "calls", "prompt tokens", "cached", "share")


def run(
    command: Command, policies: Sequence[str], *, folder: Path, backbone: str, problems: int
) -> None:
    """Let each policy work on the same few sums, on a log of its own, one after the other."""
    write(folder / "sums.jsonl", sums(problems, SEED, "sum"))
    for policy in policies:
        walk = Walk(policy, policy)
        produce(command, walk, folder, "sums")
        # One after the other: two policies at once would push
        # each other's prompts out of the server's cache.
        work(command, backbone, log_of(folder, walk), 3600)


def figures(used: Usage) -> dict[str, Any]:
    """What a policy's prompts held, and how much of it was read before; unknown stays unknown."""
    prompt, cached = used.prompt_tokens, used.cached_tokens
    known = prompt and cached is not None
    return {
        "calls": used.calls,
        "prompt_tokens": prompt,
        "cached_tokens": cached,
        "share": (cached or 0) / prompt if known and prompt else None,
    }


def markdown(rows: Iterable[tuple[str, dict[str, Any]]]) -> str:
    """The table."""
    return "\n".join(
        table(
            HEAD,
            [
                [
                    name,
                    str(found["calls"]),
                    number(found["prompt_tokens"], 0),
                    number(found["cached_tokens"], 0),
                    share(found["share"]),
                ]
                for name, found in rows
            ],
        )
    )
