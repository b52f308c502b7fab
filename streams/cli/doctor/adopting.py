"""Letting a parked episode go on, or taking it out of its batch so that the batch moves on."""

from __future__ import annotations

from schemas.events.base import Event
from schemas.events.episode import EpisodeAdopted, EpisodeParked, ProblemAdmitted
from schemas.events.learning import PositionVoided
from streams.cli.errors import FAILED, CliError, usage
from streams.cli.opening import open_log
from streams.cli.output import say
from streams.runtime.embedded.log import SqliteLog


def let_go_on(log: str | None, adopt: str | None, void: str | None) -> None:
    """State that a person decided. Raises ``CliError`` where the episode is not parked."""
    if adopt is not None and void is not None:
        raise usage("give one of --adopt and --void", field="--adopt")
    opened = open_log(log, writes=True)
    try:
        episode = _parked(opened, adopt or void or "")
        said = list(_said(opened, episode, void=void is not None))
        opened.publish(commands=said)
    finally:
        opened.close()
    left = "left out of its batch" if void is not None else "adopted"
    say(f"{episode}: {left}; the next worker to start goes on with it")


def _parked(log: SqliteLog, given: str) -> str:
    from streams.cli.doctor.log import LATEST_PARKED

    found = [row[0] for row in log.db.execute(LATEST_PARKED)]
    matching = [episode for episode in found if given in (episode, _problem(episode))]
    if len(matching) != 1:
        matching = [episode for episode in found if episode.startswith(given)]
    if len(matching) == 1:
        return str(matching[0])
    what = "names several parked episodes" if matching else "is not parked"
    hint = f"Parked: {', '.join(found[:5])}" if found else "No episode is parked."
    raise CliError(f"{given} {what}", error="episode.not_parked", exit=FAILED, hint=hint)


def _problem(episode: str) -> str:
    from schemas.identity import episode_parts

    return episode_parts(episode)[1] if episode.startswith("p/") else ""


def _said(log: SqliteLog, episode: str, *, void: bool) -> list[tuple[str, str, Event]]:
    journal = log.journal(episode)
    number = sum(isinstance(event, EpisodeParked) for event in journal.values()) - 1
    adopted = (episode, f"adopted.{number}", EpisodeAdopted(void=void))
    return [adopted, *(_void(journal) if void else ())]


def _void(journal: dict[str, Event]) -> list[tuple[str, str, Event]]:
    admitted = journal.get("admitted")
    assert isinstance(admitted, ProblemAdmitted)
    problem = admitted.problem
    if problem.series is None or problem.position is None:
        return []
    event = PositionVoided(
        scope=admitted.scope,
        series=problem.series,
        position=problem.position,
        reason="parked, and voided by a person",
    )
    return [(f"n/{admitted.scope}/{problem.series}", f"void.{problem.position}", event)]
