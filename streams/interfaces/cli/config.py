"""Configuration: environment, then ``.env``, then the YAML file; strangers are refused by name."""

# Every command reads its settings here, through `load`. It asks `config_sources` who said what
# and where, and lets the model of `config_model` check values; both are read anew only when
# folder or environment change.
#
# Two things must never happen. A name that is not known must not be passed over, because a
# misspelt limit would then bind nobody. And a file that lies in the working directory, which may
# have come with somebody else's folder, must neither name code that runs nor choose who is told a
# password: the environment and the command line belong to whoever started us, such a file does
# not.

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from schemas.faults import first_fault
from schemas.identity import names_a_file
from streams.interfaces.cli.config_sources import (
    FILE_VARIABLE,
    PREFIX,
    SettingSource,
    environment,
    place_of,
    said,
    strongest,
)
from streams.interfaces.cli.errors import SETUP, CliError
from streams.interfaces.cli.flags import FLAGS

if TYPE_CHECKING:
    from pydantic import ValidationError

    from streams.interfaces.cli.config_model import Config

Said: TypeAlias = "str | float | bool | list[Said] | dict[str, Said] | None"
"""What a setting comes to as plain values."""
ENDPOINT = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL")
LOG_HINT = (
    "It names the event log to work on: sqlite:PATH, kafka://HOST:PORT or jsonl:PATH. "
    "How much is said is set by --log-level LEVEL."
)
_SECRET_NAME = re.compile(r"key|password|token|secret", re.IGNORECASE)
_SECRET_PART = re.compile(r"((?:key|password|token|secret)=)[^&,\s]+", re.IGNORECASE)
_QUOTED = re.compile(r'field "(\w+)"')
_ARGUMENTS = re.compile(r"^(\s*mcp:(?!https?://)\s*\S+)\s+\S.*", re.DOTALL)
"""Of a command that is started: any of them may be a key."""


def load() -> Config:
    """The configuration, read once a working directory and environment. Raises a ``CliError``."""
    ours = {name: value for name, value in os.environ.items() if name.upper().startswith(PREFIX)}
    # Both may change within one process (tests, programs): the cache is asked by what the answer
    # depends on, or the settings of another folder would be given.
    return _load(os.getcwd(), tuple(sorted(ours.items())))


@lru_cache(maxsize=2)
def _load(folder: str, variables: tuple[tuple[str, str], ...]) -> Config:
    from pydantic import ValidationError
    from pydantic_settings import SettingsError

    from streams.interfaces.cli.config_model import Config, free_names, names

    # Strangers are looked for before pydantic sees anything: it would pass over a misspelt
    # variable, and the setting would silently keep its default.
    found = list(said())
    known = names()
    for each in found:
        if each.name not in known and not each.name.startswith(free_names()):
            _unknown(each, known)
    try:
        config = Config()
    except ValidationError as error:
        _wrong(error, found)
    except SettingsError as error:
        name = next(iter(_QUOTED.findall(str(error))), "")
        raise CliError(
            "expected a JSON object",
            error="config.value",
            exit=SETUP,
            where=next((each.place for each in found if each.name == name), name),
            hint="A group of settings is written as a JSON object, or one variable each.",
        ) from error
    # A folder may come from anybody (a clone, an archive). What it says may steer the work, but
    # must never start a program that nobody asked for.
    for name, (runs, option) in RUNS.items():
        where = strongest(name)
        if where is not None and where.found and runs(getattr(config, name) or ""):
            raise CliError(
                "this would run, and a file of the working directory may name nothing that runs",
                error="config.runs",
                exit=SETUP,
                where=where.place,
                field=where.spelled,
                hint="Say it on the command line, "
                f"{option}, or in the environment, {PREFIX}{name.upper()}.",
            )
    return config


def display() -> str:
    """How progress is shown: as the command line says, else as configured."""
    return FLAGS.display or load().display


