"""The line to one provider: the library with its retries off, one request an attempt."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from streams.answering.backbones.openai.body import Body
from streams.answering.backbones.openai.endpoint import EndpointState
from streams.answering.backbones.openai.faults import Fault
from streams.answering.backbones.openai.line import Arrived, Clock
from streams.answering.backbones.openai.options import Options
from streams.answering.backbones.openai.proxies import need_http_proxy
from streams.answering.backbones.providers.access import Access
from streams.answering.backbones.providers.clients import Client, Wire, open_client
from streams.answering.backbones.providers.kinds import BEDROCK
from streams.answering.backbones.providers.raised import fault_of
from streams.answering.backbones.providers.told import told
from streams.core.backbone import SetupBroken

NAMED = frozenset(
    {
        *("model", "messages", "seed", "temperature", "top_p", "max_tokens", "stop"),
        *("logprobs", "response_format", "reasoning_effort", "tools"),
    }
)
"""What the library has a name for; all else goes to the provider as it stands."""


class ProviderLine:
    """Sends bodies, brings back replies or says why not. The library is loaded at the first one."""

    def __init__(
        self, access: Access, options: Options, state: EndpointState, environ: Mapping[str, str]
    ) -> None:
        self.access, self.options, self.state = access, options, state
        self._environ = environ
        self._opening: dict[float, asyncio.Task[Client]] = {}
        self._closed = False

    async def complete(self, body: Body, timeout_s: float | None = None) -> Arrived | Fault:
        """One reply, in the form of a chat completion. Only our own clock makes a timeout."""
        client = await self.opened(timeout_s)
        call = {name: value for name, value in body.items() if name in NAMED}
        extra = {name: value for name, value in body.items() if name not in NAMED}
        if extra and self.access.provider.name == BEDROCK:
            call["additionalModelRequestFields"] = extra
        elif extra and self.access.provider.name == "gemini":
            call["http_options"] = {"extra_body": extra}
        elif extra:
            call["extra_body"] = extra
        wire, clock = Wire(), Clock(self.options, timeout_s)
        # One client serves all calls at once; the context of this call tells its hook whose reply
        # came in.
        noted = client.wire.set(wire)
        try:
            async with clock.limit:
                # Untyped here: whether it streams hangs on its arguments.
                library: Any = client.library
                completion: Any = await library.acompletion(**call)
        except Exception as error:
            site = self.access.site
            if clock.limit.expired():
                return Fault("timeout", clock.told)
            fault = fault_of(self.access, error, self.options.connect_s)
            # Whatever the library makes of a reply that came: the reply is at fault, not our set-up. A
            # client that fails before anything came would fail for every problem, and must not charge
            # one of them.
            if fault is None and wire.answered:
                said = f"a reply that the library cannot read: {type(error).__name__}"
                fault = Fault("junk", said)
            if fault is None:
                detail = site.hidden(Fault("error", f"{type(error).__name__}: {error}")).detail
                raise SetupBroken("client", site.where, detail) from error
            return site.hidden(fault)
        finally:
            clock.close()
            client.wire.reset(noted)
        body_told = completion.model_dump(mode="json")
        return Arrived(told(self.access.provider, body_told, bytes(wire.body)), wire.hold_s)

    async def models(self) -> Arrived | Fault:
        """None: the model is always chosen."""
        return Fault("model", "no model was chosen", free=True)

    async def close(self) -> None:
        """Hang up; closing twice is closing once."""
        opening, self._opening, self._closed = self._opening, {}, True
        for each in opening.values():
            try:
                client = await each
            except SetupBroken:
                continue
            await client.close()

    async def opened(self, timeout_s: float | None = None) -> Client:
        """The client; calls that wait for it share one. Raises ``SetupBroken`` where there can be none.

        Bedrock's has a clock of its own, which must not be the first to end a call: longer calls have another.
        """
        if self._closed:
            raise RuntimeError(f"the backbone at {self.access.site.where} is closed")
        most = self.options.timeout_s
        if self.access.provider.name == BEDROCK and timeout_s is not None:
            # Never shorter: one client serves all shorter calls, and each client holds connections
            # of its own.
            most = max(most, timeout_s)
        if most not in self._opening:
            self._opening[most] = asyncio.create_task(self._open(most))
        return await asyncio.shield(self._opening[most])

    async def _open(self, timeout_s: float) -> Client:
        need_http_proxy(self.access.site)
        options = replace(self.options, timeout_s=timeout_s)
        try:
            # In a thread: to load it takes seconds, in which other calls go on.
            return await asyncio.to_thread(open_client, self.access, options, self._environ)
        except Exception as error:
            site = self.access.site
            said = site.hidden(Fault("error", f"{type(error).__name__}: {error}")).detail
            detail = f"no client can be made: {said}"
            raise SetupBroken("client", site.where, detail) from error
