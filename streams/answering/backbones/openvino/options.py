"""How a model is run by OpenVINO."""

from __future__ import annotations

from dataclasses import dataclass

from streams.answering.backbones.loaded import RoomOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(RoomOptions):
    """Room and pace of a model in a process of its own.

    ``threads`` 0 takes all cores that we may use: its threads wait for work asleep, so that others who
    keep cores busy cost it their share and no more. ``batch_tokens`` of prompts and replies are computed in
    one step. The ``cache`` takes ``cache_gib``. ``exact`` computes a reply to the last bit as if
    it were alone, and slower; otherwise what else is in the batch may change a draw. ``constrained``
    ends a reply that cannot be read by the grammar of its form.
    """

    slots: int = 16
    batch_tokens: int = 256
    cache_gib: int = 1
    exact: bool = False
    constrained: bool = True

    def __post_init__(self) -> None:
        self.need_room("openvino", "batch_tokens", "cache_gib")
