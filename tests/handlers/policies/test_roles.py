"""Policies declare the roles that they ask: no other, and none that nobody could be."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import cast

import pytest

from handlers.policies.registry import POLICIES
from handlers.roles.role import Role


def imported(module: str, seen: set[str]) -> set[str]:
    """A module of ours and those that it imports, and so on."""
    if module in seen:
        return seen
    seen.add(module)
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    for node in ast.walk(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("handlers."):
            imported(node.module or "", seen)
            for each in node.names:
                name = f"{node.module}.{each.name}"
                if is_module(name):
                    imported(name, seen)
    return seen


def is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def roles_in(value: object) -> Iterator[Role]:
    """The roles that a module's global holds, by itself or among others."""
    if isinstance(value, Role):
        yield value
    elif isinstance(value, dict):
        for each in cast("dict[object, object]", value).values():
            yield from roles_in(each)
    elif isinstance(role := getattr(value, "role", None), Role):
        yield role


def within_reach(name: str) -> set[str]:
    """The names of the roles in the modules that a policy is made of."""
    policy, modules, found = POLICIES[name], set[str](), set[str]()
    for asks in (policy.solve, policy.learn):
        imported(asks.__module__, modules)
    for each in modules:
        for value in vars(import_module(each)).values():
            found |= {role.name for role in roles_in(value)}
    return found | ({"inducer"} if name == "graph_memory" else set())  # made for each limit


@pytest.mark.parametrize("name", POLICIES)
def test_every_declared_role_is_one_that_the_policy_has(name: str) -> None:
    declared = POLICIES[name].roles
    assert declared
    assert len(set(declared)) == len(declared)
    assert set(declared) <= within_reach(name)
