"""Who is asked about an answer that exact rules leave open, how often, and what is made of what they say."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from handlers.answers.grade import EXACT, PYTHON, Grade
from schemas.answer_type import AnswerType
from streams.answering.grading import grader
from streams.answering.grading.grader import Grading
from streams.answering.grading.process import Died, Helper, NoAnswer
from streams.answering.grading.sandbox import Sandbox
from tests.stand_ins import always

Said = str | Exception
OPEN = ("1+x^2", "x^2+1")
"""An answer and a reference of which exact rules know nothing."""
UNDECIDED = "exact rules cannot decide"


class Worker:
    """Says what is written for each library, one after another, and remembers what it was asked."""

    said: Mapping[str, list[Said]]

    def __init__(self, arguments: Sequence[str]) -> None:
        self.arguments = arguments
        self.asked: list[tuple[dict[str, str], float]] = []
        self.process: Any = None
        self.closed = 0

    def ask(self, asked: dict[str, str], limit_s: float) -> str:
        self.asked.append((asked, limit_s))
        found = self.said[asked["grader"]].pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    def close(self) -> None:
        self.closed += 1


Open = Callable[..., tuple[Grading, Worker]]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Open:
    """A grading whose libraries say this."""
    made: list[Worker] = []

    def worker(arguments: Sequence[str]) -> Worker:
        made.append(Worker(arguments))
        return made[-1]

    def with_words(sympy: Sequence[Said], verify: Sequence[Said] = (), **more: Any) -> Any:
        monkeypatch.setattr(
            Worker, "said", {"sympy": [*sympy], "math-verify": [*verify]}, raising=False
        )
        return Grading(**more), made[-1]

    monkeypatch.setattr(grader, "Helper", worker)
    monkeypatch.setattr(grader, "find_spec", always("here"))
    return with_words


BOTH = "sympy+math-verify@2"


@pytest.mark.parametrize(
    ("sympy", "verify", "grade"),
    [
        (["right"], ["right"], ("right", BOTH, "two opinions agree")),
        (["wrong"], ["wrong"], ("wrong", BOTH, "two opinions agree")),
        (["right"], ["wrong"], ("unknown", BOTH, "sympy says right, math-verify says wrong")),
        (["right"], ["unknown"], ("right", "sympy@2", "by sympy")),
        (["wrong"], [NoAnswer("none in 5 s")], ("wrong", "sympy@2", "by sympy")),
        (["unknown"], [], ("unknown", EXACT, f"{UNDECIDED}; sympy cannot decide")),
        (["nonsense"], [], ("unknown", EXACT, f"{UNDECIDED}; sympy cannot decide")),
        ([NoAnswer("late")], [], ("unknown", EXACT, f"{UNDECIDED}; sympy gave no answer: late")),
        ([Died("a"), "right"], ["right"], ("right", BOTH, "two opinions agree")),
        ([Died("a"), Died("b")], [], ("unknown", EXACT, f"{UNDECIDED}; sympy gave no answer: b")),
    ],
)  # fmt: skip
def test_sympy_decides_and_math_verify_may_object(
    opened: Open, sympy: list[Said], verify: list[Said], grade: tuple[str, str, str]
) -> None:
    """Asked once more is only a process that was ended, and not one that found no end."""
    grading, worker = opened(sympy, verify)
    found = grading.grade_now(*OPEN)
    assert (found.outcome, found.grader, found.detail) == grade
    assert len(worker.asked) == len(sympy) + len(verify)


def test_a_question_names_the_library_and_bounds_it(opened: Open) -> None:
    grading, worker = opened(["right"], ["right"], limit_s=3.5)
    grading.grade_now(*OPEN)
    words = {"answer": OPEN[0], "reference": OPEN[1]}
    assert worker.asked == [
        ({"grader": "sympy", **words}, 3.5),
        ({"grader": "math-verify", **words}, 3.5),
    ]
    assert list(worker.arguments) == [
        "-m", "streams.answering.grading.opinions", "sympy", "math_verify",
    ]  # fmt: skip


def test_a_library_that_is_not_there_is_neither_loaded_nor_asked(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grader, "find_spec", {"sympy": "here"}.get)
    grading, worker = opened(["right"])
    assert grading.grade_now(*OPEN).grader == "sympy@2"
    assert worker.arguments[-1] == "sympy"
    monkeypatch.setattr(grader, "find_spec", always(None))
    grading, worker = opened([])
    assert grading.grade_now(*OPEN).detail == (
        f"{UNDECIDED}; sympy is not installed (pip install 'metalogue[math]')"
    )
    assert worker.arguments[-1] == "streams.answering.grading.opinions"


@pytest.mark.parametrize("side", [0, 1])
def test_texts_of_more_than_two_thousand_characters_are_not_asked(opened: Open, side: int) -> None:
    def graded(count: int) -> str:
        said = [*OPEN]
        said[side] = "x+" * ((count - 1) // 2) + "y" + " " * ((count - 1) % 2)
        assert len(said[side]) == count
        return opened(["unknown"])[0].grade_now(*said).detail

    assert graded(2_000).endswith("; sympy cannot decide")
    assert graded(2_001).endswith("; too long for sympy")


def test_of_several_references_the_one_counts_that_says_most_for_the_answer(opened: Open) -> None:
    grading, worker = opened(["wrong", "right", "unknown"], ["wrong", "right"])
    found = grading.grade_now("1+x^2", ("x^2+2", "x^2+1", "x^2+3"))
    assert (found.outcome, found.detail) == ("right", "two opinions agree; by alias 'x^2+1'")
    assert [each["reference"] for each, _ in worker.asked if each["grader"] == "sympy"] == [
        "x^2+2",
        "x^2+1",
        "x^2+3",
    ]


def test_what_is_decided_asks_nobody(opened: Open) -> None:
    grading, worker = opened([])
    typed = AnswerType(type="yes_no")

    def in_a_loop(*asked: Any, **more: Any) -> Grade:
        return asyncio.run(grading.grade(*asked, **more))

    for how in (grading.grade_now, in_a_loop):
        assert how("4", "4").outcome == "right"
        assert how("4", "5").outcome == "wrong"
        assert how(None, "x").outcome == "withheld"
        assert how("yes", "true", typed=typed).outcome == "right"
        other = how("yes", "x^2+1", typed=typed)
        assert (other.outcome, other.grader) == ("unknown", "typed@1"), "a label of another form"
    assert worker.asked == []


def test_an_event_loop_is_told_what_is_asked_without_one(opened: Open) -> None:
    grading, worker = opened(["right"], ["right"])
    found = asyncio.run(grading.grade(*OPEN, dataset="math", problem="p"))
    assert (found.outcome, found.grader) == ("right", BOTH)
    assert len(worker.asked) == 2


def test_what_is_remembered_is_asked_once(opened: Open) -> None:
    grading, worker = opened(["right"], ["right"])
    graded = grading.remembered()
    assert graded(*OPEN) == graded(*OPEN)
    assert len(worker.asked) == 2


def test_code_is_run_where_that_is_allowed_against_each_of_its_tests(opened: Open) -> None:
    ran: list[tuple[str, str]] = []

    def run(answer: str, tests: str) -> Grade:
        ran.append((answer, tests))
        return Grade(outcome="right" if tests == "b" else "wrong", grader="sandbox@1", detail="d")

    shut: Any = SimpleNamespace(grade=run)
    grading, worker = opened([], sandbox=shut)
    found = grading.grade_now("code", ("a", "b"), dataset="python")
    assert (found.outcome, found.grader) == ("right", "sandbox@1")
    assert ran == [("code", "a"), ("code", "b")]
    alone, _ = opened([])
    assert alone.grade_now("code", "a", dataset="python").grader == PYTHON
    assert worker.asked == []


def test_a_grader_of_one_s_own_decides_in_the_place_of_all_others(opened: Open) -> None:
    """Also where ours would have known, and with all that it may want to know."""
    given: list[Any] = []
    closed: list[bool] = []

    def decide(*said: Any, **more: Any) -> Grade:
        given.append((*said, more))
        return Grade(outcome="wrong", grader="own@1+x", detail="")

    own: Any = SimpleNamespace(grade=decide, close=lambda: closed.append(True))
    grading, worker = opened([], own=own)
    assert grading.grade_now("4", "4", dataset="d", problem="p").grader == "own@1+x"
    assert asyncio.run(grading.grade("4", "4", dataset="d", problem="q")).outcome == "wrong"
    assert given == [
        ("4", "4", {"dataset": "d", "problem": "p"}),
        ("4", "4", {"dataset": "d", "problem": "q"}),
    ]
    with grading:
        assert (closed, worker.closed) == ([], 0)
    assert (closed, worker.closed) == ([True], 1)


def test_its_process_is_named_while_there_is_one(opened: Open) -> None:
    grading, worker = opened([])
    assert grading.worker_id is None
    worker.process = SimpleNamespace(pid=7)
    assert grading.worker_id == 7


# ── The process ──────────────────────────────────────────────────────────────────────────────

ECHO = """
import json, os, sys
print("hello", os.environ.get("SECRET_OF_THE_WORKER"), flush=True)
for line in sys.stdin:
    match json.loads(line)["do"]:
        case "twice":
            print("one\\ntwo", flush=True)
        case "much":
            print("x" * 1_100_000, flush=True)
        case "long":
            print("y" * 900_000, flush=True)
        case "end":
            sys.exit()
        case "pid":
            print(os.getpid(), os.getsid(0), flush=True)