def placed(error: CliError, arguments: Sequence[str]) -> CliError:
    """The error of an option, as that of the setting which said it where no argument did."""
    # An option that is given again and again names which of them is wrong: ``--offer mini``.
    option, _, part = error.field.partition(" ")
    name = TWINS.get(option)
    if name is None or is_given(option, part, arguments):
        return error
    where = strongest(f"{name}.{part}" if part else name)
    if where is None:
        return error
    whole = f"{name}.{part}" if part and where.name == name else where.spelled
    field = "" if where.place == whole else whole
    return CliError(
        # What it was said of, such as a file, gives its place to the setting.
        f"{error.where}: {error.detail}" if error.where else error.detail,
        error=error.error,
        exit=SETUP,
        where=where.place,
        field=field,
        hint=error.hint,
    )


def is_given(option: str, part: str, arguments: Sequence[str]) -> bool:
    """Whether a command line says an option; where it names a part of it (``--offer mini=B``), that part."""
    if not part:
        return any(each.partition("=")[0] == option for each in arguments)
    return any(
        each.startswith(f"{option}={part}=") or (before == option and each.startswith(f"{part}="))
        for before, each in zip(("", *arguments), arguments, strict=False)
    )


def keep_shut(*settings: str) -> None:
    """Raises a ``CliError`` where a file of the working directory would let others reach what is served."""
    # Whoever wrote it would read a private log by a name that he points at this machine.
    for each in filter(None, map(strongest, settings)):
        if each.found:
            raise CliError(
                "this lets others in, which a file of the working directory may not",
                error="config.opens",
                exit=SETUP,
                where=each.place,
                field=each.spelled,
                hint=f"Say it on the command line or in the environment, {_variable(each.name)}; or name the file "
                f"yourself by {FILE_VARIABLE}.",
            )


def keep_password(*settings: str) -> None:
    """Raises a ``CliError`` where a file of the working directory would choose who is told the password.

    It may say the password itself; one from elsewhere goes where the command line or environment say.
    """
    # Where password and address come from the same file, its author is told nothing that he did
    # not know. Only a mixture gives a secret away.
    password = strongest("kafka.sasl_password")
    if password is None or password.found:
        return
    for each in filter(None, map(strongest, settings)):
        if each.found:
            raise CliError(
                f"{password.place} holds a password, and a file of the working directory may not say "
                "where and how it is sent",
                error="config.secret",
                exit=SETUP,
                where=each.place,
                field=each.spelled,
                hint=f"Say it in the environment, {_variable(each.name)}; a log also by --log.",
            )


def _runs_command(tools: str) -> bool:
    """Whether tools are a command that is started."""
    kind, _, what = tools.strip().partition(":")
    return kind == "mcp" and not what.startswith(("http://", "https://"))


RUNS: Mapping[str, tuple[Callable[[str], bool], str]] = {
    "policy": (names_a_file, "--policy"),
    "tools": (_runs_command, "--tools"),
}
"""Settings by whose value code may run, each with the option that says it on a command line."""


TWINS: Mapping[str, str] = {
    "--policy": "policy",
    "--backbone": "backbone",
    "--offer": "offers",
    "--tools": "tools",
    "--prompts": "prompts",
    "--prices": "price_list",
    "--keys": "keys",
    "--listen": "dashboard.listen",
}
"""Options by the settings that stand for them where the command line is silent."""


def _unknown(each: SettingSource, known: list[str]) -> NoReturn:
    from difflib import get_close_matches

    close = get_close_matches(each.name, known, n=1, cutoff=0.5)
    variable = each.spelled.upper().startswith(PREFIX)
    spelled = [_variable(name) if variable else name for name in (close or sorted(known))]
    hint = f"Did you mean {spelled[0]}?" if close else f"There are {', '.join(spelled)}."
    raise CliError(
        f"no setting is called {each.spelled}",
        error="config.unknown",
        exit=SETUP,
        where=each.place,
        field="" if each.place == each.spelled else each.spelled,
        hint=hint,
    )


def _variable(name: str) -> str:
    return PREFIX + name.upper().replace(".", "__")


