"""The process of somebody's own grader from within, and what its parent makes of what it says."""

from __future__ import annotations

import hashlib
import io
import json
import os
import resource
import signal
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from handlers.answers.own import Given, Grader, Nonsense
from streams.answering.grading import own, plugged
from streams.answering.grading.own import Failed, NoGrader, OwnGrader, given_of, own_grader
from streams.answering.grading.plugged import decided, from_file, from_module, serve
from streams.answering.grading.process import Died, NoAnswer
from tests.stand_ins import always, noting

TEXT = """
import helper_of_mine
from handlers.answers.own import Grader

it = Grader(name="it", version="1", grade=lambda given: helper_of_mine.says(given), unlabelled=True)
other = 3
"""
HELPER = "def says(given): return given.answer in given.references\n"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A grader's file, which imports another beside it."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "helper_of_mine.py").write_text(HELPER)
    found = tmp_path / "mine_of_mine.py"
    found.write_text(TEXT)
    yield found
    for name in [name for name in sys.modules if name.endswith("_of_mine")]:
        del sys.modules[name]


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


# ── Within the process ───────────────────────────────────────────────────────────────────────


def test_a_grader_is_loaded_from_a_file_with_what_lies_beside_it(path: Path) -> None:
    grader, source = from_file(str(path), "it")
    assert (grader.name, grader.version, source) == ("it", "1", digest(path))
    assert grader.grade(Given(answer="a", references=("a",), problem="p", dataset="d")) is True
    assert sys.path[-1] == str(path.parent), "behind everything that was there"
    with pytest.raises(Nonsense, match=r"mine_of_mine\.py:other: expected a Grader, found int"):
        from_file(str(path), "other")
    with pytest.raises(Nonsense, match="found NoneType"):
        from_file(str(path), "none")
    odd = path.with_suffix(".txt")
    odd.write_text(TEXT)
    with pytest.raises(Nonsense, match="not a Python file"):
        from_file(str(odd), "it")


def test_an_installed_grader_is_loaded_by_its_module(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sys.path.insert(0, str(path.parent))  # the fixture keeps what was there
    grader, source = from_module("mine_of_mine", "it")
    assert (grader.name, source) == ("it", digest(path))
    with pytest.raises(Nonsense, match="mine_of_mine:other: expected a Grader"):
        from_module("mine_of_mine", "other")
    built = SimpleNamespace(it=grader, __file__=None)
    monkeypatch.setattr(plugged, "import_module", always(built))
    assert from_module("built", "it")[1] == hashlib.sha256(b"").hexdigest()[:12]


def asked(answer: str = "a", *references: str) -> dict[str, Any]:
    return {"answer": answer, "references": list(references), "problem": "p", "dataset": "d"}


def grader(says: Any) -> Grader:
    return Grader(name="it", version="1", grade=says)


def test_what_a_grader_says_or_does_is_told() -> None:
    seen: list[Given] = []

    def sees(given: Given) -> Any:
        seen.append(given)
        return None, "  not\n sure "

    assert decided(grader(sees), asked("a", "b", "c")) == {
        "outcome": "unknown",
        "detail": "not sure",
    }
    assert seen == [Given(answer="a", references=("b", "c"), problem="p", dataset="d")]
    assert decided(grader(always(7)), asked())["failed"].startswith("said 7: expected True")

    def exits(given: Given) -> Any:
        raise SystemExit("x" * 400)

    failed = decided(grader(exits), asked())["failed"]
    assert failed == "raised " + ("SystemExit: " + "x" * 400)[:300]


def served(
    monkeypatch: pytest.MonkeyPatch, sort: str, place: str, attribute: str, *questions: Any
) -> tuple[list[Any], list[Any]]:
    """What the process writes, and which limits it sets."""
    out, limits = io.StringIO(), list[Any]()
    monkeypatch.setattr(resource, "setrlimit", noting(limits))
    monkeypatch.setattr(signal, "alarm", noting(limits, alone=True))
    monkeypatch.setattr(os, "dup", always(9))
    monkeypatch.setattr(os, "dup2", noting(limits))
    monkeypatch.setattr(os, "fdopen", always(out))
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(map(json.dumps, questions))))
    serve(sort, place, attribute)
    return [json.loads(line) for line in out.getvalue().splitlines()], limits


