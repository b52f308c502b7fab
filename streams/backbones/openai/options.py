"""Where the endpoint is, who asks, and how patiently."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import urlsplit

from streams.backbones.port import SetupBroken

OFFICIAL = "https://api.openai.com/v1"
KEY, URL, MODEL = "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"
NO_KEY = "none"  # what a server without keys is sent


class Tokens(Protocol):
    """What a server said of the tokens that it used."""

    @property
    def prompt_tokens(self) -> int | None: ...
    @property
    def completion_tokens(self) -> int | None: ...
    @property
    def cached_tokens(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class Price:
    """What a million tokens cost, in one currency throughout; cached ones as others unless said."""

    prompt: float
    completion: float
    cached: float | None = None

    def of(self, used: Tokens) -> float | None:
        """What a completion cost; unknown where its tokens are."""
        if used.prompt_tokens is None or used.completion_tokens is None:
            return None
        cached = min(used.cached_tokens or 0, used.prompt_tokens)
        cheap = self.prompt if self.cached is None else self.cached
        asked = (used.prompt_tokens - cached) * self.prompt + cached * cheap
        return (asked + used.completion_tokens * self.completion) / 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to ask. Times are in seconds.

    ``timeout_s`` bounds one attempt from its request to its last byte. ``max_attempts`` counts the
    attempts that no server answered or that one put off; what timed out or came back unreadable is
    tried once more whatever it says. ``send_seed`` off is for endpoints that refuse a seed.
    """

    stream: bool = False
    structured: bool = False
    send_seed: bool = True
    prices: Mapping[str, Price] = field(default_factory=dict[str, Price])
    max_connections: int = 64
    connect_s: float = 5.0
    timeout_s: float = 120.0
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

    def redact(self, text: str) -> str:
        """The text without the key, should a server repeat it."""
        return text if self.key == NO_KEY else text.replace(self.key, "[key]")


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
    key = api_key or environ.get(KEY)
    source = key_source or ("the command line" if api_key else KEY)
    if not url.startswith(("http://", "https://")):
        raise SetupBroken("model", "openai", f"{URL} must begin with http:// or https://")
    if not key and url == OFFICIAL:
        raise SetupBroken("auth", url, f"no key: set {KEY}, or {URL} to a server that needs none")
    said = f"key from {source}" if key else f"no key was sent, {KEY} is not set"
    chosen = model or environ.get(MODEL) or None
    return Site(url=url, key=key or NO_KEY, key_source=said, model=chosen)
