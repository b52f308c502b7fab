"""The driver step by step: what it records before whom it tells, what it compares, and which error leaves it."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from dataclasses import replace
from typing import Any, cast

import pytest
from msgspec import structs

from handlers.limits import UNBOUNDED, Ledger, Reservation, prompt_estimate
from handlers.roles.role import Role, answer
from schemas.asking import All, Diverged, Exhausted, OutOfLimit, Steps, Stopped, Unanswered
from schemas.events.base import AnswerEvent, Event
from schemas.events.episode import (
    Checked,
    Completed,
    Embedded,
    Forked,
    LimitReached,
    QuestionAbandoned,
    ReviewAnswered,
    ReviewAsked,
    TextKept,
)
from schemas.events.reasoning import ControllerActed
from schemas.memory import Memory
from schemas.price import Price
from schemas.questions import Check, Complete, Embed, Remain, Review
from schemas.vectors import pack
from state.journal import MemoryRecorder, TooLarge
from streams.core.backbone import SetupBroken
from streams.core.drive import Paused, Run, Waiting, drive, first_of, replayed
from streams.core.unkept import Unkept

ROLE = Role.of("thinker", "Think.", sections=("Problem",), reply=[answer()])
ASKED = ROLE.question({"problem": "6 * 7?"})
FACT = ControllerActed(round=0, action="accept", source="1")
CHECK = Check("d", "p", "42")
EPISODE = "p/d/a/r"


def said(question: Complete = ASKED, **more: Any) -> Completed:
    values: dict[str, Any] = {"text": "42", "finish": "stop", "model": "m"}
    return Completed(asked=question.fingerprint(), **(values | more))


def checked(outcome: Any = "right") -> Checked:
    return Checked(asked=CHECK.fingerprint(), outcome=outcome, checker="c@1")


def near(value: float) -> Any:
    return pytest.approx(value)


class Recorder(MemoryRecorder):
    """A log that remembers its commits, and refuses or fails where it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.commits: list[list[str]] = []
        self.refuses: dict[str, int] = {}
        self.fails: Exception | None = None

    def state(self, topic: str, episode: str, address: str, event: Event) -> None:
        size, room = len(event.to_json()), self.refuses.get(address, 1 << 30)
        if size > room:
            raise TooLarge(event.kind, size, room)
        super().state(topic, episode, address, event)

    async def commit(self) -> None:
        self.commits.append([address for _, address in self.records])
        if self.fails is not None:
            raise self.fails

    def keep(self, digest: str, text: str) -> None:
        if "template" in self.refuses:
            raise TooLarge("text.kept", len(TextKept(text=text).to_json()), 10)
        super().keep(digest, text)


class World:
    """Says what stands here for an address, or raises it; remembers what was reserved."""

    def __init__(self, **answers: Any) -> None:
        self.answers = {at.removeprefix("at").replace("_", "."): a for at, a in answers.items()}
        self.asked: list[tuple[str, Reservation]] = []

    async def answer(
        self, run: Run, question: Any, asked: str, address: str, reserved: Reservation
    ) -> AnswerEvent:
        self.asked.append((address, reserved))
        found = self.answers[address]
        if isinstance(found, Exception):
            raise found
        return cast("AnswerEvent", found)


def live(
    world: World, journal: dict[str, Event] | None = None, **more: Any
) -> tuple[Run, Recorder]:
    recorder = Recorder()
    run = Run(
        more.pop("episode", EPISODE), journal or {}, 7, Memory("s", 0), recorder=recorder,
        world=cast("Any", world), **more,
    )  # fmt: skip
    return run, recorder


def closed(journal: dict[str, Event], episode: str = EPISODE, **more: Any) -> Run:
    return Run(episode, journal, 7, Memory("s", 0), **more)


def driven(steps: Any, run: Run, ledger: Ledger | None = None) -> Any:
    return asyncio.run(drive(steps, run, ledger or Ledger()))


def asks(*requests: Any) -> Generator[Any, Any, list[Any]]:
    """A policy that makes these requests and returns what it got."""
    got: list[Any] = []
    for request in requests:
        got += [(yield request)]
    return got


# ── Recording ────────────────────────────────────────────────────────────────────────────────


