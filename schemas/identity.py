"""Names that follow from content and place alone: addresses, digests, seeds, episodes, scopes, series.

No name is drawn at random or taken from a clock, so doing a thing twice is doing it once.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote, unquote
from zlib import crc32

import orjson

# Whatever is on a log was named by these functions, and so none of them may ever give another name
# for the same input.
BEFORE = ("admitted", "opened")  # named addresses that come before the numbered ones
_NUMBERED = re.compile(r"[0-9]+(\.[0-9]+)*")
_LEARNING = re.compile(
    r"b/(?P<scope>.+)/(?P<batch>[0-9]{1,15})(\.(?P<revision>[0-9]{1,15}))?", re.DOTALL
)


_CANONICAL = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS


def canonical(value: Any) -> bytes:
    """One JSON text for one value: keys sorted, no spaces."""
    return orjson.dumps(value, option=_CANONICAL)


# Long texts are seldom asked for twice, and would fill the cache with what is large.
CACHED_CHARS = 4096


def text_digest(text: str) -> str:
    """Twelve hexadecimal digits of the text's SHA-256; lone surrogates are kept apart, never refused."""
    return _cached_digest(text) if len(text) <= CACHED_CHARS else _digest_of(text)


def _digest_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


_cached_digest = lru_cache(maxsize=1024)(_digest_of)


def digest(value: Any) -> str:
    """Twelve hexadecimal digits of the SHA-256 of a value's canonical JSON."""
    # Taken of every record of a log: it is made here at once, and not by ``canonical``.
    return hashlib.sha256(orjson.dumps(value, option=_CANONICAL)).hexdigest()[:12]


def json_digest(body: str | bytes) -> str:
    """The digest of what stands in a JSON text, however that is written; empty for what cannot be written again."""
    # The body is read and digested anew, since two writers of one value may order its keys
    # otherwise. Names are texts in what was just read, which spares the look at each.
    try:
        value = orjson.dumps(orjson.loads(body), option=orjson.OPT_SORT_KEYS)
    except (ValueError, TypeError):
        return ""
    return hashlib.sha256(value).hexdigest()[:12]


def hash01(*parts: object) -> float:
    """A number in [0, 1), uniform over its arguments and a pure function of them: our only randomness."""
    # Parts are joined by a sign that none of them holds, or else ("ab", "c") would draw as ("a",
    # "bc").
    raw = hashlib.sha256("\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass")).digest()
    # Seven bytes are exact in a float; eight would be rounded, on some values up to 1.
    return int.from_bytes(raw[:7], "big") / (1 << 56)


def call_seed(seed: int, address: str) -> int:
    """The endpoint's seed for the call at an address, in [0, 2**31)."""
    # Endpoints take seeds of 31 bits. The address makes equal prompts of one episode draw
    # otherwise.
    return crc32(f"{seed}/{address}".encode()) & 0x7FFFFFFF


ASKED = "asked."
"""How the address of a question to a person begins; the address of its answer follows."""


def seed_of(*parts: object) -> int:
    """A seed in [0, 2**31) that follows from its arguments."""
    return int(hash01("seed", *parts) * (1 << 31))


@lru_cache(maxsize=4096)
def is_numbered(address: str) -> bool:
    """Whether a policy yielded the record at this address (``3``, ``3.1.0``)."""
    return (address.isascii() and address.isdecimal()) or _NUMBERED.fullmatch(address) is not None


@lru_cache(maxsize=4096)
def address_order(address: str) -> tuple[int, tuple[int, ...], str]:
    """Sort key: admitted, opened, the numbered addresses, then the rest by name."""
    # The usual address is one number, and this is asked for each record of a log.
    if address.isascii() and address.isdecimal():
        return (1, (int(address),), "")
    if address in BEFORE:
        return (0, (BEFORE.index(address),), "")
    if is_numbered(address):
        return (1, tuple(map(int, address.split("."))), "")
    return (2, (), address)


def run_id(
    policy: str, profile: str, values: Mapping[str, Any], seed: int, walk: int, series: str | None
) -> str:
    """Which walk over a problem this is: same policy, settings, seed, pass and series, same run."""
    return digest([policy, profile, dict(values), seed, walk, series])


