"""Replies of a model in this process."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from time import perf_counter

from streams.answering.backbones.llamacpp.body import body_of
from streams.answering.backbones.llamacpp.engine import Engine, keep_signals, need_library
from streams.answering.backbones.llamacpp.options import Options
from streams.answering.backbones.loaded import LoadedModel
from streams.answering.backbones.openai.faults import Fault, is_too_long
from streams.answering.backbones.openai.reading import read
from streams.answering.backbones.shape import differing
from streams.core.backbone import ModelReply, ModelRequest


class LlamaCpp(LoadedModel[Engine]):
    """A model in threads of this process.

    The same seed and prompt give the same reply on one machine. Raises ``SetupBroken`` at once where
    no call could succeed: no library, no file.
    """

    kind = "llamacpp"

    def __init__(self, path: str | Path | None = None, options: Options | None = None) -> None:
        need_library()
        self._options = options or Options()
        super().__init__(path, self._options.slots)
        self._pool = ThreadPoolExecutor(self._options.slots, thread_name_prefix="llamacpp")
        self._given_up: set[Event] = set()

    @property
    def shape(self) -> str:
        """Options by which it replies otherwise."""
        return differing(self._options, "context", "max_tokens", "constrained")

    async def complete(self, request: ModelRequest) -> ModelReply:
        """One reply. A prompt that the model has no room for is recorded as an error.

        A call that is cancelled, or takes too long, stops decoding at its next token.
        """
        async with self._turns:
            engine = await self.model()
            given_up, begun = Event(), perf_counter()
            loop = asyncio.get_running_loop()
            body = body_of(request, self._options, engine.marks)
            self._given_up.add(given_up)
            try:
                async with asyncio.timeout(self._options.patience(request)):
                    return await loop.run_in_executor(self._pool, self._ask, engine, body, given_up)
            except TimeoutError:
                return self.late(perf_counter() - begun)
            finally:
                # The thread goes on decoding until it is told, and keeps its slot for so long.
                given_up.set()
                self._given_up.discard(given_up)

    async def close(self) -> None:
        """Give up what is being decoded, and free the model."""
        for each in self._given_up:
            each.set()
        # It waits for the threads: none may still decode when the model is freed.
        self._pool.shutdown(cancel_futures=True)
        loading = self.let_go()
        if loading is not None and loading.done() and loading.exception() is None:
            loading.result().close()

    async def load(self) -> Engine:
        """Load the file in a thread, for it takes seconds."""
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._pool, Engine, self._path, self._options)
        finally:
            keep_signals()

    def _ask(self, engine: Engine, body: bytes, given_up: Event) -> ModelReply:
        begun = perf_counter()
        # Read like any endpoint's reply: llama.cpp answers in the same form, and may break off in
        # the same ways.
        heard = read(engine.chat(body, given_up.is_set))
        seconds = perf_counter() - begun
        if isinstance(heard, Fault):
            fault = None if given_up.is_set() else heard.detail
            return self.failed(fault, seconds, too_long=is_too_long(heard))
        return ModelReply(
            text=heard.text,
            finish=heard.finish,
            model=self._path.stem,
            prompt_tokens=heard.prompt_tokens,
            completion_tokens=heard.completion_tokens,
            cached_tokens=heard.cached_tokens,
            seconds=seconds,
            logprob=heard.logprob,
            answer_logprob=heard.answer_logprob,
        )
