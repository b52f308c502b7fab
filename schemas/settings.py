"""Settings of a policy and their profiles; limits, seed and series are not settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from schemas.problem import Profile

PROFILES: tuple[Profile, ...] = ("service", "paper")


NAME_CHARS = 256
"""Nothing has a longer name, so a longer word is no misspelled one."""


class BadSetting(ValueError):
    """A setting is unknown or its value is wrong; the message names it."""


def near(word: str, known: Iterable[str]) -> str:
    """What a misspelled word may have been meant to be; nothing where no word is near."""
    if len(word) > NAME_CHARS:
        return ""
    cased = {name.casefold(): name for name in sorted(known)}
    found = get_close_matches(word.casefold(), cased, n=3)
    names = " or ".join(repr(cased[each]) for each in found)
    return f"did you mean {names}?" if names else ""


def meant(word: str, known: Iterable[str]) -> str:
    """What a misspelled word may have been meant to be, else every word that there is."""
    names = sorted(known)
    return near(word, names) or f"there are {', '.join(names) or 'none'}"


class PolicySettings(BaseModel):
    """The constants of a policy, each with a spelled name. Field defaults are those of ``service``."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    paper: ClassVar[Mapping[str, Any]] = {}
    """Where the ``paper`` profile differs."""
    learning: ClassVar[frozenset[str]] = frozenset()
    """Names of the settings that what is learned hangs on; they separate scopes."""

    @classmethod
    def resolve(cls, profile: Profile, values: Mapping[str, Any]) -> Self:
        """The settings of a profile with some values set. Raises ``BadSetting`` naming the field."""
        base = dict(cls.paper) if profile == "paper" else {}
        try:
            return cls.model_validate(base | dict(values))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            name = ".".join(map(str, first["loc"]))
            unknown = first["type"] == "extra_forbidden"
            what = f"no such setting; {meant(name, cls.model_fields)}" if unknown else first["msg"]
            raise BadSetting(f"settings.{name}: {what}") from error

    @classmethod
    def learning_values(cls, profile: Profile, values: Mapping[str, Any]) -> dict[str, Any]:
        """The learning settings as they were set, which a scope's name is made of."""
        chosen = {name: value for name, value in values.items() if name in cls.learning}
        return chosen | ({} if profile == "service" else {"profile": profile})
