"""Which hosts a server answers for, told by the ``Host`` header alone.

A page from elsewhere can have a name of its own point at this machine (DNS rebinding), and would then read
what we serve as if it were its own. It cannot change what the browser says in ``Host``: that name. So a
header is taken apart by the grammar of RFC 9110 and RFC 3986, brought into one spelling, and compared as a
whole with what was meant. An address cannot be rebound, since whoever says it was pointed at it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final

HERE: Final = "localhost"
MOST_PORT: Final = 65_535
_HOST = re.compile(
    r"(?:\[(?P<bracketed>[0-9A-Fa-f:.]{2,45})\]|(?P<plain>[A-Za-z0-9._-]{1,254}))(?::(?P<port>[0-9]{0,5}))?"
)
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


def host_of(said: str) -> str | None:
    """The name or address of a ``Host`` header in its one spelling; none where it is malformed.

    Names are in lower case and without the last dot, addresses as ``ipaddress`` writes them, an IPv4
    address within IPv6 as itself. Who speaks of a user, a zone, two hosts or a port beyond 65535 is malformed.
    """
    found = _HOST.fullmatch(said)
    if found is None or int(found["port"] or 0) > MOST_PORT:
        return None
    if found["bracketed"] is not None:
        return _address(found["bracketed"], 6)
    name = found["plain"].lower().removesuffix(".")
    labels = name.split(".")
    # Browsers read a name whose last label is a number as an IPv4 address, and so must we:
    # ``0x7f.1`` is this machine.
    if _NUMBER.fullmatch(labels[-1]):
        return _address(name, 4)
    return name if all(map(_LABEL.fullmatch, labels)) else None


def _address(said: str, version: int) -> str | None:
    try:
        address = ip_address(said)
    except ValueError:
        return None
    if address.version != version:
        return None
    # An IPv4 address has a second spelling within IPv6, and one host must not be two.
    within = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(within or address)


def as_address(host: str) -> IPv4Address | IPv6Address | None:
    """The address that a host in its one spelling is; none for a name."""
    try:
        return ip_address(host)
    except ValueError:
        return None


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what listens at a host in its one spelling."""
    address = as_address(host)
    return host == HERE if address is None else address.is_loopback


@dataclass(frozen=True, slots=True)
class Hosts:
    """The hosts that a server answers for: those it listens at, and the names that it was given beside them."""

    listening: str
    names: frozenset[str]

    @classmethod
    def of(cls, listening: str, names: Iterable[str] = ()) -> Hosts:
        """Of where a server listens. Raises ``ValueError`` for a name that no ``Host`` header could hold."""
        found = {name: spelled(name) for name in names}
        wrong = [name for name, host in found.items() if host is None]
        if wrong:
            raise ValueError(f"{wrong[0]!r} is no name or address of a host")
        return cls(spelled(listening) or listening, frozenset(map(str, found.values())))

    @property
    def wide(self) -> bool:
        """Whether a server listens at every address of its machine."""
        address = as_address(self.listening)
        return address is not None and address.is_unspecified

    def answered(self, said: str) -> bool:
        """Whether a ``Host`` header names what was meant.

        On loopback that is any name of loopback; at every address, any address as well. All other names
        have to be given.
        """
        host = host_of(said)
        if host is None:
            return False
        if host == self.listening or host in self.names:
            return True
        # Whoever says a name of loopback came from this machine, or through a
        # tunnel that ends here.
        if is_loopback(host):
            return self.wide or is_loopback(self.listening)
        # An address cannot be rebound, so any of them is ours where we listen at all. A
        # name has to be given.
        return self.wide and as_address(host) is not None


def spelled(said: str) -> str | None:
    """A host without a port in its one spelling, an IPv6 address with or without brackets; none if it is none."""
    bare = said.removeprefix("[").removesuffix("]") if said.startswith("[") else said
    return host_of(f"[{bare}]" if ":" in bare else bare)
