"""What a problem's answer is: a number with its unit, an option, a value by a JSON Schema, and the like."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self, TypeAlias, cast

import orjson
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

Form: TypeAlias = Literal["number", "expression", "choice", "yes_no", "text", "json", "code"]
UNIT_CHARS, OPTION_CHARS, OPTIONS = 60, 400, 26
LETTERS = "abcdefghijklmnopqrstuvwxyz"
# Whoever puts a problem brings the schema. It is read once when the problem is admitted and held
# against every reply, so that its size is bounded before anything is done with it.
SCHEMA_NODES = 2_000
"""Of a JSON Schema with its references filled in: each node is looked at once for each part of a reply."""
SCHEMA_DEPTH = 24
DEFINITIONS = ("$defs", "definitions")
# A pattern can take for ever on a reply, and Python's cannot be broken off; references that lead
# outside or back would let a small schema stand for a large one.
REFUSED: dict[str, str] = {
    **dict.fromkeys(
        ("pattern", "patternProperties", "propertyNames"), "a pattern may take for ever on a reply"
    ),
    **dict.fromkeys(
        ("$dynamicRef", "$recursiveRef", "$id", "$anchor", "$dynamicAnchor"),
        "only references of the form #/$defs/NAME are followed",
    ),
    **dict.fromkeys(
        ("unevaluatedProperties", "unevaluatedItems"), "say additionalProperties instead"
    ),
}
"""Keywords that are not taken, and why."""
_VALUES = ("const", "default", "enum", "examples")
"""Keywords that hold values and no schemas."""
_NAMED = ("properties", "dependentSchemas", "dependentRequired")
"""Keywords that hold schemas by names of a user's own."""

Option = Annotated[str, StringConstraints(min_length=1, max_length=OPTION_CHARS)]


# Options come as a JSON list, and a frozen model needs a tuple.
def _listed(value: Any) -> Any:
    return tuple(cast("list[Any]", value)) if isinstance(value, list) else value


Options = Annotated[
    tuple[Option, ...], Field(min_length=2, max_length=OPTIONS), BeforeValidator(_listed)
]


class WrongForm(ValueError):
    """An answer has not the form that was asked for; the message says what is wrong and repeats nothing of it."""


