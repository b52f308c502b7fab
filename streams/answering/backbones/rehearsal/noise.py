"""The simulator's dice, and what goes wrong with replies at set rates."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from schemas.identity import hash01
from streams.answering.backbones.rehearsal.options import Options
from streams.core.backbone import ModelRequest

CHARS_PER_TOKEN = 4
_LABEL = re.compile(r"^[A-Z][\w ]{0,40}:", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Dice:
    """Numbers in [0, 1) by name: the same name always gives the same number."""

    key: str

    def roll(self, name: str) -> float:
        """The number of this name."""
        return hash01(self.key, name)

    def below(self, name: str, share: float) -> bool:
        """Whether the number of this name is below a share."""
        return hash01(self.key, name) < share

    def pick(self, name: str, options: Any) -> Any:
        """One of several options."""
        return options[int(hash01(self.key, name) * len(options))]


def dice(request: ModelRequest, seed: int) -> Dice:
    """The dice of one call: they follow from everything that the call holds, and from nothing else.

    At temperature 0 neither draw nor the endpoint's seed matter.
    """
    sampling = request.sampling
    # As at an endpoint that decodes greedily: the same prompt gives the same reply, whichever draw
    # it is.
    drawn = (0, 0) if sampling.temperature == 0 else (request.seed, request.draw)
    said = sha256(repr((seed, drawn, sampling)).encode())
    for speaker, text in request.messages:
        # Speaker and text are told apart by signs of their own, so that no two lists of messages
        # are hashed alike.
        said.update(f"\x1e{speaker}\x1f{text}".encode("utf-8", "surrogatepass"))
    return Dice(said.hexdigest()[:20])


def spoilt(text: str, options: Options, rolls: Dice) -> tuple[str, bool]:
    """The reply as it comes out, and whether it was cut off.

    One roll decides which of the mishaps it is, so that their rates add up and exclude each other.
    """
    fate = rolls.roll("fate")
    if fate < options.empty:
        return "", False
    if (fate := fate - options.empty) < options.truncated:
        return text[: int(len(text) * rolls.roll("cut"))], True
    if fate - options.truncated >= options.malformed:
        return text, False
    # The same content without its last field, or without any label.
    marks = list(_LABEL.finditer(text))
    if len(marks) > 1 and rolls.below("malformed", 0.5):
        return text[: marks[-1].start()].rstrip(), False
    return _LABEL.sub("Well,", text).replace("###", "").replace("\\boxed", ""), False


def capped(text: str, stop: tuple[str, ...], max_tokens: int | None) -> tuple[str, bool]:
    """The reply up to the first stop text and the cap on tokens, and whether the cap cut it."""
    ends = [at for word in stop if word and (at := text.find(word)) >= 0]
    text = text[: min(ends, default=len(text))]
    if max_tokens is None or tokens(text) <= max_tokens:
        return text, False
    return text[: max_tokens * CHARS_PER_TOKEN], True


def tokens(*texts: str) -> int:
    """About how many tokens these texts are."""
    return -(-sum(map(len, texts)) // CHARS_PER_TOKEN)


def seconds(options: Options, rolls: Dice) -> float:
    """How long this reply takes: the latency that was set, give or take a half."""
    if not options.latency_ms:
        return 0.0
    return round(options.latency_ms * (0.5 + rolls.roll("latency")) / 1000, 6)
