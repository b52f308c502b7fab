"""Errors that the library raises, and what each stands for: a refusal, no answer, or an unreadable reply."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast

from streams.answering.backbones.openai.faults import Fault
from streams.answering.backbones.openai.raised import causes, lost
from streams.answering.backbones.openai.reading import Json, part
from streams.answering.backbones.openai.transport import MOST_BYTES, Refused, TooLong
from streams.answering.backbones.providers.access import Access
from streams.answering.backbones.providers.kinds import BEDROCK
from streams.answering.backbones.providers.refusals import judged

TRANSPORTS = ("httpx", "httpcore", "h11", "urllib3", "anyio")
OF_NO_ANSWER = (  # of botocore, whose exceptions have no better order
    *("EndpointConnectionError", "ConnectTimeoutError", "ReadTimeoutError"),
    *("ConnectionClosedError", "HTTPClientError", "ProxyConnectionError", "SSLError"),
)
UNREADABLE = (
    "ResponseParserError",
    "IncompleteReadError",
    "KeyError",
    "TypeError",
    "AttributeError",
)
"""What Bedrock's client, and the library behind it, meet in a body that is no reply."""


def fault_of(access: Access, error: Exception, connect_s: float) -> Fault | None:
    """What an exception stands for; any other tells of no attempt."""
    from any_llm.exceptions import UnsupportedParameterError

    chain = list(causes(error))
    # Clients take what our transport raises for a connection that broke, and raise that from it.
    for each in chain:
        if isinstance(each, Refused):
            return each.fault
        if isinstance(each, TooLong):
            return Fault("junk", f"a reply of more than {MOST_BYTES >> 20} MiB")
    for each in chain:
        name, module = type(each).__name__, type(each).__module__
        if isinstance(each, UnsupportedParameterError):
            first = each.parameter_name.partition(" ")[0]
            return Fault("model", str(each), free=True, names=frozenset({first}))
        of_transport = isinstance(each, OSError) or module.startswith(TRANSPORTS)
        if name in ("APIConnectionError", "APITimeoutError") or of_transport:
            return _lost(error, connect_s)
        of_botocore = module.startswith("botocore")
        response: object = getattr(each, "response", None) if of_botocore else None
        if isinstance(response, dict):
            return _refused(access, cast("Json", response))
        if name in UNREADABLE and (of_botocore or access.provider.name == BEDROCK):
            return Fault("junk", f"a reply that the library cannot read: {name}")
        if of_botocore:
            return _lost(error, connect_s) if name in OF_NO_ANSWER else None
    return None


def _lost(error: Exception, connect_s: float) -> Fault:
    """No answer. A connection that took too long is told apart here: over aiohttp others are called so too."""
    fault = lost(error, connect_s)
    # The common reader knows this by aiohttp's own class; these clients go over httpx.
    late = any(
        type(each).__module__.startswith("httpcore") and type(each).__name__ == "ConnectTimeout"
        for each in causes(error)
    )
    return Fault("lost", f"no connection within {connect_s:g} s", free=True) if late else fault


def _refused(access: Access, response: Json) -> Fault:
    about, said = part(response, "ResponseMetadata"), part(response, "Error")
    status: Any = about.get("HTTPStatusCode")
    # Its transport is not ours, so that a redirect is seen only here; it was not followed.
    if isinstance(status, int) and 300 <= status < 400:
        detail = f"HTTP {status} sends us elsewhere; no redirect is followed"
        return Fault("moved", detail, free=True)
    headers: Mapping[str, str] = part(about, "HTTPHeaders")
    body = {"code": said.get("Code"), "message": said.get("Message")}
    return judged(
        access.provider,
        status if isinstance(status, int) else 500,
        body,
        headers,
        datetime.now(UTC),
        access.site.masked,
    )
