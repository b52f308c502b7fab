"""Finding a policy by the name that a user gave: ours, an installed one, or one in a file."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from functools import lru_cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, cast

from handlers.policies.base import Policy
from handlers.policies.registry import POLICIES
from schemas.settings import meant

GROUP = "metalogue.policies"


class NoPolicy(LookupError):
    """No policy of this name; the message says which there are, or what is wrong with the file."""


@lru_cache(maxsize=64)
def find(name: str) -> Policy[Any]:
    """The policy called ``name``, or NAME in ``FILE.py:NAME``. Raises ``NoPolicy``."""
    known = POLICIES.get(name)
    if known is not None:
        return known
    path, colon, attribute = name.rpartition(":")
    if colon and path.endswith(".py"):
        return from_file(Path(path), attribute)
    for entry in entry_points(group=GROUP, name=name):
        return _checked(entry.load(), name)
    raise NoPolicy(f"no policy {name!r}; {meant(name, POLICIES)}")


def from_file(path: Path, attribute: str) -> Policy[Any]:
    """A policy defined in a user's file. Its source digest becomes part of its version."""
    if not path.is_file():
        raise NoPolicy(f"{path}: no such file")
    source = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    spec = importlib.util.spec_from_file_location(f"metalogue_own_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise NoPolicy(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise NoPolicy(f"{path}: {type(error).__name__}: {error}") from error
    policy = _checked(getattr(module, attribute, None), f"{path}:{attribute}")
    origin = {"file": str(path), "name": attribute, "source": source}
    return _renamed(policy, f"{path}:{attribute}", f"{policy.version}+{source}", origin)


def _renamed(policy: Policy[Any], name: str, version: str, origin: dict[str, str]) -> Policy[Any]:
    from dataclasses import replace

    return replace(policy, name=name, version=version, origin=origin)


def _checked(found: object, name: str) -> Policy[Any]:
    if not isinstance(found, Policy):
        raise NoPolicy(f"{name}: expected a Policy, found {type(found).__name__}")
    policy = cast("Policy[Any]", found)
    for field in ("name", "version", "rule", "retirement"):
        value = getattr(policy, field)
        if not isinstance(value, str) and (value is not None or field in ("name", "version")):
            raise NoPolicy(f"{name}: {field}: expected text, found {value!r:.80}")
    return policy