def test_an_answer_is_durable_with_all_facts_before_it_is_acted_on() -> None:
    again = structs.replace(ASKED, draw=1)
    world = World(at1=said(seconds=2.5), at3=checked(), at5=said(again, seconds=1.5))
    run, recorder = live(world)
    ledger = Ledger()
    got = driven(asks(FACT, ASKED, FACT, CHECK, FACT, again), run, ledger)
    assert recorder.commits[:2] == [["0", "1"], ["0", "1", "2", "3"]]
    assert list(run.journal) == ["0", "1", "2", "3", "4", "5"]
    assert {reserved for _, reserved in world.asked} == {UNBOUNDED}
    assert (got[1].text, got[3], got[0]) == ("42", "right", None)
    assert recorder.texts == {ASKED.template.digest: ASKED.template.text}
    assert (ledger.spent_calls, ledger.spent_seconds) == (2, 4.0)
    assert (run.visited, run.restated) == (set(), 0)


def test_what_is_recorded_is_met_and_never_asked_again() -> None:
    world = World(at3=checked())
    journal: dict[str, Event] = {"0": FACT, "1": said(), "2": FACT}
    run, recorder = live(world, journal)
    ledger = Ledger()
    assert driven(asks(FACT, ASKED, FACT, CHECK), run, ledger)[3] == "right"
    assert [address for address, _ in world.asked] == ["3"]
    assert (run.visited, run.restated, ledger.spent_calls) == ({"0", "1", "2"}, 2, 1)
    assert recorder.commits == [["3"]]
    assert ledger.spent_seconds == 0.0


def test_a_forks_own_record_is_no_fact_that_is_restated() -> None:
    event = Forked(asked="All 1", lanes=1)
    run = closed({"0": event, "0.0.0": FACT})
    assert replayed(drive(lanes(asks(FACT)), run, Ledger())) == [([None],)]
    assert (run.visited, run.restated) == ({"0", "0.0.0"}, 1)


def test_the_texts_of_vectors_are_remembered_until_the_end() -> None:
    question = Embed(("one", "two"))
    told = Embedded(
        asked=question.fingerprint(), embedder="e", dimensions=2, vectors=(pack((1.0, 0.0)),)
    )
    run, _ = live(World(at0=told))
    assert driven(asks(question), run) == [((1.0, 0.0),)]
    assert run.tally.texts == {"0": ("one", "two")}


def test_something_that_is_no_request_is_named() -> None:
    run, _ = live(World())
    with pytest.raises(TypeError, match="it yielded 'a text'"):
        driven(asks("a text"), run)


# ── Limits ───────────────────────────────────────────────────────────────────────────────────


def test_a_bounded_run_reserves_for_each_call_and_settles_what_it_took() -> None:
    world = World(
        at0=said(prompt_tokens=10, completion_tokens=20, cost=0.5, seconds=2.0), at2=said()
    )
    run, _ = live(world)
    ledger = Ledger(
        calls=5,
        tokens=10_000,
        cost=100.0,
        seconds=60.0,
        prices={"*": Price(prompt=0, completion=2)},
    )
    messages = ASKED.messages()
    estimate = prompt_estimate(sum(len(text) for _, text in messages), len(messages))
    capped = structs.replace(ASKED, sampling=replace(ASKED.sampling, max_tokens=100))
    again = said(capped)
    world.answers["2"] = again
    got = driven(asks(ASKED, Remain(), capped, Remain()), run, ledger)
    first, second = (reserved for _, reserved in world.asked)
    assert first == Reservation(10_000 - estimate, 10_000, near((10_000 - estimate) * 2e-6))
    assert (got[1].calls, got[1].tokens, got[1].cost, got[1].seconds) == (4, 9_970, 99.5, 58.0)
    assert second == Reservation(100, estimate + 100, near(100 * 2e-6))
    assert (got[3].calls, got[3].tokens) == (3, 9_970 - estimate - 100), (
        "unknown usage is what it may be"
    )
    unpriced, _ = live(World(at0=said()))
    driven(asks(ASKED), unpriced, Ledger(calls=5, prices={"*": Price(prompt=9, completion=9)}))
    assert cast("Any", unpriced.world).asked[0][1].cost == 0, (
        "without a limit of cost no price is asked"
    )