class AnswerType(BaseModel):
    """What an answer is. A bare word such as ``"number"`` stands for ``{"type": "number"}``."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", populate_by_name=True, serialize_by_alias=True
    )

    type: Form = Field(description="What kind of thing the answer is.")
    unit: Annotated[str, StringConstraints(min_length=1, max_length=UNIT_CHARS)] | None = Field(
        default=None, description="The unit of a number; an answer in another one is converted."
    )
    options: Options | None = Field(
        default=None,
        description="The options of a choice, in the order of their letters; left out where the problem lists them.",
    )
    shape: dict[str, Any] | None = Field(
        default=None, alias="schema", description="The JSON Schema that a JSON value must hold to."
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        for name, kind in (("unit", "number"), ("options", "choice"), ("shape", "json")):
            if getattr(self, name) is not None and self.type != kind:
                spelt = "schema" if name == "shape" else name
                raise ValueError(f"{spelt}: is of the type {kind} alone, not of {self.type}")
        if self.type == "json" and self.shape is None:
            raise ValueError("schema: missing, and the type json needs one")
        if self.options is not None:
            # Options that differ in case alone could not be told apart in a reply.
            folded = [" ".join(option.split()).casefold() for option in self.options]
            if "" in folded or len(set(folded)) < len(folded):
                raise ValueError("options: must be told apart by more than case and blanks")
            # An option that is spelt as another one's letter would be chosen by whoever means that
            # letter.
            for at, option in enumerate(folded):
                if option != LETTERS[at] and option in set(LETTERS[: len(folded)]):
                    what = f"options: {LETTERS[at].upper()} is the letter of another option"
                    raise ValueError(what)
        if self.shape is not None:
            try:
                json.dumps(self.shape, allow_nan=False).encode()
                # References are filled in once and here, so that nobody who holds a value to the
                # schema has to follow them. The model is frozen for everybody else.
                object.__setattr__(self, "shape", filled_in(self.shape))
                orjson.dumps(self.shape)
            except (TypeError, ValueError, RecursionError) as error:
                raise ValueError(f"schema: {str(error)[:300] or 'nests too deep'}") from None
        return self

    def __hash__(self) -> int:
        return hash(self.text)

    @property
    def text(self) -> str:
        """Canonical JSON of what was said."""
        return orjson.dumps(self.said, option=orjson.OPT_SORT_KEYS).decode()

    @property
    def said(self) -> dict[str, Any]:
        """What was said, as JSON values."""
        return self.model_dump(mode="json", exclude_none=True, by_alias=True)


def _spelled(value: Any) -> Any:
    return {"type": value} if isinstance(value, str) else value


AnswerTypeSaid: TypeAlias = Annotated[AnswerType, BeforeValidator(_spelled)]
"""An answer type as a record says it."""


def filled_in(schema: dict[str, Any]) -> dict[str, Any]:
    """A JSON Schema with what its references name in their place. Raises ``ValueError`` for what is not taken.

    Nothing in it can make looking at a reply long: no patterns, no recursion, and at most ``SCHEMA_NODES``
    nodes once it is filled in.
    """
    # What definitions hold stands in the places that name them; the definitions themselves say
    # nothing more.
    nodes = _Nodes(schema)
    found = nodes.schema(schema, (), 0)
    return {key: value for key, value in found.items() if key not in DEFINITIONS}


class _Nodes:
    """The walk over a schema: how many nodes it came to, and what its definitions are."""

    def __init__(self, root: dict[str, Any]) -> None:
        self.root, self.count = root, 0

    def schema(self, node: Any, inside: tuple[str, ...], depth: int) -> Any:
        """A schema, or a list of them, filled in."""
        # Counted over the whole walk and not by depth alone: a definition that is named twice in
        # each of many levels doubles with each of them.
        self.count += 1
        if self.count > SCHEMA_NODES or depth > SCHEMA_DEPTH:
            raise ValueError(f"has more than {SCHEMA_NODES:,} nodes or nests too deep")
        if isinstance(node, list):
            listed = cast("list[Any]", node)
            return [self.schema(each, inside, depth + 1) for each in listed]
        if not isinstance(node, dict):
            return node
        said = cast("dict[str, Any]", node)
        if "$ref" in said:
            return self._named(said, inside, depth)
        return dict(self._members(said, inside, depth))

    def values(self, node: Any, depth: int) -> None:
        """Values count as schemas do: each is held against what was said."""
        self.count += 1
        if self.count > SCHEMA_NODES or depth > SCHEMA_DEPTH:
            raise ValueError(f"has more than {SCHEMA_NODES:,} nodes or nests too deep")
        if isinstance(node, dict):
            node = list(cast("dict[str, Any]", node).values())
        for each in cast("list[Any]", node) if isinstance(node, list) else ():
            self.values(each, depth + 1)

    def _members(
        self, node: dict[str, Any], inside: tuple[str, ...], depth: int
    ) -> Iterator[tuple[str, Any]]:
        for key, value in node.items():
            if key in REFUSED:
                raise ValueError(f"{key} is not taken: {REFUSED[key]}")
            if key in DEFINITIONS:
                continue
            if key in _VALUES:
                self.values(value, depth)
                yield key, value
            elif key in _NAMED and isinstance(value, dict):
                named = cast("dict[str, Any]", value)
                yield (
                    key,
                    {name: self.schema(one, inside, depth + 1) for name, one in named.items()},
                )
            else:
                yield key, self.schema(value, inside, depth + 1)

    def _named(self, node: dict[str, Any], inside: tuple[str, ...], depth: int) -> Any:
        name = node["$ref"]
        place, _, key = str(name).removeprefix("#/").partition("/")
        known = (
            self.root.get(place) if place in DEFINITIONS and str(name).startswith("#/") else None
        )
        if not isinstance(known, dict) or key not in known:
            raise ValueError(f"$ref {str(name)[:80]!r} names none of its $defs")
        # A chain of names, and not a set of those seen: the same definition may stand in two
        # places.
        if key in inside:
            raise ValueError(f"{key} holds itself; a schema must end")
        rest = {name: value for name, value in node.items() if name != "$ref"}
        meant = self.schema(cast("dict[str, Any]", known)[key], (*inside, key), depth + 1)
        if not rest:
            return meant
        beside: dict[str, Any] = self.schema(rest, inside, depth + 1)
        own: dict[str, Any] = cast("dict[str, Any]", meant) if isinstance(meant, dict) else {}
        # Keywords beside a reference hold as well. Where both say the same keyword, one would hide
        # the other.
        if not own or own.keys() & beside.keys():
            both: list[Any] = [meant, beside]
            return {"allOf": both}
        return {**own, **beside}
