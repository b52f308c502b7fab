"""The settings of a policy as a page shows them: values by profile, and what each does, by its docstring."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Hashable, Mapping
from functools import cache
from itertools import pairwise
from typing import Any, Literal, cast, get_args, get_origin

from handlers.policies.base import Policy
from schemas.settings import PROFILES, PolicySettings

TEACHERS = {"self": "its own runs", "labels": "labels", "none": "nothing"}
CAPTION = "| setting | service | paper | kept apart | what it does |\n|---|---|---|---|---|\n"


def said(model: type[PolicySettings]) -> dict[str, str]:
    """The docstring of each setting: of its own class, else of the nearest that declares it."""
    found: dict[str, str] = {}
    for each in reversed(model.__mro__):
        if issubclass(each, PolicySettings):
            found |= _documented(each)
    return {name: text for name, text in found.items() if name in model.model_fields}


@cache
def _documented(model: Hashable) -> Mapping[str, str]:
    """What the docstrings below a class's own settings say; its source is looked for once."""
    (declared,) = ast.parse(textwrap.dedent(inspect.getsource(cast("type", model)))).body
    body = cast("ast.ClassDef", declared).body
    found: dict[str, str] = {}
    for field, below in pairwise(body):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(
                value=ast.Constant(value=str(text))
            ):
                found[name] = " ".join(text.split())
            case _:
                pass
    return found


def options(annotation: Any) -> list[str]:
    """The words that a setting may have, where it is a choice of words."""
    if get_origin(annotation) is Literal:
        return [str(each) for each in get_args(annotation)]
    return [word for part in get_args(annotation) for word in options(part)]


def table(policy: Policy[Any]) -> str:
    """Every setting of a policy, a row each."""
    by_profile = [policy.settings.resolve(each, {}).model_dump(mode="json") for each in PROFILES]
    texts = said(policy.settings)
    rows = [
        _row(
            f"`{name}`",
            *(_value(values[name]) for values in by_profile),
            "yes" if name in policy.settings.learning else "",
            _explained(texts.get(name, ""), options(field.annotation)),
        )
        for name, field in policy.settings.model_fields.items()
    ]
    return CAPTION + "".join(rows)


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _explained(text: str, words: list[str]) -> str:
    choice = f"One of {', '.join(f'`{word}`' for word in words)}." if len(words) > 1 else ""
    return " ".join(part for part in (text, choice) if part)


def _value(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ", ".join(map(str, cast("list[object]", value))) or "none"
    if isinstance(value, dict):
        return f"`{value}`" if value else "none"
    return str(value)


def summary(policy: Policy[Any]) -> str:
    """What a policy is, whom it asks and what it learns from; then its settings."""
    asks = ", ".join(f"`{role}`" for role in policy.roles) or "nobody"
    known = policy.confidence_source
    sure = "" if known is None else f" Its confidence is usually made of `{known}`."
    return (
        f"What it does: {policy.about}. It asks {asks} and learns from {TEACHERS[policy.learns]}.{sure}\n\n"
        "Settings and their values in both profiles; *none* means no bound, or nothing set. What is learned under "
        "another value of a setting that is *kept apart* is another memory.\n\n" + table(policy)
    )


def new_page(policy: Policy[Any]) -> str:
    """A page for a policy that has none yet."""
    part = f"settings of {policy.name}"
    return (
        f"# `{policy.name}`\n\n<!-- {part}: generated -->\n<!-- {part}: end -->\n\n"
        "[All policies](../policies.md)\n"
    )
