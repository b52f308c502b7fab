"""Graders that the command line gives: a file, or an installed entry point, each in a process of its own.

A record names a grader, and never the code that runs: what is run was given on the command line, by somebody who
may run code here. Nothing of a grader runs in this process. It is bounded in time and memory, and how it failed
is said where it failed; a grade that failed is no grade.
"""

from __future__ import annotations

import json
import os.path
from dataclasses import dataclass, field, replace
from importlib.metadata import entry_points
from pathlib import Path
from threading import Lock
from typing import Any, Final

from handlers.answers.grade import Grade, References, withheld
from handlers.answers.own import Given
from schemas.identity import names_a_file
from streams.answering.grading.process import Died, Helper, NoAnswer

GROUP: Final = "metalogue.graders"
LIMIT_S: Final = 5.0
"""How long it may think about one answer."""


class NoGrader(LookupError):
    """No grader of this name, or what stands there is none; the message says which and why."""


class Failed(Exception):
    """A grader did not grade an answer: it raised, never ended, or said what means nothing."""


@dataclass(slots=True)
class OwnGrader:
    """A grader in its process. ``reference`` is its name on records: ``name@version+digest``."""

    helper: Helper = field(repr=False)
    spelled: str
    name: str
    version: str
    unlabelled: bool = False
    limit_s: float = LIMIT_S
    _lock: Lock = field(default_factory=Lock, repr=False)

    @property
    def reference(self) -> str:
        """Its name, version and digest, as grades name it."""
        return f"{self.name}@{self.version}"

    def decide(self, given: Given) -> Grade:
        """Its grade. Raises ``Failed``, naming the grader and what it did."""
        asked: dict[str, Any] = {
            "answer": given.answer,
            "references": given.references,
            "problem": given.problem,
            "dataset": given.dataset,
        }
        with self._lock:
            said: dict[str, Any]
            try:
                try:
                    said = self._answer(asked)
                except Died:
                    # Whoever ended it, a second time is its own doing.
                    said = self._answer(asked)
            except NoAnswer as error:
                said = {"failed": f"gave no answer: {error}"}
        if "failed" in said:
            # Raised, and not a grade: a grader that failed has said nothing, and "undecided" would
            # be a word of its own.
            raise Failed(f"{self.reference} {said['failed']}")
        return Grade(outcome=said["outcome"], grader=self.reference, detail=said["detail"])

    def grade(
        self, answer: str | None, references: References | None, *, dataset: str, problem: str
    ) -> Grade:
        """Its grade of an answer; undecided, with the reason, where it failed."""
        if answer is None:
            return withheld(self.reference)
        try:
            return self.decide(given_of(answer, references, dataset=dataset, problem=problem))
        except Failed as error:
            return Grade(outcome="unknown", grader=self.reference, detail=str(error))

    def close(self) -> None:
        """End its process."""
        with self._lock:
            self.helper.close()

    def _answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        if self.helper.process is None:
            self.helper.start()
            told = json.loads(self.helper.hello)
            # Its file may have been edited since: grades under one name must be of one grader.
            if _version(told) != self.version:
                self.helper.close()
                return {"failed": "changed since it was given"}
        said: dict[str, Any] = json.loads(self.helper.ask(asked, self.limit_s))
        return said


def given_of(answer: str, references: References | None, *, dataset: str, problem: str) -> Given:
    """An answer as a grader is given it."""
    told = (references,) if isinstance(references, str) else tuple(references or ())
    return Given(answer=answer, references=told, problem=problem, dataset=dataset)


def own_grader(spelled: str) -> OwnGrader:
    """The grader of ``FILE.py:NAME``, or of an installed entry point's name. Raises ``NoGrader``."""
    if names_a_file(spelled):
        path, _, attribute = spelled.rpartition(":")
        if not Path(path).is_file():
            raise NoGrader(f"{path}: no such file")
        place = ("file", os.path.abspath(path), attribute)
    else:
        installed = {entry.name: entry for entry in entry_points(group=GROUP)}
        if spelled not in installed:
            known = ", ".join(sorted(installed)) or "none is installed"
            raise NoGrader(
                f"no grader {spelled!r:.200}: give FILE.py:NAME, or an installed one ({known})"
            )
        place = ("module", installed[spelled].module, installed[spelled].attr)
    helper = Helper(("-m", "streams.answering.grading.plugged", *place))
    try:
        helper.start()
        told = json.loads(helper.hello)
    except (NoAnswer, ValueError) as error:
        helper.close()
        raise NoGrader(f"{spelled}: it could not be loaded: {error}") from error
    # Loaded, but no grader: what it is not was said by the process that looked.
    if "failed" in told:
        helper.close()
        raise NoGrader(told["failed"])
    found = OwnGrader(helper, spelled, told["name"], _version(told))
    return replace(found, unlabelled=bool(told["unlabelled"]))


def _version(told: dict[str, Any]) -> str:
    return "" if "failed" in told else f"{told['version']}+{told['source']}"
