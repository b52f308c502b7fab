"""Requests to llama.cpp: the chat, the sampling, and the grammar of the reply."""

from __future__ import annotations

import re
from typing import Any

import orjson

from streams.answering.backbones.llamacpp.grammar import grammar_of
from streams.answering.backbones.llamacpp.marks import Marks
from streams.answering.backbones.llamacpp.options import Options
from streams.core.backbone import ModelRequest
from streams.core.normalise import encodable

_TURNS = re.compile(r"<(?=\|[^|<>\s]{1,40}\|>|/?s>|(?:start|end)_of_turn>)|\[(?=/?INST\])")
"""Where a mark begins by which models tell who speaks: ``<|im_start|>``, ``<start_of_turn>``, ``[INST]``."""
_SEEDS = (1 << 32) - 1  # the highest one means: any


def body_of(request: ModelRequest, options: Options, marks: Marks) -> bytes:
    """The JSON body of one call. What a role leaves open is llama.cpp's default."""
    sampling = request.sampling
    cap = min(sampling.max_tokens or options.max_tokens, options.max_tokens)
    body: dict[str, Any] = {
        "messages": [{"role": role, "content": spoken(text)} for role, text in request.messages],
        "seed": request.seed % _SEEDS,
        "max_tokens": cap,
        "cache_prompt": options.cache,
        # Streamed although nobody reads along: only between two events can a call be given up.
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    wishes: dict[str, Any] = {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "stop": list(sampling.stop) or None,
        "logprobs": sampling.logprobs or None,
    }
    body |= {name: value for name, value in wishes.items() if value is not None}
    # A small model seldom writes a form by itself. Under the grammar every reply can be read, and
    # costs no second question.
    if options.constrained and request.reply is not None:
        body["grammar"] = grammar_of(request.reply, cap, marks)
    return orjson.dumps(body)


def spoken(text: str) -> str:
    """A message's text without marks of turns: llama.cpp would take one in a problem for the end of it.

    A blank behind a mark's first sign keeps its words and takes its power.
    """
    return _TURNS.sub(lambda found: f"{found[0]} ", encodable(text))
