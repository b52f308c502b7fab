"""The entry point: flags that stand anywhere, the commands, and how errors leave the process."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from streams.interfaces.cli.errors import FAILED, INTERRUPTED, OK, USAGE, CliError
from streams.interfaces.cli.flags import FLAGS, take_flags
from streams.interfaces.cli.output import complain, drop, flush

if TYPE_CHECKING:
    import typer

PRIVATE = 0o077
"""What others may do with a file or folder that we make: nothing, for prompts and answers stand in them.

Set for the process, so that it holds for what libraries make too. A mode that is there already stays.
"""


def main(arguments: list[str] | None = None) -> int:
    """Run one command. Returns the exit code; with no arguments given, ends the process with it."""
    if arguments is None:
        _open_what_is_closed()
        sys.exit(main(sys.argv[1:]))
    before = os.umask(PRIVATE)
    try:
        left = take_flags(arguments)
        if FLAGS.allow_policies:
            from streams.interfaces.cli.own_policies import listed

            listed(FLAGS.allow_policies)
        code = _run(left)
        flush()  # here, so that a reader who left is met while we can still say so
        return code
    except CliError as error:
        return _report(error)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        drop()
        return OK
    finally:
        os.umask(before)


def _open_what_is_closed() -> None:
    """Whoever started us may have closed a stream: no other file may come to stand in its place."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


def _run(arguments: list[str]) -> int:
    import typer

    from streams.interfaces.cli.app import narrowed

    command = typer.main.get_command(narrowed(arguments[0] if arguments else ""))
    try:
        # Not `command.main`: it ends a closed pipe with 1, and here that is no failure.
        with command.make_context("metalogue", arguments) as context:
            result = command.invoke(context)
    except typer.Exit as done:
        return done.exit_code
    except typer.Abort:
        return INTERRUPTED
    except typer.TyperException as error:
        return _misused(error)
    except (CliError, BrokenPipeError, KeyboardInterrupt):
        raise
    except Exception as error:
        return _unforeseen(error)
    return result if isinstance(result, int) else OK


def _misused(error: typer.TyperException) -> int:
    context = getattr(error, "ctx", None)
    if context is not None and error.message == context.get_help():  # a group without a command
        sys.stderr.write(error.message + "\n")
        return USAGE
    hint = f"See {context.command_path} --help" if context is not None else "See metalogue --help"
    return _report(_as_usage(error, hint))


def _as_usage(error: typer.TyperException, hint: str) -> CliError:
    from typer import BadParameter

    from streams.interfaces.cli.errors import usage

    if isinstance(error, BadParameter) and error.param and error.message:
        option = max(error.param.opts, key=len)
        detail = error.message.removeprefix("Value error, ").rstrip(".")
        return usage(detail, field=option, hint=hint)
    return usage(error.format_message(), hint=hint)  # what is missing has no message of its own


def _report(error: CliError) -> int:
    if FLAGS.debug:
        raise error
    if FLAGS.json:
        import json

        sys.stderr.write(json.dumps(error.record()) + "\n")
    else:
        complain(error.text())
    return error.exit


def _unforeseen(error: Exception) -> int:
    """What went wrong with the log's file, a path that the system names or a full disk; else it is our fault."""
    from streams.interfaces.cli.log_faults import fault_of
    from streams.interfaces.cli.places import refused, unnamed

    found = fault_of(error)
    if found is None and isinstance(error, OSError):
        found = unnamed(error) if error.filename is None else refused(error)
    return _defect(error) if found is None else _report(found)


def _defect(error: Exception) -> int:
    if FLAGS.debug:
        raise error
    detail = f"{type(error).__name__}: {error}"
    hint = "This is a defect of Metalogue. The same command with --debug shows where."
    return _report(CliError(detail, error="defect", exit=FAILED, hint=hint))


__all__ = ["USAGE", "main", "typer"]


if __name__ == "__main__":
    sys.exit(main())
