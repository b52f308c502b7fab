"""Messages between the two processes, in lines of JSON."""

from __future__ import annotations

import msgspec


class Asked(msgspec.Struct, frozen=True, kw_only=True, tag="asked"):
    """A call: who is asked what, and how to draw. What is left open is llama.cpp's default, as for it.

    A reply that has ``begun`` goes on from there, for up to ``max_tokens`` more, by a ``grammar`` if there is one.
    """

    number: int
    messages: list[tuple[str, str]]
    seed: int
    max_tokens: int
    temperature: float = 0.8
    top_p: float = 0.95
    stop: list[str] = []
    begun: str = ""
    grammar: str | None = None


class GivenUp(msgspec.Struct, frozen=True, kw_only=True, tag="given_up"):
    """Nobody waits for this call any more."""

    number: int


class Loaded(msgspec.Struct, frozen=True, kw_only=True, tag="loaded"):
    """Calls can come; or why none ever can."""

    fault: str | None = None


class Answered(msgspec.Struct, frozen=True, kw_only=True, tag="said"):
    """The reply to a call, or why there is none (``fault``)."""

    number: int
    text: str = ""
    finish: str = "error"
    fault: str | None = None
    too_long: bool = False
    """Whether the fault is that there is no room for the prompt."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    logprob: float | None = None


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that the child is started with."""

    path: str
    slots: int
    context: int
    threads: int
    batch_tokens: int
    cache: bool
    cache_gib: int
    exact: bool = False


FROM_US = msgspec.json.Decoder(Asked | GivenUp)
FROM_CHILD = msgspec.json.Decoder(Loaded | Answered)
