"""What every command shares: the flags that stand anywhere, output, and the log that `--log` names."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from streams.cli.errors import CliError, usage

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

DISPLAYS = ("full", "plain", "none")
LEVELS = ("debug", "info", "warning", "error")
DEFAULT_LOG = "sqlite:metalogue.db"


@dataclass(slots=True)
class Flags:
    """Flags that are understood anywhere on a command line."""

    quiet: bool = False
    display: str = "full"
    log_level: str = "warning"
    log_format: str = "text"
    debug: bool = False
    json: bool = False


FLAGS = Flags()
_VALUED = {"--display": DISPLAYS, "--log-level": LEVELS, "--log-format": ("text", "json")}


def take_flags(arguments: list[str]) -> list[str]:
    """Set ``FLAGS`` from the arguments, and return those that are left for the command."""
    left: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = argument.partition("=")
        if argument == "--":
            left.extend((argument, *rest))
        elif argument in ("-q", "--quiet"):
            FLAGS.quiet, FLAGS.display = True, "none"
        elif argument == "--debug":
            FLAGS.debug = True
        elif name in _VALUED:
            _set(name, value if equals else next(rest, ""))
        else:
            FLAGS.json = FLAGS.json or argument == "--json"
            left.append(argument)
    return left


def _set(name: str, value: str) -> None:
    if value not in _VALUED[name]:
        raise usage(f"{value!r} is not one of {', '.join(_VALUED[name])}", field=name)
    setattr(FLAGS, name[2:].replace("-", "_"), value)


def out(text: str = "") -> None:
    """A line of result."""
    sys.stdout.write(text + "\n")


def out_json(value: Any) -> None:
    """One JSON value a line, flushed."""
    import orjson

    sys.stdout.write(orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode() + "\n")
    sys.stdout.flush()


def say(text: str) -> None:
    """A message for people, on standard error; silent with ``-q``."""
    if not FLAGS.quiet:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


def colour(stream: Any = None) -> bool:
    """Whether colours may be used."""
    return not os.environ.get("NO_COLOR") and (stream or sys.stdout).isatty()


def log_path(url: str) -> str:
    """The path of an embedded log. Raises a usage error that says how to spell it right."""
    if url.startswith("sqlite:///"):
        right = "sqlite:" + url.removeprefix("sqlite://")
        raise usage(f"{url} is not spelled right", field="--log", hint=f"Write {right}")
    if url.startswith("jsonl:"):
        raise _read_only(url)
    if url.startswith("sqlite:") and len(url) > len("sqlite:"):
        return url.removeprefix("sqlite:")
    if url.endswith(".db") and ":" not in url:
        return url
    raise usage(
        f"{url!r} names no log",
        field="--log",
        hint="Write sqlite:PATH, a path that ends in .db, kafka://HOST:PORT or jsonl:PATH",
    )


def _read_only(url: str) -> CliError:
    return usage(f"{url} can only be read", field="--log", hint="Give a log that can be written")


def log_url(given: str | None) -> str:
    """The log's URL: as given, else from the configuration."""
    if given is not None:
        return given
    from streams.cli.config import load

    return load().log


def existing(given: str | None) -> str | None:
    """A log's URL as given, before anything is loaded to work with. Raises if it has no file."""
    if given is not None and not given.startswith(("kafka://", "jsonl:")):
        path = log_path(given)
        if not os.path.exists(path):
            raise missing(path, given)
    return given


def missing(path: str, url: str) -> CliError:
    """There is no log, and this command may not make one."""
    hint = "Make one: metalogue produce SOURCE --log " + url
    return usage(f"no log at {path}", field="--log", error="log.missing", hint=hint)


def open_log(given: str | None, *, create: bool = False) -> SqliteLog:
    """The log that a command works on. Raises a ``CliError`` that names what is wrong with it."""
    url = log_url(given)
    if url.startswith("kafka://"):
        from streams.cli.kafka_log import open_kafka

        return open_kafka(url)
    if url.startswith("jsonl:"):
        return _imported(url.removeprefix("jsonl:"), create=create)
    path = log_path(url)
    from streams.runtime.embedded.log import NoLog, NotALog, SqliteLog

    try:
        return SqliteLog(path, create=create)
    except NoLog as error:
        raise missing(path, url) from error
    except NotALog as error:
        raise usage(str(error), field="--log", error="log.format") from error


def _imported(path: str, *, create: bool) -> SqliteLog:
    from streams.runtime.embedded.imported import BadLine, import_jsonl

    if create:
        raise _read_only(f"jsonl:{path}")
    try:
        return import_jsonl(path)
    except OSError as error:
        raise usage(f"no log at {path}", field="--log", error="log.missing") from error
    except BadLine as error:
        raise usage(str(error), field="--log", error="log.format") from error


def pairs(values: Iterable[str], option: str) -> dict[str, Any]:
    """``NAME=VALUE`` options; a value that is JSON is read as JSON, else as text."""
    import json

    found: dict[str, Any] = {}
    for each in values:
        name, equals, value = each.partition("=")
        if not equals or not name:
            raise usage(f"{each!r} is not NAME=VALUE", field=option)
        try:
            found[name] = json.loads(value)
        except json.JSONDecodeError:
            found[name] = value
    return found
