"""Where settings were said: variables, lines of ``.env``, keys of the YAML file, with places."""

# A setting is known by its place (a variable, a line, a key of YAML), because an error must say
# where it was made, and because places differ in trust: what lies in the working directory may
# have come with it (`SettingSource.found`). Files are read by bounds, for they may come from
# anybody too: no line, file or value that refers to others may take much time or memory.

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
from streams.support.yamls import FILE_CHARS, TWICE, TooMuch, bounded, key_twice, plain

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
HINTS = {
    "size": "Settings are few and short: say only those, or name another file.",
    "twice": "Take one of them out: which one is meant, nobody can say.",
    "value": "Write the value out, or set the variable in the environment.",
}
"""What to do, by what is wrong with a file or value."""
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
    # The whole path is the key of the cache, because the working directory may change.
    path = Path(DOTENV).resolve()
    return list(_dotenv(str(path), path.stat().st_mtime_ns)) if path.is_file() else []


@lru_cache(maxsize=4)
# The time of the last change is part of the question: a file that is edited is read again.
def _dotenv(path: str, changed_ns: int) -> tuple[Assignment, ...]:
    from dotenv import dotenv_values
    from dotenv.parser import parse_stream

    try:
        text = _start_of(path)
    except UnicodeDecodeError as error:
        what = f"not UTF-8: {error.reason}"
        raise _wrong("syntax", what, DOTENV) from error
    if len(text) > LINES_CHARS:
        raise _wrong("size", f"longer than {LINES_CHARS:,} characters", DOTENV)
    # Measured before the parser sees it, which takes the square of a line's length.
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > LINE_CHARS:
            raise _wrong(
                "size", f"a line of more than {LINE_CHARS:,} characters", f"{DOTENV}:{number}"
            )
    bound = [each for each in parse_stream(StringIO(text)) if each.key]
    read = dict[str, int]()
    for each in bound:
        # The parser counts blank lines and comments before an assignment in with it.
        said = each.original.string
        read[each.key or ""] = each.original.line + len(said) - len(said.lstrip("\n"))
    _check_variables(bound, read)
    values = dotenv_values(stream=StringIO(text))
    return tuple(Assignment(name, values.get(name) or "", number) for name, number in read.items())


def _check_variables(bound: Iterable[Binding], places: Mapping[str, int]) -> None:
    """Raises a ``CliError`` for a value of ours that is made of others, and for values that become too much."""
    sizes = dict[str, int]()
    for each in bound:
        name, value = each.key or "", each.value or ""
        # An address or a key that is filled in would send what the environment holds elsewhere.
        if "${" in value and name.upper().startswith((PREFIX, *ENDPOINTS)):
            what = "${...} is not filled in: a file of the working directory takes nothing from the environment"
            raise _wrong("value", what, f"{DOTENV}:{places[name]}", name)
    for each in bound:
        # Each line may name the one before it twice: forty such lines would fill a terabyte. So
        # sizes are added up from the text alone, before anything is filled in.
        name, value = each.key or "", each.value or ""
        named = (re.split("[:}]", part, maxsplit=1)[0] for part in value.split("${")[1:])
        sizes[name] = len(value) + sum(
            sizes.get(one, len(os.environ.get(one, ""))) for one in named
        )
        if sizes[name] > LINES_CHARS:
            what = f"longer than {LINES_CHARS:,} characters with its variables filled in"
            raise _wrong("size", what, f"{DOTENV}:{places[name]}", name)


def yaml_path() -> Path | None:
    """The YAML file that METALOGUE_CONFIG names, else ``metalogue.yaml`` if it is there."""
    named = os.environ.get(FILE_VARIABLE)
    path = Path(named or YAML)
    if path.is_file():
        return path
    # A folder (Docker makes one of what it is to mount and does not find) and a link that leads
    # nowhere are there too: whoever put them meant settings to be read, and none would bind anybody.
    is_there = os.path.lexists(path)
    if named or is_there:
        raise CliError(
            f"{path} is no file" if is_there else f"no such file: {path}",
            error="config.missing",
            exit=SETUP,
            where=FILE_VARIABLE if named else "",
            hint=f"{FILE_VARIABLE} names a YAML file of settings; without it, {YAML} is read if it is there.",
        )
    return None


