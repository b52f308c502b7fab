"""Replies of a model that OpenVINO runs."""

from __future__ import annotations

import asyncio
import importlib.util
import os
from pathlib import Path
from time import perf_counter

from msgspec import structs

from schemas.reply import Reply
from streams.answering.backbones.gguf import header_of
from streams.answering.backbones.llamacpp.body import spoken
from streams.answering.backbones.loaded import LoadedModel, missing
from streams.answering.backbones.openvino.grammar import form_of
from streams.answering.backbones.openvino.held import form_in, standing
from streams.answering.backbones.openvino.messages import Answered, Asked, Settings
from streams.answering.backbones.openvino.options import Options
from streams.answering.backbones.openvino.process import Child
from streams.answering.backbones.shape import differing
from streams.core.backbone import ModelReply, ModelRequest

_SEEDS = 1 << 32
FORM_TOKENS = 256
"""A form of short values takes so many at most; a box that is not closed by then would not have been."""

ARCHITECTURES = frozenset({"llama", "qwen2", "qwen3"})
TYPES = frozenset({"F32", "F16", "BF16", "Q4_0", "Q4_1", "Q8_0", "Q4_K", "Q6_K"})
"""What OpenVINO reads of GGUFs; of others it says so only after having loaded them for half a minute."""


class OpenVino(LoadedModel[Child]):
    """A model in a process of its own.

    Replies are free text; the form of one that cannot be read is decoded anew by its grammar (``held``), unless the
    option ``constrained`` is off. The same seed and prompt give the same reply on one machine
    with the option ``exact``. Raises ``SetupBroken`` at once where no call could succeed: no library, no file.
    """

    kind = "openvino"

    def __init__(self, path: str | Path | None = None, options: Options | None = None) -> None:
        need_library()
        self._options = options or Options()
        super().__init__(path, self._options.slots)

    @property
    def shape(self) -> str:
        """Options by which it replies otherwise."""
        return differing(self._options, "context", "max_tokens", "exact", "constrained")

    async def complete(self, request: ModelRequest) -> ModelReply:
        """One reply. A prompt that the model has no room for is recorded as an error.

        A call that is cancelled stops decoding at its next token. Raises ``Unreachable`` where the
        model's process ended; the next call starts it again.
        """
        async with self._turns:
            child = await self.model()
            begun = perf_counter()
            try:
                async with asyncio.timeout(self._options.patience(request)):
                    asked = asked_of(request, self._options)
                    said = await child.ask(asked)
                    # One clock for both goes: a form that is decoded anew is still the same call.
                    form = form_in(request) if self._options.constrained else None
                    if (anew := anew_of(asked, said, form)) is not None:
                        said = ended(said, anew.begun, await child.ask(anew))
            except TimeoutError:
                return self.late(perf_counter() - begun)
            seconds = perf_counter() - begun
        # Outside its turn: whoever waits for a slot need not wait for what is made of this reply.
        if said.fault is not None:
            return self.failed(said.fault, seconds, too_long=said.too_long)
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
        loading = self.let_go()
        if loading is None:
            return
        if not loading.done():
            loading.cancel()
        [child] = await asyncio.gather(loading, return_exceptions=True)
        if isinstance(child, Child):
            await child.close()

    async def model(self) -> Child:
        """Loaded again where its process ended."""
        loading = self._loading
        known = loading is not None and loading.done() and not loading.cancelled()
        if loading is not None and known and not loading.exception() and loading.result().ended:
            # The new loading stands there before anything is awaited: other calls join it.
            self._loading = asyncio.create_task(self.load())
            await loading.result().close()
        return await super().model()

    async def load(self) -> Child:
        """Start the process that owns the model."""
        chosen = self._options
        return await Child.start(
            Settings(
                path=str(self._path.resolve()),
                slots=chosen.slots,
                context=chosen.context,
                threads=chosen.threads or len(os.sched_getaffinity(0)),
                batch_tokens=chosen.batch_tokens,
                cache=chosen.cache,
                cache_gib=chosen.cache_gib,
                exact=chosen.exact,
            )
        )


def anew_of(asked: Asked, said: Answered, form: Reply | None) -> Asked | None:
    """The call by which a reply's form is decoded anew, in what is left of its tokens; none where it stays as it is."""
    if form is None or said.fault is not None or said.completion_tokens is None:
        return None
    # What a role may write is one bound for both goes: held to its form a reply must not cost more.
    left = min(asked.max_tokens - said.completion_tokens, FORM_TOKENS)
    begun = standing(said.text, said.finish, form)
    if begun is None or left < 1:
        return None
    return structs.replace(asked, begun=begun, grammar=form_of(form), max_tokens=left)


def ended(said: Answered, stands: str, held: Answered) -> Answered:
    """A reply with the form that was decoded anew, and the tokens of both; as it was where that came to no end.

    The prompt counts once: what was read of it is still there when the form is decoded.
    """
    if held.fault is not None:
        return said
    first, second = said.completion_tokens, held.completion_tokens
    tokens = None if first is None or second is None else first + second
    if held.finish != "stop":
        return structs.replace(said, completion_tokens=tokens)
    # How likely one text is that was decoded in two goes, nobody has said.
    return structs.replace(
        said, text=stands + held.text, finish="stop", completion_tokens=tokens, logprob=None
    )


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
    return structs.replace(asked, **said)


def need_library() -> None:
    """Raises ``SetupBroken`` if the extra that carries OpenVINO is not installed."""
    if importlib.util.find_spec("openvino_genai") is None:
        raise missing("openvino", "OpenVINO", "openvino")


def unreadable(path: Path) -> str | None:
    """What of a file OpenVINO cannot read, for people; nothing where it can."""
    header = header_of(path)
    if header is None:
        return "no GGUF"
    if header.architecture not in ARCHITECTURES:
        return f"architecture {header.architecture}"
    strange = sorted(header.types - TYPES)
    return f"{', '.join(strange)} tensors" if strange else None
