"""Which episode is meant: a problem's id, an episode's, a unique beginning of either, or the latest.

One resolver for every command that takes an id. Nothing on a log, an id of nothing and an id of several
things are wrong command lines: what finds nothing must not look like what found nothing to say.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import quote

import orjson

from schemas.identity import episode_parts
from schemas.letters import ERRORS
from schemas.settings import near
from streams.interfaces.cli.errors import USAGE, CliError, usage
from streams.runtime.embedded.queries import episodes, messages
from streams.runtime.embedded.queries.letters import letters

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

SHOWN = 6
HINT = "An ID is a problem's id, an episode's, or a unique beginning. All: metalogue consume"
START = "Start a worker: metalogue worker --backbone B --until-idle"


def find_episode(log: SqliteLog, wanted: str | None) -> str:
    """The episode that is meant. Raises a ``CliError``, with the choices if there are several."""
    if wanted is None:
        latest = episodes.latest(log)
        if latest is None:
            raise _nothing(log, "no episode yet")
        return latest
    if not _is_text(wanted):
        raise usage(f"no episode {wanted!r}", field="ID", error="episode.unknown", hint=HINT)
    # The exact name goes before every other reading, so that what a listing prints always means
    # that one episode, whatever else is called so.
    if episodes.is_on_record(log, wanted):
        return wanted
    runs = runs_of(log, wanted)
    if not runs:
        # Lessons name what they came from as `domain/id`, and episodes as `p/domain/id/…`.
        domain, _, problem_id = wanted.removeprefix("p/").rstrip("/").partition("/")
        runs = runs_of(log, problem_id, domain) if problem_id else []
    problems = {episode_parts(episode)[:2] for episode in runs}
    if len(problems) > 1:
        raise _several(wanted, sorted(map("/".join, problems)), "problems")
    if runs:
        return runs[-1]
    found = _by_beginning(log, wanted)
    if len(found) == 1:
        return found[0]
    raise _several(wanted, found, "episodes") if found else _unknown(log, wanted)


def find_kept(log: SqliteLog, wanted: str) -> str:
    """As ``find_episode``, but whatever bears this very name is meant: claims, series, texts, messages too."""
    if _is_text(wanted) and episodes.is_known(log, wanted):
        return wanted
    return find_episode(log, wanted)


def runs_of(log: SqliteLog, problem_id: str, domain: str | None = None) -> list[str]:
    """The episodes of a problem, those that are closed last, oldest first; without any, its cases of other tools."""
    part = f"/{quote(problem_id, safe='')}/"
    named = [
        (closed, episode)
        for episode, closed in episodes.admitted(log, part) or episodes.taken(log, part)
        if (parts := _parts(episode)) and parts[1] == problem_id and domain in (None, parts[0])
    ]
    return [episode for _, episode in sorted(named, key=lambda row: row[0])]


def problems_of(log: SqliteLog) -> set[str]:
    """Ids of all problems that have episodes."""
    admitted = episodes.admitted(log, "p/")
    return {parts[1] for each in admitted if (parts := _parts(each.episode))}


def need_records(log: SqliteLog) -> None:
    """Raises a ``CliError`` where nothing was recorded yet."""
    if log.end() == 0:
        raise _nothing(log, "nothing is on record yet")


def need_episodes(log: SqliteLog, wanted: str | None = None) -> None:
    """Raises a ``CliError`` where nothing was worked on yet, or not on the episode that is wanted."""
    if wanted is None and not episodes.any_begun(log):
        raise _nothing(log, "no episode yet")
    if wanted is not None and not episodes.is_begun(log, wanted):
        raise _nothing(log, f"{wanted} was not worked on yet")


def one_of(wanted: str, names: Iterable[str]) -> str | None:
    """The name that is meant: this very one, or the only one that begins so; none if there is none.

    Raises a usage error where several begin so.
    """
    known = sorted(set(names))
    found = [wanted] if wanted in known else [name for name in known if name.startswith(wanted)]
    if len(found) > 1:
        raise _several(wanted, found, "ids")
    return found[0] if found else None


def _id_of(letter: bytes) -> str | None:
    """The id of a refused problem, where it says one."""
    with suppress(ValueError, AttributeError):
        said = orjson.loads(letter).get("id")
        return said if isinstance(said, str) else None
    return None


def _nothing(log: SqliteLog, what: str) -> CliError:
    return CliError(what, error="episode.none", exit=USAGE, where=log.called, hint=START)


def _is_text(wanted: str) -> bool:
    """Whether bytes of the command line could be read: what could not is the name of nothing."""
    # SQLite would refuse the lone surrogates by which Python stands for such bytes.
    return wanted.isascii() or not any("\ud800" <= char <= "\udfff" for char in wanted)


def _parts(episode: str) -> tuple[str, str, str] | None:
    try:
        return episode_parts(episode)
    except ValueError:
        return None


def _by_beginning(log: SqliteLog, wanted: str) -> list[str]:
    """Episodes whose own name begins so; else those of problems whose id does, of a single one the newest."""
    found = episodes.beginning_with(log, wanted)
    if found:
        return found
    known = (*episodes.admitted(log, "p/"), *episodes.taken(log, "p/"))
    named = [(parts, each.episode) for each in known if (parts := _parts(each.episode))]
    matching = {episode: parts[:2] for parts, episode in named if parts[1].startswith(wanted)}
    # Runs of one problem are no choice to be made: whoever types an id means the last one.
    if len({*matching.values()}) == 1:
        ((domain, problem_id),) = {*matching.values()}
        return runs_of(log, problem_id, domain)[-1:]
    return list(matching)


def _several(wanted: str, found: list[str], what: str) -> CliError:
    more = ", …" if len(found) > SHOWN else ""
    return usage(
        f"{wanted!r} begins {len(found)} {what}",
        field="ID",
        error="episode.ambiguous",
        hint=f"Say more of it: {', '.join(found[:SHOWN])}{more}",
    )


def _unknown(log: SqliteLog, wanted: str) -> CliError:
    """The error for an id of nothing, with the nearest there is."""
    # A worker that has refused it never admits it.
    for letter in letters(log):
        if not letter.sent_on and _id_of(letter.value) == wanted:
            why = str(letter.headers.get(f"{ERRORS}message", "it cannot be read"))
            return CliError(
                f"{wanted} was refused: {why}",
                error="episode.refused",
                exit=USAGE,
                where=log.called,
                hint=f"metalogue dlq show {letter.number} shows it; mend it and send it again",
            )
    # The commonest reason for an id that is not there: it was produced, and no worker runs.
    if messages.is_queued(log, f"/{quote(wanted, safe='')}/"):
        return _nothing(log, f"{wanted} is queued: no worker has admitted it")
    admitted = [each.episode for each in episodes.admitted(log, "p/")]
    if not admitted:
        return _nothing(log, "no episode yet")
    said = near(wanted, admitted if "/" in wanted else problems_of(log))
    hint = f"{said[:1].upper()}{said[1:]} {HINT}".lstrip()
    return usage(f"no episode {wanted!r}", field="ID", error="episode.unknown", hint=hint)
