"""Replies of a model in this process."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from time import perf_counter

from streams.backbones.gguf import file_of
from streams.backbones.llamacpp.body import body_of
from streams.backbones.llamacpp.engine import Engine, keep_signals, need_library
from streams.backbones.llamacpp.options import Options
from streams.backbones.openai.faults import Fault, is_too_long
from streams.backbones.openai.reading import read
from streams.backbones.port import ModelReply, ModelRequest

_log = logging.getLogger(__name__)


class LlamaCpp:
    """A GGUF by its path; the bundled one where none is named. Loaded at the first call.

    The same seed and prompt give the same reply on one machine. Raises ``SetupBroken`` at once where
    no call could succeed: no library, no file.
    """

    simulated = False
    priced = False

    def __init__(self, path: str | Path | None = None, options: Options | None = None) -> None:
        need_library()
        self._path = file_of(path, "llamacpp")
        self._options = options or Options()
        self._pool = ThreadPoolExecutor(self._options.slots, thread_name_prefix="llamacpp")
        self._loading: asyncio.Task[Engine] | None = None
        self._given_up: set[Event] = set()

    @property
    def name(self) -> str:
        """``llamacpp:`` and the file's name without its ending."""
        return f"llamacpp:{self._path.stem}"

    async def complete(self, request: ModelRequest) -> ModelReply:
        """One reply. A prompt that the model has no room for is recorded as an error.

        A call that is cancelled stops decoding at its next token.
        """
        engine, given_up = await self._engine(), Event()
        loop = asyncio.get_running_loop()
        body = body_of(request, self._options, engine.marks)
        self._given_up.add(given_up)
        try:
            return await loop.run_in_executor(self._pool, self._ask, engine, body, given_up)
        except asyncio.CancelledError:
            given_up.set()
            raise
        finally:
            self._given_up.discard(given_up)

    async def close(self) -> None:
        """Give up what is being decoded, and free the model."""
        for each in self._given_up:
            each.set()
        self._pool.shutdown(cancel_futures=True)
        loading, self._loading = self._loading, None
        if loading is not None and loading.done() and loading.exception() is None:
            loading.result().close()

    async def _engine(self) -> Engine:
        """The model, loaded once however many calls wait for it."""
        if self._loading is None:
            self._loading = asyncio.create_task(self._load())
        return await asyncio.shield(self._loading)

    async def _load(self) -> Engine:
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._pool, Engine, self._path, self._options)
        finally:
            keep_signals()

    def _ask(self, engine: Engine, body: bytes, given_up: Event) -> ModelReply:
        begun = perf_counter()
        heard = read(engine.chat(body, given_up.is_set))
        seconds = perf_counter() - begun
        if isinstance(heard, Fault):
            if not given_up.is_set():
                _log.warning("%s: recorded as an error: %s", self.name, heard.detail)
            long = is_too_long(heard)
            return ModelReply(
                text="", finish="error", model=self.name, seconds=seconds, too_long=long
            )
        return ModelReply(
            text=heard.text,
            finish=heard.finish,
            model=self._path.stem,
            prompt_tokens=heard.prompt_tokens,
            completion_tokens=heard.completion_tokens,
            cached_tokens=heard.cached_tokens,
            seconds=seconds,
            logprob=heard.logprob,
        )
