"""Where settings were said: variables, lines of ``.env``, keys of the YAML file, with places."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from streams.interfaces.cli.errors import SETUP, CliError
from streams.support.yamls import FILE_CHARS, TWICE, TooMuch, bounded, key_twice

if TYPE_CHECKING:
    import yaml
    from dotenv.parser import Binding

PREFIX = "METALOGUE_"
DOTENV = ".env"
YAML = "metalogue.yaml"
FILE_VARIABLE = "METALOGUE_CONFIG"
ENVIRONMENT = "environment"
ENDPOINTS = ("OPENAI_", "ANTHROPIC_", "GEMINI_", "GOOGLE_", "AWS_", "AZURE_")
"""How variables begin that say where a model is and with which key it is asked."""
LINE_CHARS = 4_096
"""A line of ``.env`` is no longer; its reader looks at each blank of a line again from every other."""
LINES_CHARS = 1 << 16
"""All lines of ``.env``, and each value with the variables in it filled in."""


@dataclass(frozen=True, slots=True)
class SettingSource:
    """One value: its dotted name, where it stands, and how its name is spelled there."""

    name: str
    place: str
    spelled: str
    found: bool = False
    """Whether a file of the working directory says it, which came with a folder; nobody who runs us did."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """One assignment of ``.env``."""

    variable: str
    value: str
    number: int


def dotenv_lines() -> list[Assignment]:
    """The assignments of ``.env`` in the working directory; the last of a name counts."""
    path = Path(DOTENV).resolve()
    return list(_dotenv(str(path), path.stat().st_mtime_ns)) if path.is_file() else []


@lru_cache(maxsize=4)
def _dotenv(path: str, changed_ns: int) -> tuple[Assignment, ...]:
    from dotenv import dotenv_values
    from dotenv.parser import parse_stream

    text = _lines_of(path)
    bound = [each for each in parse_stream(StringIO(text)) if each.key]
    read = {b.key: _first_line(b.original.string, b.original.line) for b in bound if b.key}
    for each in bound:
        if each.value and "${" in each.value and _matters(each.key or ""):
            raise _takes_over(read[each.key or ""], each.key or "")
    _check_filled_in(bound, read)
    values = dotenv_values(stream=StringIO(text))
    return tuple(Assignment(name, values.get(name) or "", number) for name, number in read.items())


def _lines_of(path: str) -> str:
    """The text of ``.env``. Raises a ``CliError`` where it, or a line of it, is too long to be one."""
    try:
        text = _start_of(path)
    except UnicodeDecodeError as error:
        what = f"not UTF-8: {error.reason}"
        raise CliError(what, error="config.syntax", exit=SETUP, where=DOTENV) from error
    if len(text) > LINES_CHARS:
        raise _too_much(f"longer than {LINES_CHARS:,} characters", DOTENV)
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > LINE_CHARS:
            raise _too_much(f"a line of more than {LINE_CHARS:,} characters", f"{DOTENV}:{number}")
    return text


def _check_filled_in(bound: Iterable[Binding], places: Mapping[str, int]) -> None:
    """Variables made of variables may double line by line. Raises a ``CliError`` where they come to too much."""
    sizes = dict[str, int]()
    for each in bound:
        name, parts = each.key or "", (each.value or "").split("${")
        named = (re.split("[:}]", part, maxsplit=1)[0] for part in parts[1:])
        sizes[name] = len(each.value or "") + sum(
            sizes.get(one, len(os.environ.get(one, ""))) for one in named
        )
        if sizes[name] > LINES_CHARS:
            what = f"longer than {LINES_CHARS:,} characters with its variables filled in"
            raise _too_much(what, f"{DOTENV}:{places[name]}", name)


def _matters(variable: str) -> bool:
    return variable.upper().startswith((PREFIX, *ENDPOINTS))


def _takes_over(number: int, variable: str) -> CliError:
    """The error for a value made of other variables: with an address, it would send them elsewhere."""
    return CliError(
        "${...} is not filled in: a file of the working directory takes nothing from the environment",
        error="config.value",
        exit=SETUP,
        where=f"{DOTENV}:{number}",
        field=variable,
        hint="Write the value out, or set the variable in the environment.",
    )


def _first_line(text: str, number: int) -> int:
    """An assignment's own line: the parser counts blank lines and comments before it in."""
    return number + len(text) - len(text.lstrip("\n"))


