"""Changes of a file of evidence: of any byte, line or field, and those of somebody who knows how it is made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from random import Random
from typing import Any, cast

import orjson

from streams.engine.policies import find
from streams.replay.chain import entries_of
from streams.research.evidence.chains import Chain
from streams.research.evidence.manifest import Claims, manifest_of, memory_of
from streams.research.evidence.pack import PARTS, Pack, digests
from streams.runtime.embedded.lines import lines_of
from streams.runtime.embedded.log import SqliteLog
from tests.streams.replay.spoiling import Change, forged, other

Lines = list[bytes]


def lines_in(whole: bytes) -> Lines:
    return whole.split(b"\n")[:-1]


def whole_of(lines: Lines) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def kind_of(line: bytes) -> str:
    """Which sort of line it is, and of records which kind."""
    said = orjson.loads(line)
    return str(said.get("kind") or next(iter(said)))


def fields_of(lines: Lines, at: int) -> Iterator[tuple[str, bytes]]:
    """The file with each field of one line changed, and each field of its event."""
    said = orjson.loads(lines[at])
    for name, value in said.items():
        changed: Any = said | {name: other(value)}
        yield name, whole_of([*lines[:at], orjson.dumps(changed), *lines[at + 1 :]])
        if isinstance(value, dict):
            event = cast("dict[str, Any]", value)
            for inner in event:
                within = {**event, inner: other(event[inner])}
                changed = orjson.dumps(said | {name: within})
                yield f"{name}.{inner}", whole_of([*lines[:at], changed, *lines[at + 1 :]])


def drawn(whole: bytes, random: Random) -> tuple[str, bytes]:
    """A random change."""
    lines = lines_in(whole)
    at = random.randrange(len(lines))
    match random.choice(
        ("byte", "byte", "field", "field", "field", "gone", "twice", "swapped", "cut")
    ):
        case "byte":
            place = random.randrange(len(whole))
            now = bytes([whole[place] ^ 1 << random.randrange(8)])
            return f"byte {place}", whole[:place] + now + whole[place + 1 :]
        case "field":
            name, changed = random.choice(list(fields_of(lines, at)))
            return f"{name} of line {at + 1}", changed
        case "gone":
            return f"line {at + 1} gone", whole_of(lines[:at] + lines[at + 1 :])
        case "twice":
            return f"line {at + 1} twice", whole_of([*lines[:at], lines[at], *lines[at:]])
        case "swapped":
            to = (at + 1) % len(lines)
            lines[at], lines[to] = lines[to], lines[at]
            return f"lines {at + 1} and {to + 1} swapped", whole_of(lines)
        case _:
            place = random.randrange(len(whole))
            return f"cut at {place}", whole[:place]


def made_up(whole: bytes, change: Change) -> bytes:
    """Evidence whose records are changed and everything made anew that follows from them: it agrees with itself."""
    pack = Pack.of(whole)
    with closing(pack.log()) as log:
        for query, values in forged(log, change):
            log.db.execute(query, values)
        kept = {part: list[bytes]() for part in PARTS}
        for line in lines_of(log):
            kept["records" if "episode" in line else "messages"].append(orjson.dumps(line))
        chains = list(_again(pack, log))
        kept["chains"] = [orjson.dumps(chain.json) for chain in chains]
        memory = memory_of(log, pack.episode, find)
        manifest = manifest_of(
            log, pack.episode, memory, chains, Claims(digests(kept), pack.numbered, None)
        )
    return whole_of([orjson.dumps(manifest), *(line for part in PARTS for line in kept[part])])


def with_digests(first: bytes, lines: Lines) -> bytes:
    """Changed lines under a manifest that has their digests."""
    kept = {part: list[bytes]() for part in PARTS}
    for line in lines:
        said = orjson.loads(line)
        kept[
            "records" if "episode" in said else "messages" if "topic" in said else "chains"
        ].append(line)
    return whole_of([orjson.dumps(orjson.loads(first) | {"parts": digests(kept)}), *lines])


def _again(pack: Pack, log: SqliteLog) -> Iterator[Chain]:
    """The chains with the digests of the changed records in their places."""
    links = [entry.link for entry in entries_of(log, numbered=pack.numbered)]
    for chain in pack.chains:
        mine = [link for link in links if link.chain == chain.name]
        for place, link in zip(chain.here, mine, strict=True):
            chain.records[place - chain.count - 1] = bytes.fromhex(link.record)
        yield chain


__all__ = ["drawn", "fields_of", "kind_of", "lines_in", "made_up", "whole_of", "with_digests"]
