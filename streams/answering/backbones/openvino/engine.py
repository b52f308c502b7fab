"""A loaded model that takes calls at any time and decodes all of them together, one step at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from streams.answering.backbones.openvino.messages import Answered, Asked, Settings

TOP_K, MIN_P = 40, 0.05
"""llama.cpp's defaults: from all of a vocabulary a draw is easily nonsense."""


@dataclass(slots=True)
class _Call:
    """A call under way: what it has come to so far, token by token."""

    asked: Asked
    handle: Any
    prompt_tokens: int
    tokens: list[int] = field(default_factory=list[int])
    logprobs: list[float] = field(default_factory=list[float])
    finish: str = "error"

    def hear(self, reasons: Any) -> None:
        """Take what was decoded since the last step; ``reasons`` are the library's to finish."""
        finishes = {reasons.STOP: "stop", reasons.LENGTH: "length"}
        while self.handle.can_read():
            for output in self.handle.read().values():
                self.tokens.extend(output.generated_ids)
                self.logprobs.extend(output.generated_log_probs)
                self.finish = finishes.get(output.finish_reason, self.finish)

    def answered(self, tokenizer: Any) -> Answered:
        """The reply, once it is whole."""
        known = [each for each in self.logprobs if math.isfinite(each)]
        # One token of unknown likelihood makes the mean unknown, and not a mean over the others.
        whole = bool(known) and len(known) == len(self.tokens)
        return Answered(
            number=self.asked.number,
            text=tokenizer.decode(self.tokens) if self.tokens else "",
            finish=self.finish,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=len(self.tokens),
            logprob=math.fsum(known) / len(known) if whole else None,
        )


class Engine:
    """OpenVINO's continuous batching. Raises ``RuntimeError`` if it cannot load the file."""

    def __init__(self, settings: Settings) -> None:
        self._library: Any = import_module("openvino_genai")
        self._context = settings.context
        scheduler = self._library.SchedulerConfig()
        scheduler.max_num_seqs = settings.slots
        scheduler.max_num_batched_tokens = max(settings.batch_tokens, settings.slots)
        scheduler.enable_prefix_caching = settings.cache
        scheduler.cache_size = settings.cache_gib
        # A thread that is tied to a core waits there for whoever else is busy on it.
        device: dict[str, object] = {
            "INFERENCE_NUM_THREADS": settings.threads,
            "ENABLE_CPU_PINNING": False,
        }
        if settings.exact:
            # Otherwise activations are rounded in groups, differently in batches of other sizes.
            device["DYNAMIC_QUANTIZATION_GROUP_SIZE"] = 0
        self._pipeline: Any = self._library.ContinuousBatchingPipeline(
            settings.path, scheduler, "CPU", device
        )
        self._tokenizer: Any = self._pipeline.get_tokenizer()
        self._calls: dict[int, _Call] = {}

    @property
    def busy(self) -> bool:
        """Whether a step would compute anything."""
        return bool(self._pipeline.has_non_finished_requests())

    def take(self, asked: Asked) -> Answered | None:
        """Begin a call; a reply at once only where it cannot be one."""
        history = [{"role": role, "content": text} for role, text in asked.messages]
        try:
            prompt = self._tokenizer.apply_chat_template(history, add_generation_prompt=True)
            # The template has written the special tokens already; a second beginning would change
            # every reply.
            ids = self._tokenizer.encode(prompt + asked.begun, add_special_tokens=False).input_ids
            count = int(ids.shape[1])
            if count >= self._context:
                fault = f"a prompt of {count} tokens; there is room for {self._context}"
                return Answered(number=asked.number, fault=fault, too_long=True)
            wanted = self._library.GenerationConfig()
            wanted.max_new_tokens = min(asked.max_tokens, self._context - count)
            wanted.logprobs = 1
            wanted.do_sample = asked.temperature > 0
            if wanted.do_sample:
                wanted.temperature, wanted.rng_seed = asked.temperature, asked.seed
                wanted.top_p, wanted.top_k, wanted.min_p = asked.top_p, TOP_K, MIN_P
            if asked.grammar is not None:
                held = self._library.StructuredOutputConfig(grammar=asked.grammar)
                wanted.structured_output_config = held
            if asked.stop:
                wanted.stop_strings = set(asked.stop)
            handle = self._pipeline.add_request(asked.number, ids, wanted)
        except RuntimeError as error:
            return Answered(number=asked.number, fault=str(error))
        self._calls[asked.number] = _Call(asked, handle, count)
        return None

    def give_up(self, number: int) -> None:
        """Stop decoding a call, if it is under way."""
        call = self._calls.pop(number, None)
        if call is not None:
            call.handle.cancel()

    def step(self) -> Iterator[Answered]:
        """Compute once, for all; the replies that are whole now."""
        try:
            self._pipeline.step()
        except RuntimeError as error:
            # A step computes for all calls at once, so that nobody can say whose fault it was.
            for number in list(self._calls):
                self.give_up(number)
                yield Answered(number=number, fault=str(error))
            return
        for call in list(self._calls.values()):
            call.hear(self._library.GenerationFinishReason)
            status, number = self._library.GenerationStatus, call.asked.number
            if (now := call.handle.get_status()) == status.RUNNING:
                continue
            del self._calls[number]
            if now == status.FINISHED:
                yield call.answered(self._tokenizer)
            else:
                yield Answered(number=number, fault=f"no room for it: {now.name}")
