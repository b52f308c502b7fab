"""The `produce` command: a source to the log, with a line for each thing refused."""

from __future__ import annotations

import sys
from itertools import islice
from typing import Any

from schemas.identity import digest
from schemas.problem import Limits
from streams.cli.common import open_log, out, out_json, pairs, say
from streams.cli.errors import FAILED, OK, CliError, usage
from streams.policies import NoPolicy, find
from streams.produce import Plan, Produced, Producer, Refusal
from streams.runtime.embedded.log import SqliteLog
from streams.sources import NoSource, built_in, lines_of


def produce(
    source: str,
    *,
    log: str | None,
    options: dict[str, Any],
    settings: list[str],
    limit: int | None,
    data: str | None,
    follow: bool,
    dry_run: bool,
    json: bool,
) -> int:
    """Produce a source; the exit code. Raises ``CliError`` for a wrong command line or source."""
    if follow and source != "-":
        raise usage("only standard input can be followed: produce - --follow", field="--follow")
    if options["series"] is not None and options["policy"] is None:
        raise usage("a series is of one policy: name it with --policy", field="--series")
    values = pairs(settings, "--set")
    if options["policy"] is not None:
        _check_policy(options["policy"], options["profile"], values)
    if data is None and built_in(source) and source.startswith("game24"):
        data = _ranks()
    _check_names(options)
    try:
        lines = islice(lines_of(source, data), limit)
        first = list(lines) if not follow else []
    except NoSource as error:
        raise usage(str(error), field="SOURCE", error="input.source") from error
    content = digest([line.raw.hex() for line in first]) if source == "-" else None
    told: dict[str, Any] = {"content": content, "values": values, "finite": not follow}
    plan = Plan(source=source, find=find, **told, **options)
    opened = open_log(log, create=True)
    try:
        if follow:
            return _follow(opened, plan, lines, json)
        done = Producer(opened, plan).run(first, dry=dry_run)
        return _report(opened, plan, done, json)
    finally:
        opened.close()


def _ranks() -> str | None:
    from streams.cli.config import load

    return load().game24_csv


def _check_policy(name: str, profile: Any, values: dict[str, Any]) -> None:
    from schemas.settings import BadSetting

    try:
        find(name).settings.resolve(profile, values)
    except NoPolicy as error:
        raise usage(str(error), field="--policy", error="policy.unknown") from error
    except BadSetting as error:
        raise usage(str(error), field="--set", error="policy.setting") from error


def _check_names(options: dict[str, Any]) -> None:
    """Raises a usage error where no problem could bear what is said of all of them."""
    from pydantic import ValidationError

    from schemas.problem import Problem

    said = {
        name: options[name] for name in ("domain", "memory", "seed") if options[name] is not None
    }
    try:
        Problem.model_validate({"id": "-", "problem": "-", "domain": "default"} | said)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise usage(first["msg"], field=f"--{first['loc'][0]}") from error


def _follow(log: SqliteLog, plan: Plan, lines: Any, json: bool) -> int:
    total = Produced()
    for line in lines:
        done = Producer(log, plan).run([line])
        total.produced += done.produced
        total.known += done.known
        total.refused += done.refused
        _say_refused(log, plan.source, done.refused)
    return _summary(total, json)


def _report(log: SqliteLog, plan: Plan, done: Produced, json: bool) -> int:
    _say_refused(log, plan.source, done.refused)
    if done.produced and plan.series_id is None:
        say("no series: without --policy the worker's own decides, and problems go as they come")
    if done.known and plan.limits != Limits():
        say(f"{done.known} known: they keep the limits that they were first produced with.")
        say("  Limits make no other episode; --seed N or --pass N does.")
    if done.refused:
        others = done.produced + done.known
        say(
            f"  {others} other lines taken. Mend the refused ones, then run the same command again:"
        )
        say("  what is known is skipped.")
    return _summary(done, json)


def _summary(done: Produced, json: bool) -> int:
    figures = {"produced": done.produced, "known": done.known, "refused": len(done.refused)}
    if json:
        out_json({**figures, "series": sorted(set(done.series))})
    else:
        out(" ".join(f"{name} {count}" for name, count in figures.items()))
    sys.stdout.flush()
    return FAILED if done.refused else OK


def _say_refused(log: SqliteLog, source: str, refused: list[Refusal]) -> None:
    letters = log.db.execute(
        "select count(*) from messages where topic = 'dead-letters'"
    ).fetchone()[0]
    place = "-" if source == "-" else source
    for number, refusal in enumerate(refused, letters - len(refused) + 1):
        error = refusal.error
        where = f"{place}:{refusal.line.number}:{error.column}"
        said = CliError(
            error.what,
            error=error.code,
            exit=FAILED,
            where=where,
            field=error.field,
            hint=f"Kept as dead letter {number}, bytes unchanged.",
        )
        say_error(said)


def say_error(error: CliError) -> None:
    """An error that does not end the command."""
    from streams.cli.common import FLAGS

    if FLAGS.json:
        import json

        sys.stderr.write(json.dumps(error.record()) + "\n")
    else:
        sys.stderr.write(error.text().replace(f", exit {error.exit}]", "]") + "\n")
