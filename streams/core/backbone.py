"""The port that every model backbone implements, and how a broken set-up shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from msgspec import Struct

from schemas.prompt import Message, Tool
from schemas.questions import Sampling
from schemas.reply import Reply


class ModelRequest(Struct, frozen=True):
    """One call. ``seed`` is the endpoint's; ``draw`` tells equal prompts of one episode apart.

    ``seeded`` says whether anything hangs on the seed: endpoints are not told of another. Models of this
    machine draw by it all the same.

    ``schema`` is the JSON Schema of the reply, for servers that can constrain their output by one;
    ``reply`` its declaration, for those that take a grammar.
    """

    messages: tuple[Message, ...]
    sampling: Sampling
    seed: int
    draw: int = 0
    schema: dict[str, Any] | None = None
    reply: Reply | None = None
    seeded: bool = True
    tools: tuple[Tool, ...] = ()
    """What the reply may call; the messages name it too, so a backbone need not know of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """A model's reply. Numbers that the server did not state are ``None``: unknown, never zero.

    ``finish`` is one of ``stop length refusal timeout error``: the last three are replies too, and
    are recorded like any other. ``attempts`` counts transport attempts, this one included; ``free``
    says that those which brought nothing can have cost nothing.
    """

    text: str
    finish: str
    model: str
    attempts: int = 1
    free: bool = True
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None
    logprob: float | None = None
    answer_logprob: float | None = None
    """Mean over the tokens of the answer that the reply marks, where its server tells each token's."""
    token_logprobs: tuple[tuple[str, float], ...] | None = None
    """Each token with its log-probability, where that is to be kept."""
    thought: str | None = None
    """What the model thought before it replied, where the server tells it apart."""
    dropped: tuple[str, ...] = ()
    """Parameters that the endpoint refuses, so that it was asked without them."""
    detail: str = ""
    """What was said in the stead of a reply, if there is none."""
    too_long: bool = False
    """Whether there is no reply because the prompt is longer than the model takes."""


class BackboneError(Exception):
    """Base of what a backbone raises instead of replying."""


class SetupBroken(BackboneError):
    """Nothing can be asked until a person mends the set-up: key refused, unknown model, spent quota.

    A state of the worker, never an outcome of a problem. ``code`` is ``auth``, ``model``, ``quota``,
    ``refused`` (whatever is asked), ``moved``, ``proxy``, ``tls``, ``extra``, ``price``, ``embedder``, ``tools``,
    ``forgetting``, ``client``, or ``backbone``: an error nobody foresaw.
    """

    def __init__(self, code: str, where: str, detail: str) -> None:
        super().__init__(f"{where}: {detail}")
        self.code, self.where, self.detail = code, where, detail


# Kept apart, since they are waited for differently (``streams.answering.retries``): an endpoint that
# is busy will answer when there is room, one that fails at this question may never answer it.
Silence: TypeAlias = Literal["lost", "busy", "error"]
"""Nothing came back; the endpoint put us off; it answered that it failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """The effort that a question without a reply took, and what its endpoint did for others meanwhile.

    ``answered`` counts all replies of the endpoint so far, ``failures`` those of its failures in a row;
    ``again`` tells whether it may be asked now. ``pause_s`` is what the endpoint asked for at last, if it did.
    """

    attempts: int = 0
    seconds: float = 0.0
    free: bool = True
    silence: Silence = "lost"
    answered: int = 0
    failures: int = 0
    again: Callable[[], bool] | None = None
    pause_s: float | None = None


NOT_TRIED = Tried()


class Unreachable(BackboneError):
    """No server answered, after the backbone's own retries; worth asking again later."""

    def __init__(self, where: str, detail: str, tried: Tried = NOT_TRIED) -> None:
        super().__init__(f"{where}: {detail}")
        self.where, self.detail, self.tried = where, detail, tried


class Stuck(BackboneError):
    """One question gets no answer, whatever its endpoint does for others: it waits for a person."""


# ``NotSent`` and ``Unreachable`` differ in what they prove: a call that was not sent cannot
# have cost anything.
class NotSent(BackboneError):
    """The worker stops, so a call that waited for its turn or its next attempt was not made."""


class NotRecorded(BackboneError):
    """A recorded backbone has no reply to this prompt and draw; it fails closed."""


class Backbone(Protocol):
    """A source of model replies."""

    # A backbone returns refusals, timeouts and errors of a model as replies, since they are
    # outcomes of the question. It raises only where nothing may be recorded.

    @property
    def name(self) -> str:
        """Kind and model, such as ``openai:gpt-4o-mini``."""
        ...

    @property
    def simulated(self) -> bool:
        """Whether no model is behind it."""
        ...

    async def complete(self, request: ModelRequest) -> ModelReply:
        """One reply. Raises ``SetupBroken``, ``Unreachable`` or ``NotRecorded``."""
        ...

    async def close(self) -> None:
        """Release connections and processes."""
        ...


# Apart from ``Backbone``, since recorded replies and models of this machine never wait for anybody.
@runtime_checkable
class Endpoint(Protocol):
    """A backbone whose calls wait for each other and for a server."""

    def drain(self) -> None:
        """Let go of every call that is not under way: it raises ``NotSent``."""
        ...

    def watch(self, look: Callable[[], object]) -> None:
        """Call ``look`` before each call goes out, also one that waited for long; it may ``drain``."""
        ...

    def why(self) -> str | None:
        """Why calls wait, for people; nothing where none does."""
        ...