def yaml_path() -> Path | None:
    """The YAML file that METALOGUE_CONFIG names, else ``metalogue.yaml`` if it is there."""
    named = os.environ.get(FILE_VARIABLE)
    if not named:
        return Path(YAML) if Path(YAML).is_file() else None
    if not Path(named).is_file():
        raise CliError(
            f"no such file: {named}",
            error="config.missing",
            exit=SETUP,
            where=FILE_VARIABLE,
            hint=f"It names a YAML file of settings; without it, {YAML} is read if it is there.",
        )
    return Path(named)


def said() -> Iterator[SettingSource]:
    """Every setting that was said anywhere, the strongest place first."""
    for variable, value in sorted(os.environ.items()):
        if _ours(variable) and value:
            _check_once(value, variable)
            yield SettingSource(_dotted(variable), variable, variable)
    for line in dotenv_lines():
        if _ours(line.variable) and line.value:
            _check_once(line.value, f"{DOTENV}:{line.number}")
            yield SettingSource(
                _dotted(line.variable), f"{DOTENV}:{line.number}", line.variable, found=True
            )
    path = yaml_path()
    if path is not None:
        found = not os.environ.get(FILE_VARIABLE)
        yield from (replace(each, found=found) for each in yaml_keys(path))


def strongest(name: str) -> SettingSource | None:
    """Where a setting, or the group that it is in, was said by whom it is taken from."""
    group = name.partition(".")[0]
    return next((each for each in said() if each.name in (name, group)), None)


def _check_once(value: str, place: str) -> None:
    """A group of settings as JSON says each of them once. Raises a ``CliError``."""
    if not value.lstrip().startswith("{"):
        return
    from schemas.written import Twice, loads

    try:
        loads(value)
    except Twice as error:
        raise _twice(error.name, place) from error
    except ValueError:
        return  # said where the setting is read


def _ours(variable: str) -> bool:
    return variable.upper().startswith(PREFIX) and variable.upper() != FILE_VARIABLE


def _dotted(variable: str) -> str:
    return variable[len(PREFIX) :].lower().replace("__", ".")


def yaml_keys(path: Path) -> Iterator[SettingSource]:
    """The keys of a YAML file with their lines. Raises a ``CliError`` where it is none."""
    import yaml

    try:
        root = yaml.compose(bounded(_start_of(path)), Loader=yaml.SafeLoader)
    except TooMuch as error:
        raise _too_much(str(error), f"{path}:{error.line}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise _not_yaml(path, error) from error
    key = key_twice(root)
    if key is not None:
        raise _twice(key.value, f"{path}:{key.start_mark.line + 1}")
    if isinstance(root, yaml.MappingNode):
        yield from _keys(path, root, "")
    elif root is not None:
        raise CliError(
            "expected NAME: VALUE lines", error="config.syntax", exit=SETUP, where=f"{path}:1"
        )


def _start_of(path: str | Path) -> str:
    """A file's text, or as much of it as tells that it is too long."""
    with open(path, encoding="utf-8") as file:
        return file.read(FILE_CHARS + 1)


def _too_much(what: str, place: str, field: str = "") -> CliError:
    hint = "Settings are few and short: say only those, or name another file."
    return CliError(what, error="config.size", exit=SETUP, where=place, field=field, hint=hint)


def _keys(path: Path, mapping: yaml.MappingNode, before: str) -> Iterator[SettingSource]:
    import yaml

    for key, value in mapping.value:
        name = f"{before}{key.value}"
        if isinstance(value, yaml.MappingNode):
            yield from _keys(path, value, f"{name}.")
        else:
            yield SettingSource(name, f"{path}:{key.start_mark.line + 1}", name)


def _twice(name: str, place: str) -> CliError:
    hint = "Take one of them out: which one is meant, nobody can say."
    return CliError(TWICE, error="config.twice", exit=SETUP, where=place, field=name, hint=hint)


def _not_yaml(path: Path, error: Exception) -> CliError:
    mark = getattr(error, "problem_mark", None)
    place = "" if mark is None else f":{mark.line + 1}:{mark.column + 1}"
    what = getattr(error, "problem", None) or str(error)
    return CliError(f"not YAML: {what}", error="config.syntax", exit=SETUP, where=f"{path}{place}")


def environment() -> dict[str, str]:
    """The process's variables over those of ``.env``: what endpoints are found by."""
    return {line.variable: line.value for line in dotenv_lines()} | dict(os.environ)


def place_of(variable: str) -> str | None:
    """Where a variable was set: ``environment`` or a line of ``.env``; none where it is not."""
    if os.environ.get(variable):
        return ENVIRONMENT
    lines = [line for line in dotenv_lines() if line.variable == variable and line.value]
    return f"{DOTENV}:{lines[-1].number}" if lines else None
