"""Heads of hash chains: what is published of a log, so that any later change of it can be found.

A *head* says where a chain stood: its name, how many records it had, and the digest over all of them. Of these few
lines none can be kept true by whoever changes a record before it. A *link* says the digest of one record besides;
links need no trust of their own, since they lead to their head or are refused, and they tell which record it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final, TypeAlias, cast

import orjson

from schemas.identity import canonical

Part: TypeAlias = str | int | float | bytes | None
"""A field of a record as the log keeps it."""
ALL: Final = "all"
"""The name under which one digest stands for all heads of a look."""
DIGEST: Final = re.compile("[0-9a-f]{64}")
MARK: Final = "sha256:"
EVIDENCE: Final = "evidence/"
"""Begins the name of a head that is of no chain, but of a file of evidence."""
RECORDS: Final = ("events/", "learning/")
"""Chains of records; the others are of messages."""
MOST_CHARS: Final = 100_000
"""No line of ours is longer."""


class BadHeads(ValueError):
    """A file of heads cannot be read; the message names line and field."""


def netstring(part: Part) -> bytes:
    """A field with its type and length, so that no two lists of fields give the same bytes."""
    match part:
        case str():
            # Each kind has a letter of its own: a column of SQLite may hold 1 or "1", and they are
            # not the same record.
            said = b"s" + part.encode("utf-8", "surrogatepass")
        case bytes():
            said = b"b" + part
        case None:
            said = b"n"
        case float():
            said = b"f" + repr(part).encode()
        case _:
            said = b"i%d" % part
    return b"%d:%b," % (len(said), said)


def digest_of(parts: Iterable[Part]) -> bytes:
    """The SHA-256 of one record: over its fields as netstrings."""
    return sha256(b"".join(map(netstring, parts))).digest()


def begun(chain: str) -> bytes:
    """The digest of a chain without records."""
    # The name goes in, so that no chain's head can be shown for another chain's.
    return sha256(f"metalogue chain 1 {chain}".encode("utf-8", "surrogatepass")).digest()


def joined(before: bytes, record: bytes) -> bytes:
    """The digest of a chain with one record more."""
    return sha256(before + record).digest()


@dataclass(frozen=True, slots=True)
class Head:
    """Where a chain stood after so many records; ``offset`` is that of the last one, for people."""

    chain: str
    count: int
    digest: str
    offset: int | None = None

    @property
    def line(self) -> str:
        """For people, and for ``verify --heads``; as JSON where its name has spaces."""
        if len(self.chain.split()) != 1:
            return orjson.dumps(self.json).decode()
        offset = "-" if self.offset is None else str(self.offset)
        return f"{self.chain:<16} {self.count:>10} {offset:>10}  {MARK}{self.digest}"

    @property
    def json(self) -> dict[str, Any]:
        """For scripts, and for ``verify --heads``."""
        return {
            "chain": self.chain,
            "count": self.count,
            "offset": self.offset,
            "digest": self.digest,
        }


@dataclass(frozen=True, slots=True)
class Link:
    """One record of a chain: which it is there, what it is called, and its own digest."""

    chain: str
    count: int
    name: str
    record: str
    offset: int | None = None

    @property
    def json(self) -> dict[str, Any]:
        """For ``verify --heads``."""
        told = {"chain": self.chain, "count": self.count, "offset": self.offset}
        return told | {"name": self.name, "record": self.record}


def together(heads: Iterable[Head]) -> Head:
    """One digest for all heads of a look: short enough to be read out."""
    named = sorted(([head.chain, head.count, head.digest] for head in heads), key=canonical)
    total = sum(cast("int", count) for _, count, _ in named)
    return Head(ALL, total, sha256(canonical(named)).hexdigest())


@dataclass(slots=True)
class Heads:
    """What was published of a log: heads by chain and number of records, and links where there are some."""

    heads: dict[str, dict[int, str]] = field(default_factory=dict[str, "dict[int, str]"])
    links: dict[str, list[Link]] = field(default_factory=dict[str, "list[Link]"])

    @property
    def last(self) -> dict[str, int]:
        """By chain, how many records the last head of it speaks of."""
        return {chain: max(known) for chain, known in self.heads.items()}

    @property
    def of_logs(self) -> Heads:
        """Without heads of evidence, which is no part of a log."""
        # A file may hold both, and a log cannot be held against evidence.
        heads = {n: each for n, each in self.heads.items() if not n.startswith(EVIDENCE)}
        return Heads(heads, self.links)

    def add(self, head: Head) -> None:
        """One head more. Raises ``BadHeads`` where another of the same place says something else."""
        known = self.heads.setdefault(head.chain, {})
        if known.setdefault(head.count, head.digest) != head.digest:
            raise BadHeads(f"two heads of {head.chain} at {head.count} that differ")

    def add_link(self, link: Link) -> None:
        """One link more, the next of its chain, or the same again. Raises ``BadHeads`` for any other."""
        known = self.links.setdefault(link.chain, [])
        # A file may hold several looks at a growing log, and each begins with the first record.
        if link.count <= len(known):
            if known[link.count - 1] != link:
                raise BadHeads(f"two links of {link.chain} at {link.count} that differ")
        elif link.count == len(known) + 1:
            known.append(link)
        else:
            raise BadHeads(f"count: {link.count} of {link.chain} after {len(known)}")

    def need_ends(self) -> None:
        """Raises ``BadHeads`` where links do not lead to the heads: then somebody changed them."""
        for chain, links in self.links.items():
            known, at = self.heads.get(chain, {}), begun(chain)
            for link in links:
                at = joined(at, bytes.fromhex(link.record))
                if known.get(link.count, at.hex()) != at.hex():
                    raise BadHeads(
                        f"{chain}: its records' digests make another head at {link.count}"
                    )
            # Behind the last head a link would be trusted for nothing but its own word.
            if len(links) not in known:
                raise BadHeads(f"{chain}: no head for the digests of its {len(links)} records")


# -- reading ---------------------------------------------------------------------------------------


def heads_in(text: str) -> Heads:
    """Everything that a file says, as ``log heads`` printed it, once or several times. Raises ``BadHeads``."""
    found, look = Heads(), list[Head]()
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            said = _said(line)
            if isinstance(said, Link):
                found.add_link(said)
            elif said.chain == ALL:
                # One digest that was read out or printed vouches for all lines above it.
                if together(look) != said:
                    raise BadHeads(f"{ALL}: the heads above it do not make this digest")
                look = []
            else:
                look += [said] if not said.chain.startswith(EVIDENCE) else []
                found.add(said)
        except BadHeads as error:
            raise BadHeads(f"{number}: {error}") from error
    if not found.heads:
        raise BadHeads("1: no head in it")
    found.need_ends()
    return found


def _said(line: str) -> Head | Link:
    """What a line says, in either of its forms: people copy lines, and scripts write JSON."""
    if len(line) > MOST_CHARS:
        raise BadHeads(f"longer than {MOST_CHARS:,} characters")
    if not line.startswith("{"):
        parts = line.split()
        if len(parts) != 4 or not parts[3].startswith(MARK):
            raise BadHeads("not a line of `log heads`: CHAIN COUNT OFFSET sha256:DIGEST")
        chain, count, offset, digest = parts
        place = None if offset == "-" else _number("offset", offset)
        return Head(chain, _number("count", count), _hex("digest", digest[len(MARK) :]), place)
    try:
        said: Any = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise BadHeads(f"not JSON: {error}") from error
    told = said.get("offset")
    place = None if told is None else _number("offset", told)
    named, many = said.get("chain"), _number("count", said.get("count"))
    if not isinstance(named, str):
        raise BadHeads("chain: not a name")
    if "record" not in said:
        return Head(named, many, _hex("digest", said.get("digest")), place)
    name = said.get("name")
    if not isinstance(name, str):
        raise BadHeads("name: not a text")
    return Link(named, many, name, _hex("record", said["record"]), place)


def _number(name: str, said: object) -> int:
    if isinstance(said, str) and said.isascii() and said.isdecimal() and len(said) < 19:
        return int(said)
    if type(said) is int and said >= 0:
        return said
    raise BadHeads(f"{name}: {str(said)[:40]!r} is not a number")


def _hex(name: str, said: object) -> str:
    if isinstance(said, str) and DIGEST.fullmatch(said):
        return said
    raise BadHeads(f"{name}: {str(said)[:80]!r} is not 64 hexadecimal digits")


# -- comparing -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Broken:
    """Where a log is not what was published: which record of which chain, and how."""

    chain: str
    name: str
    how: str
    published: str
    now: str

    @property
    def where(self) -> tuple[str, str]:
        """Episode and address of a record, topic and key of a message."""
        episode, at, address = self.name.rpartition(" at ")
        if at and self.chain.startswith(RECORDS):
            return episode, address
        topic, _, key = self.name.partition(" ")
        return (self.chain, "-") if self.name == "-" else (topic, key)


def compared(links: Iterable[Link], published: Heads) -> Iterator[Broken]:
    """Return what differs between a log and what was published of it: by records where links are there."""
    looks = {chain: Look(heads) for chain, heads in published.heads.items()}
    known: dict[str, list[Link]] = {chain: [] for chain in published.links}
    for link in links:
        if link.chain in looks:
            looks[link.chain].see(link)
        if link.chain in known:
            known[link.chain].append(link)
    for chain, look in looks.items():
        broken = look.end(chain)
        if broken is not None:
            named = list(_in_links(known.get(chain, []), published.links.get(chain, [])))
            yield from named or [broken]


@dataclass(slots=True)
class Look:
    """One chain as it grows, compared with its heads."""

    heads: dict[int, str]
    count: int = 0
    at: bytes = b""
    good: Link | None = None
    broken: Broken | None = None

    def see(self, link: Link) -> None:
        """One record more."""
        self.at = joined(self.at or begun(link.chain), bytes.fromhex(link.record))
        self.count += 1
        head = self.heads.get(self.count)
        # Only the first head that does not hold says where the change is: every later one hangs on it.
        if head is None or self.broken is not None:
            return
        if head == self.at.hex():
            self.good = link
            return
        since = "its beginning"
        if self.good is not None:
            since = f"{self.good.name} (record {self.good.count})"
        how = f"something after {since} and up to here (record {self.count})"
        self.broken = Broken(link.chain, link.name, how, head, self.at.hex())

    def end(self, chain: str) -> Broken | None:
        """The first head that does not hold, or the last where the chain ends before it."""
        # The heads that are left say how long it was, whoever cut it off.
        short = max(self.heads)
        if self.broken is None and short > self.count:
            return Broken(chain, "-", "cut off", f"{short} records", f"{self.count} records")
        return self.broken


def _in_links(now: list[Link], published: list[Link]) -> Iterator[Broken]:
    """Records that are changed, gone, added or out of their order, each by its name."""
    here, there = {link.name: link for link in now}, {link.name: link for link in published}
    for link in published:
        found = here.get(link.name)
        if found is None:
            yield Broken(link.chain, link.name, "gone", link.record, "no such record")
        elif found.record != link.record:
            yield Broken(link.chain, link.name, "changed", link.record, found.record)
    kept = [link for link in now if link.name in there]
    for link in now[: kept[-1].count if kept else 0]:
        if link.name not in there:
            yield Broken(link.chain, link.name, "added", "no such record", link.record)
    # The first alone: once one record is out of its order, all behind it are as well.
    order = [link.name for link in published if link.name in here]
    for link, name in zip(kept, order, strict=False):
        if link.name != name:
            yield Broken(link.chain, link.name, "out of its order", name, link.name)
            return
