"""The doctor: one line for each thing that must be in order, and what to do where it is not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from streams.interfaces.cli.doctor.checks import Check, fail, ok
from streams.interfaces.cli.errors import OK, CliError
from streams.interfaces.cli.opening import log_url, open_log
from streams.interfaces.cli.output import out, out_json


def doctor(log: str | None, *, adopt: str | None, void: str | None, json: bool) -> int:
    """Look at everything, after letting a parked episode go on if asked to; the exit code."""
    if adopt is not None or void is not None:
        from streams.interfaces.cli.doctor.adopting import let_go_on

        let_go_on(log, adopt, void)
    checks = list(everything(log))
    if json:
        out_json({"checks": [_record(check) for check in checks]})
    else:
        for check in checks:
            out(_line(check))
    return next((check.exit for check in checks if check.exit), OK)


def _record(check: Check) -> dict[str, Any]:
    return asdict(check)


def _line(check: Check) -> str:
    first = f"{check.state:<4}  {check.name:<12}  {check.detail}"
    return f"{first}\n{'':20}{check.todo}" if check.todo else first


def everything(log: str | None) -> Iterator[Check]:
    """Every check in turn; a configuration that cannot be read ends none of the others."""
    from streams.interfaces.cli.doctor import setup

    yield from setup.checks()
    try:
        yield from _of_log(log)
    except CliError as error:
        yield fail("log", error.detail, error.hint, error.exit)


def _of_log(log: str | None) -> Iterator[Check]:
    from streams.interfaces.cli.dead_letters import option
    from streams.interfaces.cli.doctor.log import checks

    url = log_url(log)
    try:
        opened = open_log(log)
    except CliError as error:
        if error.error != "log.missing" or log is not None:
            raise
        yield ok("log", f"none yet; metalogue produce makes {url}")
        return
    try:
        yield from checks(opened, url, option(log))
    finally:
        opened.close()
