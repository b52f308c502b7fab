"""How a local model is run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Room and pace of a model in this process.

    ``slots`` sequences are decoded together, each with ``context`` tokens of room for prompt and
    reply. ``threads`` 0 takes the cores that are idle when the model is loaded, one at least: threads
    that must share a core spend their time waiting for each other. A reply has at most
    ``max_tokens``, whatever a role asks for. ``constrained`` holds each reply to its role's grammar;
    ``cache`` keeps the states of past prompts, up to ``cache_mib``, for those that begin alike.
    """

    slots: int = 4
    context: int = 4096
    threads: int = 0
    max_tokens: int = 512
    constrained: bool = True
    cache: bool = True
    cache_mib: int = 512

    def __post_init__(self) -> None:
        for name in ("slots", "context", "max_tokens"):
            if getattr(self, name) < 1:
                raise ValueError(f"llamacpp option {name} must be at least 1")
