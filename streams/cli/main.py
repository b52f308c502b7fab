"""The entry point: flags that stand anywhere, the commands, and how errors leave the process."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from streams.cli.common import FLAGS, take_flags
from streams.cli.errors import FAILED, INTERRUPTED, OK, USAGE, CliError

if TYPE_CHECKING:
    import typer


def main(arguments: list[str] | None = None) -> int:
    """Run one command. Returns the exit code; with no arguments given, ends the process with it."""
    if arguments is None:
        sys.exit(main(sys.argv[1:]))
    try:
        code = _run(take_flags(arguments))
        sys.stdout.flush()  # here, so that a reader who left is met while we can still say so
        return code
    except CliError as error:
        return _report(error)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK


def _run(arguments: list[str]) -> int:
    import typer

    from streams.cli.app import narrowed

    command = typer.main.get_command(narrowed(arguments[0] if arguments else ""))
    try:
        # Not `command.main`: it ends a closed pipe with 1, and here that is no failure.
        with command.make_context("metalogue", arguments) as context:
            result = command.invoke(context)
    except typer.Exit as done:
        return done.exit_code
    except typer.Abort:
        return INTERRUPTED
    except _usage_errors() as error:
        return _misused(error)
    except (CliError, BrokenPipeError, KeyboardInterrupt):
        raise
    except Exception as error:
        return _defect(error)
    return result if isinstance(result, int) else OK


def _usage_errors() -> type[Exception]:
    from typer._click.exceptions import ClickException

    return ClickException


def _misused(error: Exception) -> int:
    from typer._click.exceptions import NoArgsIsHelpError

    if not isinstance(error, NoArgsIsHelpError):
        return _report(_as_usage(error))
    sys.stderr.write(error.format_message() + "\n")
    return USAGE


def _as_usage(error: Exception) -> CliError:
    from typer._click.exceptions import BadParameter, MissingParameter

    from streams.cli.errors import usage

    context = getattr(error, "ctx", None)
    hint = f"See {context.command_path} --help" if context is not None else "See metalogue --help"
    if isinstance(error, BadParameter) and error.param and not isinstance(error, MissingParameter):
        option = max(error.param.opts, key=len)
        detail = error.message.removeprefix("Value error, ").rstrip(".")
        return usage(detail, field=option, hint=hint)
    message = getattr(error, "format_message", lambda: str(error))()
    return usage(message, hint=hint)


def _report(error: CliError) -> int:
    if FLAGS.debug:
        raise error
    if FLAGS.json:
        import json

        sys.stderr.write(json.dumps(error.record()) + "\n")
    else:
        sys.stderr.write(error.text() + "\n")
    return error.exit


def _defect(error: Exception) -> int:
    if FLAGS.debug:
        raise error
    detail = f"{type(error).__name__}: {error}"
    hint = "This is a defect of Metalogue. The same command with --debug shows where."
    return _report(CliError(detail, error="defect", exit=FAILED, hint=hint))


__all__ = ["USAGE", "main", "typer"]


if __name__ == "__main__":
    sys.exit(main())