def test_a_limit_is_an_answer_that_a_policy_may_catch() -> None:
    def tries() -> Steps[str]:
        try:
            yield from ASKED
        except OutOfLimit as limit:
            yield FACT
            return limit.which
        return "asked"

    world = World()
    run, recorder = live(world)
    assert driven(tries(), run, Ledger(calls=0)) == "calls"
    assert world.asked == []
    limit = run.journal["0"]
    assert limit == LimitReached(asked=ASKED.fingerprint(), which="calls")
    assert recorder.commits == [["0"]]
    assert replayed(drive(tries(), closed({"0": limit, "1": FACT}), Ledger())) == "calls"
    run, _ = live(World())
    with pytest.raises(OutOfLimit):
        driven(asks(structs.replace(ASKED, keeps=2)), run, Ledger(calls=2))


def test_a_question_that_was_given_up_is_raised_where_it_was_asked() -> None:
    run, _ = live(World(at0=QuestionAbandoned(asked=CHECK.fingerprint(), reason="why")))
    with pytest.raises(Unanswered) as error:
        driven(asks(CHECK), run)
    assert error.value.reason == "why"


def test_a_reply_beyond_the_limit_says_that_the_record_is_not_of_this_run() -> None:
    ledger = Ledger(calls=0)
    with pytest.raises(Diverged) as error:
        replayed(drive(asks(ASKED), closed({"0": said()}), ledger))
    found = error.value
    assert (found.address, found.part, found.recorded, found.now) == (
        "0", "limit", "limit of calls kept", "not kept",
    )  # fmt: skip
    got = replayed(
        drive(asks(ASKED), closed({"0": said(seconds=3.0)}, "q/1"), ledger := Ledger(calls=0))
    )
    assert got[0].text == "42", "a probe's prefix was made under its parent's limits"
    assert (ledger.spent_calls, ledger.spent_tokens, ledger.calls) == (1, 0, -1)
    run, _ = live(World(), {"0": said()})
    assert driven(asks(ASKED), run, Ledger(calls=0))[0].text == "42"


# ── Comparing ────────────────────────────────────────────────────────────────────────────────


def diverged(request: Any, recorded: Event, **more: Any) -> tuple[str, str, str, str]:
    with pytest.raises(Diverged) as error:
        replayed(drive(asks(request), closed({"0": recorded}, **more), Ledger()))
    found = error.value
    return found.address, found.part, found.recorded, found.now


def test_what_differs_is_named_by_its_part() -> None:
    other = ROLE.question({"problem": "6 * 8?"})
    before, now = said().asked.split(" "), other.fingerprint().split(" ")
    assert diverged(other, said()) == ("0", "problem", before[3], now[3])
    assert diverged(structs.replace(ASKED, draw=1), said()) == ("0", "draw", "0", "1")
    assert diverged(ASKED, FACT) == ("0", "kind of record", "controller.acted", "Complete")
    assert diverged(CHECK, said()) == ("0", "question", said().asked, CHECK.fingerprint())
    longer = Completed(asked=f"{said().asked} more", text="t", finish="stop", model="m")
    assert diverged(ASKED, longer)[1] == "question"
    with pytest.raises(Diverged) as error:
        replayed(drive(asks(other), closed({"0": said()}), Ledger()))
    assert error.value.question is other
    assert (
        diverged(FACT, ControllerActed(round=0, action="restart", source="1"))[1]
        == "controller.acted.action"
    )


# ── People ───────────────────────────────────────────────────────────────────────────────────

REVIEW = Review("Is it right?", "42")
PUT = ReviewAsked(address="0", question="Is it right?", proposed="42")


def heard(result: Any = "answered") -> ReviewAnswered:
    return ReviewAnswered(asked=REVIEW.fingerprint(), result=result, verdict=True, by="ada")


def test_a_question_to_a_person_is_on_disk_before_its_episode_waits() -> None:
    run, recorder = live(World(at0=Waiting("later")))
    with pytest.raises(Waiting):
        driven(asks(REVIEW), run)
    assert recorder.commits == [["asked.0"]]
    assert recorder.journal(EPISODE) == {"asked.0": PUT}
    assert (run.put, run.waits, run.posed) == ({"0": PUT}, {"0"}, {"0"})
    again, recorder = live(World(at0=heard()), put={"0": PUT})
    [found] = driven(asks(REVIEW), again)
    assert (found.result, found.verdict, found.by) == ("answered", True, "ada")
    assert list(recorder.journal(EPISODE)) == ["0"], "it was put to him before"
    assert again.waits == set()


