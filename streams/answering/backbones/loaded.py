"""Common parts of backbones that run a model themselves: its file, its name, one loading for all calls, options."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from streams.answering.backbones.gguf import file_of
from streams.core.backbone import ModelReply, ModelRequest, SetupBroken
from streams.support.extras import install

M = TypeVar("M")


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomOptions:
    """Room and patience of a model that we run.

    ``slots`` sequences are decoded together, each with ``context`` tokens of room for prompt and reply, by
    ``threads``. A reply has at most ``max_tokens``, whatever a role asks for. ``cache`` keeps the states of past
    prompts, for those that begin alike. A call that takes longer than ``timeout_s`` once it has a
    slot is recorded as such, unless its role has a time of its own.
    """

    slots: int = 4
    context: int = 4096
    threads: int = 0
    max_tokens: int = 512
    cache: bool = True
    timeout_s: float = 1800.0

    def need_room(self, kind: str, *more: str) -> None:
        """Raises ``ValueError`` for room of nothing; ``more`` are options of this kind alone."""
        for name in ("slots", "context", "max_tokens", *more):
            if getattr(self, name) < 1:
                raise ValueError(f"{kind} option {name} must be at least 1")
        if self.timeout_s <= 0:
            raise ValueError(f"{kind} option timeout_s must be more than 0")

    def room(self) -> dict[str, Any]:
        """The options that every kind has, by name."""
        return {each.name: getattr(self, each.name) for each in fields(RoomOptions)}

    def patience(self, request: ModelRequest) -> float:
        """Seconds that a reply is waited for."""
        asked = request.sampling.timeout_s
        return self.timeout_s if asked is None else asked


class LoadedModel(ABC, Generic[M]):
    """A GGUF by its path; the bundled one where none is named. Loaded at the first call.

    ``kind`` is what its name begins with. Raises ``SetupBroken`` where there is no such file.
    """

    simulated = False
    kind: ClassVar[str]

    def __init__(self, path: str | Path | None, slots: int) -> None:
        self._path = file_of(path, self.kind)
        self._turns = asyncio.Semaphore(slots)  # a call's clock begins with its slot
        self._loading: asyncio.Task[M] | None = None
        self._log = logging.getLogger(type(self).__module__)

    @property
    def name(self) -> str:
        """The kind, and the file's name without its ending."""
        return f"{self.kind}:{self._path.stem}"

    # What follows is for the kinds of model, and for nobody who asks one.

    @abstractmethod
    async def load(self) -> M:
        """Load the model. Raises ``SetupBroken`` if it cannot be."""

    async def model(self) -> M:
        """The model, loaded once however many calls wait for it."""
        if self._loading is None:
            self._loading = asyncio.create_task(self.load())
        # One call that is cancelled must not end the loading that the others wait for.
        return await asyncio.shield(self._loading)

    def let_go(self) -> asyncio.Task[M] | None:
        """The loading, for whoever ends it; the next call would begin another."""
        # Taken away before it is closed, so that a call which comes meanwhile loads a model of its
        # own.
        loading, self._loading = self._loading, None
        return loading

    def late(self, seconds: float) -> ModelReply:
        """What is recorded of a call that took too long."""
        return ModelReply(text="", finish="timeout", model=self.name, seconds=seconds)

    def failed(self, fault: str | None, seconds: float, *, too_long: bool = False) -> ModelReply:
        """What is recorded of a call that the model could not take; said, if there is a fault to tell."""
        if fault is not None:
            self._log.warning("%s: recorded as an error: %s", self.name, fault)
        return ModelReply(
            text="",
            finish="error",
            model=self.name,
            seconds=seconds,
            detail=fault or "",
            too_long=too_long,
        )


def missing(kind: str, library: str, extra: str) -> SetupBroken:
    """What is raised where the extra that carries a library is not installed; ``make`` knows it by name."""
    detail = f"{library} is not installed: make {extra}, or {install(extra)}"
    return SetupBroken("extra", kind, detail)
