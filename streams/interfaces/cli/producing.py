"""The `produce` command: a source to the log, with a line for each thing refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from handlers.policies.base import Around
from schemas.faults import first_fault
from schemas.identity import digest
from schemas.problem import Limits
from streams.engine.policies import find
from streams.interfaces.cli.dead_letters import option
from streams.interfaces.cli.errors import FAILED, OK, usage
from streams.interfaces.cli.keys import are_named
from streams.interfaces.cli.letters import kept_as
from streams.interfaces.cli.opening import is_missing, open_log
from streams.interfaces.cli.options import pairs
from streams.interfaces.cli.output import flush, out, out_json, say
from streams.interfaces.cli.prompting import given
from streams.interfaces.cli.refusals import Refusals
from streams.interfaces.cli.setup import policy_of, tools_wanted
from streams.interfaces.cli.typed import given_type
from streams.producing.others import Others
from streams.producing.produce import Plan, Produced, Producer, Refusal
from streams.producing.sources import NoSource, SourceLine, built_in, lines_of
from streams.runtime.embedded.log import SqliteLog

if TYPE_CHECKING:
    from streams.interfaces.cli.options import PolicyOptions, ReadOptions, SeriesOptions


def produce(
    source: str,
    log: str | None,
    way: PolicyOptions,
    learning: SeriesOptions,
    reading: ReadOptions,
    *,
    limits: Limits,
    json: bool,
) -> int:
    """Produce a source; the exit code. Raises ``CliError`` for a wrong command line or source."""
    if reading.follow and source != "-":
        raise usage("only standard input can be followed: produce - --follow", field="--follow")
    if learning.series is not None and way.policy is None:
        raise usage("a series is of one policy: name it with --policy", field="--series")
    plan = _plan(source, way, learning, limits)
    lines = _lines(source, reading)
    if reading.follow:
        with closing(log_for(log, dry=reading.dry_run)) as opened:
            told = refusals(source, log, dry=reading.dry_run, streamed=True)
            total, refused, others = Produced(), 0, Others(opened)
            endless = replace(plan, finite=False)
            # Each line is on the log before the next is read: a pipe may stay silent for hours.
            for line in lines:
                done = Producer(opened, endless, others).run([line], dry=reading.dry_run)
                total.produced += done.produced
                total.known += done.known
                refused += len(done.refused)  # and not the lines: they would be held for ever
                say_refused(opened, told, done.refused, dry=reading.dry_run)
            told.sum_up(taken=bool(total.produced or total.known))
            return _summary(total, refused, json)
    # All of it before there is a log: a source that cannot be read makes none.
    whole = list(lines)
    if source == "-":
        # Standard input has no name by which the same problems could be known again; their
        # content is one.
        plan = replace(plan, content=digest([line.raw.hex() for line in whole]))
    with closing(log_for(log, dry=reading.dry_run)) as opened:
        producer = Producer(opened, plan)
        # The empty log of a dry run has no keys, although the one that it stands for would be
        # begun with some.
        producer.subjects.begins = reading.dry_run and are_named()
        done = producer.run(_let_go(whole), dry=reading.dry_run)
        told = refusals(source, log, dry=reading.dry_run)
        return _report(opened, plan, done, told, reading.dry_run, json)


def _let_go(lines: list[SourceLine]) -> Iterator[SourceLine]:
    """Each line in turn, which the list then holds no more: what it became is held beside it."""
    lines.reverse()
    while lines:
        yield lines.pop()


def log_for(log: str | None, *, dry: bool) -> SqliteLog:
    """The log; where there is none, a dry run looks at an empty one in memory and leaves nothing behind."""
    if dry and is_missing(log):
        return SqliteLog(":memory:", create=True)
    return open_log(log, create=True)


def _plan(source: str, way: PolicyOptions, learning: SeriesOptions, limits: Limits) -> Plan:
    """What holds of every line. Raises a usage error for a policy, setting or name that cannot be."""
    from streams.interfaces.cli.config import load

    values = pairs(way.settings, "--set")
    if way.policy is not None:
        policy = policy_of(way.policy, way.profile, values)
        usual = policy.usual(way.profile, Around(tools_wanted() is not None))
        settings = {**usual, **values}
        why = policy.unlearnable(policy.resolve(way.profile, settings))
        # Said now, because a run costs as much whether it teaches or not.
        if why is not None:
            say(f"warning: {policy.name} will learn nothing from this: {why}")
    check_names(way, learning.tenant, learning.subject)
    return Plan(
        source=source,
        find=find,
        policy=way.policy,
        domain=way.domain,
        profile=way.profile,
        values=values,
        limits=limits,
        seed=way.seed,
        walk=learning.walk,
        memory=way.memory,
        tenant=learning.tenant,
        subject=learning.subject,
        priority=learning.priority,
        series=learning.series,
        timing=learning.timing,
        order=learning.order,
        perturb=learning.perturb,
        around=Around(tools_wanted() is not None),
        statements=load().statements,
        answer_type=given_type(way.answer_type),
        prompts=given(way.prompts),
    )


def _lines(source: str, reading: ReadOptions) -> Iterator[SourceLine]:
    """The source's first lines. Raises a usage error where there is no such source."""
    from streams.interfaces.cli.config import load

    data = reading.data
    # Whoever names two files meant the other one to be read, too.
    if data is not None and not built_in(source):
        hint = "A file is named itself: produce FILE"
        raise usage(f"{source} is no built-in set", field="--data", hint=hint)
    if data is None and built_in(source) and source.startswith("game24"):
        data = load().game24_csv
    try:
        yield from islice(lines_of(source, data), reading.limit)
    except NoSource as error:
        hint = "Its file: --data PATH" if data is None and built_in(source) else ""
        raise usage(str(error), field="SOURCE", error="input.source", hint=hint) from error