def test_who_answers_at_once_is_recorded_with_what_he_was_asked() -> None:
    run, recorder = live(World(at0=heard()))
    driven(asks(REVIEW), run)
    assert list(recorder.journal(EPISODE)) == ["asked.0", "0"]
    nobody, recorder = live(World(at0=heard("nobody")))
    driven(asks(REVIEW), nobody)
    assert list(recorder.journal(EPISODE)) == ["0"]


def test_nobody_can_have_answered_what_was_never_put_to_him() -> None:
    assert diverged(REVIEW, heard()) == ("asked.0", "review.asked", "nothing", "a question")
    changed = ReviewAsked(address="0", question="Is it wrong?", proposed="42")
    assert diverged(REVIEW, heard(), put={"0": changed})[:2] == ("asked.0", "review.asked.question")
    for journal, more in (
        (heard("nobody"), {}),
        (heard(), {"put": {"0": PUT}}),
        (heard(), {"episode": "q/1"}),
    ):
        run = closed({"0": journal}, **cast("dict[str, Any]", more))
        assert len(replayed(drive(asks(REVIEW), run, Ledger()))) == 1


# ── A log that refuses ───────────────────────────────────────────────────────────────────────


def test_a_reply_that_is_too_large_is_recorded_as_far_as_it_fits() -> None:
    run, recorder = live(World(at0=said(text="x" * 2_000), at1=checked()))
    recorder.refuses = {"0": 600}
    got = driven(asks(ASKED, CHECK), run)
    kept = cast("Completed", recorder.journal(EPISODE)["0"])
    assert kept.truncated
    assert 100 < len(kept.text) < 600
    assert got[0].text == kept.text
    assert (got[0].truncated, run.refused) == (True, {})


def test_a_fact_that_is_too_large_ends_its_episode_and_ends_it_again_on_replay() -> None:
    large = ControllerActed(round=0, action="accept", source="x" * 500)
    run, recorder = live(World())
    recorder.refuses = {"0": 100}
    with pytest.raises(Unkept) as error:
        driven(asks(large), run)
    unkept = error.value
    assert (unkept.kind, unkept.address, unkept.room) == ("controller.acted", "0", 100)
    assert (run.journal, run.refused) == ({}, {"0": unkept})
    with pytest.raises(Unkept) as again:
        replayed(drive(asks(large), closed({}, refused={"0": unkept}), Ledger()))
    assert again.value is unkept
    with pytest.raises(Exhausted, match="the record ends here"):
        replayed(drive(asks(FACT), closed({}, refused={"0": unkept}), Ledger()))


def test_a_template_that_is_too_large_is_refused_before_the_call_that_costs_money() -> None:
    world = World(at0=said())
    run, recorder = live(world)
    recorder.refuses = {"template": 10}
    with pytest.raises(Unkept) as error:
        driven(asks(ASKED), run)
    assert (world.asked, error.value.kind, run.refused) == ([], "text.kept", {"0": error.value})
    with pytest.raises(Unkept):
        replayed(drive(asks(ASKED), closed({}, refused={"0": error.value}), Ledger()))
    with pytest.raises(Exhausted):
        replayed(drive(asks(CHECK), closed({}, refused={"0": error.value}), Ledger()))


def test_without_a_log_nothing_is_asked() -> None:
    world = World(at0=checked())
    with pytest.raises(Exhausted):
        driven(asks(CHECK), closed({}, world=cast("Any", world)))
    assert world.asked == []


def test_a_log_that_fails_is_no_defect_of_the_policy() -> None:
    run, recorder = live(World(at0=checked()))
    recorder.fails = OSError("disk full")
    with pytest.raises(OSError, match="disk full"):
        driven(asks(CHECK), run)
    assert run.unkept is recorder.fails


# ── Lanes ────────────────────────────────────────────────────────────────────────────────────


def lanes(*branches: Any, **more: Any) -> Generator[Any, Any, Any]:
    return asks(All(branches, **more))


