"""Model replies from an OpenAI-compatible endpoint.

Theory of operation. ``OpenAIBackbone.complete`` makes the body of a request, and ``Persistence`` asks until
something can be recorded: each attempt waits at the endpoint's gate, goes over the line, and teaches what all calls
of that endpoint share (``endpoint``). What comes back are bytes: ``reading`` and ``sse`` make a reply or a
``Fault`` of them, and ``faults`` says whose fault it is. Only that decides whether the call is repeated,
recorded, or raised; ``providers`` asks over another line, and shares all the rest.

The key must never leave: every text that a server wrote passes the ``Site``, which masks it, before it is
logged, raised or recorded. A server that answers anything at all must not bring a worker down, so nothing
that reads its answer raises.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from typing import Protocol

from streams.answering.backbones.openai.body import (
    CAP_NAMES,
    Body,
    adapted,
    body_of,
    left_out,
    refused_by,
    uncapped,
)
from streams.answering.backbones.openai.endpoint import EndpointPool, EndpointState
from streams.answering.backbones.openai.faults import MOMENT, SETUP, Fault, Kind, is_too_long
from streams.answering.backbones.openai.line import Arrived, ChatTransport, need_client
from streams.answering.backbones.openai.options import MODEL, OFFICIAL, Options, Site, find_site
from streams.answering.backbones.openai.persistence import Attempts, Persistence
from streams.answering.backbones.openai.reading import Heard, model_ids, read
from streams.answering.backbones.openai.tools import in_its_form
from streams.answering.backbones.shape import differing
from streams.core.backbone import (
    ModelReply,
    ModelRequest,
    SetupBroken,
    Unreachable,
)

_log = logging.getLogger(__name__)

# Only what changes a reply belongs here, and nothing of how patiently it is asked: backbones of one
# shape stand for each other, and a fork takes the replies of its parent over from one to the other.
SHAPING = ("structured", "native_tools", "reasoning_effort", "chat_template_kwargs", "extra_body")
FINISH: dict[Kind, str] = {"timeout": "timeout", "refusal": "refusal"}  # any other fault: error


class Asking(Protocol):
    """A line that requests go over: one attempt each, as bytes that the chat API could have sent."""

    async def complete(self, body: Body, timeout_s: float | None = None) -> Arrived | Fault:
        """One chat completion, within a time of its own if it has one."""
        ...

    async def models(self) -> Arrived | Fault:
        """The models that can be asked."""
        ...

    async def close(self) -> None:
        """Hang up; closing twice is closing once."""
        ...


class OpenAIBackbone:
    """One endpoint. Arguments win over ``OPENAI_MODEL``, ``OPENAI_BASE_URL``, ``OPENAI_API_KEY``.

    Raises ``SetupBroken`` at once where no call could succeed: no key, no address, no client.
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        key_source: str | None = None,
        url_source: str | None = None,
        options: Options | None = None,
        environ: Mapping[str, str] | None = None,
        pool: EndpointPool | None = None,
    ) -> None:
        # At once, and not at the first call: a worker that can ask nobody must not take problems.
        need_client()
        found = os.environ if environ is None else environ
        site = find_site(
            found,
            model=model,
            base_url=base_url,
            api_key=api_key,
            key_source=key_source,
            url_source=url_source,
        )
        self.begin(site, options or Options(), pool, ChatTransport)

    def begin(
        self,
        site: Site,
        options: Options,
        pool: EndpointPool | None,
        line: Callable[[Site, Options, EndpointState], Asking],
    ) -> None:
        """Set up what lasts from call to call; ``line`` is what requests go over."""
        self._site, self._options = site, options
        self._model = site.model
        # The official endpoint refuses the older name for its newer models; most other servers know
        # no other.
        self._cap_name = CAP_NAMES[site.url == OFFICIAL]
        # Shared with every backbone of this model, whichever role it answers: the endpoint meets
        # one client, and bears only so much of it.
        self._state = (pool or EndpointPool()).state_of(
            site.where, site.model, options.max_connections
        )
        self._line = line(site, options, self._state)
        self._persistence = Persistence(options, self._state)
        self._finding: asyncio.Task[str] | None = None
        # Learned by asking, for nothing tells beforehand what an endpoint takes. It holds for as
        # long as the worker runs, so that a refusal is paid for with one attempt and not with one
        # for each call.
        self._refused: set[str] = set()

    def __repr__(self) -> str:
        return f"OpenAIBackbone({self.name!r}, {self._site.where!r})"

    @property
    def name(self) -> str:
        """``openai:MODEL``; only ``openai`` until the endpoint has said which model it offers."""
        return f"openai:{self._model}" if self._model else "openai"

    @property
    def simulated(self) -> bool:
        """Never: a model is behind it."""
        return False

    @property
    def shape(self) -> str:
        """Options by which it replies otherwise."""
        return differing(self._options, *SHAPING)

    @property
    def limit(self) -> int:
        """Calls that may be in flight now; below ``max_connections`` while the endpoint is busy."""
        return self._state.limiter.limit

    def why(self) -> str | None:
        """Why calls wait, for people; nothing where none does."""
        return self._state.why()

    def drain(self) -> None:
        """Let go of every call that is not under way: it raises ``NotSent``."""
        self._state.gate.stop()

    def watch(self, look: Callable[[], object]) -> None:
        """Call ``look`` before each call goes out, also one that waited for long; it may ``drain``."""
        self._state.gate.look = look

    async def complete(self, request: ModelRequest) -> ModelReply:
        """One reply; a refusal, a timeout and an unreadable answer are replies too.

        Raises ``SetupBroken``, ``Unreachable`` and, once drained, ``NotSent``.
        """
        model = await self.model()
        asked, tally = body_of(request, model, self._options, self._cap_name), Attempts()
        sent = adapted(asked, self._refused)
        # Each round sends less than the one before, so this ends; all its attempts are one call.
        while isinstance(heard := await self._ask(sent, tally, request), Fault):
            other = self._other(asked, sent, heard)
            if other is not None:
                sent = other
                continue
            self._raise(heard, tally)
            # A server that wants another form of messages says of each prompt what it says of all: to record that as
            # replies would close every problem without an answer.
            is_prompts = heard.kind == "error" and not is_too_long(heard)
            if is_prompts and self._state.refuses_all(heard.detail, hash(request.messages)):
                raise SetupBroken("refused", self._site.where, heard.detail)
            _log.warning("%s: recorded as %s: %s", self._site.where, heard.kind, heard.detail)
            return ModelReply(
                text="",
                finish=FINISH.get(heard.kind, "error"),
                detail=heard.detail,
                too_long=is_too_long(heard),
                model=model,
                attempts=tally.attempts,
                free=tally.free,
                seconds=tally.seconds,
            )
        self._state.replied()
        text = self._site.unkeyed(heard.text)
        # A key could be put together again from the tokens of a reply whose text is masked.
        keeps_tokens = self._options.token_logprobs and text == heard.text
        return ModelReply(
            text=text,
            thought=None if heard.thought is None else self._site.unkeyed(heard.thought),
            dropped=left_out(asked, sent),
            finish=heard.finish,
            model=self._site.unkeyed(heard.model or model),
            attempts=tally.attempts,
            free=tally.free,
            prompt_tokens=heard.prompt_tokens,
            completion_tokens=heard.completion_tokens,
            reasoning_tokens=heard.reasoning_tokens,
            cached_tokens=heard.cached_tokens,
            seconds=tally.seconds,
            logprob=heard.logprob,
            answer_logprob=heard.answer_logprob,
            token_logprobs=heard.token_logprobs if keeps_tokens else None,
        )

    def _other(self, asked: Body, sent: Body, fault: Fault) -> Body | None:
        """What to send instead where the endpoint refuses a parameter; none where that is not the fault.

        What it refuses is left out of every later call too, and each reply's record names it.
        """
        refused = refused_by(fault, sent)
        if not refused:
            return uncapped(sent, fault)
        # Calls that were under way together are refused together, and it is said once.
        if not refused <= self._refused:
            self._refused |= refused
            named = " and ".join(sorted(refused))
            _log.warning(
                "%s refuses %s, so it is asked without: %s", self._site.where, named, fault.detail
            )
        return adapted(asked, self._refused)

    async def model(self) -> str:
        """The model that is asked: the one set, else the only one that the endpoint offers.

        Calls that wait for it share one question and its outcome; a later call asks anew.
        """
        if self._model is None:
            if self._finding is None or self._finding.done():
                self._finding = asyncio.create_task(self._find())
            # A call that is cancelled must not take the question from the others that wait for it.
            self._model = await asyncio.shield(self._finding)
        return self._model

    async def close(self) -> None:
        """Close the connections."""
        if self._finding is not None:
            self._finding.cancel()
        await self._line.close()

    async def _ask(self, body: Body, tally: Attempts, request: ModelRequest) -> Heard | Fault:
        async def send() -> Heard | Fault:
            arrived = await self._line.complete(in_its_form(body), request.sampling.timeout_s)
            if isinstance(arrived, Fault):
                return arrived
            # Who says that his limit is used up is believed before he has to refuse: the replies
            # that are under way come first.
            if arrived.hold_s:
                self._persistence.hold(arrived.hold_s)
            heard = read(arrived.raw, self._site.masked)
            return self._site.hidden(heard) if isinstance(heard, Fault) else heard

        return await self._persistence.ask(send, tally, request.seed)

    def _raise(self, fault: Fault, tally: Attempts) -> None:
        where, detail = self._site.where, fault.detail
        # The moment's fault waits until the endpoint is back. The set-up's ends the worker: every
        # problem would meet it, and each would be charged for what is nobody's fault but ours.
        if fault.kind in MOMENT:
            raise Unreachable(where, detail, self._persistence.tried(tally))
        if fault.kind in SETUP:
            said = {
                "auth": f"key refused, {detail}; {self._site.key_source}",
                "quota": f"quota spent, {detail}; {self._site.key_source}",
                "model": f"{self._model or 'no model'} cannot be asked, {detail}",
            }
            raise SetupBroken(fault.kind, where, said.get(fault.kind, detail))

    async def _find(self) -> str:
        """The only model that the endpoint offers. Raises ``SetupBroken`` where there is none or a choice."""
        tally, offered = Attempts(), list[str]()
        found = await self._persistence.ask(self._line.models, tally, 0)
        if not isinstance(found, Fault):
            offered = [self._site.unkeyed(name) for name in model_ids(found.raw)]
        elif found.kind not in ("model", "error", "refusal"):
            # These three kinds mean that it lists no models, which endpoints need not do.
            self._raise(found, tally)
            raise Unreachable(self._site.where, found.detail, self._persistence.tried(tally))
        if len(offered) == 1:
            return offered[0]
        shown = ", ".join(offered[:5]) + (" …" if len(offered) > 5 else "")
        many = f"offers {len(offered)}: {shown}" if offered else "lists none"
        detail = f"no model was chosen and the endpoint {many}; set {MODEL} or --model"
        raise SetupBroken("model", self._site.where, detail)