def check_names(way: PolicyOptions, tenant: str | None, subject: str | None = None) -> None:
    """Raises a usage error where no problem could bear what is said of all of them."""
    from pydantic import ValidationError

    from schemas.problem import Problem, ProblemRecord

    said: dict[str, Any] = {
        "domain": way.domain or "default",
        "memory": way.memory,
        "seed": way.seed,
    }
    said["tenant"] = tenant
    try:
        # Tried on a problem that says nothing else. Otherwise every line would be refused for
        # what no line says.
        Problem.model_validate({"id": "-", "problem": "-"} | said)
        ProblemRecord.model_validate({"id": "-", "problem": "-", "subject": subject})
    except ValidationError as error:
        field, what = first_fault(error)
        raise usage(what, field=f"--{field.partition('.')[0]}") from error


def _report(
    log: SqliteLog, plan: Plan, done: Produced, told: Refusals, dry: bool, json: bool
) -> int:
    say_refused(log, told, done.refused, dry=dry)
    told.sum_up(taken=bool(done.produced or done.known))
    if done.produced and plan.series_id is None:
        say("no series: without --policy the worker's own decides, and problems go as they come")
    # What is split by a field of the lines learns in parts, and often nobody meant that.
    if len(done.scopes) > 1:
        parts = ", ".join(f"{scope} {count}" for scope, count in sorted(done.scopes.items()))
        say(f"{len(done.scopes)} scopes, each of which learns from its own problems alone: {parts}")
    # Limits are no part of an episode's name. Whoever raises them and produces again would wonder
    # why nothing happens.
    if done.known and plan.limits != Limits():
        say(f"{done.known} known: they keep the limits that they were first produced with.")
        say("  Limits make no other episode; --seed N or --pass N does.")
    if done.refused and not json:  # to scripts the line below says it
        others, taken = done.produced + done.known, "would be taken" if dry else "taken"
        say(
            f"  {others} other lines {taken}. Mend the refused ones, then run the same command again:"
        )
        say("  what is known is skipped.")
    return _summary(done, len(done.refused), json)


def _summary(done: Produced, refused: int, json: bool) -> int:
    figures = {"produced": done.produced, "known": done.known, "refused": refused}
    if json:
        out_json({**figures, "series": sorted(set(done.series))})
    else:
        out(" ".join(f"{name} {count}" for name, count in figures.items()))
    flush()
    return FAILED if refused else OK


def refusals(source: str, log: str | None, *, dry: bool, streamed: bool = False) -> Refusals:
    """What was refused of a source so far: nothing."""
    kept = "A dry run: nothing is kept. All of them: --json"
    if not dry:
        kept = f"Each is a dead letter: metalogue dlq list{option(log)}"
    return Refusals(source, kept, streamed)


def say_refused(log: SqliteLog, told: Refusals, refused: list[Refusal], *, dry: bool) -> None:
    """Tell what a produce refused."""
    for refusal in refused:
        if told.counts(refusal.error):
            kept = "A dry run: nothing is kept." if dry else kept_as(log, refusal.key, refusal.line)
            told.tell(refusal.error, f"{told.source}:{refusal.line.number}", kept)
