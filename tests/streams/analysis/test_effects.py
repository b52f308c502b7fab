"""What an item was worth: pairs of an episode and its probe, counted, and shown as points."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs

from schemas.events.base import Event
from schemas.events.episode import Completed, EpisodeClosed, EpisodeOpened, ProblemAdmitted
from schemas.memory import MemoryItem
from schemas.problem import Limits, Problem
from schemas.usage import Usage
from state.folds.grades import NOTHING, Known, Word
from state.folds.lives import ItemUsage
from streams.replay.change import Change
from streams.replay.fork import Forked
from streams.research.analysis import effect, effects
from streams.research.analysis.effect import Effect, Pair
from streams.research.analysis.effects import Effects, Probe, Probed, most_probed, probes
from streams.research.analysis.statistics import paired_interval
from tests.stand_ins import always
from tests.streams.bench.worlds import ReadOnce, case

POSED = Problem(id="a", problem="what is 6 * 7?", domain="d", policy="cot")
WORTH = Usage(calls=2, attempts=3, prompt_tokens=10, completion_tokens=5, cost=0.5)


def closed(answer: str | None = "42", calls: int = 4) -> EpisodeClosed:
    return EpisodeClosed(
        status="answered", ended_by="answered", answer=answer, usage=Usage(calls=calls)
    )


def pair(
    with_it: bool | None, without: bool | None, calls: int = 4, probe: int = 5, paid: Usage = WORTH
) -> Pair:
    """An episode and its probe, which made two of its calls itself."""
    return Pair("p/d/a/r", Forked("f/1", closed(calls=probe), 0, paid), with_it, without, calls)


# ── An effect ────────────────────────────────────────────────────────────────────────────────

HELPED, HURT, SAME = pair(True, False), pair(False, True, calls=1), pair(True, True, probe=3)


def test_an_effect_is_of_the_pairs_that_both_can_be_judged() -> None:
    found = Effect([HELPED, HELPED, HURT, SAME, pair(None, True), pair(False, None)])
    assert (found.helped, found.hurt) == (2, 1)
    interval = paired_interval(2, 1, 4)
    assert interval is not None
    assert found.said() == {
        "episodes": 6,
        "judged": 4,
        "right_with": 3,
        "right_without": 2,
        "helped": 2,
        "hurt": 1,
        "effect": 25.0,
        "interval": (round(100 * interval[0], 6), round(100 * interval[1], 6)),
        "p": 1.0,
        "calls_with": 21 / 6,
        "calls_without": 28 / 6,
        "cost": {
            "calls": 12, "prompt_tokens": 60, "completion_tokens": 30, "reasoning_tokens": None,
            "cached_tokens": None, "cost": 3.0, "seconds": None,
        },
        "reused_calls": 16,
    }  # fmt: skip


def test_shares_that_do_not_end_are_rounded_far_behind_what_is_printed() -> None:
    said = Effect([HELPED, SAME, SAME]).said()
    assert said["effect"] == 33.333333
    assert said["interval"] == tuple(round(each, 6) for each in said["interval"])
    assert Effect([HELPED] * 12).said()["p"] == round(2 / 2**12, 9) == 0.000488281


def test_what_nobody_can_judge_has_no_effect() -> None:
    unknown = Effect([pair(None, None), pair(True, None)])
    said = unknown.said()
    assert (said["episodes"], said["judged"]) == (2, 0)
    assert (said["effect"], said["interval"], said["p"]) == (None, None, None)
    nothing = Effect([]).said()
    assert (nothing["calls_with"], nothing["calls_without"], nothing["reused_calls"]) == (
        None,
        None,
        0,
    )


def test_an_effect_on_one_line() -> None:
    found = Effect([HELPED, HURT, HELPED, SAME, pair(None, None)])
    low, high = found.interval or (0, 0)
    assert Probed("m", found, {}).line == (
        f"effect +25.0 points, 95 % {low:+.1f} to {high:+.1f}, by 4 episodes run again without it by m"
    )
    unknown = Probed("m", Effect([pair(None, None)] * 3), {"a": 1})
    assert unknown.line == "effect unknown: nobody can judge its 3 probes by m"
    assert unknown.as_json == {"by": "m", "a": 1}


def test_the_effect_with_the_most_probes_comes_first_and_of_equal_ones_that_of_the_first_name() -> (
    None
):
    by_whom = {"c": [HELPED], "b": [HURT], "a": [], "z": [HURT] * 2}
    found = most_probed({who: Effect(pairs) for who, pairs in by_whom.items()})
    assert [each.who for each in found] == ["z", "b", "c", "a"]
    assert found[0].said == Effect([HURT] * 2).said()


# ── A probe ──────────────────────────────────────────────────────────────────────────────────


def known(outcome: Any, *, person: bool = False) -> Known:
    word = Word(outcome, "ada" if person else "exact@2", person=person)
    return Known(verdict=word) if person else Known(feedback=word)


def probe(answer: str | None = "42", was: str | None = "41", without: str = "L1") -> Probe:
    """An episode that said this with an item, and this without it."""
    ended = Forked("f/1", closed(answer, calls=5), 0, WORTH)
    return Probe(ended, without, "m", "p/d/a/r", POSED, closed(was))


@pytest.mark.parametrize(
    ("answer", "was", "grade", "with_it", "without"),
    [
        ("42", "41", known("wrong"), False, True),
        ("40", "42", known("right"), True, False),
        ("7", "7", known("right"), True, True),
        ("42", "42", known("unknown"), None, None),
        ("42", "42", NOTHING, None, None),
        ("42", None, NOTHING, False, True),
        (None, "42", known("right"), True, False),
        ("41", "41", known("right", person=True), True, True),
        ("42", "41", known("unknown", person=True), None, None),
    ],
)
def test_a_pair_is_judged_by_what_is_known_of_the_episode_s_answer(
    answer: str | None, was: str | None, grade: Known, with_it: Any, without: Any
) -> None:
    found = probe(answer, was).pair(grade, "42")
    assert (found.right_with, found.right_without) == (with_it, without)
    assert (found.episode, found.calls_with, found.calls_without) == ("p/d/a/r", 4, 5)
    assert found.probe.made == 2
    if grade.outcome == "wrong":
        assert probe(answer, was).pair(grade, None).right_without is None, "by no reference"


def test_without_a_reference_only_the_same_answer_is_known() -> None:
    assert probe("41", "41").pair(known("wrong"), None).right_without is False
    assert probe("40", "41").pair(known("wrong"), None).right_without is None


OPENED = EpisodeOpened(
    policy="cot", policy_version="1", settings="s", limits=Limits(), seed=1, memory_version=1,
    backbones="m", parent="p/d/a/r", purpose="effect", without=("L1", "R1"),
)  # fmt: skip


def reply(*, reused: bool | None = None) -> Completed:
    return Completed(
        asked="complete thinker x", text="t", finish="stop", model="m", reused=reused,
        prompt_tokens=3, completion_tokens=4,
    )  # fmt: skip


class Log:
    """Episodes by id; of a log only what probes are read from."""

    def __init__(self, **journals: dict[str, Event]) -> None:
        admitted = ProblemAdmitted(problem=POSED, scope="s", offset=0)
        was: dict[str, Event] = {"admitted": admitted, "closed": closed("41")}
        self.journals: dict[str, dict[str, Event]] = {"p/d/a/r": was, **journals}
        self.ended = list(journals)
        self.asked: list[tuple[int, int]] = []

    def journal(self, episode: str) -> dict[str, Event]:
        return self.journals[episode]

    def find(self, episode: str, address: str) -> Event | None:
        return self.journals.get(episode, {}).get(address)

    def probes_ended(self, after: int, upto: int) -> Iterable[str]:
        self.asked.append((after, upto))
        return self.ended[after:upto]


def side_run(**opened: Any) -> dict[str, Event]:
    return {
        "opened": structs.replace(OPENED, **opened),
        "1.0.0": reply(reused=True),
        "2.0.0": reply(),
        "closed": closed("42", calls=2),
    }


def found_on(log: Any, episode: str = "f1") -> list[Probe]:
    return list(probes(log, episode))


def test_a_probe_is_a_side_run_of_an_effect_one_for_each_item_that_it_does_not_know() -> None:
    one, other = found_on(Log(f1=side_run()))
    assert (one.without, other.without) == ("L1", "R1")
    assert (one.parent, one.backbones, one.problem, one.was) == (
        "p/d/a/r",
        "m",
        POSED,
        closed("41"),
    )
    assert (one.ended.episode, one.ended.kept) == ("f1", 0)
    assert one.ended.closed == closed("42", calls=2)
    assert (one.ended.spent.calls, one.ended.reused) == (1, 1)


@pytest.mark.parametrize(
    "opened", [{"purpose": "judge"}, {"purpose": None}, {"parent": None}, {"without": None}]
)
def test_no_other_side_run_measures_an_item(opened: dict[str, Any]) -> None:
    assert found_on(Log(f1=side_run(**opened))) == []


@pytest.mark.parametrize("lost", ["admitted", "closed"])
def test_a_probe_of_an_episode_that_is_not_there_measures_nothing(lost: str) -> None:
    log = Log(f1=side_run())
    del log.journals["p/d/a/r"][lost]
    assert found_on(log) == []


class Runs:
    """Stands in for running side runs: what was changed in each, and an answer to all of them."""

    def __init__(self, patch: pytest.MonkeyPatch, module: Any, answer: str) -> None:
        self.changes: list[Any] = []
        self.answer, self.learned = answer, ReadOnce(patch, module)
        patch.setattr(module, "forked_work", self.work)
        patch.setattr(module, "run_fork", self.run)

    def work(self, log: Any, find: Any, episode: str, change: Any, *by: Any) -> tuple[str, str]:
        self.changes.append((episode, change, by))
        return "work", "record"

    async def run(self, log: Any, work: str, change: Any, record: str, world: Any) -> Forked:
        assert (work, record, change) == ("work", "record", self.changes[-1][1])
        return Forked("f/1", closed(self.answer), 0, WORTH)


@pytest.mark.parametrize("offered", [{"mini": "m"}, {}])
@pytest.mark.parametrize(
    ("outcome", "pair"),
    [("wrong", (False, True)), ("right", (True, True)), ("unknown", (None, None))],
)
def test_a_probe_goes_its_own_way_from_the_first_question_on(
    monkeypatch: pytest.MonkeyPatch, outcome: Any, pair: tuple[Any, Any], offered: dict[str, str]
) -> None:
    runs = Runs(monkeypatch, effect, "42")
    journal = {"opened": OPENED, "10.0.0": reply(), "2.0.0": reply(), "closed": closed()}
    log: Any = SimpleNamespace(journal=always(journal))
    world: Any = SimpleNamespace(offered=offered)
    cases = [case(at, outcome, reference="42", answer="41", usage=Usage(calls=9)) for at in "ab"]
    chose = {"settings": {"backbone": "mini"}}
    cases = [replace(each, problem=each.problem.model_copy(update=chose)) for each in cases]
    found = asyncio.run(effect.effect(log, cases, "L1", world))
    same = chose["settings"] if offered else {}
    change = Change(at="2.0.0", settings=same, without=("L1",), purpose="effect")
    assert runs.changes == [(each.episode, change, (world, "learned")) for each in cases]
    assert runs.learned.times == 1
    assert [(p.episode, p.right_with, p.right_without, p.calls_with) for p in found.pairs] == [
        (each.episode, *pair, 9) for each in cases
    ]


# ── All probes of a log ──────────────────────────────────────────────────────────────────────


def life(id: str, scope: str = "s") -> ItemUsage:
    return ItemUsage(scope, MemoryItem(id, "lesson", "reflector", "t", "d", 1), since=1, off=0)


def told(used: list[ItemUsage], grade: Known = NOTHING) -> Any:
    """A state in which every episode used these items and was graded so."""
    return SimpleNamespace(
        outcomes=SimpleNamespace(of=always(grade)),
        lives=SimpleNamespace(used_in=always(tuple(used))),
        memories={"s": None, "other": None},
    )


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(log: Log, after: int, upto: int) -> Iterable[str]:
        return log.probes_ended(after, upto)

    monkeypatch.setattr(effects, "probes_ended", ended)
    monkeypatch.setattr(effects, "references", always({"d/a": (0, ("42",))}))


@pytest.mark.usefixtures("reading")
def test_effects_are_measured_by_item_and_by_who_answered() -> None:
    log: Any = Log(
        f1=side_run(), f2=side_run(backbones="n", without=("L1",)), f3=side_run(without=("L1",))
    )
    kept = Effects()
    kept.read(log, 3)
    state = told([life("L2"), life("L1", "other"), life("L1")], known("wrong"))
    found = kept.measured(log, state, "s")
    assert list(found) == [("s", "L1")]
    assert list(found["s", "L1"]) == ["m", "n"]
    assert [len(each.pairs) for each in found["s", "L1"].values()] == [2, 1]
    assert found["s", "L1"]["m"].helped == 0
    assert found["s", "L1"]["m"].hurt == 2, "right without it alone"
    assert list(kept.measured(log, state, "other")) == [("other", "L1")]
    right = kept.measured(log, told([life("L1")], known("right")), "s")["s", "L1"]["m"]
    assert (right.helped, right.hurt) == (0, 0), "what was said since counts"


@pytest.mark.usefixtures("reading")
def test_probes_are_read_on_from_where_the_last_reading_ended() -> None:
    log: Any = Log(f1=side_run(without=("L1",)), f2=side_run(without=("L1",)))
    kept = Effects()
    assert kept.measured(log, told([]), "s") == {}
    for upto in (1, 1, 2):
        kept.read(log, upto)
    assert log.asked == [(0, 1), (1, 1), (1, 2)]
    assert [each.ended.episode for each in kept.probes] == ["f1", "f2"]


@pytest.mark.usefixtures("reading")
def test_all_scopes_of_a_log_are_measured_and_a_log_without_probes_is_not_folded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log: Any = Log(f1=side_run(without=("L1",)))
    log.end = lambda: 1
    state = told([life("L1"), life("L1", "other")], known("wrong"))
    monkeypatch.setattr(effects, "fold", always(state))
    assert set(effects.measured_on(log)) == {("s", "L1"), ("other", "L1")}

    def folded(*_: Any) -> None:
        pytest.fail("it was folded")

    monkeypatch.setattr(effects, "fold", folded)
    log.ended = []
    assert effects.measured_on(log) == {}
