"""Every prompt that policies ask with: those of this build by name, and those of a policy's own module."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any, cast

from handlers.policies.base import Around, Policy
from handlers.roles.composer import COACHES
from handlers.roles.consolidator import CONSOLIDATORS, SIX
from handlers.roles.distiller import BATCH_DISTILLERS, DISTILLERS
from handlers.roles.inducer import ANALYSES, inducer
from handlers.roles.meta_reasoner import picker
from handlers.roles.role import Role
from handlers.roles.wording import changed, faults
from schemas.problem import Profile
from schemas.prompt import Template
from schemas.settings import PROMPTS, BadSetting, PolicySettings, PromptWords, meant
from streams.engine.policies import SHELF

MADE: Mapping[str, tuple[Role, ...]] = {
    "handlers.roles.composer": tuple(each.role for each in COACHES.values()),
    "handlers.roles.consolidator": (
        *(each.role for each in CONSOLIDATORS.values()),
        *(each.role for each in SIX.values()),
    ),
    "handlers.roles.distiller": (
        *(each.role for each in DISTILLERS.values()),
        *(each.role for each in BATCH_DISTILLERS.values()),
    ),
    "handlers.roles.inducer": tuple(
        inducer(50, analysis, first=first) for analysis in ANALYSES for first in (False, True)
    ),
    "handlers.roles.meta_reasoner": (picker(("A", "B")),),
}
"""Roles that a module holds in a larger thing, or makes from what it is given: there a stand-in."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt, and the model roles that are asked with it."""

    template: Template
    roles: tuple[str, ...]

    @property
    def name(self) -> str:
        """What it is called."""
        return self.template.name


def roles() -> Iterator[Role]:
    """Every role that a module of roles or of policies holds, alone, in a table, or made by a function."""
    for package in map(importlib.import_module, ("handlers.roles", "handlers.policies")):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            yield from _held(importlib.import_module(found.name))
    # What is made by a function stands in no module, where the search above could find it.
    for made in MADE.values():
        yield from made


def _held(module: ModuleType) -> Iterator[Role]:
    """The roles that a module holds, alone or in a table."""
    for value in vars(module).values():
        each: list[object] = [value]
        if isinstance(value, dict):
            each = list(cast("dict[object, object]", value).values())
        yield from (one for one in each if isinstance(one, Role))


def _named(found: Iterable[Role]) -> dict[str, Prompt]:
    """Prompts by name, in order; of one that several roles are asked with, all of these."""
    names: dict[str, set[str]] = {}
    templates: dict[str, Template] = {}
    for role in found:
        names.setdefault(role.template.name, set()).add(role.name)
        templates.setdefault(role.template.name, role.template)
    return {name: Prompt(templates[name], tuple(sorted(names[name]))) for name in sorted(names)}


@cache
def ours() -> Mapping[str, Prompt]:
    """The prompts of this build by name."""
    return _named(roles())


def every() -> Mapping[str, Prompt]:
    """The prompts of this build and those of policies that were given or installed."""
    found = dict(ours())
    for policy in SHELF.all():
        # Ours win: nobody's file may say what one of our own prompts is.
        found = {**_reached(_modules(policy)), **found}
    return found


# ── Which policy asks with which ─────────────────────────────────────────────────────────────────


def of_policy(policy: Policy[Any]) -> Mapping[str, Prompt]:
    """The prompts that a policy may ask with: those of its roles in the modules that it is made of."""
    asked = _reached(_modules(policy))
    return {name: each for name, each in asked.items() if set(each.roles) & set(policy.roles)}


def _modules(policy: Policy[Any]) -> frozenset[str]:
    """The modules that hold what a policy does, and what is wrapped around it."""
    work: list[Any] = [policy.solve, policy.learn, policy.relearn]
    if policy.together is not None:
        work.append(policy.together.solve)
    found = set[str]()
    while work:
        each = work.pop()
        found.add(getattr(each, "__globals__", {}).get("__name__", each.__module__))
        # A policy may be wrapped around another one's function, and asks with the prompts of both.
        work += [each.__wrapped__] if hasattr(each, "__wrapped__") else []
    return frozenset(found)


@cache
def _reached(modules: frozenset[str]) -> Mapping[str, Prompt]:
    """The prompts of modules and of all of ours that they import, wherever in them they do."""
    waiting, seen = list(modules), set[str]()
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += [each for each in _imported(name) if each.startswith("handlers.")]
    here = [sys.modules[name] for name in sorted(seen) if name in sys.modules]
    held = (role for module in here for role in _held(module))
    made = (role for name in sorted(seen & MADE.keys()) for role in MADE[name])
    return _named((*held, *made))


@cache
def _imported(module: str) -> frozenset[str]:
    """The names that a module imports from, each also with what it takes from there."""
    loaded = sys.modules.get(module) or importlib.import_module(module)
    # Read from the source, since imports inside of functions leave no trace in a module
    # until they are run.
    try:
        tree = ast.parse(inspect.getsource(loaded))
    except (OSError, TypeError):
        return frozenset()
    found = set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            found.add(node.module)
            found |= {f"{node.module}.{each.name}" for each in node.names}
        elif isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
    return frozenset(each for each in found if each in sys.modules)


def asked_by(policy: Policy[Any], prompts: Mapping[str, PromptWords]) -> dict[str, PromptWords]:
    """Those of the prompts that a policy may ask with, as its setting says them: only what is changed."""
    if not prompts:
        return {}
    known = of_policy(policy)
    found = {n: changed(known[n].template, words) for n, words in prompts.items() if n in known}
    return {name: words for name, words in found.items() if words}


def usual_of(
    policy: Policy[Any],
    profile: Profile,
    around: Around,
    prompts: Mapping[str, PromptWords],
    values: Mapping[str, Any],
) -> dict[str, Any]:
    """What is set where no line and no option sets it; ``values`` are set."""
    usual = dict(policy.usual(profile, around.under(values)))
    words = asked_by(policy, prompts)
    # No empty setting: the digest of the settings, and with it the episode's
    # name, would be another.
    return usual | {PROMPTS: words} if words else usual


def need_known(policy: Policy[Any], settings: PolicySettings) -> None:
    """Raises ``BadSetting`` for a prompt, variable or field that the policy does not have, or a text that cannot be."""
    if not settings.prompts:
        return
    known = of_policy(policy)
    for name, words in settings.prompts.items():
        if name not in known:
            what = f"{policy.name} asks with no such prompt; {meant(name, known)}"
            raise BadSetting(f"settings.prompts.{name}: {what}")
        for where, what in faults(known[name].template, words):
            raise BadSetting(f"settings.prompts.{name}.{where}: {what}")
