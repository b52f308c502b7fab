"""Policies beside each other on a real model of 135 million parameters, at one limit of calls.

Forty problems: thirty own sums of graded difficulty and the first ten of a GSM8K file. Every run is
produced, worked and read by the ordinary commands, on a log that can be looked at afterwards; a
second call goes on where the first one ended. What MC² learned from twenty other sums is its experience.
"""

# `run` makes the logs by the product's own commands and leaves them there; `figures` and `markdown`
# tell of what was closed. So a bench that ran out of time, or was killed, is called again and goes
# on: problems that are announced already are skipped, and so are those that have an answer.

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schemas.usage import total
from streams.research.analysis.cases import Case
from streams.research.analysis.figures import outcomes
from streams.research.analysis.report import number, share, table
from streams.research.bench.search_table import Command, must
from streams.research.bench.sums import mixed, sums
from streams.support.datasets.source import open_source

BACKBONE = "llamacpp?max_tokens=48"
"""Short replies, held to each role's grammar: reasoning is measured, not format."""
DOMAIN, SEED, CALLS = "local", 135, 16
OWN, GIVEN, BEFORE = 30, 10, 20
TRAINING = "before"
"""What the ids of problems begin with that only make experience."""
HEAD = (
    *("run", "n", "right", "undecided", "accuracy", "95 %", "graded"),
    *("calls", "learning calls", "tokens", "seconds"),
)


@dataclass(frozen=True, slots=True)
class Walk:
    """One row of the table: a policy over the problems, perhaps with others before them."""

    name: str
    policy: str
    settings: Sequence[str] = ()
    experienced: bool = False


WALKS = (
    Walk("cot", "cot"),
    Walk("self_consistency", "self_consistency"),
    Walk("mc2, cold", "mc2", ("guidance=none",)),
    Walk("mc2, with experience", "mc2", ("lessons_per_batch=5",), experienced=True),
    Walk("meta_reasoner", "meta_reasoner"),
    Walk("mgv_flavell", "mgv_flavell"),
    Walk("cot2_meta", "cot2_meta"),
    Walk("mgv_acquisition", "mgv_acquisition"),
)


def problems(data: str) -> list[dict[str, str]]:
    """The forty problems. Raises ``ValueError`` naming what is wrong with the GSM8K file."""
    given = [
        {"id": f"gsm8k-{at}", "problem": str(item["problem"]), "answer": str(item.get("answer"))}
        for at, item in enumerate(open_source(f"gsm8k:1-{GIVEN}", path=data), 1)
    ]
    return mixed(list(sums(OWN, SEED, "sum")), given)


def run(
    command: Command,
    walks: Sequence[Walk],
    *,
    data: str,
    folder: Path,
    backbone: str,
    minutes: float,
) -> None:
    """Make every walk, each on a log of its own, until the time is up; what is open stays open.

    Raises ``Failed`` where a command fails.
    """
    end = time.monotonic() + 60 * minutes
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / "problems.jsonl", problems(data))
    write(folder / "before.jsonl", sums(BEFORE, SEED + 1, TRAINING))
    # Each policy on a log of its own, so that none finds the memory of another.
    for walk in walks:
        for source in ("before", "problems") if walk.experienced else ("problems",):
            left = end - time.monotonic()
            if left > 0:
                produce(command, walk, folder, source)
                work(command, backbone, log_of(folder, walk), left)


def log_of(folder: Path, walk: Walk) -> str:
    """Where a walk's log lies."""
    return f"{folder}/{walk.name.replace(', ', '-').replace(' ', '-')}.db"


def produce(command: Command, walk: Walk, folder: Path, source: str) -> None:
    """Announce the problems of a file; those that are known are skipped."""
    chosen = [part for each in walk.settings for part in ("--set", each)]
    arguments = ["produce", f"{folder}/{source}.jsonl", "--domain", DOMAIN, "--policy", walk.policy]
    limits = ["--call-limit", str(CALLS), "--seed", str(SEED), "--log", log_of(folder, walk)]
    must(command, [*arguments, *chosen, *limits, "--json"])


def work(command: Command, backbone: str, log: str, seconds: float) -> None:
    """Work on what was announced, so long at most."""
    arguments = ["worker", "--backbone", backbone, "--until-idle", "--settle", "--no-tables"]
    # Four sequences are decoded at once: more episodes in flight would only wait.
    flight = ["--max-concurrency", "8", "--total-time", f"{seconds:.0f}", "--log", log]
    # 4: it stopped at the time that it was given. What is open goes on in the next call.
    must(command, [*arguments, *flight], fine=(0, 4))


def write(path: Path, records: Iterable[dict[str, str]]) -> None:
    """Write problems as a source."""
    path.write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")


# ── The table ────────────────────────────────────────────────────────────────────────────────


def figures(cases: Sequence[Case], learning_calls: int) -> dict[str, Any] | None:
    """What a walk came to; nothing where no problem was closed. Seconds are those of its calls.

    Accuracy is over the answers that could be graded; no answer counts as not right.
    """
    # What only makes experience is in no row: the others
    # had no such problems, and these may be easier.
    counted = [case for case in cases if not case.problem.id.startswith(TRAINING)]
    if not counted:
        return None
    found = outcomes(counted)
    used = total(case.closed.usage for case in counted)
    return {
        **{name: found[name] for name in _SHOWN},
        "calls": used.calls,
        "learning_calls": learning_calls,
        "tokens": used.tokens,
        "cached_tokens": used.cached_tokens,
        "seconds": used.seconds,
    }


_SHOWN = ("problems", "right", "unknown", "undecided", "not_graded", "omission", "coverage", "accuracy",
          "accuracy_interval")  # fmt: skip


def markdown(rows: Iterable[tuple[str, dict[str, Any] | None]]) -> str:
    """The table; a walk that was not made says so."""
    made: list[list[str]] = []
    for name, found in rows:
        if found is None:
            made.append([name, "not run", *[""] * (len(HEAD) - 2)])
            continue
        low, high = found["accuracy_interval"] or (None, None)
        made.append(
            [
                name,
                str(found["problems"]),
                str(found["right"]),
                str(found["undecided"]),
                share(found["accuracy"]),
                f"{share(low)}–{share(high)}",
                share(found["coverage"]),
                str(found["calls"]),
                str(found["learning_calls"]),
                number(found["tokens"], 0),
                number(found["seconds"], 0),
            ]
        )
    return "\n".join(table(HEAD, made))
