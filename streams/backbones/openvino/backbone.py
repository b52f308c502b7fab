"""Replies of a model that OpenVINO runs."""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import os
from pathlib import Path
from time import perf_counter

import msgspec

from streams.backbones.gguf import file_of, header_of
from streams.backbones.llamacpp.body import spoken
from streams.backbones.openvino.messages import Asked, Settings
from streams.backbones.openvino.options import Options
from streams.backbones.openvino.process import Child
from streams.backbones.port import ModelReply, ModelRequest, SetupBroken

_log = logging.getLogger(__name__)
_SEEDS = 1 << 32

ARCHITECTURES = frozenset({"llama", "qwen2", "qwen3"})
TYPES = frozenset({"F32", "F16", "BF16", "Q4_0", "Q4_1", "Q8_0", "Q4_K", "Q6_K"})
"""What OpenVINO reads of GGUFs; of others it says so only after having loaded them for half a minute."""


class OpenVino:
    """A GGUF by its path; the bundled one where none is named. Loaded at the first call.

    Replies are free text: no grammar holds them. The same seed and prompt give the same reply on one machine
    with the option ``exact``. Raises ``SetupBroken`` at once where no call could succeed: no library, no file.
    """

    simulated = False
    priced = False

    def __init__(self, path: str | Path | None = None, options: Options | None = None) -> None:
        need_library()
        self._path = file_of(path, "openvino")
        self._options = options or Options()
        self._loading: asyncio.Task[Child] | None = None

    @property
    def name(self) -> str:
        """``openvino:`` and the file's name without its ending."""
        return f"openvino:{self._path.stem}"

    async def complete(self, request: ModelRequest) -> ModelReply:
        """One reply. A prompt that the model has no room for is recorded as an error.

        A call that is cancelled stops decoding at its next token. Raises ``Unreachable`` where the
        model's process ended; the next call starts it again.
        """
        child, begun = await self._child(), perf_counter()
        try:
            said = await child.ask(asked_of(request, self._options), self._options.timeout_s)
        except TimeoutError:
            spent = perf_counter() - begun
            return ModelReply(text="", finish="timeout", model=self.name, seconds=spent)
        seconds = perf_counter() - begun
        if said.fault is not None:
            _log.warning("%s: recorded as an error: %s", self.name, said.fault)
            return ModelReply(text="", finish="error", model=self.name, seconds=seconds)
        return ModelReply(
            text=said.text,
            finish=said.finish,
            model=self._path.stem,
            prompt_tokens=said.prompt_tokens,
            completion_tokens=said.completion_tokens,
            seconds=seconds,
            logprob=said.logprob if request.sampling.logprobs else None,
        )

    async def close(self) -> None:
        """Give up what is being decoded, and free the model."""
        loading, self._loading = self._loading, None
        if loading is None:
            return
        if not loading.done():
            loading.cancel()
        [child] = await asyncio.gather(loading, return_exceptions=True)
        if isinstance(child, Child):
            await child.close()

    async def _child(self) -> Child:
        """The model, loaded once however many calls wait for it, and again if its process ended."""
        ended = _ended(self._loading)
        if self._loading is None or ended is not None:
            self._loading = asyncio.create_task(Child.start(self._settings()))
        if ended is not None:
            await ended.close()
        return await asyncio.shield(self._loading)

    def _settings(self) -> Settings:
        chosen = self._options
        return Settings(
            path=str(self._path.resolve()),
            slots=chosen.slots,
            context=chosen.context,
            threads=chosen.threads or len(os.sched_getaffinity(0)),
            batch_tokens=chosen.batch_tokens,
            cache=chosen.cache,
            cache_gib=chosen.cache_gib,
            exact=chosen.exact,
        )


def _ended(loading: asyncio.Task[Child] | None) -> Child | None:
    """The child, if it was loaded once and has ended since."""
    if loading is None or not loading.done() or loading.cancelled() or loading.exception():
        return None
    return loading.result() if loading.result().ended else None


def asked_of(request: ModelRequest, options: Options) -> Asked:
    """One call. What a role leaves open is llama.cpp's default."""
    sampling = request.sampling
    asked = Asked(
        number=0,
        messages=[(role, spoken(text)) for role, text in request.messages],
        seed=request.seed % _SEEDS,
        max_tokens=min(sampling.max_tokens or options.max_tokens, options.max_tokens),
        stop=list(sampling.stop),
    )
    wishes = {"temperature": sampling.temperature, "top_p": sampling.top_p}
    said = {name: value for name, value in wishes.items() if value is not None}
    return msgspec.structs.replace(asked, **said)


def need_library() -> None:
    """Raises ``SetupBroken`` if the extra that carries OpenVINO is not installed."""
    if importlib.util.find_spec("openvino_genai") is None:
        detail = "OpenVINO is not installed: make openvino, or pip install 'metalogue[openvino]'"
        raise SetupBroken("extra", "openvino", detail)


def unreadable(path: Path) -> str | None:
    """What of a file OpenVINO cannot read, for people; nothing where it can."""
    header = header_of(path)
    if header is None:
        return "no GGUF"
    if header.architecture not in ARCHITECTURES:
        return f"architecture {header.architecture}"
    strange = sorted(header.types - TYPES)
    return f"{', '.join(strange)} tensors" if strange else None
