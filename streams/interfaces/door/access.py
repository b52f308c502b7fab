"""Access to a door: holders of tokens, each with a memory and limits of its own, or anybody on loopback."""

from __future__ import annotations

import hmac
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, PositiveInt, StringConstraints, ValidationError

from schemas.faults import first_fault
from schemas.problem import Count, Name, Priority, begins_with
from streams.interfaces.door.errors import Error
from streams.support.yamls import Flaw, document

ANYBODY = "main"
"""The memory of who comes without a token, where none is asked for."""
AT_ONCE = 64
"""Requests that are worked on at once for one holder, unless the tokens' file says another number."""
AGAIN_S = 2
"""When somebody who was put off may come again, in seconds."""


class Holder(BaseModel):
    """A holder as the tokens' file describes it; ``sha256`` is the digest of the token, which is never written down."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    at_once: PositiveInt = AT_ONCE
    call_limit: Count | None = None
    token_limit: Count | None = None
    priority: Priority = 0
    """The highest that its requests may ask for."""


class TokensFile(BaseModel):
    """Holders by name. The name is also that of the memory that is theirs alone."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # A mapping by name, so that no two holders can share a memory, or its limits.
    holders: dict[Name, Holder]


@dataclass(frozen=True, slots=True)
class Guest:
    """A guest of the door: the memory that is theirs, and their limits."""

    name: str
    at_once: int = AT_ONCE
    call_limit: int | None = None
    token_limit: int | None = None
    priority: int = 9
    """The highest priority that it may ask for."""
    is_named: bool = False
    """Whether a token said who it is."""

    def own_id(self, id: str) -> str:
        """A problem's id that no other holder's is equal to."""
        return begins_with(self.name) + id if self.is_named else id

    def keyed_id(self, key: str) -> str:
        """The id of what came under an idempotency key."""
        # Digested, as a key may be of any length and hold what no id may.
        named = sha256(f"{self.name}\n{key}".encode("utf-8", "surrogatepass")).hexdigest()
        return self.own_id(f"key-{named}")


class Refused(Exception):
    """A request is not let in: the status, and why."""

    def __init__(self, status: int, code: str, why: str, headers: Mapping[str, str]) -> None:
        super().__init__(why)
        self.status, self.code, self.why, self.headers = status, code, why, dict(headers)


@dataclass(slots=True)
class Access:
    """The holders that a door lets in, and how many requests of each it works on now."""

    holders: Mapping[str, Holder] = field(default_factory=dict[str, Holder])
    busy: Counter[str] = field(default_factory=Counter[str])

    @property
    def is_open(self) -> bool:
        """Whether anybody is let in."""
        return not self.holders

    def guest(self, authorization: str | None) -> Guest:
        """Return the guest who sends this header ``Authorization``. Raises ``Refused`` for nobody whom we know."""
        if self.is_open:
            return Guest(ANYBODY)
        kind, _, token = (authorization or "").partition(" ")
        given = sha256(token.strip().encode()).hexdigest()
        found: str | None = None
        # All of them are compared, and each in constant time: how long it took tells
        # nothing of whose it is.
        for name, holder in self.holders.items():
            if hmac.compare_digest(holder.sha256, given):
                found = name
        if kind.lower() != "bearer" or found is None:
            headers = {"www-authenticate": "Bearer"}
            raise Refused(401, "invalid_api_key", "a bearer token of this door is needed", headers)
        holder = self.holders[found]
        limits = holder.call_limit, holder.token_limit, holder.priority
        return Guest(found, holder.at_once, *limits, is_named=True)

    @contextmanager
    def place(self, guest: Guest) -> Generator[None]:
        """A place among those that are worked on at once. Raises ``Refused`` where all of the guest's are taken."""
        if self.busy[guest.name] >= guest.at_once:
            why = f"{guest.at_once} requests are being worked on: come again later"
            raise Refused(429, "rate_limit_exceeded", why, {"retry-after": str(AGAIN_S)})
        # Counted without a lock: there is no await between the look and the count.
        self.busy[guest.name] += 1
        try:
            yield
        finally:
            self.busy[guest.name] -= 1


def access_of(path: str | None) -> Access:
    """Return the access that a tokens' file grants; anybody without one. Raises an ``Error`` naming what is wrong in
    it.
    """
    if path is None:
        return Access()
    try:
        said = document(Path(path).read_text(encoding="utf-8"))
        holders = TokensFile.model_validate(said).holders
    except OSError as error:
        what = error.strerror or str(error)
        raise Error(what, code="serve.tokens", where=path, field="tokens") from error
    except Flaw as error:
        what = f"line {error.line}: {error}"
        raise Error(what, code="serve.tokens", where=path, field="tokens") from error
    except UnicodeDecodeError as error:
        raise Error("not YAML", code="serve.tokens", where=path, field="tokens") from error
    except ValidationError as error:
        place, what = first_fault(error)
        raise Error(what, code="serve.tokens", where=path, field=place) from error
    # An empty list would let anybody in, which nobody means who writes such a file.
    if not holders:
        raise Error("nobody is named", code="serve.tokens", where=path, field="holders")
    return Access(holders)
