"""The `show` command."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.asking import Diverged
from schemas.events.traces import TraceTaken
from schemas.settings import BadSetting
from streams.engine.policies import NoPolicy
from streams.interfaces.cli.errors import OK, usage
from streams.interfaces.cli.finding import find_episode, runs_of
from streams.interfaces.cli.opening import open_log
from streams.interfaces.cli.output import out, out_json
from streams.views.sheet import EpisodeView, read

if TYPE_CHECKING:
    from streams.interfaces.cli.show.page import Page
    from streams.runtime.embedded.log import SqliteLog


def show(
    wanted: str | None, *, at: str | None, log: str | None, json: bool, tree: str | None = None
) -> int:
    """Print an episode, or one address of it, or write its tree; the exit code."""
    with closing(open_log(log)) as opened:
        # One reading serves every form below: page, JSON and tree of an episode must
        # not differ in what they take it to be.
        sheet = read(opened, find_episode(opened, wanted))
        taken = sheet.journal.get("taken")
        if isinstance(taken, TraceTaken):
            from streams.interfaces.cli.show import taken as case

            # A case from elsewhere has no addresses and no tree: it is shown whole,
            # whatever was asked.
            if json:
                out_json(case.case_json(sheet.episode, taken, sheet.journal))
            else:
                case.page_of(sheet.episode, taken, sheet.journal, log).show()
            return OK
        if sheet.admitted is None and sheet.learned_from is None:
            raise usage(f"{sheet.episode} is no episode", field="ID", error="episode.unknown")
        if tree is not None:
            from streams.interfaces.cli.show.tree import write

            write(sheet, Path(tree))
            out(f"written {tree}")
            return OK
        if at is not None:
            return _moment(opened, sheet, at, url=log, json=json)
        if json:
            from streams.interfaces.cli.show.plain import episode_json, history_json

            out_json(episode_json(sheet) | history_json(sheet))
            return OK
        _page(opened, sheet, log).show()
        return OK


def _page(opened: SqliteLog, sheet: EpisodeView, log: str | None) -> Page:
    """The screen, whose commands call the episode by the shortest name that means it."""
    from streams.interfaces.cli.show.episode import page_of

    name, runs = sheet.episode, list[str]()
    if sheet.admitted is not None:
        # Its problem's id is what people know it by, but that means the latest run of the problem.
        asked = sheet.admitted.problem
        runs = runs_of(opened, asked.id, asked.domain)
        if runs[-1:] == [sheet.episode] and runs == runs_of(opened, asked.id):
            name = asked.id  # which means this one then, and nothing in another domain
    return page_of(sheet, log, name, len(set(runs) - {sheet.episode}))


def _moment(log: SqliteLog, sheet: EpisodeView, at: str, *, url: str | None, json: bool) -> int:
    """One address in full; its prompt is not on the log, so its policy derives it again."""
    from streams.engine.episode import PolicyChanged
    from streams.interfaces.cli.show.moment import moment

    try:
        found = moment(log, sheet, at, url=url)
    except Diverged as error:
        from streams.interfaces.cli.verifying import told

        raise told(log, error) from error
    except (PolicyChanged, NoPolicy, BadSetting) as error:
        # The log is whole; it is this build that does not have the policy as it was.
        raise usage(
            f"{sheet.episode} at {at}: its prompt cannot be derived by this build: {error}",
            field="--at",
            error="replay.unverifiable",
            hint="The replies are still there: the same command without --at, and --json",
        ) from error
    if json:
        from streams.interfaces.cli.show.plain import moment_json

        out_json(moment_json(sheet, found))
        return OK
    from streams.interfaces.cli.show.prompt import page_of

    page_of(sheet, found).show()
    return OK