"""


@pytest.fixture
def helper() -> Any:
    made = Helper(("-c", ECHO))
    yield made
    made.close()


def ask(helper: Helper, what: str, limit_s: float = 30.0) -> str:
    return helper.ask({"do": what}, limit_s)


def test_a_process_is_started_with_the_first_question_and_says_who_it_is_first(
    helper: Helper,
) -> None:
    assert helper.hello == ""
    pid, session = ask(helper, "pid").split()
    assert helper.process is not None
    assert int(pid) == helper.process.pid != os.getpid()
    assert session == pid, "what ends us does not end it half-way"
    assert helper.hello == "hello None"
    assert ask(helper, "pid").split()[0] == pid


def test_lines_that_are_not_asked_for_yet_are_kept_for_later(helper: Helper) -> None:
    assert ask(helper, "twice") == "one"
    assert helper.line(30) == "two"
    assert len(ask(helper, "long")) == 900_000


def test_a_process_that_ends_says_too_much_or_nothing_is_no_more(helper: Helper) -> None:
    for what, why in (("end", "the worker died"), ("much", "the worker died")):
        with pytest.raises(Died, match=why):
            ask(helper, what)
        assert (helper.process, helper.unread) == (None, b"")
    with pytest.raises(NoAnswer, match=r"none in 0\.2 s") as late:
        ask(helper, "nothing", 0.2)
    assert not isinstance(late.value, Died)
    assert helper.process is None
    assert ask(helper, "twice") == "one"


def test_a_process_that_went_before_it_was_asked_is_gone(helper: Helper) -> None:
    process = helper.start()
    assert process.stdin is not None
    process.kill()
    process.wait()
    with pytest.raises(Died, match="the worker is gone"):
        ask(helper, "pid")
    assert helper.process is None


# ── The sandbox ──────────────────────────────────────────────────────────────────────────────


def test_an_answer_and_its_tests_are_measured_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streams.answering.grading.sandbox.which", always(None))
    within = Sandbox().grade("x" * 60_000, "y" * 40_000)
    assert within.detail == "not measured: this system has no unshare"
    beyond = Sandbox().grade("x" * 60_000, "y" * 40_001)
    assert beyond.detail == "not measured: too long to be run"
    assert Sandbox().missing() == "this system has no unshare"


def test_code_that_would_not_be_shut_in_is_missing_what_it_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Sandbox, "run", always("AssertionError"))
    assert Sandbox().missing() == "code would not be shut in (AssertionError)"
    monkeypatch.setattr(Sandbox, "run", always(None))
    assert Sandbox().missing() is None
