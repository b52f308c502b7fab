"""A log held against heads that were published of it: whatever was changed before them is found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from schemas.asking import Diverged
from streams.replay.chain import links_of
from streams.replay.heads import Broken, Heads, Link, compared
from streams.replay.left_out import LeftOut
from streams.replay.verify import Verified
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.queries import counts

DECIDED = frozenset(
    {
        *("what may be cut off at the end", "a log that was written anew as a whole"),
        *("times of records", "messages' times, headers and problems' keys", "closings"),
        "series' seed, order and build",
    }
)
"""What nobody can compare within a log, and what heads decide where they speak of all of it."""

GIVEN = frozenset({"what may be cut off at the end", "a log that was written anew as a whole"})
"""What they decide up to where they speak, whatever else they say."""
SINCE = "they came after the heads: only later ones speak of them"


class Unlike(Diverged):
    """A record is not the one that was published, or is gone, added or out of its order."""

    code, says = "log.chain", "not what was published in"

    def __init__(self, broken: Broken) -> None:
        super().__init__(*broken.where, broken.how, broken.published, broken.now)
        self.chain = broken.chain


def hold(log: SqliteLog, published: Heads, done: Verified) -> None:
    """Add to a verification what heads say of the log: differences, how much they cover, what came since."""
    with log.reading():
        against(links_of(log), published, done)
        # Before all others: a damaged index explains what would look like records that are gone.
        done.diverged[:0] = damaged(log)


def damaged(log: SqliteLog) -> Iterator[Diverged]:
    """Where a file's own indexes disagree with its rows: then commands find other records than its chains hold."""
    for said in counts.damage(log):
        yield Diverged(str(log.path), "-", "file", said, "ok")


def against(links: Iterable[Link], published: Heads, done: Verified) -> None:
    """The same for the links of any log or of a part that says its links."""
    published = published.of_logs
    last, since, covered = published.last, 0, 0

    def counted() -> Iterable[Link]:
        nonlocal since, covered
        for link in links:
            # Counted on the way, for reading a log twice would take twice as long.
            is_new = link.count > last.get(link.chain, 0)
            since, covered = since + is_new, covered + (not is_new)
            yield link

    found = [Unlike(each) for each in compared(counted(), published)]
    done.diverged[:0] = found
    done.covered, done.since = covered, since
    # Only heads of all of it, which all hold, decide what nobody could compare within the log.
    whole = not since and not found
    left = (each for each in done.left_out if each.what not in (DECIDED if whole else GIVEN))
    done.left_out = [*left, *([LeftOut("records", SINCE, since)] if since else [])]