def _wrong(error: ValidationError, found: list[SettingSource]) -> NoReturn:
    from streams.interfaces.cli.config_model import Config, names

    (name, what), first = first_fault(error), error.errors(include_url=False)[0]
    each = next((s for s in found if name == s.name or name.startswith(f"{s.name}.")), None)
    place, spelled = (name, name) if each is None else (each.place, each.spelled)
    if first["type"] == "extra_forbidden":
        _unknown(SettingSource(name, place, name), names())
    default = _at(Config.model_construct().model_dump(mode="json"), name)
    mend = "Mend it or take it out" + (f": the default is {default}." if default else ".")
    # An error ends up in terminals and collected logs, where no secret may stand.
    shown = "" if _SECRET_NAME.search(name) else f"{str(first['input'])[:60]!r}: "
    raise CliError(
        shown + what,
        error="config.value",
        exit=SETUP,
        where=place,
        field="" if place == spelled else spelled,
        hint=LOG_HINT if name == "log" else mend,
    )


def masked_address(word: str) -> str:
    """An address without its user and its query; any other word as it is."""
    scheme, begins, rest = word.partition("://")
    # Up to the last @: a password may hold any character, and one that is cut short would be shown.
    _, at, place = rest.rpartition("@")
    place, asks, _ = place.partition("?")
    if not begins:
        return word
    return f"{scheme}://{'***@' if at else ''}{place}{'?***' if asks else ''}"


def masked(name: str, value: Said) -> Said:
    """A value that may be shown: secrets are only said to be set."""
    # Names that users make up are no secrets, whatever they are called.
    if isinstance(value, dict):
        return {each: masked(name, inner) for each, inner in value.items()}
    if isinstance(value, list):
        return [masked(name, each) for each in value]
    if not isinstance(value, str):
        return value
    if _SECRET_NAME.search(name):
        return "set"
    value = re.sub(r"\S+", lambda word: masked_address(word[0]), value)
    for pattern, left in (
        (_ARGUMENTS, r"\1 ***"),
        (_SECRET_PART, r"\1***"),
    ):
        value = pattern.sub(left, value)
    return value


def shown() -> dict[str, dict[str, Any]]:
    """Every setting with its value, secrets masked, and where it comes from."""
    from streams.interfaces.cli.config_model import leaves

    values = load().model_dump(mode="json")
    places: dict[str, str] = {}
    for each in said():
        places.setdefault(each.name, each.place)
    rows: dict[str, dict[str, Any]] = {}
    for name in leaves():
        group = name.partition(".")[0]
        # A group has no value itself: it is where its first part was said.
        inner = (place for spelled, place in places.items() if spelled.startswith(f"{name}."))
        source = places.get(name) or places.get(group) or next(inner, "default")
        rows[name] = {"value": masked(name, _at(values, name)), "source": source}
    return rows | endpoint()


def _at(values: Any, name: str) -> Any:
    """A setting's value; none where users make up the name, as of a model's price."""
    for part in name.split("."):
        values = None if values is None else values.get(part)
    return values


def endpoint() -> dict[str, dict[str, Any]]:
    """The variables that an endpoint is found by; of the key only whether there is one."""
    variables = environment()
    return {
        name: {
            "value": masked(name, variables.get(name) or None),
            "source": place_of(name) or "unset",
        }
        for name in ENDPOINT
    }


def show(log: str | None, *, as_json: bool) -> None:
    """``config show``."""
    from streams.interfaces.cli.opening import is_missing
    from streams.interfaces.cli.output import out, out_json

    rows = shown()
    if log is not None:
        # Asked for its error alone: what names no log is none here either.
        is_missing(log)
        rows["log"] = {"value": masked("log", log), "source": "--log"}
    if as_json:
        out_json(rows)
        return
    values = {
        name: "-" if row["value"] is None else str(row["value"]) for name, row in rows.items()
    }
    width, longest = max(map(len, values)), max(map(len, values.values()))
    for name, value in values.items():
        out(f"{name:<{width}}  {value:<{longest}}  {rows[name]['source']}")
