"""Evidence in one file: `export evidence`, and `verify FILE`."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from schemas.subjects import subject_of
from streams.engine.policies import NoPolicy, find
from streams.interfaces.cli.errors import DIVERGED, FAILED, OK, CliError, usage
from streams.interfaces.cli.finding import find_episode, need_records
from streams.interfaces.cli.observing import need_extra
from streams.interfaces.cli.opening import open_log
from streams.interfaces.cli.output import out, out_bytes, out_json, say
from streams.interfaces.cli.places import is_evidence, refused
from streams.interfaces.cli.publishing import heads_of
from streams.interfaces.cli.verifying import as_json, told_all
from streams.replay.chain import links_of
from streams.replay.heads import Broken, Heads
from streams.replay.held import DECIDED, Unlike
from streams.replay.left_out import LeftOut
from streams.replay.verify import Verified, Verifier
from streams.research.evidence.chains import unpublished
from streams.research.evidence.pack import Altered, NoPack, Pack, packed
from streams.views.words import one_line

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from streams.runtime.embedded.log import SqliteLog

K = TypeVar("K")
WHOLE = "a file that was made up as a whole"
UNPROVEN = "it is not signed, and no published head was given"
UNKNOWN = "nobody here knows its key: give --key, or a published head"


def need_file(to: str | None) -> str:
    """Where evidence goes. Raises a usage error for none."""
    if to is None:
        hint = "metalogue export evidence EPISODE --out FILE. A folder of that name: ./evidence"
        raise usage("evidence goes to one file", field="--out", hint=hint)
    return to


def export(url: str | None, wanted: str | None, file: str, *, sign: str | None, json: bool) -> int:
    """Write the evidence of an episode to a file, and say its head."""
    # A wrong key is told before the log is read, which may take long.
    key: Ed25519PrivateKey | None = None
    if sign is not None:
        need_extra("cryptography", "sign")
        from streams.research.evidence.signing import private_key

        key = _key_of(sign, "--sign", private_key)
    log = open_log(url)
    try:
        need_records(log)
        episode = find_episode(log, wanted)
        # A file in the clear lies where no destroyed key reaches it.
        if subject_of(episode) is not None:
            raise usage(
                f"{episode} is of a subject who can be erased, and evidence in the clear could not be",
                field="EPISODE",
                error="evidence.subject",
                hint=f"As it is sealed: metalogue log cat --episode {episode}",
            )
        text, head = packed(log, episode, find, key)
    except NoPolicy as error:
        hint = "What it rests on is learned with it. Name it: --policy FILE.py:NAME"
        raise CliError(str(error), error="policy.unknown", exit=FAILED, hint=hint) from error
    finally:
        log.close()
    if file == "-":
        out_bytes(text)
        return OK
    # Written beside and moved: a file of this name is either whole or not there.
    part = Path(file).with_name(f"{Path(file).name}.part")
    try:
        part.write_bytes(text)
        os.replace(part, file)
    except OSError as error:
        raise refused(error, "--out") from error
    finally:
        part.unlink(missing_ok=True)
    if json:
        out_json({"file": file, "episode": episode, "bytes": len(text), "head": head.json})
        return OK
    out(head.line)
    say(
        f"{file}: {len(text):,} bytes; publish the line above, then metalogue verify {file} --heads"
    )
    return OK


def _key_of(path: str, option: str, read: Callable[[bytes], K]) -> K:
    from streams.research.evidence.signing import BadKey

    try:
        return read(Path(path).read_bytes())
    except OSError as error:
        raise refused(error, option) from error
    except BadKey as error:
        hint = "Make one: openssl genpkey -algorithm ed25519 -out key.pem"
        raise usage(
            f"{path}: {error}",
            field=option,
            error="evidence.key",
            hint=hint if option == "--sign" else "",
        ) from error


# -- verifying -------------------------------------------------------------------------------------


def verify(path: str, *, heads: str | None, key: str | None, json: bool) -> int:
    """Verify evidence with no log: exit code 3 where it is not what it says, or replay diverges."""
    if not is_evidence(path):
        hint = "metalogue export evidence EPISODE --out FILE writes such a file"
        raise usage(f"{path} is no file of evidence", field="FILE", hint=hint)
    published = None if heads is None else heads_of(heads)
    trusted: str | None = None
    if key is not None:
        need_extra("cryptography", "sign")
        from streams.research.evidence.signing import public_key

        trusted = _key_of(key, "--key", public_key)
    try:
        pack = Pack.read(Path(path))
        with closing(pack.log()) as log:
            done = _verified(pack, log, published, trusted)
            if json:
                told = {"episode": pack.episode, "product": pack.manifest["product"]}
                signed = {"signed_by": pack.manifest["signed_by"], "key_known": trusted is not None}
                out_json(told | signed | as_json(done))
            else:
                made = pack.manifest
                answer = "" if made.get("answer") is None else f" {made['answer']}"
                said = [f"{pack.episode}: {made.get('status') or 'open'}{answer}"]
                said.append(f"made by {made['product']}; {', '.join(pack.policies)}")
                if made["signed_by"] is not None:
                    said.append(f"signed by {made['signed_by']}")
                # A line break in any of these would let the file speak in our name.
                out("\n".join(map(one_line, said)))
                told_all(log, done, json=False)
    except NoPack as error:
        where = f"{path}:{error}".partition(": ")
        raise CliError(where[2], error="evidence.format", exit=DIVERGED, where=where[0]) from error
    except OSError as error:
        raise refused(error, "FILE") from error
    if done.diverged:
        return DIVERGED
    return FAILED if done.unverifiable else OK


def _verified(pack: Pack, log: SqliteLog, published: Heads | None, trusted: str | None) -> Verified:
    found: list[Unlike] = [Altered(each) for each in _unsigned(pack, trusted)]
    # What was changed comes before what diverges: a file that was altered explains everything
    # else.
    found += [Altered(each) for each in pack.altered(log, find)]
    if published is not None:
        found += [Unlike(each) for each in _against(pack, log, published)]
    done = Verifier(log, find).run()
    done.diverged[:0] = found
    # Only a head that somebody published ties the file to anything outside itself. Against one,
    # what the file leaves out is proven to be as it was.
    is_whole = published is not None and not found
    done.left_out = [each for each in done.left_out if each.what not in DECIDED or not is_whole]
    if published is None and trusted is None:
        done.left_out.append(LeftOut(WHOLE, UNPROVEN if pack.signature is None else UNKNOWN))
    if published is not None:
        done.covered, done.since = sum(len(chain.here) for chain in pack.chains), 0
    return done


def _unsigned(pack: Pack, trusted: str | None) -> list[Broken]:
    """What is wrong with a signature, or that there is none where one is wanted."""
    name, signature = pack.manifest["signed_by"], pack.signature
    if name is None and signature is None:
        return [] if trusted is None else [Broken("signature", "-", "lacking", trusted, "none")]
    # Taking away one half would turn a signed file into one that was never signed.
    if name is None or signature is None:
        return [Broken("signature", "-", "half of it is gone", str(name), str(signature))]
    need_extra("cryptography", "sign")
    from streams.research.evidence.signing import is_signed

    # Looked at before the signature: a valid one of another key proves nothing to whoever named
    # this one.
    if trusted is not None and name != trusted:
        return [Broken("signature", "-", "of another key", trusted, name)]
    if not is_signed(name, pack.first, signature):
        return [Broken("signature", "-", "not under this manifest", name, signature)]
    return []


def _against(pack: Pack, log: SqliteLog, published: Heads) -> list[Broken]:
    """Differences from published heads: of the file, else of each chain that it has a part of."""
    head = pack.head
    # A head of the very file says all that heads of chains could say.
    own = published.heads.get(head.chain)
    if own is not None:
        known = set(own.values())
        if head.digest in known:
            return []
        return [Broken(head.chain, "-", "another file", ", ".join(sorted(known)), head.digest)]
    links = list(links_of(log, numbered=pack.numbered))
    return [
        broken
        for chain in pack.chains
        for broken in unpublished(
            chain, [link for link in links if link.chain == chain.name], published
        )
    ]
