"""Any event of any kind, built from what its model declares."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin

from annotated_types import Ge, Gt
from hypothesis import strategies as st
from msgspec import Meta, structs
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from schemas.answer_type import AnswerType
from schemas.events.base import Event
from schemas.events.union import KINDS
from schemas.problem import Perturbed, Problem
from schemas.struct import Struct

S = TypeVar("S", bound=Struct)

TEXT = st.text(max_size=20)
NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}", fullmatch=True)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 53), 1 << 53) | FINITE | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
PRINTABLE = TEXT.map(lambda text: "".join(filter(str.isprintable, text)).strip() or "x")
ANSWER_TYPES = st.sampled_from(("number", "expression", "choice", "yes_no", "text", "code")).map(
    lambda name: AnswerType.model_validate({"type": name})
) | st.one_of(
    st.builds(AnswerType, type=st.just("number"), unit=PRINTABLE),
    st.builds(AnswerType, type=st.just("choice"), options=st.just(("red", "dark green"))),
    st.dictionaries(st.sampled_from(("const", "title", "default")), JSON).map(
        lambda shape: AnswerType.model_validate({"type": "json", "schema": shape})
    ),
)
SPECIAL: Mapping[tuple[type[BaseModel], str], st.SearchStrategy[Any]] = {
    (Problem, "id"): PRINTABLE,
    (Problem, "problem"): TEXT.map(lambda text: f"problem {text}"),
    (Problem, "statement"): st.none() | TEXT.map(lambda text: f"the form: {text}"),
    (Problem, "answer_type"): st.none() | ANSWER_TYPES,
    (Problem, "domain"): NAMES,
    (Problem, "memory"): NAMES,
    (Problem, "tenant"): st.none() | NAMES,
    (Problem, "subject"): st.none() | st.from_regex(r"subject-[0-9a-f]{16}", fullmatch=True),
    (Problem, "priority"): st.none() | st.integers(-9, 9),
    (Problem, "seed"): st.integers(0, (1 << 53) - 1),
    (Problem, "walk"): st.integers(1, (1 << 53) - 1),
    (Problem, "position"): st.none() | st.integers(0, (1 << 53) - 1),
    (Perturbed, "seed"): st.integers(0, (1 << 53) - 1),
}


def values(annotation: Any, least: float | None = None) -> st.SearchStrategy[Any]:
    """Values of a type as a model annotates it."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return st.one_of(*(values(part, least) for part in parts))
    if origin is Literal:
        return st.sampled_from(parts)
    if origin is tuple and parts[-1] is Ellipsis:
        return st.lists(values(parts[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values, parts))
    if origin is dict:
        held = JSON if parts[1] is Any else values(parts[1])
        return st.dictionaries(TEXT, held, max_size=3)
    if getattr(annotation, "__metadata__", None):
        return values(annotation.__origin__, _least(annotation.__metadata__))
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return models(annotation)
    if isinstance(annotation, type) and issubclass(annotation, Struct):
        return said(annotation)
    simple: dict[Any, st.SearchStrategy[Any]] = {
        str: TEXT,
        bool: st.booleans(),
        NoneType: st.none(),
        int: st.integers(-(1 << 60) if least is None else int(least), 1 << 60),
        float: st.floats(min_value=least, allow_nan=False, allow_infinity=False, exclude_min=False),
    }
    return simple[annotation]


def _least(metadata: Any) -> float | None:
    for mark in metadata:
        if isinstance(mark, Meta):
            return None if mark.ge is None else float(mark.ge)
        if isinstance(mark, Ge):
            return float(cast("float", mark.ge))
        if isinstance(mark, Gt):
            return 1.0
        if isinstance(mark, FieldInfo):
            return _least(mark.metadata)
    return None


def models(model: type[BaseModel]) -> st.SearchStrategy[Any]:
    """Models of a class, every field drawn."""
    fields = {
        name: SPECIAL.get((model, name), values(info.annotation, _least(info.metadata)))
        for name, info in model.model_fields.items()
    }
    return st.fixed_dictionaries(fields).map(model.model_validate)


def said(model: type[S]) -> st.SearchStrategy[S]:
    """Structs of a class, every field drawn."""
    fields = {each.name: values(each.type) for each in structs.fields(model)}
    return st.fixed_dictionaries(fields).map(lambda drawn: model(**drawn))


EVENTS: Mapping[str, st.SearchStrategy[Event]] = {
    kind: said(model) for kind, model in KINDS.items()
}
ANY_EVENT = st.sampled_from(sorted(KINDS)).flatmap(lambda kind: EVENTS[kind])
