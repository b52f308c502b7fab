"""The part of each chain that evidence comes with: from before its first record up to where the log ended.

Records that are not in the evidence stand there by their digests alone. So it leads to heads that were published of
the whole log, and says nothing of what else was on it.
"""

# `packed` cuts a stretch out of each chain by `chains_of`; whoever verifies a file reads them back
# by `Chain.of`, holds the records that came along against them (`unlike`), and the heads on the way
# against those that were published (`unpublished`). A file may come from anybody: so every field is
# looked at before it is used, and no number of it may decide how much memory is taken.

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as BadBase64
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from streams.replay.chain import Entry
from streams.replay.heads import DIGEST, Broken, Head, Heads, Link, begun, joined

SIZE = 32
"""Bytes of a SHA-256."""


class BadChain(ValueError):
    """A chain of evidence cannot be read; the message names the field."""


@dataclass(slots=True)
class Chain:
    """A stretch of a chain: where it begins, the digest of every record, and which of them come along."""

    name: str
    count: int
    """Records before it."""
    digest: str
    """The head before it."""
    records: list[bytes] = field(default_factory=list[bytes])
    here: list[int] = field(default_factory=list[int])
    """Places in the whole chain of those that come along, ascending."""

    @property
    def head(self) -> Head:
        """Where it ends."""
        at = bytes.fromhex(self.digest)
        for record in self.records:
            at = joined(at, record)
        return Head(self.name, self.count + len(self.records), at.hex())

    def heads(self) -> Iterator[tuple[int, str]]:
        """Every head on the way, the first being that before it."""
        at = bytes.fromhex(self.digest)
        yield self.count, at.hex()
        for number, record in enumerate(self.records, self.count + 1):
            at = joined(at, record)
            yield number, at.hex()

    @property
    def json(self) -> dict[str, Any]:
        """Its line."""
        records = b64encode(b"".join(self.records)).decode()
        begins = {"count": self.count, "digest": self.digest}
        return {"chain": self.name, "begins": begins, "records": records, "here": self.here}

    @classmethod
    def of(cls, said: dict[str, Any]) -> Chain:
        """A chain from its line. Raises ``BadChain``."""
        if said.keys() != {"chain", "begins", "records", "here"}:
            raise BadChain("fields: chain, begins, records and here, and no others")
        name, begins, here = said["chain"], said["begins"], said["here"]
        if not isinstance(name, str):
            raise BadChain("chain: not a name")
        if not isinstance(begins, dict) or begins.keys() != {"count", "digest"}:
            raise BadChain("begins: not a count and a digest")
        count, digest = cast("dict[str, Any]", begins).values()
        # `True` is an int to Python, and a count beyond
        # what SQLite holds would break whoever adds to it.
        if type(count) is not int or not 0 <= count < 1 << 62:
            raise BadChain("begins.count: not a number")
        if not isinstance(digest, str) or not DIGEST.fullmatch(digest):
            raise BadChain("begins.digest: not 64 hexadecimal digits")
        # Behind an invented beginning any records would
        # follow: where there is none before, it is known.
        if count == 0 and digest != begun(name).hex():
            raise BadChain("begins.digest: not that of a chain without records")
        records = _digests(said["records"])
        _need_places(here, count, count + len(records))
        return cls(name, count, digest, records, here)


def _digests(said: object) -> list[bytes]:
    try:
        raw = b64decode(cast("str", said), validate=True)
    except (BadBase64, ValueError, TypeError) as error:
        raise BadChain("records: not base64") from error
    if len(raw) % SIZE:
        raise BadChain(f"records: {len(raw)} bytes are no digests of {SIZE}")
    return [raw[at : at + SIZE] for at in range(0, len(raw), SIZE)]


def _need_places(here: object, begins: int, ends: int) -> None:
    if not isinstance(here, list):
        raise BadChain("here: not a list")
    last = begins
    for place in cast("list[Any]", here):
        if type(place) is not int or not last < place <= ends:
            raise BadChain(f"here: {str(place)[:40]} after {last}, of {ends}")
        last = place


def chains_of(entries: Iterable[Entry], chosen: dict[str, set[int]]) -> list[Chain]:
    """The chains of what was chosen, by table and offset, up to the end of the log."""
    begun_at, found = dict[str, tuple[int, bytes]](), dict[str, Chain]()
    for entry in entries:
        link, record = entry.link, bytes.fromhex(entry.link.record)
        is_here = entry.offset in chosen[entry.table]
        count, at = begun_at.get(link.chain) or (0, begun(link.chain))
        # From the first record that comes along on, all digests are kept: without those between
        # them the head at the end could not be reckoned.
        if is_here and link.chain not in found:
            found[link.chain] = Chain(link.chain, count, at.hex())
        if link.chain in found:
            found[link.chain].records.append(record)
            if is_here:
                found[link.chain].here.append(link.count)
        else:
            begun_at[link.chain] = count + 1, joined(at, record)
    return [found[name] for name in sorted(found)]


def unlike(chains: Iterable[Chain], links: Iterable[Link]) -> Iterator[Broken]:
    """Records of evidence that are not those of its chains; each is named."""
    told = {chain.name: chain for chain in chains}
    seen = dict.fromkeys(told, 0)
    for link in links:
        chain = told.get(link.chain)
        if chain is None or seen[link.chain] >= len(chain.here):
            yield Broken(link.chain, link.name, "in no chain", "no such record", link.record)
            continue
        place = chain.here[seen[link.chain]]
        seen[link.chain] += 1
        wanted = chain.records[place - chain.count - 1].hex()
        if wanted != link.record:
            yield Broken(link.chain, link.name, "changed", wanted, link.record)
    for name, count in seen.items():
        if count < len(told[name].here):
            lacking = f"{len(told[name].here)} records"
            yield Broken(name, "-", "records are gone", lacking, f"{count} records")


def unpublished(chain: Chain, links: list[Link], published: Heads) -> Iterator[Broken]:
    """Records of a chain that heads contradict, or of which none of them speaks."""
    heads, held = published.heads.get(chain.name, {}), 0
    for count, digest in chain.heads():
        wanted = heads.get(count, digest)
        if wanted != digest:
            # Digests of the records themselves may have been published too. Then the record that
            # differs is named; else only that something up to here does.
            known = published.links.get(chain.name, [])
            changed = [
                Broken(chain.name, link.name, "changed", known[place - 1].record, link.record)
                for place, link in zip(chain.here, links, strict=False)
                if place <= len(known) and known[place - 1].record != link.record
            ]
            yield from changed or [
                Broken(chain.name, "-", f"something up to record {count}", wanted, "another head")
            ]
            return
        held = count if count in heads else held
    for place, link in zip(chain.here, links, strict=False):
        if place > held:
            how = f"no published head speaks of it (record {place})"
            yield Broken(chain.name, link.name, how, f"heads up to {held}", link.record)
            return
