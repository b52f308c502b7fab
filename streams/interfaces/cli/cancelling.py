"""Cancelling: a person takes an episode out that waits or runs. The command line and every door do it by this.

It is a record, so that every worker goes by it: the one that works on the episode lets go of its open calls, and
none takes it up again. What was answered stays on record. An episode that ends before its worker reads that word
keeps its answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING

from schemas.events.episode import EpisodeAdopted, EpisodeOpened
from streams.interfaces.cli.doctor.adopting import voided
from streams.interfaces.cli.errors import FAILED, OK, CliError
from streams.interfaces.cli.finding import find_episode
from streams.interfaces.cli.opening import open_log
from streams.interfaces.cli.output import complain_of, out, out_json
from streams.interfaces.cli.places import text_of
from streams.interfaces.cli.reviewing import person

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog


def cancel_all(
    log: str | None, wanted: Sequence[str], *, by: str | None, reason: str | None, json: bool
) -> int:
    """``cancel ID…``: the exit code, 1 where one of them could not be cancelled."""
    # Somebody is answerable for it: the machine's name for him is better than none.
    who = text_of(by, "--by") or person()
    why = None if reason is None else text_of(reason, "--reason")
    failed = False
    with closing(open_log(log, writes=True)) as opened:
        # All names are looked up first: one that is mistyped cancels nothing, rather than half of
        # the list.
        for episode in [find_episode(opened, each) for each in wanted]:
            try:
                new = cancel(opened, episode, by=who, reason=why)
            except CliError as error:
                failed = True
                # Told at once and the rest goes on: these calls cost while nobody stops them.
                complain_of(error)
                continue
            if json:
                out_json({"episode": episode, "by": who, "new": new})
            else:
                out(f"{episode}: cancelled" + ("" if new else " already"))
    return FAILED if failed else OK


def cancel(
    log: SqliteLog, episode: str, *, by: str | None = None, reason: str | None = None
) -> bool:
    """Take an episode out; whether it was not yet.

    Raises a ``CliError`` where it has ended, where no worker has admitted it, and where it was begun in a set: its
    calls are those of all members, and no record could tell what belongs to whom.
    """
    journal = log.journal(episode)
    if "closed" in journal:
        raise _no(episode, "the episode has ended", "episode.ended")
    # A record of an episode that no worker knows would lie where nobody reads it.
    if "admitted" not in journal:
        hint = "A worker that runs does so within a second"
        raise _no(episode, "no worker has admitted it yet", "episode.waits", hint)
    # Who says it twice meant the same, and gets no second record.
    if taken_out(log, episode) is not None:
        # On Kafka the word on its place lies on another topic, and may not have got there.
        said = islice(voided(log, episode, "cancelled", by=by, reason=reason), 1, None)
        log.publish(commands=[each for each in said if log.find(each[0], each[1]) is None])
        return False
    opened = journal.get("opened")
    if isinstance(opened, EpisodeOpened) and opened.within is not None:
        what = f"it is worked on together with others, in {opened.within}"
        raise _no(episode, what, "episode.in_set", "It ends with them")
    log.publish(commands=list(voided(log, episode, "cancelled", by=by, reason=reason)))
    return True


def taken_out(log: SqliteLog, episode: str) -> EpisodeAdopted | None:
    """Who took an episode out and why, if somebody did."""
    said = log.records(episode=episode, kinds=("episode.adopted",))
    events = (each.event for each in said)
    return next((e for e in events if isinstance(e, EpisodeAdopted) and e.void), None)


def _no(episode: str, what: str, error: str, hint: str = "") -> CliError:
    return CliError(what, error=error, exit=FAILED, where=episode, hint=hint)
