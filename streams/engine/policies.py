"""The policies that names stand for: ours, installed ones, and files that the command line gave.

A record, a message or a log only ever names a policy; which code that is was settled before, by somebody
who may run code here. ``SHELF`` is where the command line puts the files that it was given (``--policy
FILE.py:NAME``, or a list that ``--allow-policies`` names), and ``find`` is the only way from a name to a
policy. It never opens, imports or looks for what a name says: a name that was not given is ``NoPolicy``,
and whoever needed the policy goes on without it (an episode is not verifiable, a scope waits).
"""

from __future__ import annotations

import hashlib
import importlib.util
import os.path
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from threading import RLock
from typing import Any, TypeAlias, cast

from handlers.policies.base import Policy
from handlers.policies.registry import ASIDE, POLICIES
from schemas.identity import names_a_file, without_prompts
from schemas.settings import meant

GROUP = "metalogue.policies"
Find: TypeAlias = Callable[[str], Policy[Any]]


class NoPolicy(LookupError):
    """No policy of this name; the message says which there are, or what is wrong with the file."""


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A policy's file as it was given: how it was spelled, where it lies, and its name in there."""

    spelled: str
    path: Path
    attribute: str

    @classmethod
    def of(cls, spelled: str, folder: Path | None = None) -> OwnFile:
        """``FILE.py:NAME``, its file relative to a folder. Raises ``NoPolicy`` for another spelling."""
        path, _, attribute = spelled.rpartition(":")
        if not names_a_file(spelled) or not attribute:
            raise NoPolicy(f"{spelled!r} is not FILE.py:NAME")
        return cls(spelled, Path(path) if folder is None else folder / path, attribute)

    @property
    def place(self) -> tuple[str, str]:
        """The file's absolute path and the name in it."""
        return os.path.abspath(self.path), self.attribute

    def is_called(self, name: str) -> bool:
        """Whether a name means this file: as it was spelled, or as another path to it."""
        path, _, attribute = name.rpartition(":")
        return name == self.spelled or (os.path.abspath(path), attribute) == self.place

    def read(self) -> tuple[bytes, str]:
        """The file's content and its digest, which is part of the policy's version. Raises ``NoPolicy``."""
        try:
            content = self.path.read_bytes()
        except OSError as error:
            what = "no such file" if isinstance(error, FileNotFoundError) else error.strerror
            raise NoPolicy(f"{self.path}: {what}") from error
        return content, hashlib.sha256(content).hexdigest()[:12]


@dataclass(slots=True)
class Shelf:
    """The files that were given, and the policies that were loaded from them, each once."""

    files: list[OwnFile] = field(default_factory=list[OwnFile])
    loaded: dict[tuple[str, str], Policy[Any]] = field(
        default_factory=dict[tuple[str, str], Policy[Any]]
    )
    lock: RLock = field(default_factory=RLock)

    def give(self, file: OwnFile) -> None:
        """Names may stand for this file's policy from now on."""
        if file not in self.files:
            self.files.append(file)

    def clear(self) -> None:
        """Forget every file: what a command was given is not given to the next."""
        self.files.clear()
        self.loaded.clear()

    def find(self, name: str) -> Policy[Any]:
        """The policy called ``name``. Raises ``NoPolicy``.

        ``FILE.py:NAME@VERSION`` is the given policy of that version, wherever its file lies now.
        """
        known = POLICIES.get(name) or ASIDE.get(name)
        if known is not None:
            return known
        if names_a_file(name):
            return self._own(name)
        found = installed().get(name)
        if isinstance(found, Policy):
            return found
        raise NoPolicy(found or f"no policy {name!r:.200}; {meant(name, POLICIES)}")

    def all(self) -> list[Policy[Any]]:
        """Every policy that a name may stand for; of those given and installed, the ones that load."""
        found = [*POLICIES.values(), *(e for e in installed().values() if isinstance(e, Policy))]
        for file in self.files:
            with suppress(NoPolicy):
                found.append(self._load(file))
        return found

    def _own(self, name: str) -> Policy[Any]:
        called, at, version = _parted(name)
        fitting = [file for file in self.files if file.is_called(called)]
        if at:
            fitting = self._of_version(called, version)
        if not fitting:
            raise NoPolicy(_not_given(name))
        return replace(self._load(fitting[0]), name=called)

    def _of_version(self, called: str, version: str) -> list[OwnFile]:
        """The given files with that source, those first that are called so themselves."""
        attribute, source = called.rpartition(":")[2], version.rpartition("+")[2]
        same = [f for f in self.files if f.attribute == attribute and self._source(f) == source]
        return sorted(same, key=lambda file: not file.is_called(called))

    def _source(self, file: OwnFile) -> str:
        """The digest of what was loaded; the file may have changed since."""
        known = self.loaded.get(file.place)
        return file.read()[1] if known is None else known.origin["source"]

    def _load(self, file: OwnFile) -> Policy[Any]:
        with self.lock:
            known = self.loaded.get(file.place)
            if known is None:
                known = self.loaded[file.place] = _loaded(file)
        return known


