"""Anthropic, Gemini, Bedrock and Azure as backbones, each by its own name: ``anthropic:MODEL``.

A library of many providers (any-llm) says a chat completion in each one's own format and reads the reply back. All
else is ours and the same as for any endpoint: turns, retries, pauses, clocks, what a failure stands for, which
parameter is left out. So ``ProviderBackbone`` is the backbone of ``openai`` with another line:

- ``kinds`` is the table: where each provider's key and address stand, what it cannot be asked, its names of things;
- ``access`` finds key and address, and keeps them together: a key goes nowhere else;
- ``clients`` makes the library's client over a transport of ours, which follows no redirect and reads no flood;
- ``line`` sends one request an attempt; ``raised`` and ``refusals`` say what came instead of a reply;
- ``told`` writes a reply down as the chat API would have said it, which is what ``openai.reading`` reads.

The library is loaded at the first request, in a thread: it takes seconds. Key and address are given to it, whatever
its own variables say, and it never asks twice.
"""

from __future__ import annotations

from streams.answering.backbones.providers.backbone import ProviderBackbone
from streams.answering.backbones.providers.kinds import KINDS, Options

__all__ = ["KINDS", "Options", "ProviderBackbone"]
