"""The rehearsal backbone: a seeded simulator in place of a model.

A test double for load, crashes and demonstrations; what policies reach on it says nothing of them.
"""

from __future__ import annotations

import asyncio
from dataclasses import fields
from functools import lru_cache

from streams.answering.backbones.rehearsal import noise
from streams.answering.backbones.rehearsal.grounds import Ground, Latent, latent
from streams.answering.backbones.rehearsal.hints import hints
from streams.answering.backbones.rehearsal.options import Options
from streams.answering.backbones.rehearsal.passages import PASSAGES
from streams.answering.backbones.rehearsal.prompts import read
from streams.answering.backbones.rehearsal.puzzles import PUZZLES
from streams.answering.backbones.rehearsal.reply import logprob, reply
from streams.answering.backbones.rehearsal.stories import STORIES
from streams.answering.backbones.rehearsal.turn import Turn
from streams.answering.backbones.shape import differing
from streams.core.backbone import ModelReply, ModelRequest

GROUNDS: tuple[Ground, ...] = (PUZZLES, STORIES, PASSAGES)
"""In the order in which a problem is tried against them; the last one takes any text."""
MODEL = "rehearsal"
SHAPING = tuple(each.name for each in fields(Options) if each.name not in ("seed", "latency_ms"))


class Rehearsal:
    """Replies are a pure function of messages, sampling, draw, seed and the options."""

    simulated = True

    def __init__(self, options: Options | None = None) -> None:
        self.options = options or Options()

    @property
    def name(self) -> str:
        """``rehearsal(seed=7)``."""
        return f"{MODEL}(seed={self.options.seed})"

    @property
    def shape(self) -> str:
        """Options by which it replies otherwise; its seed stands in its name."""
        return differing(self.options, *SHAPING)

    async def complete(self, request: ModelRequest) -> ModelReply:
        """One reply, after the latency that was set."""
        answer = self.reply(request)
        if answer.seconds:
            await asyncio.sleep(answer.seconds)
        return answer

    async def close(self) -> None:
        """Nothing to release."""

    def reply(self, request: ModelRequest) -> ModelReply:
        """The reply to a request, at once."""
        dice = noise.dice(request, self.options.seed)
        prompt = read(request.messages)
        if prompt.problem is None:
            # Lessons and rules are written without their problem in sight: an example of its kind
            # stands in, so that what is written speaks of the right approaches.
            found = hidden(self.options.seed, example_of(*prompt.told))
        elif prompt.given:
            found = latent(self.options.seed, PASSAGES, f"{prompt.given}\n\n{prompt.problem}")
        else:
            found = hidden(self.options.seed, prompt.problem)
        turn = Turn(prompt, found, self.options, dice)
        # Spoilt only when it is whole: what goes wrong with a reply must not change what the
        # simulator had decided, or a rate of rubbish would change its skill too.
        text, cut = noise.spoilt(reply(turn), self.options, dice)
        text, capped = noise.capped(text, request.sampling.stop, request.sampling.max_tokens)
        return ModelReply(
            text=text,
            finish="length" if cut or capped else "stop",
            model=MODEL,
            prompt_tokens=noise.tokens(*(said for _, said in request.messages)),
            completion_tokens=noise.tokens(text),
            seconds=noise.seconds(self.options, dice),
            logprob=logprob(turn) if request.sampling.logprobs else None,
        )


def example_of(*told: str) -> str:
    """An example of the kind of problem that texts speak of, for prompts that show none."""
    named = next((g for g in GROUNDS if any(hints(text, g) for text in told)), GROUNDS[-1])
    return named.example


@lru_cache(maxsize=16_384)
def hidden(seed: int, problem: str) -> Latent:
    """What is hidden in the problem of a prompt."""
    # The ones that read little come first, and the one that reads any text last.
    for ground in GROUNDS:
        known = ground.reads(problem)
        if known is not None:
            return latent(seed, ground, known)
    raise AssertionError("the last ground takes any text")
