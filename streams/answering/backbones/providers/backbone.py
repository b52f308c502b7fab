"""Model replies from a provider, asked with the care that every endpoint is asked with."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from dataclasses import replace

from streams.answering.backbones.openai import OpenAIBackbone
from streams.answering.backbones.openai.endpoint import EndpointPool, EndpointState
from streams.answering.backbones.openai.options import Options as BaseOptions
from streams.answering.backbones.openai.options import Site
from streams.answering.backbones.providers.access import PlaceOf, find_access
from streams.answering.backbones.providers.kinds import BEDROCK, KINDS, Options
from streams.answering.backbones.providers.line import ProviderLine
from streams.core.backbone import ModelReply, ModelRequest, SetupBroken
from streams.support.extras import install

NEEDED = ("any_llm", "httpx", "google.genai", "boto3")
MOST_THREADS = 32
"""Threads of asyncio's own; a call to Bedrock blocks one until its reply is there."""


class ProviderBackbone(OpenAIBackbone):
    """One model of one provider; its key and address come from the environment.

    Raises ``SetupBroken`` at once where no call could succeed: no extra, no key, no address, no model.
    """

    def __init__(
        self,
        kind: str,
        model: str | None = None,
        *,
        options: Options | None = None,
        environ: Mapping[str, str] | None = None,
        place_of: PlaceOf | None = None,
        pool: EndpointPool | None = None,
    ) -> None:
        for name in NEEDED:
            try:
                there = importlib.util.find_spec(name) is not None
            except ModuleNotFoundError:  # nor is the package that it would be in
                there = False
            if not there:
                way = f"{install('providers')}, or make providers in a checkout"
                raise SetupBroken("extra", kind, f"{name} is not installed: {way}")
        found = self._environ = os.environ if environ is None else environ
        self._access = access = find_access(KINDS[kind], model, found, place_of)
        options = options or Options()
        if kind == BEDROCK:
            # A place at the gate without a thread behind it would wait where no clock sees it.
            threads = min(MOST_THREADS, (os.cpu_count() or 1) + 4)
            options = replace(options, max_connections=min(options.max_connections, threads))
        self.begin(access.site, options, pool, self._over)
        # What it has no word for is left out like what it refuses: on the record. Of a cap's two names it has one.
        self._cap_name = "max_tokens"
        self._refused |= {*access.provider.lacks, "max_completion_tokens"}

    async def complete(self, request: ModelRequest) -> ModelReply:
        """One reply, as the base has it. The library is loaded before: that is no endpoint's slowness."""
        await self.line.opened()
        return await super().complete(request)

    def _over(self, site: Site, options: BaseOptions, state: EndpointState) -> ProviderLine:
        self.line = ProviderLine(self._access, options, state, self._environ)
        return self.line

    @property
    def name(self) -> str:
        """``KIND:MODEL``, such as ``anthropic:claude-sonnet-4-5``."""
        return f"{self._access.provider.name}:{self._access.site.model}"
