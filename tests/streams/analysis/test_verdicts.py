"""Who is put to a judge and how, and which of his words count as a verdict about an episode's answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from msgspec import structs

from handlers.answers.grade import References
from schemas.events.base import Event
from schemas.events.episode import EpisodeClosed, EpisodeOpened
from schemas.problem import Limits
from schemas.usage import Usage
from state.folds.grades import Known, Word
from streams.replay.change import Change
from streams.research.analysis import verdicts as module
from streams.research.analysis.cases import Case
from streams.research.analysis.verdicts import (
    Verdict,
    judge,
    undecided,
    verdicts,
)
from tests.stand_ins import always
from tests.streams.bench.worlds import OPENED, ReadOnce, case

# ── Asking ───────────────────────────────────────────────────────────────────────────────────


def open_case(
    name: str = "a",
    *,
    answer: str | None = "physics",
    reference: Any = "waves",
    within: str | None = None,
    outcome: Any = "unknown",
    **posed: Any,
) -> Case:
    """An answer that a grader could not tell of, where nothing else is said."""
    made = case(name, outcome, answer=answer, reference=reference)
    opened: Any = SimpleNamespace(**(vars(OPENED) | {"within": within}))
    word = Word(outcome, "exact@2", person=False)
    problem = made.problem.model_copy(update=posed)
    return replace(made, opened=opened, known=Known(feedback=word), problem=problem)


def test_an_answer_and_a_reference_that_no_grader_could_compare_are_put_to_a_judge() -> None:
    good = open_case("good")
    cases = [
        open_case("graded", outcome="right"),
        replace(open_case("nobody tried"), known=Known()),
        open_case("no answer", answer=None),
        open_case("no reference", reference=None),
        open_case("in a set", within="s/1"),
        open_case("code", domain="python"),
        open_case("code too", dataset="python"),
        good,
    ]
    assert undecided(cases) == [good]


def test_what_is_too_long_for_a_judge_is_not_put_to_him() -> None:
    """An answer and all of its references together."""
    half = "x" * 10_000
    fits = open_case(answer=half, reference=half)
    beyond = open_case(answer=half, reference=half + "x")
    many = open_case(answer=half, reference=(half[1:], "x"))
    too_many = open_case(answer=half, reference=(half, "x"))
    assert undecided([beyond, fits, too_many, many]) == [fits, many]


@dataclass
class Work:
    """What a side run would begin with."""

    opened: EpisodeOpened


@pytest.mark.parametrize(
    ("reference", "put"), [("waves", ["waves"]), (("waves", "sea"), ["waves", "sea"])]
)
def test_a_judge_sees_an_answer_and_its_references_and_nothing_of_how_it_came_about(
    monkeypatch: pytest.MonkeyPatch, reference: References, put: list[str]
) -> None:
    made: list[Any] = []
    ran: list[Any] = []

    def work(log: Any, find: Any, episode: str, change: Change, *by: Any) -> tuple[Work, str]:
        made.append((episode, change, by))
        return Work(opened(limits=Limits(calls=50, cost=1.0), prices={})), "record"

    async def run(log: Any, work: Work, change: Change, record: str, world: Any, told: Any) -> str:
        ran.append((work.opened.limits, work.opened.prices, change, record, told))
        return f"verdict {len(ran)}"

    read = ReadOnce(monkeypatch, module)
    monkeypatch.setattr(module, "forked_work", work)
    monkeypatch.setattr(module, "run_fork", run)
    journal = dict.fromkeys(("opened", "10.0.0", "2.0.0", "closed"))
    log: Any = SimpleNamespace(journal=always(journal))
    world: Any = SimpleNamespace(offered={})
    cases = [open_case(name, reference=reference) for name in "ab"]
    found: Any = asyncio.run(judge(log, cases, world, print))
    assert found == ["verdict 1", "verdict 2"]
    change = Change(
        at="2.0.0", settings={"answer": "physics", "references": put}, policy="answer_judge",
        limits=Limits(calls=2), purpose="judge",
    )  # fmt: skip
    assert made == [(each.episode, change, (world, "learned")) for each in cases]
    assert read.times == 1
    assert ran == [(Limits(calls=2), None, change, "record", print)] * 2


def test_not_all_of_many_answers_are_put_to_a_judge_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    running: set[str] = set()
    most: list[int] = []

    def work(log: Any, find: Any, episode: str, *_: Any) -> tuple[Work, str]:
        return Work(opened()), episode

    async def run(log: Any, work: Work, change: Change, record: str, *_: Any) -> str:
        running.add(record)
        most.append(len(running))
        await asyncio.sleep(0)
        running.remove(record)
        return record

    ReadOnce(monkeypatch, module)
    monkeypatch.setattr(module, "forked_work", work)
    monkeypatch.setattr(module, "run_fork", run)
    log: Any = SimpleNamespace(journal=always({"1.0.0": None}))
    world: Any = SimpleNamespace(offered={})
    cases = [open_case(str(at)) for at in range(20)]
    found: Any = asyncio.run(judge(log, cases, world, print))
    assert found == [each.episode for each in cases], "in the order in which they were asked"
    assert max(most) == 8


# ── Reading ──────────────────────────────────────────────────────────────────────────────────


def opened(**more: Any) -> EpisodeOpened:
    """The opening of a judge's side run."""
    run = EpisodeOpened(
        policy="answer_judge", policy_version="1", settings="put", limits=Limits(), seed=1,
        memory_version=0, backbones="m", parent="p/1", purpose="judge",
    )  # fmt: skip
    return structs.replace(run, **more)


