"""How fast backbones reply when sixteen ask at once: idle, and beside others who keep the cores busy.

Every backbone gets the same requests, one after the other in one run, so that ratios hold on a machine whose own
speed wanders. A model is loaded before anything is timed. All prompts of a round begin with the same rules; what
that saves is measured by itself: prompts that begin like those before against prompts that begin otherwise.
"""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter

from msgspec import structs

from schemas.questions import Sampling
from schemas.usage import total_of
from streams.core.backbone import Backbone, ModelReply, ModelRequest, SetupBroken
from streams.research.analysis.report import number, share, table
from streams.support.child import python

SEQUENCES, REPLY_TOKENS = 16, 200
RULES = """\
You count. Write every number in words, one after the other on a single line, with commas between them, and leave none \
out. Do not number, explain or sum anything up, do not say what you are about to do, and never end before you were \
told to. Where a number is a prime, go on as with any other. Where you do not know how to go on, begin again with \
the number that you were given first. Nobody reads what you say for its meaning: it is measured how long it takes."""
LOOP = "while True: pass"
HEAD = ("backbone", "prompt", "reply", "seconds", "tokens/s", "ratio", "prompts anew / alike",
        "beside", "share of idle")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Round:
    """Sixteen replies at once: seconds by the clock, and tokens, which are unknown where nobody counted them."""

    seconds: float
    prompt_tokens: int | None
    completion_tokens: int | None
    failed: int

    @property
    def pace(self) -> float | None:
        """Completion tokens a second; unknown where a call failed."""
        # A call that failed ended early, and would make the others look fast.
        if self.completion_tokens is None or self.failed or not self.seconds:
            return None
        return self.completion_tokens / self.seconds


@dataclass(frozen=True, slots=True)
class Measured:
    """One backbone: its replies, the same prompts read anew and alike, and its replies beside busy loops."""

    name: str
    round: Round | None = None
    anew_s: float | None = None
    alike_s: float | None = None
    beside: Round | None = None
    why: str | None = None
    """Why nothing was measured."""

    @property
    def kept(self) -> float | None:
        """The share of the idle pace that is left beside busy loops."""
        idle = self.round and self.round.pace
        busy = self.beside and self.beside.pace
        return busy / idle if idle and busy else None


def requests(
    kind: str, tokens: int, rules: str = RULES, count: int = SEQUENCES
) -> list[ModelRequest]:
    """Prompts that begin alike and end each in its own way; no two kinds share an ending."""
    return [
        ModelRequest(
            messages=(
                ("system", rules),
                ("user", f"Count in words, {kind}, from {at * 100 + 1} on, without an end."),
            ),
            sampling=Sampling(max_tokens=tokens),
            seed=at,
        )
        for at in range(count)
    ]


async def measure(
    name: str, build: Callable[[], Backbone], busy_loops: int, tokens: int = REPLY_TOKENS
) -> Measured:
    """Load a backbone, time it, and free it. A set-up that is broken is told, and no figure."""
    try:
        backbone = build()
    except SetupBroken as error:
        return Measured(name, why=error.detail)
    try:
        # One reply that nobody times: a model is loaded when it is first asked.
        await backbone.complete(requests("slowly", 1)[0])
        idle = await _round(backbone, requests("upwards", tokens))
        # Replies of a single token, for what is timed here is how long the prompt takes to be read.
        alike = await _round(backbone, requests("evenly", 1))
        # The same prompts with another beginning, as
        # long: none of what was read before can be kept.
        changed: list[ModelRequest] = []
        for each in requests("oddly", 1):
            (role, rules), user = each.messages
            messages = ((role, f"Rule {each.seed}: {rules}"), user)
            changed.append(structs.replace(each, messages=messages))
        anew = await _round(backbone, changed)
        beside = None
        if busy_loops:
            with busy(busy_loops):
                beside = await _round(backbone, requests("backwards", tokens))
        return Measured(name, idle, anew.seconds, alike.seconds, beside)
    except SetupBroken as error:
        return Measured(name, why=error.detail)
    finally:
        await backbone.close()


async def _round(backbone: Backbone, asked: Sequence[ModelRequest]) -> Round:
    begun = perf_counter()
    replies = await asyncio.gather(*map(backbone.complete, asked))
    return round_of(replies, perf_counter() - begun)


def round_of(replies: Sequence[ModelReply], seconds: float) -> Round:
    """What replies at once come to."""
    prompts = [reply.prompt_tokens for reply in replies]
    completions = [reply.completion_tokens for reply in replies]
    failed = sum(reply.finish not in ("stop", "length") for reply in replies)
    return Round(seconds, total_of(prompts), total_of(completions), failed)


@contextmanager
def busy(count: int) -> Generator[None]:
    """So many processes beside us that do nothing but keep a core busy; they end with this."""
    loops = [subprocess.Popen(python("-c", LOOP)) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


# ── The table ────────────────────────────────────────────────────────────────────────────────


def ratio(measured: Measured, first: Measured) -> float | None:
    """How many times the first one's pace."""
    base, pace = first.round and first.round.pace, measured.round and measured.round.pace
    return pace / base if base and pace else None


def markdown(rows: Sequence[Measured]) -> str:
    """The table; what was not measured says why below it."""
    cells: list[list[str]] = []
    below: list[str] = []
    for each in rows:
        took = each.round
        if each.why is not None:
            below.append(f"\n{each.name}: not measured: {each.why}")
        elif took is not None and took.failed:
            below.append(f"\n{each.name}: {took.failed} of its calls failed")
        if took is None:
            cells.append([each.name, *["–"] * (len(HEAD) - 1)])
            continue
        # Of one sequence: how many replied at once is the same for all.
        prompt, reply = (
            None if tokens is None else tokens / SEQUENCES
            for tokens in (took.prompt_tokens, took.completion_tokens)
        )
        cells.append(
            [
                each.name,
                number(prompt, 0),
                number(reply, 0),
                number(took.seconds, 1),
                number(took.pace, 1),
                number(ratio(each, rows[0]), 2),
                " / ".join(f"{number(s, 1)} s" for s in (each.anew_s, each.alike_s)),
                number((each.beside and each.beside.pace) or None, 1),
                share(each.kept),
            ]
        )
    return "\n".join([*table(HEAD, cells), *below])
