"""The flags that may stand anywhere on a command line."""

from __future__ import annotations

from dataclasses import dataclass

from streams.interfaces.cli.errors import usage

DISPLAYS = ("full", "plain", "none")
LEVELS = ("debug", "info", "warning", "error")


@dataclass(slots=True)
class Flags:
    """Flags that are understood anywhere on a command line."""

    quiet: bool = False
    display: str = ""
    """As the command line says it; where it says nothing, ``config.display`` knows."""
    log_level: str = "warning"
    log_format: str = "text"
    debug: bool = False
    json: bool = False
    allow_policies: str = ""
    keys: str = ""
    """The file of keys that the command line names for its log."""
    log: str = ""
    """The file of the log that the command works on: SQLite's errors name none."""


FLAGS = Flags()
ALLOW = "--allow-policies"
_VALUED = {"--display": DISPLAYS, "--log-level": LEVELS, "--log-format": ("text", "json")}


def take_flags(arguments: list[str]) -> list[str]:
    """Set ``FLAGS`` from the arguments, and return those that are left for the command."""
    FLAGS.keys = FLAGS.allow_policies = ""  # what one command may run is no other's business
    left: list[str] = []
    rest = iter(arguments)
    # One pass that takes values from the same iterator, so that a value is never read as a flag.
    for argument in rest:
        name, equals, value = argument.partition("=")
        if argument == "--":
            # Behind `--` everything is text of the command, even if it looks like a flag.
            left.extend((argument, *rest))
        elif argument in ("-q", "--quiet"):
            FLAGS.quiet, FLAGS.display = True, "none"
        elif argument == "--debug":
            FLAGS.debug = True
        elif name in _VALUED:
            word = value if equals else next(rest, "")
            if word not in _VALUED[name]:
                raise usage(f"{word!r} is not one of {', '.join(_VALUED[name])}", field=name)
            setattr(FLAGS, name[2:].replace("-", "_"), word)
        elif name == ALLOW:
            FLAGS.allow_policies = value if equals else next(rest, "")
            if not FLAGS.allow_policies:
                raise usage("name the file that lists them", field=ALLOW)
        else:
            # The command declares --json itself. It is noted here too, because errors before the
            # command is found have to be written as JSON as well.
            FLAGS.json = FLAGS.json or argument == "--json"
            left.append(argument)
    return left