def closed(answer: str | None) -> EpisodeClosed:
    return EpisodeClosed(status="answered", ended_by="answered", answer=answer, usage=Usage())


def side_run(said: str | None = "right", **more: Any) -> dict[str, Event]:
    return {"opened": opened(**more), "closed": closed(said)}


TEXTS = {
    "put": orjson.dumps({"answer": "physics", "references": ["waves"]}).decode(),
    "other answer": orjson.dumps({"answer": "magic", "references": ["waves"]}).decode(),
    "older": orjson.dumps({"answer": "physics", "references": ["sea"]}).decode(),
    "two": orjson.dumps({"answer": "physics", "references": ["waves", "sea"]}).decode(),
}


def read(
    runs: Mapping[str, Mapping[str, Event]], reference: References | None = "waves", **parent: Any
) -> dict[str, Verdict]:
    began = opened(policy="io", purpose=None, parent=None)
    parents = {"p/1": {"opened": began, "closed": closed("physics")}, **parent}
    return verdicts({**parents, **runs}, TEXTS.get, {"p/1": reference}.get)


@pytest.mark.parametrize(
    ("said", "word"),
    [("right", "right"), ("wrong", "wrong"), ("maybe", "unclear"), (None, "unclear")],
)
def test_a_verdict_names_its_judge_and_its_side_run(said: str | None, word: Any) -> None:
    found = read({"q/1": side_run(said)})
    assert found == {"p/1": Verdict(word, "answer_judge@1", "m", "q/1")}
    assert found["p/1"].by == "answer_judge@1, m"


def test_the_newest_verdict_counts() -> None:
    runs = {"q/1": side_run("wrong"), "q/2": side_run("right", policy_version="2", backbones="n")}
    assert read(runs) == {"p/1": Verdict("right", "answer_judge@2", "n", "q/2")}


NONE: list[tuple[str, Mapping[str, Event]]] = [
    ("another kind of side run", side_run(purpose="effect")),
    ("another policy", side_run(policy="cot")),
    ("no side run", side_run(parent=None)),
    ("of an episode that is not there", side_run(parent="p/2")),
    ("of another answer", side_run(settings="other answer")),
    ("of an older reference", side_run(settings="older")),
    ("of more references", side_run(settings="two")),
    ("whose settings are lost", side_run(settings="lost")),
    ("that has not ended", {"opened": opened()}),
    ("without a beginning", {"closed": closed("right")}),
]


@pytest.mark.parametrize("journal", [each for _, each in NONE], ids=[name for name, _ in NONE])
def test_what_is_no_verdict_about_this_answer_and_reference_is_passed_over(
    journal: Mapping[str, Event],
) -> None:
    """And whatever stands behind it is read."""
    assert read({"q/1": journal}) == {}
    assert set(read({"q/1": journal, "q/2": side_run()})) == {"p/1"}


def test_a_verdict_holds_as_long_as_the_references_are_those_that_were_put() -> None:
    assert read({"q/1": side_run(settings="two")}, ("waves", "sea")) != {}
    assert read({"q/1": side_run(settings="two")}, ("sea", "waves")) == {}
    assert read({"q/1": side_run()}, None) == {}
    unfinished: Any = {"p/1": {"opened": opened(purpose=None)}}
    assert read({"q/1": side_run()}, **unfinished) == {}
