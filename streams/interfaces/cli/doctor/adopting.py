"""Decisions of a person on episodes that cannot continue: one is adopted, or taken out of its batch.

Those that are parked wait for a person; those of a scope whose policy is not here wait for the policy, and
may wait for ever. Either decision is a record, so that every worker and every replay goes by it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from schemas.events.base import Event
from schemas.events.episode import EpisodeAdopted, EpisodeParked, ProblemAdmitted
from schemas.events.learning import PositionVoided
from schemas.identity import episode_parts
from streams.interfaces.cli.doctor.log import holder_of
from streams.interfaces.cli.doctor.policies import waiting
from streams.interfaces.cli.errors import FAILED, UNREACHABLE, CliError, usage
from streams.interfaces.cli.opening import open_log
from streams.interfaces.cli.output import say
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.queries import episodes

Statement = tuple[str, str, Event]
"""Episode, address and event."""
SHOWN = 5


def let_go_on(log: str | None, adopt: str | None, void: str | None) -> None:
    """State that a person decided. Raises ``CliError`` where the episode waits for nobody."""
    if adopt is not None and void is not None:
        raise usage("give one of --adopt and --void", field="--adopt")
    with closing(open_log(log, writes=True)) as opened:
        if void is None:
            parked = [each.episode for each in episodes.parked(opened)]
            chosen = [_one(parked, adopt or "", "parked")]
            said = [adopted(opened, each, void=False) for each in chosen]
        else:
            chosen = _to_void(opened, void)
            said = [each for episode in chosen for each in voided(opened, episode)]
        opened.publish(commands=said)
    left = "left out of its batch" if void is not None else "adopted"
    for episode in chosen:
        say(f"{episode}: {left}; the next worker to start goes on with it")


def adopted(
    log: SqliteLog, episode: str, *, void: bool, by: str | None = None, reason: str | None = None
) -> Statement:
    """That a person let an episode go on, or took it out."""
    # It may be parked and adopted again and again: each decision needs an address of its own.
    before = sum(isinstance(each, EpisodeAdopted) for each in log.journal(episode).values())
    return episode, f"adopted.{before}", EpisodeAdopted(void=void, by=by, reason=reason)


def voided(
    log: SqliteLog,
    episode: str,
    why: str | None = None,
    *,
    by: str | None = None,
    reason: str | None = None,
) -> Iterator[Statement]:
    """That an episode is taken out, and that nobody fills its place in the series, if it has one.

    ``why`` its place stays empty: by default that it was parked, or is without its policy.
    """
    yield adopted(log, episode, void=True, by=by, reason=reason)
    journal = log.journal(episode)
    admitted = journal.get("admitted")
    assert isinstance(admitted, ProblemAdmitted)
    problem, scope = admitted.problem, admitted.scope
    # A series learns in the order of its positions: it would wait for ever
    # for one that stays empty.
    if problem.series is not None and problem.position is not None:
        parked = any(isinstance(each, EpisodeParked) for each in journal.values())
        why = why or f"{'parked' if parked else 'without its policy'}, and voided by a person"
        yield (
            f"n/{scope}/{problem.series}",
            f"void.{problem.position}",
            PositionVoided(
                scope=scope,
                series=problem.series,
                position=problem.position,
                reason=why,
            ),
        )


def _to_void(log: SqliteLog, given: str) -> list[str]:
    """The episodes to take out: the one of this id, or all that wait in the scope of this name."""
    without = waiting(log)
    # A policy that is not here may be with the worker, whose command line named its file: what it
    # is about to work on must not be taken out under its hands.
    if without and (worker := holder_of(log.path)) is not None:
        raise CliError(
            f"process {worker} works on this log, and may have the policy that is not here",
            error="log.busy",
            exit=UNREACHABLE,
            where=str(log.path),
            hint=f"Void it when that one has ended: kill {worker}",
        )
    of_scope = [episode for episode, scope in without.items() if scope == given]
    if of_scope:
        return of_scope
    found = dict.fromkeys((*(each.episode for each in episodes.parked(log)), *without))
    return [_one([*found], given, "parked or without its policy")]


def _one(found: list[str], given: str, what: str) -> str:
    """The one that is meant, by its id, its problem's id or a unique beginning. Raises a ``CliError``."""
    # An exact name goes before a beginning: n1 means n1, though n10 begins so too.
    problems = {each: episode_parts(each)[1] for each in found if each.startswith("p/")}
    matching = [episode for episode in found if given in (episode, problems.get(episode, ""))]
    if len(matching) != 1:
        matching = [episode for episode in found if episode.startswith(given)]
    if len(matching) == 1:
        return matching[0]
    why = f"names several that are {what}" if matching else f"is not {what}"
    more = ", …" if len(found) > SHOWN else ""
    hint = f"No episode is {what}."
    if found:
        hint = f"{what.capitalize()}: {', '.join(found[:SHOWN])}{more}"
    raise CliError(f"{given} {why}", error="episode.not_parked", exit=FAILED, hint=hint)