def test_a_process_says_what_it_loaded_and_answers_each_line(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said, limits = served(monkeypatch, "file", str(path), "it", asked("a", "a"), asked("a", "b"))
    assert said == [
        {"name": "it", "version": "1", "unlabelled": True, "source": digest(path)},
        {"outcome": "right", "detail": ""},
        {"outcome": "wrong", "detail": ""},
    ]
    memory = (resource.RLIMIT_AS, (2 * 1024**3, 2 * 1024**3))
    assert limits == [memory, (2, 1), 60, 60], "its own output goes nowhere"


def test_a_process_that_can_load_nothing_says_why_and_ends(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said, _ = served(monkeypatch, "file", str(path), "other", asked())
    assert said == [{"failed": f"{path}:other: expected a Grader, found int"}]
    path.write_text("1 / 0")
    said, _ = served(monkeypatch, "file", str(path), "it")
    assert said == [{"failed": f"{path}: ZeroDivisionError: division by zero"}]
    said, _ = served(monkeypatch, "module", "no_such_module_of_mine", "it")
    assert said[0]["failed"].startswith("no_such_module_of_mine: ModuleNotFoundError")


# ── Its parent ───────────────────────────────────────────────────────────────────────────────


class Child:
    """A grader's process, as its parent sees it."""

    first: ClassVar[Any] = None

    def __init__(self, *said: Any, hello: Any = None) -> None:
        self.said = list(said)
        self.hello = json.dumps(
            hello or {"name": "it", "version": "1", "source": "abc", "unlabelled": 0}
        )
        self.process: Any = None
        self.asked: list[Any] = []
        self.log: list[str] = []

    def start(self) -> None:
        self.log.append("start")
        self.process = self

    def ask(self, asked: Any, limit_s: float) -> str:
        self.asked.append((asked, limit_s))
        found = self.said.pop(0)
        if isinstance(found, Exception):
            self.process = None
            raise found
        return json.dumps(found)

    def close(self) -> None:
        self.log.append("close")
        self.process = None


def parent(child: Child) -> OwnGrader:
    helper: Any = child
    return OwnGrader(helper, "it.py:it", "it", "1+abc", limit_s=2.5)


RIGHT = {"outcome": "right", "detail": "d"}
GIVEN = given_of("a", ("b", "c"), dataset="d", problem="p")


def test_a_question_holds_all_that_a_grader_is_given() -> None:
    child = Child(RIGHT)
    grade = parent(child).decide(GIVEN)
    assert (grade.outcome, grade.grader, grade.detail) == ("right", "it@1+abc", "d")
    words = {"answer": "a", "references": ("b", "c"), "problem": "p", "dataset": "d"}
    assert child.asked == [(words, 2.5)]
    assert given_of("a", "b", dataset="d", problem="p").references == ("b",)
    assert given_of("a", None, dataset="d", problem="p").references == ()


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ([{"failed": "raised X"}], "raised X"),
        ([NoAnswer("none in 2.5 s")], "gave no answer: none in 2.5 s"),
        ([Died("a"), Died("the worker died")], "gave no answer: the worker died"),
    ],
)
def test_a_grader_that_failed_has_said_nothing(said: Sequence[Any], why: str) -> None:
    child = Child(*said)
    with pytest.raises(Failed) as failed:
        parent(child).decide(GIVEN)
    assert str(failed.value) == f"it@1+abc {why}"
    assert child.said == []
    grade = parent(Child(*said)).grade("a", "b", dataset="d", problem="p")
    assert (grade.outcome, grade.grader, grade.detail) == ("unknown", "it@1+abc", f"it@1+abc {why}")


