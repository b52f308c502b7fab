"""The `serve` and `mcp` commands: who is let in, what is offered, where it listens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from streams.interfaces.cli.dashboarding import hosts_of, listening_at, named
from streams.interfaces.cli.errors import OK, USAGE, CliError, usage
from streams.interfaces.cli.kafka_log import is_kafka
from streams.interfaces.cli.observing import need_extra, place_of
from streams.interfaces.cli.observing import serving as observed
from streams.interfaces.cli.opening import log_url
from streams.interfaces.cli.output import say
from streams.interfaces.cli.setup import Models, offered_by, policy_of

if TYPE_CHECKING:
    import socket

    from starlette.types import ASGIApp

    from schemas.problem import Limits
    from streams.interfaces.door.client import Client
    from streams.interfaces.door.pages import Requests
    from streams.interfaces.door.service import Service
    from streams.support.web.hosts import Hosts


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """The offer of a server, and for whom it is."""

    policies: Sequence[str] = ()
    names: Sequence[str] = ()
    origins: Sequence[str] = ()
    tokens: str | None = None
    limits: Limits
    max_concurrency: int = 256
    patience_s: float | None = None
    metrics: str | None = None
    """Where a supervisor and Prometheus ask, HOST:PORT."""


def serve(log: str | None, models: Models, wanted: Serving, *, listen: str) -> int:
    """Serve programs until told to end; the exit code. Raises a ``CliError`` where the set-up is wrong."""
    need_extra("fastapi", "serve")
    need_extra("uvicorn", "serve")
    # After the extras were looked for, which say how to install what is missing; an import would
    # only fail.
    from streams.interfaces.door.http.app import app_of

    return _over_http(log, models, wanted, listen, app_of, "/v1")


def mcp(log: str | None, models: Models, wanted: Serving, *, listen: str | None) -> int:
    """Serve assistants until told to end; the exit code. Raises a ``CliError`` where the set-up is wrong."""
    need_extra("mcp", "mcp")
    if listen is not None:
        from streams.interfaces.door.mcp.server import PATH, app_of

        return _over_http(log, models, wanted, listen, app_of, PATH)
    from streams.interfaces.door.mcp.server import speak

    # Whoever sets them expects to be guarded by them. To pass over them would be the worst
    # answer.
    for option, given in (
        ("--tokens", wanted.tokens),
        ("--allow-host", wanted.names),
        ("--allow-origin", wanted.origins),
        ("--metrics", wanted.metrics),
    ):
        if given:
            hint = "Serve over HTTP: --listen 127.0.0.1:8801"
            raise usage(
                "on standard input there is nobody but who started it", field=option, hint=hint
            )
    service = _service(log, models, wanted)

    async def spoken() -> None:
        async with service.client:
            await speak(service)

    with _told_here():
        asyncio.run(spoken())
    return OK


def _over_http(
    log: str | None,
    models: Models,
    wanted: Serving,
    listen: str,
    app_of: Callable[[Service, Hosts, Sequence[str]], ASGIApp],
    path: str,
) -> int:
    from streams.interfaces.door.pages import Requests

    host, port = place_of(listen, "--listen")
    hosts = hosts_of(host, wanted.names)
    pages = None if wanted.metrics is None else place_of(wanted.metrics, "--metrics")
    service = _service(log, models, wanted, hosts)
    app = Requests(app_of(service, hosts, wanted.origins))
    # Held before the client opens its log: two servers on one port must not both begin to work.
    with listening_at(host, port) as listening:
        address = f"http://{named(host)}:{listening.getsockname()[1]}{path}"
        with _told_here():
            asyncio.run(_served(app, service.client, listening, address, pages))
    return OK


def _service(
    log: str | None, models: Models, wanted: Serving, hosts: Hosts | None = None
) -> Service:
    """What is served, to whom. Raises a ``CliError`` where others could reach what lets anybody in."""
    from streams.engine.policies import SHELF
    from streams.interfaces.door.access import access_of
    from streams.interfaces.door.service import PATIENCE_S, Offer, Service
    from streams.support.web.hosts import is_loopback

    with _told_here():
        access = access_of(wanted.tokens)
    # Every problem is paid for by whoever runs the server, so that it lets nobody in unasked.
    if hosts is not None and access.is_open and not is_loopback(hosts.listening):
        hint = "Name who may come in: --tokens FILE. Without one it listens on loopback alone"
        raise usage("anybody who reaches it could spend your calls", field="--listen", hint=hint)
    policies = [policy_of(name).name for name in wanted.policies]
    if not policies:
        # The configured one first: it is what a program gets that names none.
        default = policy_of(None).name
        policies = [default, *(each.name for each in SHELF.all() if each.name != default)]
    offer = Offer(
        policies=policies,
        backbones=offered_on(log_url(log), models),
        patience_s=wanted.patience_s or PATIENCE_S,
    )
    return Service(_client(log_url(log), models, offer.policies[0], wanted), offer, access)


def offered_on(url: str, models: Models) -> list[str]:
    """Names of the backbones that guests may choose. Raises a usage error for what is no name."""
    if not is_kafka(url):
        return sorted(offered_by(models))
    # Here they are names alone: workers elsewhere say who that is.
    named = [each.partition("=")[0] for each in models.offered]
    return sorted(offered_by(replace(models, offered=[f"{name}=?" for name in named])))


@contextmanager
def _told_here() -> Generator[None]:
    """Raises what programs would be told as a ``CliError``: here, whoever started the server reads it."""
    from streams.interfaces.door.errors import Error

    try:
        yield
    except Error as error:
        # The command line knew more than programs are told: its own error has place and option.
        if isinstance(error.__cause__, CliError):
            raise error.__cause__ from error
        raise CliError(
            error.detail,
            error=error.code,
            exit=USAGE,
            where=error.where,
            field=error.field,
            hint=error.hint,
        ) from error


async def _served(
    app: Requests,
    client: Client,
    listening: socket.socket,
    address: str,
    pages: tuple[str, int] | None,
) -> None:
    """Serve while the client is open: what is wrong with its log is said before anybody can come in."""
    from streams.interfaces.dashboard.serve import end_when_told, serving
    from streams.interfaces.door.errors import Error
    from streams.interfaces.door.pages import told_of

    # What is wrong with its log is said before anybody can come in.
    async with client, observed(told_of(client, app), pages):
        end_when_told()
        simulated = "   SIMULATED: no model answers" if client.is_simulated else ""
        ready = f"ready: {address}   log {client.log}{simulated}   Ctrl-C ends it"
        # Those who wait are told before their connections are cut: what they wait for goes on.
        stopping = Error("the server is stopping", code="stopping")
        await serving(app, listening, lambda: say(ready), lambda: client.give_up(stopping))


def need_none(models: Models) -> None:
    """Raises a usage error where a command line says who answers: nobody would heed it."""
    what = "a door before Kafka asks no model itself"
    given = {
        "--backbone": models.backbone or models.roles,
        "--model": models.model,
        "--base-url": models.base_url,
        "--max-connections": models.max_connections,
        "--tools": models.tools,
        "--price": models.prices,
        "--prices": models.price_list,
    }
    option = next((name for name, value in given.items() if value), None)
    if option is not None:
        hint = f"Start workers beside it: metalogue worker --log URL {option} …"
        raise usage(what, field=option, hint=hint)
    named = next((each for each in models.offered if "=" in each), None)
    if named is not None:
        hint = f"Its workers know who that is: --offer {named.partition('=')[0]}"
        raise usage(what, field="--offer", hint=hint)


def _client(url: str, models: Models, policy: str, wanted: Serving) -> Client:
    """Works on a SQLite log itself; on Kafka, where workers are, it only hands on."""
    limits: dict[str, Any] = {
        "call_limit": wanted.limits.calls,
        "token_limit": wanted.limits.tokens,
        "cost_limit": wanted.limits.cost,
        "time_limit": wanted.limits.seconds,
    }
    if is_kafka(url):
        need_none(models)
        from streams.interfaces.door.client import Client

        return Client(url, policy=policy, **limits)
    from streams.interfaces.cli.setup import need_budget_prices, need_prices, world_of
    from streams.interfaces.door.engine import Engine

    # Made and thrown away. The engine makes its own in its loop, where an error would reach a
    # program and not whoever started the server.
    world = world_of(models)
    if wanted.limits.cost is not None:
        need_prices(world, "--cost-limit")
    need_budget_prices(world)
    engine = Engine(url, policy=policy, max_concurrency=wanted.max_concurrency, **limits)
    engine.models = models
    return engine
