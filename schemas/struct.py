"""What is said on a log or a topic, as frozen structs: read and checked in one go, several times as fast as models.

What people write (problems, feedback, settings) are pydantic models, whose errors name every fault at
once; what the product itself writes are these. A struct is checked when it is read, not when it is made:
``schemas.events.codec.as_written`` reads back what a log is to keep.
"""

from __future__ import annotations

from itertools import repeat
from numbers import Integral, Real
from typing import Annotated, Any, Final, TypeVar, dataclass_transform

from msgspec import Meta, Raw, StructMeta, field
from msgspec import Struct as _Struct
from msgspec.json import Encoder
from pydantic import BaseModel, ValidationError

from schemas.faults import first_fault

NonNegativeInt = Annotated[int, Meta(ge=0)]
PositiveInt = Annotated[int, Meta(ge=1)]
NonNegativeFloat = Annotated[float, Meta(ge=0)]
T = TypeVar("T")


def always(value: T) -> T:
    """A default that is written out all the same: what is absent from JSON is unknown."""
    # ``msgspec`` leaves out a field that equals a plain default; one that comes from a factory is
    # written.
    return field(default_factory=repeat(value).__next__)


class _Said(StructMeta):
    """Fields are given by name, whatever order classes declare them in; a tag is an attribute too."""

    def __new__(
        mcs, name: str, bases: tuple[type, ...], body: dict[str, Any], **config: Any
    ) -> Any:
        made = super().__new__(mcs, name, bases, body, kw_only=True, **config)
        said = made.__struct_config__
        if said.tag_field is not None and said.tag_field not in body:
            setattr(made, said.tag_field, said.tag)
        return made


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
# Without the collector's notice: a log of millions of events would be walked through by each
# search for cycles, and events hold none.
class Struct(
    _Struct,
    metaclass=_Said,
    frozen=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    gc=False,
):
    """Immutable values with declared types; ``None`` is unknown, and left out of its JSON."""


def _json_within(value: Any) -> Any:
    """A model inside a struct, as its own JSON; a number or text of another library as Python's."""
    # A model serialises itself, as its field names and exclusions are its own.
    if isinstance(value, BaseModel):
        return Raw(value.__pydantic_serializer__.to_json(value, exclude_none=True))
    return _builtin(value)


def plain_within(value: Any) -> Any:
    """A model inside a struct, as plain values; a number or text of another library as Python's."""
    return value.model_dump(exclude_none=True) if isinstance(value, BaseModel) else _builtin(value)


# Figures may come from NumPy. Their own text would differ between its versions.
def _builtin(value: Any) -> int | float | str:
    """NumPy's scalars, and what inherits from a built-in type."""
    match value:
        case Integral():
            return int(value)
        case Real():
            return float(value)
        case str():
            return str.__str__(value)
        case _:
            raise TypeError(f"no JSON for {type(value).__name__}")


def model_within(model: type, value: Any) -> Any:
    """A model inside a struct, validated. Raises ``ValueError`` that names its first wrong field."""
    if not issubclass(model, BaseModel):
        raise TypeError(f"no way to read {model.__name__}")
    try:
        return model.model_validate(value)
    except ValidationError as error:
        where, what = first_fault(error)
        raise ValueError(f"{where}: {what}" if where else what) from error


to_json: Final = Encoder(enc_hook=_json_within).encode
"""A struct's JSON in UTF-8, unknown fields left out (absent means unknown, never zero)."""
