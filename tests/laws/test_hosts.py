"""Laws of the hosts that are answered: what is meant is known in every spelling, and nothing else is."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import urlsplit

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from streams.support.web.hosts import Hosts, host_of, is_loopback

LABELS = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?", fullmatch=True)
NAMES = st.lists(LABELS, min_size=1, max_size=4).map(".".join).filter(lambda n: n[-1].isalpha())
FOREIGN = NAMES.filter(lambda name: name != "localhost")
IPV4 = st.integers(0, 2**32 - 1).map(IPv4Address).map(str)
IPV6 = st.integers(0, 2**128 - 1).map(IPv6Address).map("[{}]".format)
LOOPBACK_IPV4 = st.integers(127 << 24, (128 << 24) - 1).map(IPv4Address).map(str)
LOOPBACK_IPV6 = st.sampled_from(["::1", "0:0:0:0:0:0:0:1", "0000::0001", "::0.0.0.1"])
MAPPED = LOOPBACK_IPV4.map(lambda address: f"::ffff:{address}")
OURS = st.one_of(
    st.just("localhost"), LOOPBACK_IPV4, st.one_of(LOOPBACK_IPV6, MAPPED).map("[{}]".format)
)
PORTS = st.one_of(st.just(""), st.just(":"), st.integers(0, 65_535).map(":{}".format))
LOCAL = Hosts.of("127.0.0.1")


def respelled(host: str, upper: list[bool], dot: bool) -> str:
    """The same host in other letters; a name may end in a dot."""
    letters = [c.upper() if up else c for c, up in zip(host, upper, strict=False)]
    return "".join(letters) + host[len(letters) :] + ("." if dot and "[" not in host else "")


@given(OURS, PORTS, st.lists(st.booleans(), max_size=40), st.booleans())
def test_every_spelling_of_this_machine_is_answered_on_loopback(
    host: str, port: str, upper: list[bool], dot: bool
) -> None:
    assert LOCAL.answered(respelled(host, upper, dot) + port)


@given(OURS, FOREIGN, PORTS, st.sampled_from(["{0}.{1}", "{1}.{0}", "{0}@{1}", "{1}@{0}", "{1}"]))
@example("127.0.0.1", "evil.example", "", "{0}.{1}")
@example("localhost", "evil.example", ":80", "{0}.{1}")
def test_no_name_that_only_holds_one_of_ours_is_answered(
    ours: str, foreign: str, port: str, form: str
) -> None:
    said = form.format(ours, foreign) + port
    for hosts in (LOCAL, Hosts.of("0.0.0.0"), Hosts.of("::"), Hosts.of("192.0.2.7")):
        assert not hosts.answered(said)


@given(st.text(max_size=60) | st.text("012789.:[]xX%@afl-", max_size=24))
@example("127.evil.example")
@example("127.1")
@example("0x7f.1")
@example("2130706433")
@example("127.0.0.1:99999")
@example("[::1%25lo]")
@example("[::1")
@example("127.0.0.1,evil.example")
@example("localhost\n")
@example("١27.0.0.1")
def test_what_is_answered_on_loopback_leads_there_by_another_reading_too(said: str) -> None:
    if LOCAL.answered(said):
        read = urlsplit(f"//{said}").hostname or ""
        name = read.removesuffix(".")
        if name != "localhost":
            address = ip_address(name)
            within = getattr(address, "ipv4_mapped", None)
            assert (within or address).is_loopback


@given(IPV4 | IPV6, PORTS)
def test_an_address_is_answered_by_who_listens_everywhere(host: str, port: str) -> None:
    assert Hosts.of("0.0.0.0").answered(host + port)
    assert Hosts.of("::").answered(host + port)


@given(FOREIGN, FOREIGN, PORTS)
def test_a_name_that_was_given_is_answered_and_no_other_one(
    given_name: str, other: str, port: str
) -> None:
    assume(given_name != other)
    for listening in ("127.0.0.1", "0.0.0.0", "192.0.2.7"):
        hosts = Hosts.of(listening, [given_name])
        assert hosts.answered(given_name.upper() + port)
        assert hosts.answered(f"{given_name}.{port}")
        assert not hosts.answered(other + port)
        assert not hosts.answered(f"{other}.{given_name}{port}")


@given(st.text(max_size=80))
def test_the_one_spelling_is_its_own(said: str) -> None:
    host = host_of(said)
    if host is not None:
        assert host_of(f"[{host}]" if ":" in host else host) == host


@pytest.mark.parametrize(
    "name", ["", "http://pages", "a b", "pages:80", "a..b", "*.example.org", "user@x", "127.1"]
)
def test_a_name_that_no_header_could_hold_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no name or address"):
        Hosts.of("0.0.0.0", [name])


def test_who_listens_at_one_address_answers_for_that_one() -> None:
    hosts = Hosts.of("192.0.2.7")
    assert hosts.answered("192.0.2.7:8790")
    assert not hosts.answered("127.0.0.1")
    assert not hosts.answered("192.0.2.8")
    assert not is_loopback("127.evil.example")