def said() -> Iterator[SettingSource]:
    """Every setting that was said anywhere, the strongest place first."""
    from schemas.written import Twice, loads

    variables = ((name, value, name, False) for name, value in sorted(os.environ.items()))
    lines = ((e.variable, e.value, f"{DOTENV}:{e.number}", True) for e in dotenv_lines())
    for variable, value, place, found in (*variables, *lines):
        name = variable.upper()
        if not value or not name.startswith(PREFIX) or name == FILE_VARIABLE:
            continue
        if value.lstrip().startswith("{"):
            # A group of settings as JSON. One that names a setting twice would take the last, and
            # nobody would be told. What else is wrong with it is said where the setting is read.
            try:
                loads(value)
            except Twice as error:
                raise _wrong("twice", TWICE, place, error.name) from error
            except ValueError:
                pass
        dotted = name.removeprefix(PREFIX).lower().replace("__", ".")
        yield SettingSource(dotted, place, variable, found=found)
    path = yaml_path()
    if path is not None:
        found = not os.environ.get(FILE_VARIABLE)
        yield from (replace(each, found=found) for each in yaml_keys(path))


def strongest(name: str) -> SettingSource | None:
    """Where a setting, or the group that it is in, was said by whom it is taken from."""
    group = name.partition(".")[0]
    return next((each for each in said() if each.name in (name, group)), None)


def yaml_keys(path: Path) -> Iterator[SettingSource]:
    """The keys of a YAML file with their lines. Raises a ``CliError`` where it is none."""
    import yaml

    try:
        # The nodes know their lines, and no tag of the file makes an object.
        text = _start_of(path)
        root = yaml.compose(bounded(text), Loader=yaml.SafeLoader)
        # What a value is marked as and is not would be found only by who takes it, who could not say where.
        plain(text)
    except TooMuch as error:
        raise _wrong("size", str(error), f"{path}:{error.line}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        at = "" if mark is None else f":{mark.line + 1}:{mark.column + 1}"
        what = getattr(error, "problem", None) or str(error)
        raise _wrong("syntax", f"not YAML: {what}", f"{path}{at}") from error
    key = key_twice(root)
    if key is not None:
        raise _wrong("twice", TWICE, f"{path}:{key.start_mark.line + 1}", key.value)
    if isinstance(root, yaml.MappingNode):
        yield from _keys(path, root, "")
    elif root is not None:
        raise _wrong("syntax", "expected NAME: VALUE lines", f"{path}:1")


def _start_of(path: str | Path) -> str:
    """A file's text, or as much of it as tells that it is too long."""
    with open(path, encoding="utf-8") as file:
        # One character more than is allowed tells a file that is too long from one that just
        # fits.
        return file.read(FILE_CHARS + 1)


def _wrong(kind: str, what: str, place: str, field: str = "") -> CliError:
    """The error for a file or value that is not read: ``kind`` is ``syntax``, ``size``, ``twice`` or ``value``."""
    hint = HINTS.get(kind, "")
    return CliError(what, error=f"config.{kind}", exit=SETUP, where=place, field=field, hint=hint)


def _keys(path: Path, mapping: yaml.MappingNode, before: str) -> Iterator[SettingSource]:
    import yaml

    for key, value in mapping.value:
        name = f"{before}{key.value}"
        if isinstance(value, yaml.MappingNode):
            yield from _keys(path, value, f"{name}.")
        else:
            yield SettingSource(name, f"{path}:{key.start_mark.line + 1}", name)


def environment() -> dict[str, str]:
    """The process's variables over those of ``.env``: what endpoints are found by."""
    return {line.variable: line.value for line in dotenv_lines()} | dict(os.environ)


def place_of(variable: str) -> str | None:
    """Where a variable was set: ``environment`` or a line of ``.env``; none where it is not."""
    if os.environ.get(variable):
        return ENVIRONMENT
    lines = [line for line in dotenv_lines() if line.variable == variable and line.value]
    return f"{DOTENV}:{lines[-1].number}" if lines else None
