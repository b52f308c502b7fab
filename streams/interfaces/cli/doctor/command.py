"""The doctor: one line for each thing that must be in order, and what to do where it is not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict

from streams.interfaces.cli.doctor.checks import Check, fail, ok
from streams.interfaces.cli.errors import OK, CliError
from streams.interfaces.cli.opening import log_url, open_log
from streams.interfaces.cli.output import out, out_json


def doctor(log: str | None, *, adopt: str | None, void: str | None, json: bool) -> int:
    """Look at everything, after letting a parked episode go on if asked to; the exit code."""
    if adopt is not None or void is not None:
        from streams.interfaces.cli.doctor.adopting import let_go_on

        let_go_on(log, adopt, void)
    # All of them run before any is told: one object for programs, and the
    # code is the first failure's.
    checks = list(everything(log))
    if json:
        out_json({"checks": [asdict(check) for check in checks]})
    else:
        for check in checks:
            todo = f"\n{'':20}{check.todo}" if check.todo else ""
            out(f"{check.state:<4}  {check.name:<12}  {check.detail}{todo}")
    return next((check.exit for check in checks if check.exit), OK)


def everything(log: str | None) -> Iterator[Check]:
    """Every check in turn; a configuration that cannot be read ends none of the others."""
    from streams.interfaces.cli.dead_letters import option
    from streams.interfaces.cli.doctor import setup
    from streams.interfaces.cli.doctor.log import checks

    yield from setup.checks()
    try:
        with closing(open_log(log)) as opened:
            yield from checks(opened, log_url(log), option(log))
    except CliError as error:
        # Who has just installed it has no log; one that was named and is not there is a fault.
        if error.error == "log.missing" and log is None:
            yield ok("log", f"none yet; metalogue produce makes {log_url(log)}")
        else:
            yield fail("log", error.detail, error.hint, error.exit)
