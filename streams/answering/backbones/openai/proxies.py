"""Proxies of the environment: ``HTTP_PROXY``, ``HTTPS_PROXY``, ``ALL_PROXY`` and ``NO_PROXY``, as curl reads them.

The client follows them itself. Two things are ours: what listens on this machine is never asked through another
one, and a proxy that the client cannot speak with is said at once, for it would speak HTTP to it.
"""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from streams.answering.backbones.openai.options import Site, names_host
from streams.core.backbone import SetupBroken

SPOKEN = ("http", "https")


def is_here(host: str) -> bool:
    """Whether a host is this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def straight(site: Site) -> dict[str, None]:
    """Which addresses the client reaches without any proxy, whatever the environment says."""
    host = urlsplit(site.url).hostname or ""
    return {f"all://[{host}]" if ":" in host else f"all://{host}": None} if is_here(host) else {}


def need_http_proxy(site: Site) -> None:
    """Raises ``SetupBroken`` where the environment names a proxy for this site that no client can use."""
    from urllib.request import getproxies, proxy_bypass

    parts, found = urlsplit(site.url), getproxies()
    proxy = found.get(parts.scheme) or found.get("all")
    # The client follows the environment, so this must ask it in the same order: the scheme's own
    # proxy, then the one for all, then the exceptions.
    if not proxy or is_here(parts.hostname or ""):
        return
    # With its port, as ``NO_PROXY`` may name one.
    if proxy_bypass(parts.netloc.rpartition("@")[2]):
        return
    scheme, colon, _ = proxy.partition("://")
    if colon and scheme.lower() not in SPOKEN:
        detail = f"{scheme} is no proxy that can be used: name one of HTTP, or put the host into NO_PROXY"
        raise SetupBroken("proxy", site.where, detail)
    if not names_host(proxy if colon else f"http://{proxy}"):
        detail = "the environment's proxy names no host and port that there can be"
        raise SetupBroken("proxy", site.where, detail)