def test_a_process_that_was_ended_is_asked_once_more_and_held_against_its_version() -> None:
    child = Child(Died("a"), RIGHT)
    assert parent(child).decide(GIVEN).outcome == "right"
    assert child.log == ["start", "start"]
    for other in ({"name": "it", "version": "2", "source": "abc"}, {"failed": "no file"}):
        changed = Child(RIGHT, hello=other)
        with pytest.raises(Failed, match="changed since it was given"):
            parent(changed).decide(GIVEN)
        assert (changed.log, changed.asked) == (["start", "close"], [])


def test_no_answer_is_withheld_and_nobody_is_asked() -> None:
    child = Child()
    grade = parent(child).grade(None, "b", dataset="d", problem="p")
    assert (grade.outcome, grade.grader) == ("withheld", "it@1+abc")
    parent(child).close()
    assert child.log == ["close"]


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Child]]:
    """The processes that are started, with their arguments; what each says first is ``Child.first``."""
    made: list[tuple[Any, Child]] = []

    def helper(arguments: Any) -> Child:
        made.append((arguments, Child(hello=Child.first)))
        return made[-1][1]

    monkeypatch.setattr(own, "Helper", helper)
    return made


def test_a_grader_is_found_by_its_file_or_by_its_installed_name(
    path: Path, monkeypatch: pytest.MonkeyPatch, children: list[tuple[Any, Child]]
) -> None:
    monkeypatch.chdir(path.parent)
    found = own_grader("mine_of_mine.py:it")
    assert (found.spelled, found.name, found.version, found.unlabelled) == (
        "mine_of_mine.py:it", "it", "1+abc", False,
    )  # fmt: skip
    assert found.limit_s == 5.0
    serves = "-m", "streams.answering.grading.plugged"
    assert children[-1][0] == (*serves, "file", str(path), "it")
    entries = {"theirs": EntryPoint("theirs", "pack.age:them", own.GROUP)}

    def installed(group: str) -> list[EntryPoint]:
        return [*entries.values()] if group == own.GROUP else []

    monkeypatch.setattr(own, "entry_points", installed)
    own_grader("theirs")
    assert children[-1][0] == (*serves, "module", "pack.age", "them")
    told = "no grader 'ours': give FILE.py:NAME, or an installed one (theirs)"
    with pytest.raises(NoGrader) as none:
        own_grader("ours")
    assert str(none.value) == told
    entries.clear()
    with pytest.raises(NoGrader, match="none is installed"):
        own_grader("ours")
    with pytest.raises(NoGrader, match=r"^no\.py: no such file$"):
        own_grader("no.py:it")


def test_a_grader_that_says_that_it_needs_no_label_is_asked_without_one(
    path: Path, monkeypatch: pytest.MonkeyPatch, children: list[tuple[Any, Child]]
) -> None:
    hello = {"name": "it", "version": "1", "source": "abc", "unlabelled": True}
    monkeypatch.setattr(Child, "first", hello)
    assert own_grader(f"{path}:it").unlabelled is True
    monkeypatch.setattr(Child, "first", {"failed": "it is none"})
    with pytest.raises(NoGrader, match=r"^it is none$"):
        own_grader(f"{path}:it")
    assert children[-1][1].log == ["start", "close"]


def test_a_process_that_says_nothing_readable_is_no_grader(
    path: Path, monkeypatch: pytest.MonkeyPatch, children: list[tuple[Any, Child]]
) -> None:

    def mumbles(self: Child) -> None:
        self.hello = "no json"

    monkeypatch.setattr(Child, "start", mumbles)
    with pytest.raises(NoGrader, match=f"^{path}:it: it could not be loaded: Expecting value"):
        own_grader(f"{path}:it")
    assert children[-1][1].log == ["close"]

    def dies(self: Child) -> None:
        raise Died("the worker died")

    monkeypatch.setattr(Child, "start", dies)
    with pytest.raises(NoGrader, match=r"it could not be loaded: the worker died$"):
        own_grader(f"{path}:it")
