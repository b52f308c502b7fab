"""How a model is run by OpenVINO."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Room and pace of a model in a process of its own.

    ``slots`` sequences are decoded together, each with ``context`` tokens of room for prompt and
    reply. ``threads`` 0 takes all cores that we may use: its threads wait for work asleep, so that others who
    keep cores busy cost it their share and no more. ``batch_tokens`` of prompts and replies are computed in
    one step. ``cache`` keeps the states of past prompts, in ``cache_gib``, for those that begin alike. A call
    that takes longer than ``timeout_s`` is recorded as such. ``exact`` computes a reply to the last bit as if
    it were alone, and slower; otherwise what else is in the batch may change a draw.
    """

    slots: int = 16
    context: int = 4096
    threads: int = 0
    max_tokens: int = 512
    batch_tokens: int = 256
    cache: bool = True
    cache_gib: int = 1
    timeout_s: float = 1800.0
    exact: bool = False

    def __post_init__(self) -> None:
        for name in ("slots", "context", "max_tokens", "batch_tokens", "cache_gib"):
            if getattr(self, name) < 1:
                raise ValueError(f"openvino option {name} must be at least 1")
        if self.timeout_s <= 0:
            raise ValueError("openvino option timeout_s must be more than 0")
