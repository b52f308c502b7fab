"""Settings of a policy and their profiles; limits, seed and series are not settings."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Self, TypeAlias, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PositiveInt,
    StringConstraints,
    ValidationError,
)
from typing_extensions import TypedDict

from schemas.faults import first_fault
from schemas.identity import canonical
from schemas.problem import Name, Profile

PROFILES: tuple[Profile, ...] = ("service", "paper")


EVERY_ROLE = "*"
PROMPTS = "prompts"
"""The setting that says what prompts say otherwise: whatever is learned under them is kept apart."""
BACKBONE = "backbone"
"""The setting that names who answers: one of the backbones that a worker offers."""
# How long a call may take in ``paper``, where replies have no cap.
PAPER_TIMEOUT_S = 1_800.0
# Tokens of a reply in ``service``: who thinks first is not cut in the middle of it.
CAP = 8_192

MOST_LANES = 1_000
"""Lanes that a policy opens side by side at most: all of them are held in memory before any limit of calls is met."""
Lanes: TypeAlias = Annotated[PositiveInt, Field(le=MOST_LANES)]
"""A setting that says how many lanes are opened."""
NAME_CHARS = 256
"""Nothing has a longer name, so a longer word is no misspelled one."""


def chosen(values: Mapping[str, Any]) -> str | None:
    """The backbone that settings choose as they were put; what is no text is none, and is refused as a setting."""
    name = values.get(BACKBONE)
    return name if isinstance(name, str) else None


def unoffered(name: str, offered: Collection[str]) -> str:
    """What is wrong where a backbone is chosen that is not among those that are offered."""
    return f"not offered here; {meant(name, offered)}"


class BadSetting(ValueError):
    """A setting is unknown or its value is wrong; the message names it."""


def near(word: str, known: Iterable[str]) -> str:
    """What a misspelled word may have been meant to be; nothing where no word is near."""
    # The search for near words takes the square of their length.
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


class RoleParameters(TypedDict, total=False):
    """How one role is asked. What is left out stays the policy's own; ``null`` is the endpoint's own."""

    __pydantic_config__ = ConfigDict(extra="forbid", allow_inf_nan=False)  # type: ignore[misc]

    temperature: Annotated[float, Field(ge=0)] | None
    top_p: Annotated[float, Field(gt=0, le=1)] | None
    max_tokens: Annotated[int, Field(gt=0)] | None
    timeout_s: Annotated[float, Field(gt=0)] | None


PROMPT_CHARS = 16_384
"""A text of a prompt is no longer."""
PROMPTS_BYTES = 65_536
"""All prompts that settings change, in bytes: each of their problems carries them."""

PromptText = Annotated[str, StringConstraints(max_length=PROMPT_CHARS)]
PromptTexts = Annotated[dict[str, PromptText], Field(max_length=64)]


class PromptWords(TypedDict, total=False):
    """What a prompt says otherwise than the policy's own. What is left out stays as it is."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    instructions: PromptText
    sections: PromptTexts
    """What is said of a section, by the variable that fills it."""
    closing: PromptText
    reply: PromptTexts
    """What a field of the reply holds, by its label."""


NO_PROMPTS: Mapping[str, PromptWords] = MappingProxyType({})
"""Prompts as the policy has them."""


def _bounded(prompts: Mapping[str, PromptWords]) -> Mapping[str, PromptWords]:
    if len(canonical(prompts)) > PROMPTS_BYTES:
        raise ValueError(f"must have at most {PROMPTS_BYTES:,} bytes in all")
    return prompts


class PolicySettings(BaseModel):
    """The constants of a policy, each with a spelled name. Field defaults are those of ``service``."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    paper: ClassVar[Mapping[str, Any]] = {}
    """Where the ``paper`` profile differs."""
    learning: ClassVar[frozenset[str]] = frozenset()
    """Names of the settings that what is learned hangs on; they separate scopes."""
    later: ClassVar[frozenset[str]] = frozenset()
    """Names of the settings that came after logs had been written: at their defaults no log names them."""
    caps: ClassVar[frozenset[str]] = frozenset()
    """Roles whose cap of ``paper`` is too small for who thinks before the reply."""

    parameters: Mapping[str, RoleParameters] = {}
    """How each role is asked, ``*`` for the rest: temperature, top_p, max_tokens, timeout_s."""
    prompts: Annotated[Mapping[str, PromptWords], AfterValidator(_bounded)] = {}
    """What prompts say otherwise, by the prompt's name: ``metalogue prompts list``."""
    backbone: Name | None = None
    """Who answers in place of the worker's own backbone: one of those that it offers (``--offer``)."""

    @classmethod
    def resolve(cls, profile: Profile, values: Mapping[str, Any]) -> Self:
        """The settings of a profile with some values set. Raises ``BadSetting`` naming the field."""
        # What was set comes over the profile's own. Defaults of the class are those of ``service``
        # and need not be spelled out.
        base = dict(cls.paper) if profile == "paper" else {}
        chosen = base | dict(values)
        # The profile's own parameters by role come first, and over them those that are given, each
        # for itself: a temperature that is set must not take away a cap. What is no mapping is
        # left for the model to refuse by name.
        given: Any = chosen.get("parameters", {})
        own: dict[str, Any] = {role: {"max_tokens": CAP} for role in sorted(cls.caps)}
        if profile == "paper":
            own = {EVERY_ROLE: {"timeout_s": PAPER_TIMEOUT_S}}
        if isinstance(given, Mapping):
            for role, said in cast("Mapping[str, Any]", given).items():
                known = own.get(role, {})
                own[role] = (
                    known | dict(cast("Mapping[str, Any]", said))
                    if isinstance(said, Mapping)
                    else said
                )
        chosen["parameters"] = own if isinstance(given, Mapping) else given
        try:
            return cls.model_validate(chosen)
        except ValidationError as error:
            name, what = first_fault(error)
            if error.errors(include_url=False)[0]["type"] == "extra_forbidden":
                what = f"no such setting; {meant(name, cls.model_fields)}"
            raise BadSetting(f"settings.{name}: {what}") from error

    def asked(self, role: str) -> RoleParameters:
        """What is set for a role: its own, else everybody's."""
        return {**self.parameters.get(EVERY_ROLE, {}), **self.parameters.get(role, {})}

    @classmethod
    def apart(cls) -> frozenset[str]:
        """Names of the settings that tell memories apart, prompts among them."""
        # Policies name what they learn under by what they leave out. Who answers is in no list of
        # theirs: what one model's episodes taught, the others are given.
        return (cls.learning | {PROMPTS}) - {BACKBONE}

    @classmethod
    def learning_values(cls, profile: Profile, values: Mapping[str, Any]) -> dict[str, Any]:
        """The learning settings as they were set, which a scope's name is made of."""
        # Prompts that were changed make other lessons, which are kept apart; ``service`` is left
        # out, because scopes of logs from before there were profiles do not name it.
        apart = cls.apart() - (set[str]() if values.get(PROMPTS) else {PROMPTS})
        told = {name: value for name, value in values.items() if name in apart}
        return told | ({} if profile == "service" else {"profile": profile})