SHELF = Shelf()
find: Find = SHELF.find


def find_recorded(find: Find, name: str, version: str) -> Policy[Any]:
    """The policy that a record was made with: of its very version where that is here, else of its name.

    Raises ``NoPolicy``. Whoever replays compares the versions; a scope that goes on takes either. Which prompts
    it was made with stands in its settings, and ``Policy.under`` tells.
    """
    if version and names_a_file(name):
        try:
            return find(f"{name}@{without_prompts(version)}")
        except NoPolicy:
            pass
    return find(name)


@cache
def installed() -> Mapping[str, Policy[Any] | str]:
    """Every policy of an installed distribution by name; of one that does not load, why.

    All of them are loaded together: whoever installed them chose them, a name that is looked for does not.
    """
    found: dict[str, Policy[Any] | str] = {}
    for entry in entry_points(group=GROUP):
        try:
            found[entry.name] = _checked(entry.load(), entry.name)
        except Exception as error:
            found[entry.name] = f"{entry.value}: {type(error).__name__}: {error}"
    return found


def _parted(name: str) -> tuple[str, str, str]:
    """``FILE.py:NAME`` and what stands behind an ``@``."""
    path, mark, rest = name.rpartition(".py:")
    attribute, at, version = rest.partition("@")
    return f"{path}{mark}{attribute}", at, version


def _not_given(name: str) -> str:
    return (
        f"{name!r:.200} names a file, and no record may name what runs: "
        f"give it on the command line, --policy FILE.py:NAME"
    )


def _loaded(file: OwnFile) -> Policy[Any]:
    """The policy in a file: just the bytes that its version names are run, and no compiled copy of them."""
    path, (content, source) = file.path, file.read()
    spec = importlib.util.spec_from_file_location(f"metalogue_own_{path.stem}", path)
    if spec is None:
        raise NoPolicy(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        exec(compile(content, path, "exec"), module.__dict__)
    except Exception as error:
        raise NoPolicy(f"{path}: {type(error).__name__}: {error}") from error
    policy = _checked(getattr(module, file.attribute, None), f"{path}:{file.attribute}")
    origin = {"file": str(path), "name": file.attribute, "source": source}
    version = f"{policy.version}+{source}"
    return replace(policy, name=file.spelled, version=version, origin=origin)


def _checked(found: object, name: str) -> Policy[Any]:
    if not isinstance(found, Policy):
        raise NoPolicy(f"{name}: expected a Policy, found {type(found).__name__}")
    policy = cast("Policy[Any]", found)
    for field_name in ("name", "version", "rule", "retirement"):
        value = getattr(policy, field_name)
        if not isinstance(value, str) and (value is not None or field_name in ("name", "version")):
            raise NoPolicy(f"{name}: {field_name}: expected text, found {value!r:.80}")
    roles = cast("object", policy.roles)  # whoever wrote the file may have said anything
    if not isinstance(roles, tuple) or not all(
        isinstance(each, str) for each in cast("tuple[object, ...]", roles)
    ):
        raise NoPolicy(f"{name}: roles: expected a tuple of texts, found {roles!r:.80}")
    return policy
