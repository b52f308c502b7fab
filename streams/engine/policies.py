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
            return self._given(name)
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

    def _given(self, name: str) -> Policy[Any]:
        """The policy of a given file, by its path or, behind an ``@``, by the version that a record names."""
        path, mark, rest = name.rpartition(".py:")
        attribute, at, version = rest.partition("@")
        called = f"{path}{mark}{attribute}"
        if at:
            # The digest of its source is what counts, since a file may lie elsewhere on the
            # machine that replays. Of several copies that one is preferred which is called
            # as the record says.
            source = version.rpartition("+")[2]
            named = [f for f in self.files if f.attribute == attribute]
            fitting = [f for f in named if self._source(f) == source]
            fitting.sort(key=lambda file: not file.is_called(called))
        else:
            fitting = [file for file in self.files if file.is_called(called)]
        if not fitting:
            raise NoPolicy(
                f"{name!r:.200} names a file, and no record may name what runs: "
                f"give it on the command line, --policy FILE.py:NAME"
            )
        return replace(self._load(fitting[0]), name=called)

    def _source(self, file: OwnFile) -> str:
        """The digest of what was loaded; the file may have changed since."""
        known = self.loaded.get(file.place)
        return file.read()[1] if known is None else known.origin["source"]

    def _load(self, file: OwnFile) -> Policy[Any]:
        """The policy in a file: just the bytes that its version names are run, and no compiled copy of them."""
        # Locked, since threads of a program may look for a policy at once, and its file
        # is to be run once.
        with self.lock:
            known = self.loaded.get(file.place)
            if known is not None:
                return known
            path, (content, source) = file.path, file.read()
            spec = importlib.util.spec_from_file_location(f"metalogue_own_{path.stem}", path)
            if spec is None:
                raise NoPolicy(f"{path}: not a Python file")
            module = importlib.util.module_from_spec(spec)
            # Registered before it runs: dataclasses of the file look their module up while it is
            # still being loaded.
            sys.modules[spec.name] = module
            # At the end of the path, so that no file beside the policy can stand in
            # for a module of ours.
            folder = str(path.resolve().parent)
            if folder not in sys.path:
                sys.path.append(folder)
            # Not ``spec.loader.exec_module``: that may take a compiled copy or a file that changed
            # since it was read, and the version would name other bytes than those that ran.
            # One that exits, as a script does, must not end our process with a code of its own.
            try:
                exec(compile(content, path, "exec"), module.__dict__)
            except (Exception, SystemExit) as error:
                raise NoPolicy(f"{path}: {type(error).__name__}: {error}") from error
            policy = _checked(getattr(module, file.attribute, None), f"{path}:{file.attribute}")
            origin = {"file": str(path), "name": file.attribute, "source": source}
            version = f"{policy.version}+{source}"
            policy = replace(policy, name=file.spelled, version=version, origin=origin)
            self.loaded[file.place] = policy
            return policy


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
            # That version is gone. The file of today may still go on with a scope; a replay will
            # see by its version that it is another.
            pass
    return find(name)


@cache
def installed() -> Mapping[str, Policy[Any] | str]:
    """Every policy of an installed distribution by name; of one that does not load, why.

    All of them are loaded together: whoever installed them chose them, a name that is looked for does not.
    """
    found: dict[str, Policy[Any] | str] = {}
    for entry in entry_points(group=GROUP):
        # A distribution that is broken must not keep the others from being found.
        try:
            found[entry.name] = _checked(entry.load(), entry.name)
        except (Exception, SystemExit) as error:
            found[entry.name] = f"{entry.value}: {type(error).__name__}: {error}"
    return found


def _checked(found: object, name: str) -> Policy[Any]:
    if not isinstance(found, Policy):
        raise NoPolicy(f"{name}: expected a Policy, found {type(found).__name__}")
    policy = cast("Policy[Any]", found)
    # Python holds nobody to an annotation. What is wrong here would else show as a record that
    # cannot be written, in the middle of an episode.
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
