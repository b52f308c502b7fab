"""The child that owns a model, as seen from our side: started, asked, given up, ended."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import DEVNULL, PIPE, Process, create_subprocess_exec
from contextlib import suppress
from itertools import count

import msgspec

from streams.answering.backbones.openvino.messages import (
    FROM_CHILD,
    Answered,
    Asked,
    GivenUp,
    Loaded,
    Settings,
)
from streams.core.backbone import SetupBroken, Unreachable
from streams.support.child import python, variables

LONGEST_LINE = 1 << 26
PATIENCE_S = 10.0
"""A child ends after the step that it computes; one that does not is killed."""


class Child:
    """A running model."""

    def __init__(self, process: Process, path: str) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._path = process, path
        self._calls, self._replies = process.stdin, process.stdout
        self._numbers = count(1)
        self._waiting: dict[int, asyncio.Future[Answered]] = {}
        self._hearing: asyncio.Task[None] | None = None
        self.ended = False

    @classmethod
    async def start(cls, settings: Settings) -> Child:
        """Load a model. Raises ``SetupBroken`` if OpenVINO cannot."""
        process = await create_subprocess_exec(
            *python("-m", "streams.answering.backbones.openvino.server"),
            msgspec.json.encode(settings).decode(),
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            env=variables(),
            limit=LONGEST_LINE,
            start_new_session=True,  # Ctrl-C is for us; it ends when we are done
        )
        # Made before the model is loaded, so that whoever is cancelled meanwhile has something to
        # close.
        child = cls(process, settings.path)
        try:
            line = await child._replies.readline()
        except BaseException:
            await child.close()
            raise
        told = FROM_CHILD.decode(line) if line else Loaded(fault="its process ended")
        if not isinstance(told, Loaded) or told.fault is not None:
            await child.close()
            detail = "OpenVINO cannot load this file; llama.cpp may: --backbone llamacpp:PATH"
            raise SetupBroken("model", settings.path, detail)
        child._hearing = asyncio.create_task(child._hear())
        return child

    async def ask(self, asked: Asked) -> Answered:
        """One reply. Raises ``Unreachable`` if the child ends. Whoever stops waiting gives the call up."""
        number = next(self._numbers)
        reply: asyncio.Future[Answered] = asyncio.get_running_loop().create_future()
        if self.ended:
            raise self._gone()
        self._waiting[number] = reply
        try:
            self._send(msgspec.structs.replace(asked, number=number))
            return await reply
        finally:
            # Still waiting means that whoever asked was cancelled: nobody will read the reply, and
            # its place in the batch is wanted.
            if self._waiting.pop(number, None) is not None:
                self._send(GivenUp(number=number))

    async def close(self) -> None:
        """End the child, whatever it does."""
        self._calls.close()
        if self._hearing is None:
            with suppress(ProcessLookupError):
                self._process.kill()  # it loads, and looks at nothing
        try:
            await asyncio.wait_for(self._process.wait(), PATIENCE_S)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
        if self._hearing is not None:
            await self._hearing

    def _send(self, message: Asked | GivenUp) -> None:
        if not self.ended and not self._calls.is_closing():
            self._calls.write(msgspec.json.encode(message) + b"\n")

    async def _hear(self) -> None:
        while line := await self._replies.readline():
            said = FROM_CHILD.decode(line)
            reply = self._waiting.pop(said.number, None) if isinstance(said, Answered) else None
            if reply is not None and not reply.done():
                reply.set_result(said)
        # Set before anybody is told, so that whoever asks again at once starts another child.
        self.ended = True
        for reply in self._waiting.values():
            if not reply.done():
                reply.set_exception(self._gone())
        self._waiting.clear()

    def _gone(self) -> Unreachable:
        return Unreachable(self._path, "the process of this model ended")
