"""Evidence of one episode in one file that stands alone.

The file is JSON Lines: a manifest; the records and messages that the episode rests on, as ``log cat`` writes them; the
stretch of each chain that they stand in; where it was signed, the signature under the manifest. The manifest has a
digest of each part, so that its own line stands for the whole file. No byte of the file is without a digest.
"""

# `packed` writes, `Pack` reads, and `Pack.altered` names what does not agree. Every byte that is
# read was written by somebody who may want to be believed: so the file is taken apart into records,
# a log of their own is made of these, and manifest and lines are written anew from it. What comes
# out must be the file, byte by byte; nothing is believed because it stands there.

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import orjson

from streams.engine.policies import Find, NoPolicy
from streams.replay.chain import entries_of, is_numbered, links_of
from streams.replay.cut import cut_out
from streams.replay.heads import EVIDENCE, Broken, Head
from streams.replay.held import Unlike
from streams.research.evidence.chains import BadChain, Chain, chains_of, unlike
from streams.research.evidence.manifest import FORMAT, VERSION, Claims, Json, manifest_of, memory_of
from streams.runtime.embedded.files import SqliteError
from streams.runtime.embedded.lines import lines_of, put
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.queries.rows import message_offsets, record_offsets

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

MOST_BYTES = 512 << 20
"""No more of a file is read: it may come from anybody."""
PARTS = ("records", "messages", "chains")
Lines = dict[str, list[bytes]]


class NoPack(ValueError):
    """A file is no evidence; the message names line and field."""


class Altered(Unlike):
    """Evidence is not what its manifest or its chains say."""

    code, says = "evidence.altered", "not what the file says itself in"


# -- writing ---------------------------------------------------------------------------------------


def packed(
    log: SqliteLog, episode: str, find: Find, key: Ed25519PrivateKey | None = None
) -> tuple[bytes, Head]:
    """The file of an episode's evidence, and its own head, which may be published. Raises ``NoPolicy``."""
    with log.reading():
        found = cut_out(log, episode, learned=True)
        numbered = is_numbered(log)
        chosen = {"records": found.records, "messages": found.messages}
        chains = chains_of(entries_of(log, numbered=numbered), chosen)
        lines = [orjson.dumps(line) for line in lines_of(log, found=found)]
    kept: Lines = {part: [] for part in PARTS}
    for line in lines:
        kept[_part_of(orjson.loads(line))].append(line)
    kept["chains"] = [orjson.dumps(chain.json) for chain in chains]
    signed_by = None
    if key is not None:
        from streams.research.evidence.signing import name_of

        signed_by = name_of(key.public_key())
    with closing(_log_of(kept)) as alone:
        memory = memory_of(alone, episode, find)
        said = Claims(digests(kept), numbered, signed_by)
        manifest = manifest_of(alone, episode, memory, chains, said)
    first = orjson.dumps(manifest)
    whole = [first, *(line for part in PARTS for line in kept[part])]
    if key is not None:
        from streams.research.evidence.signing import signed

        whole.append(orjson.dumps({"signature": signed(key, first)}))
    return b"".join(line + b"\n" for line in whole), head_of(first, episode, len(whole))


def head_of(manifest: bytes, episode: str, lines: int) -> Head:
    """The head of a whole file."""
    return Head(f"{EVIDENCE}{episode}", lines, sha256(manifest).hexdigest())


def digests(kept: Lines) -> Json:
    """How many lines each part has, and its digest."""
    found: Json = {}
    for part, lines in kept.items():
        whole = b"".join(line + b"\n" for line in lines)
        found[part] = {"lines": len(lines), "sha256": sha256(whole).hexdigest()}
    return found


