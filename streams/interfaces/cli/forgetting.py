"""The `forget` command: what it would withdraw, then, with --yes, that it is withdrawn."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from streams.interfaces.cli.errors import OK, CliError, usage
from streams.interfaces.cli.kafka_log import is_kafka
from streams.interfaces.cli.opening import log_url, open_log
from streams.interfaces.cli.output import out, out_json, say
from streams.interfaces.cli.places import text_of
from streams.interfaces.cli.setup import Models, as_cli, world_of
from streams.interfaces.cli.show.page import Page
from streams.views.words import plural, wrap

if TYPE_CHECKING:
    from schemas.problem import Limits
    from streams.answering.world import World
    from streams.replay.lineage import Lineage
    from streams.runtime.embedded.log import SqliteLog

NOTHING: Mapping[str, list[str]] = {}
Scopes: TypeAlias = dict[str, list[str]]
"""Episodes by scope."""
SHOWN, INDENT = 6, 14
KEEPS = "they keep the rules that they took over when they began: to be without those, begin another memory (--memory)"
STAYS = (
    "A log is never rewritten: the texts themselves go with the log's file, and with copies of it. "
    "Versions that finished episodes named stay too, so that they can be verified."
)


def need_one(problem: str | None, subject: str | None, *, erase: bool) -> str | None:
    """The problem that is to be forgotten; none where a subject is to be erased. Raises a usage error for else."""
    if subject is not None and problem is None and erase:
        return None
    if problem is not None and subject is None and not erase:
        return problem
    if problem is not None:
        what = "a problem is forgotten, and subjects are erased"
        hint = "Give --problem ID, or --subject NAME --erase"
        raise usage(what, field="--erase" if erase else "--subject", hint=hint)
    if subject is not None:
        raise usage("a subject is erased: add --erase", field="--subject")
    raise usage("what is to be forgotten?", field="--problem", hint="A problem's id")


def forget(
    log: str | None,
    problem_id: str,
    *,
    domain: str | None,
    models: Models,
    limits: Limits,
    by: str | None,
    reason: str | None,
    yes: bool,
    json: bool,
) -> int:
    """Tell the lineage of a problem; with ``yes`` withdraw what cites it. The exit code."""
    from schemas.events.episode import ProblemAdmitted
    from streams.engine.policies import NoPolicy, find
    from streams.replay.lineage import Tracing, command, cut_short, remains

    by, reason = text_of(by, "--by"), text_of(reason, "--reason")
    opened = open_log(log, writes=yes)
    try:
        admitted = opened.find(problem_id, "admitted")
        if isinstance(admitted, ProblemAdmitted):  # an episode was given: its problem is meant
            problem_id, domain = admitted.problem.id, domain or admitted.problem.domain
        name, scopes, waiting = _meant(opened, problem_id, domain)
        tracing = Tracing(opened, find)
        try:
            found = [tracing.of(s, name, problem_id, among) for s, among in scopes.items()]
        except NoPolicy as error:
            where = str(opened.path)
            raise CliError(str(error), error="policy.unknown", exit=2, where=where) from error
        traced = [replace(each, queued=len(waiting.get(each.scope, ()))) for each in found if each]
        held = remains(opened, name, problem_id)
        if not json:
            _page(name, problem_id, traced, held).show()
        if not yes:
            return _told(traced, held, json=json, done=None)
        here = any(each.versions for each in traced) and not is_kafka(log_url(log))
        calls = sum(each.calls for each in traced)
        # Before anything is on record: a command that cannot reach its model must not leave half
        # of its work to others.
        world = world_of(models, patient=False, offering=()) if here and calls else None
        events = [command(s, name, problem_id, limits, by, reason) for s in scopes]
        # From here on it is forgotten, whatever happens. The rest can be done by any worker
        # later.
        opened.publish(commands=events)
        done = _close_again(opened, world) if here else []
        _out_of_tables(opened)
        # Told at the end, since the limits may have ended the writing of rules before all were
        # done.
        short = cut_short(opened, done)
        return _told(traced, held, json=json, done=done, short=short)
    finally:
        opened.close()


def _meant(log: SqliteLog, problem_id: str, domain: str | None) -> tuple[str, Scopes, Scopes]:
    """The problem's domain, and its episodes by scope: all, and those still queued. Raises a usage error."""
    from schemas.settings import near
    from streams.engine.policies import find
    from streams.interfaces.cli.config import load
    from streams.interfaces.cli.finding import problems_of
    from streams.replay.lineage import asked, queued

    waiting, found = queued(log, problem_id, find, load().policy), asked(log, problem_id)
    for name, scopes in waiting.items():
        for scope, episodes in scopes.items():
            found.setdefault(name, {}).setdefault(scope, []).extend(episodes)
    if domain is not None:
        found = {name: scopes for name, scopes in found.items() if name == domain}
    if not found:
        known = problems_of(log)
        begun = sorted(each for each in known if each.startswith(problem_id))[:SHOWN]
        # Other commands take a unique beginning. Here one would be too easily somebody else's.
        said = f"Name it in full: {', '.join(begun)}" if begun else near(problem_id, known)
        raise usage(
            f"no problem {problem_id!r}",
            field="--problem",
            error="problem.unknown",
            hint=said[:1].upper() + said[1:],
        )
    if len(found) > 1:
        hint = f"Name one: --domain {' or '.join(found)}"
        raise usage("in several domains", field="--problem", error="problem.ambiguous", hint=hint)
    ((name, scopes),) = found.items()
    return name, scopes, waiting.get(name, {})


