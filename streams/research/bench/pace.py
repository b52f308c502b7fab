"""How fast backbones reply when sixteen ask at once: idle, and beside others who keep the cores busy.

Every backbone gets the same requests, one after the other in one run, so that ratios hold on a machine whose own
speed wanders. A model is loaded before anything is timed. All prompts of a round begin with the same rules; what
that saves is measured by itself: prompts that begin like those before against prompts that begin otherwise.
"""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter

from schemas.questions import Sampling
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
        await backbone.complete(requests("slowly", 1)[0])
        idle = await _round(backbone, requests("upwards", tokens))
        alike = await _round(backbone, requests("evenly", 1))
        anew = await _round(backbone, [_anew(each) for each in requests("oddly", 1)])
        beside = None
        if busy_loops:
            with busy(busy_loops):
                beside = await _round(backbone, requests("backwards", tokens))
        return Measured(name, idle, anew.seconds, alike.seconds, beside)
    except SetupBroken as error:
        return Measured(name, why=error.detail)
    finally:
        await backbone.close()


def _anew(request: ModelRequest) -> ModelRequest:
    """The same prompt with another beginning, as long."""
    (role, rules), user = request.messages
    return request._replace(messages=((role, f"Rule {request.seed}: {rules}"), user))


async def _round(backbone: Backbone, asked: Sequence[ModelRequest]) -> Round:
    begun = perf_counter()
    replies = await asyncio.gather(*map(backbone.complete, asked))
    return round_of(replies, perf_counter() - begun)


def round_of(replies: Sequence[ModelReply], seconds: float) -> Round:
    """What replies at once come to."""
    prompts = [reply.prompt_tokens for reply in replies]
    completions = [reply.completion_tokens for reply in replies]
    failed = sum(reply.finish not in ("stop", "length") for reply in replies)
    return Round(seconds, _sum(prompts), _sum(completions), failed)


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


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
    lines = table(HEAD, [_row(each, rows[0]) for each in rows])
    return "\n".join([*lines, *_whys(rows)])


def _whys(rows: Sequence[Measured]) -> Iterator[str]:
    for each in rows:
        if each.why is not None:
            yield f"\n{each.name}: not measured: {each.why}"
        elif each.round is not None and each.round.failed:
            yield f"\n{each.name}: {each.round.failed} of its calls failed"


def _row(measured: Measured, first: Measured) -> list[str]:
    took = measured.round
    if took is None:
        return [measured.name, *["–"] * (len(HEAD) - 1)]
    beside = measured.beside and measured.beside.pace
    both = (measured.anew_s, measured.alike_s)
    return [
        measured.name,
        number(_each(took.prompt_tokens), 0),
        number(_each(took.completion_tokens), 0),
        number(took.seconds, 1),
        number(took.pace, 1),
        number(ratio(measured, first), 2),
        " / ".join(f"{number(seconds, 1)} s" for seconds in both),
        number(beside or None, 1),
        share(measured.kept),
    ]


def _each(tokens: int | None) -> float | None:
    return None if tokens is None else tokens / SEQUENCES
