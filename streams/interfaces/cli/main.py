"""The entry point: flags that stand anywhere, the commands, and how errors leave the process."""

# A command raises, and this module alone turns what was raised into one line on standard error
# and an exit code. So no command calls `sys.exit`, and each can be called by tests and other
# commands.
#
# What leaves here must always name what to do. A traceback is never shown unless --debug asks for
# it: an error that nothing knows is told as our defect, because a reader could do nothing about
# it. Standard output holds results and nothing else, for scripts read it.

from __future__ import annotations

import codecs
import os
import sys
from typing import TYPE_CHECKING, cast

from streams.interfaces.cli.errors import FAILED, INTERRUPTED, OK, USAGE, CliError
from streams.interfaces.cli.flags import FLAGS, take_flags
from streams.interfaces.cli.messages import log_as_asked
from streams.interfaces.cli.output import complain_of, drop, flush

if TYPE_CHECKING:
    from io import TextIOWrapper

    import typer

PRIVATE = 0o077
"""What others may do with a file or folder that we make: nothing, for prompts and answers stand in them.

Set for the process, so that it holds for what libraries make too. A mode that is there already stays.
"""


def main(arguments: list[str] | None = None) -> int:
    """Run one command. Returns the exit code; with no arguments given, ends the process with it."""
    if arguments is None:
        # Whoever started us may have closed a stream. The next file that is opened would come to
        # stand in its place, and what is meant for people would be written into a log.
        for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
            if getattr(sys, name) is None:
                setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
        # A locale may have no letters but its own, and a result is full of others. They leave as
        # JSON spells them, so that JSON with them says the same.
        codecs.register_error("json", _spelled)
        stdout = cast("TextIOWrapper", sys.stdout)
        # The locale C takes bytes of names as they are, and has no more letters for it.
        if stdout.errors == "strict" or (
            stdout.errors == "surrogateescape" and stdout.encoding != "utf-8"
        ):
            stdout.reconfigure(errors="json")
        sys.exit(main(sys.argv[1:]))
    before = os.umask(PRIVATE)
    try:
        # Taken out before typer sees them, since they may stand anywhere: typer knows only
        # options of a command, behind its name.
        left = take_flags(arguments)
        # Of every command, since libraries speak where no model is asked too. A program that
        # imports us comes by no command, and keeps its own handlers.
        log_as_asked()
        # Before the command is run: what it opens may name one of these, and nothing else may
        # run.
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
    # Whoever reads has enough (`| head`): that is no failure. What is still in the buffer goes
    # nowhere, or Python would complain at its end.
    except BrokenPipeError:
        drop()
        return OK
    finally:
        os.umask(before)


def _spelled(error: UnicodeError) -> tuple[str, int]:
    """What an encoding lacks, as JSON escapes it."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    import json

    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def _run(arguments: list[str]) -> int:
    import typer

    from streams.interfaces.cli.app import narrowed

    # Only the command that is called is built, since building all of them takes long.
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
    except CliError as error:
        from streams.interfaces.cli.config import placed

        raise placed(error, arguments) from error
    except (BrokenPipeError, KeyboardInterrupt):
        raise
    except Exception as error:
        from streams.interfaces.cli.log_faults import fault_of
        from streams.interfaces.cli.places import refused, unnamed, unsayable

        # What went wrong with the log's file, with a path that the system names or with a full disk
        # is known; all else is our fault.
        found = fault_of(error)
        if found is None and isinstance(error, OSError):
            found = unnamed(error) if error.filename is None else refused(error)
        found = found or unsayable(error, arguments)
        if found is None and FLAGS.debug:
            raise
        detail = f"{type(error).__name__}: {error}"
        hint = "This is a defect of Metalogue. The same command with --debug shows where."
        return _report(found or CliError(detail, error="defect", exit=FAILED, hint=hint))
    return result if isinstance(result, int) else OK


def _misused(error: typer.TyperException) -> int:
    from typer import BadParameter

    from streams.interfaces.cli.errors import usage

    context = getattr(error, "ctx", None)
    if context is not None and error.message == context.get_help():  # a group without a command
        sys.stderr.write(error.message + "\n")
        return USAGE
    hint = f"See {context.command_path} --help" if context is not None else "See metalogue --help"
    if isinstance(error, BadParameter) and error.param and error.message:
        option = max(error.param.opts, key=len)
        detail = error.message.removeprefix("Value error, ").rstrip(".")
        return _report(usage(detail, field=option, hint=hint))
    # What is missing has no message of its own.
    return _report(usage(error.format_message(), hint=hint))


def _report(error: CliError) -> int:
    if FLAGS.debug:
        raise error
    complain_of(error)
    return error.exit


__all__ = ["USAGE", "main", "typer"]


if __name__ == "__main__":
    sys.exit(main())
