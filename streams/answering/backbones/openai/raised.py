"""Errors that the client and its transport raise, and what each stands for: nothing came, or a proxy answered."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator

from streams.answering.backbones.openai.faults import Fault
from streams.answering.backbones.openai.transport import Refused

TRANSPORTS = ("httpx", "httpcore")
NO_CONNECTION = (  # as httpx, aiohttp and botocore name what they raise
    *("ConnectError", "ClientConnector", "ConnectionTimeoutError"),
    *("ClientProxyConnectionError", "ClientHttpProxyError"),
    *("EndpointConnectionError", "ConnectTimeoutError"),
)
NO_TLS = frozenset(
    {
        *("WRONG_VERSION_NUMBER", "UNKNOWN_PROTOCOL", "HTTP_REQUEST", "UNSUPPORTED_PROTOCOL"),
        *(
            "SSLV3_ALERT_HANDSHAKE_FAILURE",
            "TLSV1_ALERT_PROTOCOL_VERSION",
            "NO_PROTOCOLS_AVAILABLE",
        ),
        *("TLSV13_ALERT_CERTIFICATE_REQUIRED", "SSLV3_ALERT_BAD_CERTIFICATE", "UNKNOWN_CA"),
        *("TLSV1_ALERT_UNKNOWN_CA", "TLSV1_UNRECOGNIZED_NAME", "TLSV1_ALERT_ACCESS_DENIED"),
    }
)
"""Reasons of OpenSSL that the next attempt will meet as well; others may be a connection that broke."""


def fault_of(error: Exception, connect_s: float) -> Fault | None:
    """What an exception of the client or its transport stands for; any other tells of no attempt."""
    import aiohttp
    import openai

    if isinstance(error, Refused):
        return error.fault
    # The transport raises its own errors while a body comes in. Its package has changed its name, so it
    # is known by the name and not by the class.
    of_transport = type(error).__module__.startswith(TRANSPORTS)
    if of_transport or isinstance(error, (openai.APIError, aiohttp.ClientError, OSError)):
        return lost(error, connect_s)
    return None


def lost(error: Exception, connect_s: float) -> Fault:
    """No answer; free only where no connection came about."""
    import aiohttp

    chain = list(causes(error))
    # Once a connection stood, the request may have arrived, and may be computed and charged for,
    # although nothing came back.
    free = any(type(each).__name__.startswith(NO_CONNECTION) for each in chain)
    for each in chain:
        if isinstance(each, aiohttp.ClientHttpProxyError):
            # A proxy's word instead of a way through: where it is no failure of its own, a person has
            # to look.
            if each.status >= 500:
                said = f"the proxy did not reach it, HTTP {each.status}"
                return Fault("lost", said, free=True)
            wants = (
                "wants a user and a password" if each.status == 407 else "lets nobody through to it"
            )
            return Fault(
                "proxy", f"the proxy of HTTPS_PROXY {wants}, HTTP {each.status}", free=True
            )
        if isinstance(each, aiohttp.ConnectionTimeoutError):
            return Fault("lost", f"no connection within {connect_s:g} s", free=True)
    by = any(isinstance(each, aiohttp.ClientProxyConnectionError) for each in chain)
    return _of_root(chain[-1], free, "the proxy: " if by else "")


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """What was raised, and what it was raised from."""
    while error is not None:
        yield error
        error = error.__cause__


def _of_root(root: BaseException, free: bool, where: str) -> Fault:
    if isinstance(root, ssl.SSLCertVerificationError):
        said = root.verify_message.rstrip(".")
        detail = f"its certificate is not trusted: {said}; SSL_CERT_FILE names your own authorities"
        return Fault("tls", where + detail, free=True)
    # These two are the set-up's: asked again for hours, they would look like an outage.
    if isinstance(root, ssl.SSLError) and root.reason in NO_TLS:
        words = root.reason.replace("_", " ").lower()
        return Fault("tls", f"{where}no TLS with it: {words}; is https right there?", free=True)
    if isinstance(root, ConnectionRefusedError):
        return Fault("lost", f"{where}connection refused", free=free)
    if isinstance(root, ConnectionResetError):
        return Fault("lost", f"{where}connection reset", free=free)
    if isinstance(root, socket.gaierror):
        return Fault("lost", f"{where}no such host", free=free)
    said = " ".join(str(root).split()) or type(root).__name__
    return Fault("lost", where + said, free=free)