# -- reading ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class Pack:
    """Evidence as it lies in a file, before anything of it is believed."""

    first: bytes
    manifest: Json
    lines: Lines
    chains: list[Chain]
    signature: str | None
    count: int

    @property
    def episode(self) -> str:
        """Whose evidence it says it is."""
        return str(self.manifest["episode"])

    @property
    def policies(self) -> list[str]:
        """Whose work it says it is, with versions."""
        return list(map(str, cast("list[Any]", self.manifest["policies"])))

    @property
    def head(self) -> Head:
        """The head of the whole file."""
        return head_of(self.first, self.episode, self.count)

    @classmethod
    def read(cls, path: Path) -> Pack:
        """The evidence in a file. Raises ``NoPack`` and ``OSError``."""
        if path.stat().st_size > MOST_BYTES:
            raise NoPack(f"larger than {MOST_BYTES:,} bytes")
        return cls.of(path.read_bytes())

    @classmethod
    def of(cls, whole: bytes) -> Pack:
        """Evidence from its bytes. Raises ``NoPack``."""
        rows = whole.split(b"\n")
        if rows.pop() != b"":
            raise NoPack(f"{len(rows) + 1}: the file ends within a line")
        if not rows:
            raise NoPack("1: nothing is in it")
        manifest = _checked(_object(1, rows[0]))
        kept: Lines = {part: [] for part in PARTS}
        chains, signature, at = list[Chain](), None, 0
        for number, row in enumerate(rows[1:], 2):
            said = _object(number, row)
            part = _part_of(said)
            if part == "signature" and number == len(rows):
                signature = said["signature"]
                if not isinstance(signature, str):
                    raise NoPack(f"{number}: signature: not a text")
                continue
            # One order alone, so that equal evidence has equal bytes.
            if part not in PARTS or PARTS.index(part) < at:
                raise NoPack(f"{number}: {part} in that place")
            at = PARTS.index(part)
            kept[part].append(row)
            if part == "chains":
                try:
                    chains.append(Chain.of(said))
                except BadChain as error:
                    raise NoPack(f"{number}: {error}") from error
        if len({chain.name for chain in chains}) < len(chains):
            raise NoPack("a chain stands there twice")
        return cls(rows[0], manifest, kept, chains, signature, len(rows))

    def log(self) -> SqliteLog:
        """Its records and messages as a log of their own. Raises ``NoPack`` naming the line."""
        return _log_of(self.lines)

    def altered(self, log: SqliteLog, find: Find) -> Iterator[Broken]:
        """Everything that does not agree within the file."""
        yield from unlike(self.chains, links_of(log, numbered=self.numbered))
        try:
            # Lines that say more or else than the row that they
            # make: what nobody reads here, somebody may elsewhere.
            told = (*self.lines["records"], *self.lines["messages"])
            for number, (line, row) in enumerate(zip(told, lines_of(log), strict=True), 2):
                if line != (now := orjson.dumps(row)):
                    yield Broken("lines", f"line {number}", "changed", now.decode(), line.decode())
            # Records that the episode does not rest on: they
            # would look as if they were part of its case.
            found = cut_out(log, self.episode, learned=True)
            rows = (
                *(("records", at) for at in record_offsets(log) if at not in found.records),
                *(("messages", at) for at in message_offsets(log) if at not in found.messages),
            )
            for table, offset in rows:
                yield Broken(table, f"{table} {offset}", "added", "not part of it", "a row")
            yield from self._derived(log, find)
        except Exception as error:  # what was changed can break anything that relied on it
            said = f"{type(error).__name__}: {error}"
            yield Broken("manifest", "manifest -", "cannot be derived", "records to follow", said)

    @property
    def numbered(self) -> bool:
        """Whether the offsets of its rows are the log's own."""
        return self.manifest.get("numbered") is True

    def _derived(self, log: SqliteLog, find: Find) -> Iterator[Broken]:
        """Everything in the manifest that its records and chains do not make."""
        claims = Claims(digests(self.lines), self.numbered, self.manifest.get("signed_by"))
        memory = self.manifest.get("memory")
        with suppress(NoPolicy):  # then nobody here can say what was learned
            memory = memory_of(log, self.episode, find)
        derived = manifest_of(log, self.episode, memory, self.chains, claims)
        # Whoever made the file says by which build; this one cannot know it.
        derived["product"] = self.manifest.get("product")
        if self.first == orjson.dumps(derived):
            return
        odd: list[tuple[str, str, str]] = []
        for name in sorted({*derived, *self.manifest}):
            now, was = (
                orjson.dumps(said[name]).decode() if name in said else ""
                for said in (derived, self.manifest)
            )
            odd += [(name, now, was)] if now != was else []
        # Without an odd field it is the order of its fields, or a name for nothing.
        for name, now, was in odd or [("line", "", "")]:
            yield Broken("manifest", f"manifest {name}", "changed", now[:200], was[:200])


def _object(number: int, row: bytes) -> Json:
    try:
        said: Any = orjson.loads(row)
    except orjson.JSONDecodeError as error:
        raise NoPack(f"{number}: not JSON: {error}") from error
    if not isinstance(said, dict):
        raise NoPack(f"{number}: not a JSON object")
    # A field that stands twice is read so by one reader, and otherwise by another.
    if orjson.dumps(said) != row:
        raise NoPack(f"{number}: written otherwise than by us: a field twice, or spaces")
    return cast("Json", said)


def _checked(said: Json) -> Json:
    if said.get("format") != FORMAT:
        raise NoPack(f"1: format: not {FORMAT!r}")
    if said.get("version") != VERSION:
        raise NoPack(f"1: version: {said.get('version')!r}, this build reads {VERSION}")
    for name in ("product", "episode"):
        if not isinstance(said.get(name), str):
            raise NoPack(f"1: {name}: not a text")
    if not isinstance(said.get("policies"), list):
        raise NoPack("1: policies: not a list")
    if not isinstance(said.get("signed_by", 0), str | None):
        raise NoPack("1: signed_by: not a text")
    return said


def _part_of(said: Json) -> str:
    if "episode" in said:
        return "records"
    if "topic" in said:
        return "messages"
    return (
        "chains" if "chain" in said else "signature" if said.keys() == {"signature"} else "a line"
    )


def _log_of(kept: Lines) -> SqliteLog:
    log, done = SqliteLog(":memory:", create=True), 0
    try:
        with log.transaction():
            for row in (*kept["records"], *kept["messages"]):
                put(log, orjson.loads(row))
                done += 1
    # Whatever a line can be wrong in: it was read as JSON, and nothing more is known of it.
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, SqliteError) as error:
        log.close()
        raise NoPack(f"{done + 2}: not a line of a log: {error}") from error
    return log


__all__ = ["Altered", "NoPack", "NoPolicy", "Pack", "digests", "head_of", "packed"]
