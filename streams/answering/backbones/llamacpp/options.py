"""How a local model is run."""

from __future__ import annotations

from dataclasses import dataclass

from streams.answering.backbones.loaded import RoomOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(RoomOptions):
    """Room and pace of a model in this process.

    ``threads`` 0 takes the cores that are idle when the model is loaded, one at least: threads
    that must share a core spend their time waiting for each other. ``constrained`` holds each reply to its
    role's grammar; the ``cache`` takes up to ``cache_mib``.
    """

    constrained: bool = True
    cache_mib: int = 512

    def __post_init__(self) -> None:
        self.need_room("llamacpp")