# ── The screen ───────────────────────────────────────────────────────────────────────────────


def _page(domain: str, problem_id: str, traced: list[Lineage], held: dict[str, int]) -> Page:
    page = Page()
    page.line((f"{domain}/{problem_id}", "strong"))
    if not traced:
        page.line("it was forgotten before; nothing of it is in memory")
    for each in traced:
        page.line()
        page.line((each.scope, "strong"), f"   {plural(len(each.episodes), 'episode')}")
        rules = ", ".join(f"{count} of the {role}" for role, count in each.rules.items())
        lessons = f"{plural(len(each.lessons), 'lesson')}  {_some(each.lessons)}"
        closed, influenced = "none", "no later episode"
        if each.versions:
            span = " to ".join(dict.fromkeys((each.versions[0], each.versions[-1])))
            closed = f"{plural(len(each.versions), 'version')}: {span}"
        if each.influenced:
            many = plural(len(each.influenced), "later episode")
            influenced = f"{many}  {_some(each.influenced)}; not run again"
        rows = {
            "withdrawn": lessons.rstrip(),
            "stale rules": rules or "none",
            "closed again": closed,
            "model calls": f"{each.calls}, to write those rules again (more where a reply cannot be read)",
            "influenced": influenced,
            "warm starts": f"{_some(each.warmed)}; {KEEPS}" if each.warmed else "none",
        }
        if each.queued:
            what = plural(each.queued, "episode")
            rows["queued"] = f"{what} of it, to be answered still; nothing is learned from them"
        for name, said in rows.items():
            first, *more = wrap(said, page.width - INDENT)
            page.line((f"{name:<{INDENT}}", "dim"), first)
            for line in more:
                page.line(" " * INDENT, line)
    page.line()
    page.wrapped(
        f"stays on the log: {plural(held['records'], 'record')} of its episodes with "
        f"{plural(held['completions'], 'completion')}, {plural(held['answers'], 'answer')}, "
        f"{held['feedback']} of feedback, {plural(held['learning'], 'lesson')} as distilled. {STAYS}"
    )
    return page


def _some(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return " ".join(names[:SHOWN]) + more


# ── Doing it ─────────────────────────────────────────────────────────────────────────────────


def _close_again(log: SqliteLog, world: World | None) -> list[str]:
    """Close the versions again, unless a worker does. What was closed."""
    from streams.core.backbone import BackboneError
    from streams.engine.policies import find
    from streams.interfaces.cli.working import only_worker
    from streams.runtime.embedded.forgetting import close_again

    try:
        with only_worker(str(log.path)):
            work = close_again(log, find, world, f"forget:{os.getpid()}")
            done, waiting = asyncio.run(work if world is None else world.during(work))
            for scope in waiting:
                say(f"{scope}: a batch is not learned from yet; the next worker goes on")
            return done
    except BackboneError as error:
        raise as_cli(error) from error
    except CliError as error:
        if error.error != "log.busy":
            raise
        say(f"{error.detail}: it closes the versions again")
        return []


def _out_of_tables(log: SqliteLog) -> None:
    """Write the tables beside the log without it, old versions and all; a projector at work does so itself."""
    from streams.runtime.embedded.projector import tables_path

    folder = tables_path(log.path)
    if not folder.is_dir():
        return
    from state.tables.lock import Busy, only_writer
    from streams.runtime.embedded.projector import Projector

    try:
        with only_writer(folder):
            projector = Projector(log)
            projector.open()
            projector.close()
    except Busy as error:
        say(f"{error}: it writes them without it")


def _told(
    traced: list[Lineage],
    held: dict[str, int],
    *,
    json: bool,
    done: list[str] | None,
    short: Mapping[str, list[str]] = NOTHING,
) -> int:
    if json:
        found: dict[str, Any] = {"scopes": [asdict(each) for each in traced], "stays": held}
        found |= {"forgotten": done is not None, "closed_again": done or [], "cut_short": short}
        out_json(found)
    elif done is None and traced:
        say("nothing was changed: add --yes to forget it")
    elif done:
        out(f"closed again: {' '.join(done)}")
        for name, roles in short.items():
            what = (
                f"rules of {' and '.join(roles)} were not written again" if roles else "fewer rules"
            )
            out(f"{name}: the call limit was spent: {what}")
    elif done is not None and any(each.versions for each in traced):
        say("a worker closes the versions again; until then their scopes open nothing new")
    elif done is not None and traced:
        out("forgotten: no memory version rests on it")
    return OK
