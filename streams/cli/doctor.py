"""The doctor: one line for each thing that must be in order, and what to do where it is not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

from streams.cli.common import log_url, open_log, out, out_json
from streams.cli.errors import OK, SETUP, CliError


@dataclass(frozen=True, slots=True)
class Check:
    """What was looked at and found. ``todo`` says what to do; ``exit`` is the code of a failure."""

    name: str
    state: Literal["ok", "warn", "fail"]
    detail: str
    todo: str = ""
    exit: int = OK


def ok(name: str, detail: str) -> Check:
    """In order."""
    return Check(name, "ok", detail)


def warn(name: str, detail: str, todo: str = "") -> Check:
    """Works, but a person should know."""
    return Check(name, "warn", detail, todo)


def fail(name: str, detail: str, todo: str = "", exit: int = SETUP) -> Check:
    """Does not work."""
    return Check(name, "fail", detail, todo, exit)


def doctor(log: str | None, *, adopt: str | None, void: str | None, json: bool) -> int:
    """Look at everything, after letting a parked episode go on if asked to; the exit code."""
    if adopt is not None or void is not None:
        from streams.cli.adopting import let_go_on

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
    from streams.cli import doctor_setup

    yield from doctor_setup.checks()
    try:
        yield from _of_log(log)
    except CliError as error:
        yield fail("log", error.detail, error.hint, error.exit)


def _of_log(log: str | None) -> Iterator[Check]:
    from streams.cli import doctor_log
    from streams.cli.dead_letters import option

    url = log_url(log)
    try:
        opened = open_log(log)
    except CliError as error:
        if error.error != "log.missing" or log is not None:
            raise
        yield ok("log", f"none yet; metalogue produce makes {url}")
        return
    try:
        yield from doctor_log.checks(opened, url, option(log))
    finally:
        opened.close()