def episode_id(domain: str, problem_id: str, run: str) -> str:
    """``p/<domain>/<problem id>/<run>``; slashes and spaces of the problem id are percent-encoded."""
    # A slash in a problem's id must not become a part of the name.
    return f"p/{domain}/{quote(problem_id, safe='')}/{run}"


def requoted(episode: str) -> str:
    """A problem's episode whose name was percent-decoded, as it is called; what is no such name stays as it is."""
    marker, _, rest = episode.partition("/")
    domain, _, rest = rest.partition("/")
    problem_id, _, run = rest.rpartition("/")
    return episode_id(domain, problem_id, run) if marker == "p" and run else episode


def episode_parts(episode: str) -> tuple[str, str, str]:
    """Domain, problem id and run of a problem's episode. Raises ``ValueError`` for any other name."""
    marker, domain, problem_id, run = episode.split("/", 3)
    if marker != "p":
        raise ValueError(f"{episode} is not a problem's episode")
    return domain, unquote(problem_id), run


def episode_seed(seed: int, walk: int, domain: str, problem_id: str) -> int:
    """The seed that every random choice of one episode follows from."""
    return seed_of(seed, walk, domain, problem_id)


def names_a_file(policy: str) -> bool:
    """Whether a policy's name is ``FILE.py:NAME``: code of a user's own, which no record may choose."""
    return ".py:" in policy


def with_prompts(version: str, prompts: object) -> str:
    """A policy's version under other prompts than its own: ``12~5f0c9a3be811``."""
    return f"{without_prompts(version)}~{digest(prompts)}"


def without_prompts(version: str) -> str:
    """The version of the policy itself, whatever its prompts say."""
    return version.partition("~")[0]


def scope_id(domain: str, policy: str, memory: str, learning: Mapping[str, Any]) -> str:
    """Whose memory: domain, policy, the memory's name and the learning settings as they were set."""
    return f"{domain}/{policy}/{memory}/{digest(dict(learning))}"


def learning_id(scope: str, batch: int, revision: int | None = None) -> str:
    # The first closing has no number, as on logs from before there were revisions.
    """The episode in which a scope learns from one batch, or learns from it again."""
    return f"b/{scope}/{batch}.{revision}" if revision else f"b/{scope}/{batch}"


def learning_parts(episode: str) -> tuple[str, int, int | None] | None:
    """Scope, batch and revision of a learning episode; nothing of any other name."""
    found = _LEARNING.fullmatch(episode)
    if found is None:
        return None
    scope, batch, revision = found["scope"], int(found["batch"]), found["revision"]
    parts = (scope, batch, int(revision) if revision else None)
    # Only the one spelling counts: ``b/x/07`` would be another name for batch 7, and be written
    # beside it.
    return parts if learning_id(*parts) == episode else None


def is_set(episode: str) -> bool:
    """Whether an episode is a set of problems worked on together."""
    return episode.startswith("s/")


def set_id(series: str, number: str) -> str:
    """The episode in which the members of one window of a series are worked on together."""
    return f"s/{series}/{number}"


TAKEN = "taken-"
"""How the run of a case begins that was taken from another tool's trace; runs of ours are digests."""


def taken_id(domain: str, problem_id: str, said: Any) -> str:
    """The name of a case that was taken from another tool's trace: that of a problem, and of no run of ours."""
    return episode_id(domain, problem_id, f"{TAKEN}{digest(said)}")


def is_taken(episode: str) -> bool:
    """Whether a name is that of another tool's trace: learned from, and counted as nobody's work here."""
    parts = episode.split("/", 3)
    return len(parts) == 4 and parts[0] == "p" and parts[3].startswith(TAKEN)


def probed(episode: str) -> str:
    """The problem's episode that a side episode was taken from, at whatever remove; any other is its own."""
    name = episode
    # A probe of a probe belongs to the same problem's episode.
    while name.startswith("q/"):
        name = name[2:]
    return episode if name == episode else "/".join(name.split("/")[:4])


def probe_id(parent: str, address: str, purpose: str, changed: Any) -> str:
    """A side episode: what it was taken from, where, what for, and what was changed."""
    return f"q/{parent}/{address}/{purpose}/{digest(changed)}"


def text_key(text_id: str) -> str:
    """Where a text that is kept once per log lives."""
    return f"t/{text_id}"
