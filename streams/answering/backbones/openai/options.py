"""Where the endpoint is, who asks, and how patiently."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

import orjson

from streams.answering.backbones.openai.faults import Fault
from streams.answering.backbones.openai.masking import SHORTEST_KEY, masked
from streams.core.backbone import SetupBroken

OFFICIAL = "https://api.openai.com/v1"
KEY, URL, MODEL = "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"
NO_KEY = "none"  # what a server without keys is sent
SEEDS = ("used", "true", "false")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to ask. Times are in seconds.

    ``timeout_s`` bounds one attempt from its request to its last byte, ``idle_s`` the silence within a
    streamed one. ``max_attempts`` counts the attempts that no server answered or that one put off; what
    timed out or came back unreadable is tried once more whatever it says. After ``hedge_s`` without a
    reply a second attempt runs beside the first, and both may be charged: off (0) unless asked for.
    ``send_seed`` tells a seed where something uses it (``used``), always (``true``) or never (``false``).
    ``native_tools`` tells the tools of a role that has some, and reads and shows calls in the API's own form.
    ``token_logprobs`` asks for every token's log-probability and has the record keep it, for training.
    ``reasoning_effort`` goes along as it stands, ``chat_template_kwargs``
    and ``extra_body`` are JSON objects; the latter's fields join the body, above all that we send.
    """

    stream: bool = False
    structured: bool = False
    native_tools: bool = False
    token_logprobs: bool = False
    send_seed: str = "used"
    max_connections: int = 64
    connect_s: float = 5.0
    timeout_s: float = 120.0
    idle_s: float = 60.0
    hedge_s: float = 0.0
    max_attempts: int = 5
    backoff_s: float = 0.5
    longest_pause_s: float = 60.0
    reasoning_effort: str = ""
    chat_template_kwargs: str = ""
    extra_body: str = ""

    def __post_init__(self) -> None:
        # Looked at here, where the option was written, and not at the first call of a worker. Without
        # time every call would be recorded as a timeout, and might be paid for.
        for name in ("max_connections", "max_attempts", "connect_s", "timeout_s", "idle_s"):
            if not getattr(self, name) > 0:
                raise ValueError(f"openai option {name} must be more than 0")
        for name in ("hedge_s", "backoff_s", "longest_pause_s"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"openai option {name} must be at least 0")
        for name in ("chat_template_kwargs", "extra_body"):
            text = getattr(self, name)
            try:
                value: object = orjson.loads(text) if text else {}
            except ValueError as error:
                raise ValueError(f"openai option {name} is no JSON: {error}") from None
            if not isinstance(value, dict):
                raise ValueError(f"openai option {name} must be a JSON object")
        if self.send_seed not in SEEDS:
            raise ValueError(
                f"openai option send_seed must be {', '.join(SEEDS)}, not {self.send_seed!r}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """An endpoint and the key for it. The key never shows; where it came from does."""

    url: str
    key: str = field(repr=False)
    key_source: str
    model: str | None

    @property
    def where(self) -> str:
        """The address for people: no user, password or query."""
        return shown(self.url)

    def masked(self, text: str) -> str:
        """The text without the key, should a server repeat it, in whatever spelling."""
        return text if self.key == NO_KEY else masked(text, self.key)

    def unkeyed(self, text: str) -> str:
        """A reply without the key. A key as short as ``EMPTY`` stays: it is a word that a reply may well hold."""
        # A word like this would be torn out of honest replies, which the record has to hold as they
        # were.
        return text if len(self.key) < SHORTEST_KEY else self.masked(text)

    def hidden(self, fault: Fault) -> Fault:
        """The fault without the key."""
        return replace(fault, detail=self.masked(fault.detail))


def shown(url: str) -> str:
    """An address for people: no user, password or query."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "no address"
    host = parts.netloc.rpartition("@")[2]
    before = f"{parts.scheme}://" if parts.scheme else "//"
    return f"{before if host else ''}{host}{parts.path}".rstrip("/")


def names_host(url: str) -> bool:
    """Whether an address names a host, and a port that there can be if it names one."""
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False


def find_site(
    environ: Mapping[str, str],
    *,
    model: str | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
    key_source: str | None = None,
    url_source: str | None = None,
) -> Site:
    """The endpoint as the arguments say, else as the environment does. Raises ``SetupBroken``.

    ``url_source`` says where the address comes from, if from a place that the key is not entrusted to.
    """
    url = base_url or environ.get(URL) or OFFICIAL
    key = (api_key or environ.get(KEY) or "").strip()
    source = key_source or ("the command line" if api_key else KEY)
    if not url.startswith(("http://", "https://")):
        raise SetupBroken("model", "openai", f"{URL} must begin with http:// or https://")
    if not names_host(url):
        raise SetupBroken("model", "openai", f"{URL} names no host and port that there can be")
    if not key and url == OFFICIAL:
        raise SetupBroken("auth", url, f"no key: set {KEY}, or {URL} to a server that needs none")
    # A file of the working directory may name an address, but must not lead a key there that a person
    # set in the environment: whoever wrote that file may be somebody else.
    if key and url_source is not None and urlsplit(url)[:2] != urlsplit(OFFICIAL)[:2]:
        raise SetupBroken(
            "auth",
            urlsplit(url).netloc.rpartition("@")[2],
            f"the key from {source} is not sent there: {url_source} is a file of the working "
            f"directory; say the address on the command line, --base-url, or in the environment, {URL}",
        )
    # Said here by name: the client would refuse it in every call, with an error that quotes the
    # header and so the key.
    if not (key.isascii() and key.isprintable()):
        raise SetupBroken(
            "auth", shown(url), f"the key from {source} holds what no HTTP header can carry"
        )
    said = f"key from {source}" if key else f"no key was sent, {KEY} is not set"
    chosen = model or environ.get(MODEL) or None
    return Site(url=url, key=key or NO_KEY, key_source=said, model=chosen)
