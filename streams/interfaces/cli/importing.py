"""The `import traces` command: other tools' traces as cases of a scope, with a line for each that was refused."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streams.engine.policies import SHELF, find
from streams.interfaces.cli.errors import FAILED, OK, usage
from streams.interfaces.cli.letters import kept_as
from streams.interfaces.cli.options import pairs
from streams.interfaces.cli.output import flush, out, out_json, say
from streams.interfaces.cli.producing import check_names, log_for, refusals
from streams.interfaces.cli.prompting import given
from streams.interfaces.cli.setup import policy_of, tools_wanted
from streams.interfaces.cli.typed import given_type
from streams.producing.sources import NoSource, built_in, lines_of
from streams.producing.traces.taking import Plan, Taken, Taker

if TYPE_CHECKING:
    from streams.interfaces.cli.options import PolicyOptions

DEFAULT_POLICY = "mc2"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line says beside the policy and its settings."""

    source: str
    tenant: str | None
    tool: str | None
    evaluation: str | None
    dry: bool


def traces(wanted: Wanted, log: str | None, way: PolicyOptions, *, json: bool) -> int:
    """Take a file of traces in; the exit code. Raises ``CliError`` for a wrong command line or source."""
    if built_in(wanted.source):
        raise usage(f"{wanted.source}: no such file", field="FILE", error="input.source")
    plan = _plan(wanted, way)
    try:
        # All of it before there is a log: a file that cannot be read leaves none.
        lines = list(lines_of(wanted.source, None))
    except NoSource as error:
        raise usage(str(error), field="FILE", error="input.source") from error
    with closing(log_for(log, dry=wanted.dry)) as opened:
        taker = Taker(opened, plan)
        done = taker.run(lines, dry=wanted.dry)
        told = refusals(wanted.source, log, dry=wanted.dry)
        for refused in done.refused:
            line, why = refused
            if told.counts(why):
                kept = "A dry run: nothing is kept."
                if not wanted.dry:
                    kept = kept_as(opened, taker.letter(refused)[0], line)
                told.tell(why, f"{wanted.source}:{line.number}", kept)
        told.sum_up(taken=bool(done.taken or done.known))
    figures = {
        "taken": done.taken,
        "known": done.known,
        "refused": len(done.refused),
        "labelled": done.labelled,
    }
    if json:
        out_json({**figures, "scopes": sorted(done.scopes)})
    else:
        _say_what_lacks(done)
        out(" ".join(f"{name} {count}" for name, count in figures.items()))
    flush()
    return FAILED if done.refused else OK


def _plan(wanted: Wanted, way: PolicyOptions) -> Plan:
    """For whom traces are taken in. Raises a usage error for a policy that learns nothing from them."""
    from streams.interfaces.cli.config import load

    values = pairs(way.settings, "--set")
    policy = policy_of(way.policy or DEFAULT_POLICY, way.profile, values)
    if policy.takes is None:
        able = ", ".join(each.name for each in SHELF.all() if each.takes is not None)
        detail = f"{policy.name} learns nothing from traces of other tools"
        raise usage(detail, field="--policy", hint=f"These do: {able}")
    check_names(way, wanted.tenant)
    return Plan(
        source=wanted.source,
        find=find,
        policy=way.policy or DEFAULT_POLICY,
        profile=way.profile,
        values=values,
        domain=way.domain,
        memory=way.memory,
        tenant=wanted.tenant,
        tool=wanted.tool,
        evaluation=wanted.evaluation,
        tools=tools_wanted() is not None,
        prompts=given(way.prompts),
        statements=load().statements,
        answer_type=given_type(way.answer_type),
    )


def _say_what_lacks(done: Taken) -> None:
    """Say why less can be learned from these traces than from others, where that is so."""
    if done.taken > done.labelled:
        silent = done.taken - done.labelled
        say(f"{silent} without a verdict: they do not say what to do and what to avoid.")
        say(
            "  Give it before a worker learns from them: metalogue feedback FILE, with episode and verdict."
        )
    # A memory that compares paths needs two at least, or every lesson would praise the only one.
    if done.taken > 1 and len(done.paths) == 1:
        say(f"all {done.taken} have one path, {min(done.paths)}: it cannot tell right from wrong.")
        say("  A model reads paths off texts: --set grounding=model")