def test_lanes_have_addresses_shares_and_results_of_their_own() -> None:
    world = World(at0_0_0=said(), at0_1_0=checked(), at0_1_1=said())
    run, _ = live(world)
    ledger = Ledger(calls=3)
    three = asks(ASKED), asks(CHECK, ASKED, Remain()), asks(ASKED, ASKED)
    [results] = driven(lanes(*three, allow=[2, 1, 0], twins=True), run, ledger)
    assert run.journal["0"] == Forked(asked="All 3", lanes=3, allow=(2, 1, 0), twins=True)
    assert (results[0][0].text, results[1][0], results[1][2].calls) == ("42", "right", 0)
    assert results[2] == Stopped("calls")
    assert (ledger.calls, ledger.spent_calls) == (1, 2), "what a lane leaves over is there again"
    run, _ = live(World())
    assert driven(lanes(), run) == [()]
    assert run.journal["0"] == Forked(asked="All 0", lanes=0)


def failing(error: Exception) -> Generator[Any, Any, Any]:
    yield from ()
    raise error


BROKEN, PAUSED, DEFECT = SetupBroken("auth", "m", "no"), Paused("later"), KeyError("x")


@pytest.mark.parametrize(
    ("answers", "error"),
    [
        ({"at0_0_0": PAUSED, "at0_1_0": BROKEN, "at0_2_0": said()}, BROKEN),
        ({"at0_0_0": said(), "at0_1_0": PAUSED, "at0_2_0": said()}, PAUSED),
        ({"at0_0_0": BROKEN, "at0_1_0": said(), "at0_2_0": PAUSED}, BROKEN),
    ],
)
@pytest.mark.parametrize("in_turn", [False, True])
def test_what_stops_a_worker_goes_before_a_pause_and_siblings_are_recorded(
    answers: dict[str, Any], error: Exception, in_turn: bool
) -> None:
    run, _ = live(World(**answers), in_turn=in_turn)
    with pytest.raises(type(error)) as raised:
        driven(lanes(asks(ASKED), asks(ASKED), asks(ASKED)), run)
    assert raised.value is error
    replied = {at[2:].replace("_", ".") for at, a in answers.items() if isinstance(a, Completed)}
    assert set(run.journal) == {"0", *replied}


def test_a_defect_in_a_lane_is_the_episode_s() -> None:
    for in_turn in (False, True):
        run, _ = live(World(at0_0_0=said()), in_turn=in_turn)
        with pytest.raises(KeyError) as raised:
            driven(lanes(asks(ASKED), failing(DEFECT)), run)
        assert raised.value is DEFECT


def of_lanes(journal: dict[str, Event], *branches: Any) -> Exception:
    """Which error ends a replay of these lanes."""
    forked = Forked(asked=f"All {len(branches)}", lanes=len(branches))
    try:
        replayed(drive(lanes(*branches), closed({"0": forked, **journal}), Ledger()))
    except Exception as error:
        return error
    raise AssertionError("they ended")


def test_of_several_errors_on_replay_the_record_s_own_comes_first_and_its_end_last() -> None:
    def fits() -> Any:
        return asks(CHECK)

    other: dict[str, Event] = {"0.0.0": said(), "0.1.0": checked()}
    assert isinstance(of_lanes(other, fits(), failing(DEFECT)), Diverged)
    assert isinstance(of_lanes({"0.1.0": said()}, failing(DEFECT), fits()), Diverged)
    assert of_lanes({}, fits(), failing(DEFECT)) is DEFECT
    assert of_lanes({}, failing(DEFECT), fits()) is DEFECT
    assert isinstance(of_lanes({"0.0.0": checked()}, fits(), fits()), Exhausted)
    unkept = Unkept("k", "0.1.0", 9, 1)
    assert of_lanes({}, fits(), failing(unkept)) is unkept
    assert of_lanes({}, failing(unkept), failing(Unkept("k", "0.2.0", 9, 1))) is unkept


def test_the_first_plain_error_of_a_group_is_found_however_deep() -> None:
    inner = BaseExceptionGroup("b", [BaseExceptionGroup("c", [DEFECT, BROKEN]), PAUSED])
    assert first_of(BaseExceptionGroup("a", [inner, BROKEN])) is DEFECT


def test_a_closed_world_that_waits_is_an_error() -> None:
    async def waits() -> None:
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="a closed world never waits"):
        replayed(waits())
