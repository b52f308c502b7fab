"""Where the endpoint is, who asks, and how patiently."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from streams.backbones.openai.faults import Fault
from streams.backbones.port import SetupBroken

OFFICIAL = "https://api.openai.com/v1"
KEY, URL, MODEL = "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"
NO_KEY = "none"  # what a server without keys is sent


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to ask. Times are in seconds.

    ``timeout_s`` bounds one attempt from its request to its last byte, ``idle_s`` the silence within a
    streamed one. ``max_attempts`` counts the attempts that no server answered or that one put off; what
    timed out or came back unreadable is tried once more whatever it says. After ``hedge_s`` without a
    reply a second attempt runs beside the first, and both may be charged: off (0) unless asked for.
    ``send_seed`` off is for endpoints that refuse a seed.
    """

    stream: bool = False
    structured: bool = False
    send_seed: bool = True
    max_connections: int = 64
    connect_s: float = 5.0
    timeout_s: float = 120.0
    idle_s: float = 60.0
    hedge_s: float = 0.0
    max_attempts: int = 5
    backoff_s: float = 0.5
    longest_pause_s: float = 60.0


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
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}".rstrip("/")

    def hidden(self, fault: Fault) -> Fault:
        """The fault without the key, should a server repeat it."""
        if self.key == NO_KEY:
            return fault
        return replace(fault, detail=fault.detail.replace(self.key, "[key]"))


def find_site(
    environ: Mapping[str, str],
    *,
    model: str | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
    key_source: str | None = None,
) -> Site:
    """The endpoint as the arguments say, else as the environment does. Raises ``SetupBroken``."""
    url = base_url or environ.get(URL) or OFFICIAL
    key = (api_key or environ.get(KEY) or "").strip()
    source = key_source or ("the command line" if api_key else KEY)
    if not url.startswith(("http://", "https://")):
        raise SetupBroken("model", "openai", f"{URL} must begin with http:// or https://")
    if not key and url == OFFICIAL:
        raise SetupBroken("auth", url, f"no key: set {KEY}, or {URL} to a server that needs none")
    if not (key.isascii() and key.isprintable()):
        raise SetupBroken("auth", url, f"the key from {source} holds what no HTTP header can carry")
    said = f"key from {source}" if key else f"no key was sent, {KEY} is not set"
    chosen = model or environ.get(MODEL) or None
    return Site(url=url, key=key or NO_KEY, key_source=said, model=chosen)
