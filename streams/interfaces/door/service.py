"""A service of any protocol: it submits its guests' problems within their limits, waits, and finds their episodes.

The HTTP door and the MCP server are two spellings of this. Whatever is a rule (which policies are offered, whose
episodes are whose, what a holder may spend) stands here, so that no protocol can be let off one of them.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import Any

from schemas.answer import Answer
from schemas.identity import requoted
from schemas.problem import ID_CHARS
from schemas.settings import BACKBONE, unoffered
from streams.interfaces.door.access import AGAIN_S, Access, Guest, Refused
from streams.interfaces.door.asking import Way
from streams.interfaces.door.client import Client
from streams.interfaces.door.errors import Error
from streams.interfaces.door.handle import Handle

PATIENCE_S = 600.0
"""How long a request waits for an answer, unless the operator says another time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """The offer of a server: policies by name, and how long one request may take."""

    policies: Sequence[str]
    backbones: Sequence[str] = ()
    """Names of backbones that may answer in the place of the usual one."""
    patience_s: float = PATIENCE_S


@dataclass(frozen=True, slots=True)
class Service:
    """One client of a log, what is offered over it, and who is let in."""

    client: Client
    offer: Offer
    access: Access
    open: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """Episodes of each holder whose answers the door waits for."""
    coming: Counter[str] = field(default_factory=Counter[str])
    """How many problems of each holder are being put."""

    def policy(self, name: str, *, field: str, lists: str) -> str:
        """A policy that is offered. Raises an ``Error`` that says where all of them are listed."""
        if name not in self.offer.policies:
            what = f"no {field} {name[:80]!r}; {lists} names those that there are"
            raise Error(what, code="policy.unknown", field=field)
        return name

    @property
    def models(self) -> list[str]:
        """What may be asked for as a model: a policy, or one with the name of a backbone behind it."""
        named = (
            f"{policy}@{name}" for policy in self.offer.policies for name in self.offer.backbones
        )
        return [*self.offer.policies, *named]

    def model(self, name: str, *, lists: str) -> tuple[str, str | None]:
        """The policy and the backbone that a model's name stands for. Raises an ``Error`` as ``policy`` does."""
        # The policy may be a file whose name has such a sign in it.
        if name in self.offer.policies:
            return name, None
        policy, at, backbone = name.rpartition("@")
        if not at or policy not in self.offer.policies or backbone not in self.offer.backbones:
            return self.policy(name, field="model", lists=lists), None
        return policy, backbone

    def backbone(self, name: str) -> str:
        """A backbone that is offered. Raises an ``Error``."""
        if name not in self.offer.backbones:
            what = unoffered(name, self.offer.backbones)
            raise Error(what, code="backbone.unknown", field=BACKBONE)
        return name

    async def own(self, episode: str, guest: Guest) -> Handle:
        """A handle to a guest's own episode. Raises an ``Error``; of another's it says what it says of none."""
        # The path of a request is decoded once, and with it the quoted parts of an episode's name.
        for name in dict.fromkeys((episode, requoted(episode))):
            if await self.client.memory_of(name) == guest.name:
                return await self.client.find(name)
        # The same error for another's episode as for none at all: names of episodes can be guessed.
        raise Error("no such episode", code="episode.unknown", where=episode[:ID_CHARS])

    async def submit(
        self, guest: Guest, text: str, id: str, policy: str, *, new: bool, **way: Any
    ) -> Handle:
        """Put a guest's problem within its limits and in its memory. Raises ``Refused`` where too many wait."""
        settings = way.get("settings", self.client.way.settings)
        wanted = self.client.way.but({"policy": policy, "settings": settings})
        wanted.need_offered(self.offer.backbones)
        # The least of three: what is asked for, what the guest may spend, and what the operator allows anybody.
        ours = self.client.way
        known: dict[str, Any] = {
            name: min(each for each in limits if each is not None)
            for name, limits in (
                ("call_limit", (way.pop("call_limit", None), guest.call_limit, ours.call_limit)),
                (
                    "token_limit",
                    (way.pop("token_limit", None), guest.token_limit, ours.token_limit),
                ),
            )
            if any(each is not None for each in limits)
        }
        # Put off at once. The client itself would wait for room, and hold a connection for as long.
        if self.client.pending >= self.client.max_pending:
            why = f"{self.client.pending} answers are awaited: come again later"
            raise Refused(429, "rate_limit_exceeded", why, {"retry-after": str(AGAIN_S)})
        # Last, and over whatever was asked for: a holder's memory is what its episodes are told by.
        if guest.is_named:
            known["memory"] = known["tenant"] = guest.name
        asked = way.pop("priority", None) or 0
        known["priority"] = min(asked, guest.priority) or None
        if not guest.is_named:
            return await self.client.submit(text, id=id, policy=policy, new=new, **known, **way)
        need_own_start(wanted, guest)
        # A fair share of what the door waits for: else one that only puts would leave no room for anybody.
        most = max(1, self.client.max_pending // len(self.access.holders))
        theirs = self.open.setdefault(guest.name, set())
        if len(theirs) + self.coming[guest.name] >= most:
            why = f"{most} of your problems are open: come again later"
            raise Refused(429, "rate_limit_exceeded", why, {"retry-after": str(AGAIN_S)})
        # Counted before it is put: many may be on their way at once.
        self.coming[guest.name] += 1
        try:
            handle = await self.client.submit(text, id=id, policy=policy, new=new, **known, **way)
        finally:
            self.coming[guest.name] -= 1
        # By its episode: a problem that is put again is no other one.
        theirs.add(handle.episode)
        handle.when_done(lambda: theirs.discard(handle.episode))
        return handle

    async def waited(self, answer: Awaitable[Answer], seconds: float, again: str) -> Answer:
        """An answer that is awaited. Raises an ``Error`` where it does not come in time; the work goes on.

        ``again`` says how to ask for it later.
        """
        # Only the wait ends. The problem is on the log, and its answer will be there for
        # whoever asks again.
        try:
            async with asyncio.timeout(seconds):
                return await answer
        except TimeoutError:
            raise Error(f"no answer yet: {again}", code="patience") from None
        except Error as error:
            if error.code != "stopping":
                raise
            raise Error(f"{error.detail}: {again}", code=error.code) from None


def need_own_start(way: Way, guest: Guest) -> None:
    """Raise an ``Error`` where a guest's memory would begin with what another's problems taught."""
    policy = way.found()
    values = policy.resolve(way.profile, way.settings)
    source = policy.warm_source(values)
    # By the memory that it names: whether there is such a scope, a guest learns of its own alone.
    if source is not None and source.rpartition("/")[0].rpartition("/")[2] != guest.name:
        what = "begins with the memory of somebody else"
        raise Error(what, code="policy.setting", field="settings.warm_start")
