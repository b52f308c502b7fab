"""Which episode is meant: a problem id, an episode id, a unique prefix of either, or the latest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemas.identity import episode_parts
from streams.cli.errors import CliError, usage

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

SHOWN = 6
LATEST = "select key from messages where topic = 'answers' order by offset desc limit 1"
NEWEST = "select episode from records where kind = 'episode.opened' order by offset desc limit 1"
ADMITTED = """
select episode, exists (
    select 1 from records c where c.episode = a.episode and c.address = 'closed')
  from records a where kind = 'problem.admitted' and instr(episode, ?) order by offset
"""
OPENED = "select episode from records where kind = 'episode.opened' and substr(episode, 1, ?) = ?"


def find_episode(log: SqliteLog, wanted: str | None) -> str:
    """The episode that is meant. Raises a ``CliError``, with the choices if there are several."""
    if wanted is None:
        return _latest(log)
    if log.db.execute("select 1 from records where episode = ?", (wanted,)).fetchone():
        return wanted
    by_problem = runs_of(log, wanted)
    if by_problem:
        return by_problem[-1]
    found = _by_prefix(log, wanted)
    if len(found) == 1:
        return found[0]
    if not found:
        raise usage(f"no episode {wanted!r}", field="ID", error="episode.unknown", hint=_hint())
    raise usage(
        f"{wanted!r} begins {len(found)} episodes",
        field="ID",
        error="episode.ambiguous",
        hint="Say more of it: " + ", ".join(found[:SHOWN]) + (", …" if len(found) > SHOWN else ""),
    )


def runs_of(log: SqliteLog, problem_id: str) -> list[str]:
    """The episodes of a problem, those that are closed last, oldest first."""
    from urllib.parse import quote

    rows = log.db.execute(ADMITTED, (f"/{quote(problem_id, safe='')}/",)).fetchall()
    named = [(closed, episode) for episode, closed in rows if _problem_of(episode) == problem_id]
    return [episode for _, episode in sorted(named, key=lambda row: row[0])]


def _problem_of(episode: str) -> str | None:
    try:
        return episode_parts(episode)[1]
    except ValueError:
        return None


def _latest(log: SqliteLog) -> str:
    for query in (LATEST, NEWEST):
        row = log.db.execute(query).fetchone()
        if row is not None:
            return str(row[0])
    hint = "Start a worker: metalogue worker --backbone B --until-idle"
    raise CliError("no episode yet", error="episode.none", exit=1, where=str(log.path), hint=hint)


def _by_prefix(log: SqliteLog, wanted: str) -> list[str]:
    rows = log.db.execute(OPENED, (len(wanted), wanted)).fetchall()
    if rows:
        return [str(row[0]) for row in rows]
    admitted = (str(row[0]) for row in log.db.execute(ADMITTED, ("p/",)))
    named = [(episode, _problem_of(episode) or "") for episode in admitted]
    matching = [(episode, problem) for episode, problem in named if problem.startswith(wanted)]
    if len({problem for _, problem in matching}) == 1:
        return [matching[-1][0]]
    return [episode for episode, _ in matching]


def _hint() -> str:
    return "An ID is a problem's id, an episode's, or a unique beginning. All: metalogue consume"
