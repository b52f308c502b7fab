"""CoT2-Meta's calls: never above C, for every C, whatever the model says and however lanes finish."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handlers.limits import Ledger
from handlers.policies.base import Conclusion
from handlers.policies.cot2_meta import solve
from handlers.policies.cot2_meta.trace import COLUMNS, calls_by_column
from handlers.policies.registry import find
from schemas.events.base import Event
from schemas.events.episode import Completed, Forked
from schemas.events.search import SearchDecided
from schemas.identity import hash01
from schemas.problem import Limits
from schemas.questions import Complete
from state.journal import Crashed, MemoryRecorder
from streams.core.drive import Run, drive, replayed
from tests.laws.worlds import EPISODE, MEMORY, Paced
from tests.papers.cot2_says import TASK, chained, scores, setting, sure, thought
from tests.scripted import run

SEARCHES = ("cot2_meta", "best_of_n", "tot", "rest_mcts", "io", "greedy", "self_consistency")


def fickle(seed: int) -> Any:
    """A model of moods: what it says follows from the question, and often cannot be read."""

    def reply(question: Complete) -> str:
        luck = hash01(seed, question.fingerprint())
        if luck < 0.12:
            return ("", "no idea", "Step 1: Semantic=2, Logical=1")[int(luck * 25)]
        match question.role:
            case "oracle":
                steps = dict(question.variables)["trajectory"].count("[Step ")
                marks = [round(hash01(luck, at, "score") ** 0.4, 2) for at in range(steps)]
                return scores(*((mark, mark, mark) for mark in marks))
            case "confidence" | "judge":
                value = round(hash01(luck, "trust") ** 0.4, 2)
                return sure(value) if question.role == "confidence" else f"Value: {value}"
            case "thinker" | "repairer":
                answer = str(int(luck * 4)) if hash01(luck, "ends") < 0.5 else None
                return thought(f"thought {int(luck * 1000)}", answer)
            case _:
                return chained(str(int(luck * 4)))

    return reply


def spent(journal: dict[str, Event]) -> int:
    return sum(isinstance(event, Completed) for event in journal.values())


@pytest.mark.claim("cot2-tab-05", "cot2-lanes")
@pytest.mark.parametrize("calls", range(1, 41))
@given(seed=st.integers(0, 10**6))
@settings(max_examples=6)
def test_calls_are_never_above_the_limit(calls: int, seed: int) -> None:
    for values in ({"primary_calls": calls}, {"primary_calls": None}, {"keep_better": True}):
        done = run(solve(TASK, setting(**values)), fickle(seed), calls=calls)
        assert len(done.requests) <= calls
        columns = calls_by_column(done.trace)
        assert tuple(columns) == COLUMNS
        assert sum(columns.values()) == len(done.requests)
        assert columns["selection"] == 0


@pytest.mark.claim("cot2-tab-05", "cot2-lanes")
@given(st.integers(1, 40), st.integers(0, 10**6))
@settings(max_examples=80)
def test_the_fallback_takes_sixteen_on_top_of_c_and_the_limit_caps_both(c: int, seed: int) -> None:
    free = run(solve(TASK, setting(primary_calls=c, abstain_threshold=0.8)), fickle(seed))
    columns = calls_by_column(free.trace)
    abstained = free.of(SearchDecided)[-1].action == "fallback"
    assert columns["fallback"] == (16 if abstained else 0)
    assert sum(columns.values()) - columns["fallback"] <= c
    capped = run(
        solve(TASK, setting(primary_calls=c, abstain_threshold=0.8)), fickle(seed), calls=c + 5
    )
    assert len(capped.requests) <= c + 5
    assert calls_by_column(capped.trace)["fallback"] <= 16


@pytest.mark.claim("cot2-tab-05")
def test_sixteen_calls_score_five_trajectories_at_most() -> None:
    done = run(solve(TASK, setting()), fickle(3), calls=16)
    assert calls_by_column(done.trace)["evaluation"] <= 5 + 2
    assert len([role for role in done.roles if role in ("thinker", "repairer")]) <= 5


@pytest.mark.claim("cot2-lanes")
@given(st.integers(1, 40), st.integers(0, 10**6))
@settings(max_examples=80)
def test_allowances_cover_a_child_each_and_sum_to_at_most_what_is_left(c: int, seed: int) -> None:
    done = run(solve(TASK, setting(primary_calls=c)), fickle(seed))
    for fork in done.of(Forked):
        assert fork.allow is not None
        assert all(3 <= share <= 5 for share in fork.allow)
        assert sum(fork.allow) <= c
        assert list(fork.allow) == sorted(fork.allow, reverse=True)


# ── Lanes in any order, a crash anywhere ─────────────────────────────────────────────────────


class Model(Paced):
    """A paced world whose model is fickle."""

    mood = 0

    def event(self, run: Any, question: Any, asked: str, luck: str, reserved: Any) -> Any:
        if isinstance(question, Complete):
            text = fickle(self.mood)(question)
            return Completed(
                asked=asked,
                text=text,
                finish="stop",
                model="law",
                prompt_tokens=50,
                completion_tokens=20,
                seconds=0.5,
            )
        return super().event(run, question, asked, luck, reserved)


def model(mood: int, order: Sequence[int] = (0,)) -> Model:
    made = Model(order)
    made.mood = mood
    return made


async def lived(work: Run, name: str, limits: Limits, world: Model) -> Conclusion:
    policy = find(name)
    steps = policy.solve(TASK, policy.settings.resolve("paper", {}))
    task = asyncio.create_task(drive(steps, work, Ledger.of(limits)))
    while not task.done():
        await asyncio.sleep(0)
        world.release()
    return await task


def live(
    name: str, log: MemoryRecorder, world: Model, limits: Limits
) -> tuple[Conclusion | None, dict[str, Event]]:
    work = Run(EPISODE, log.journal(EPISODE), 7, MEMORY, "events", log, world)
    try:
        return asyncio.run(lived(work, name, limits, world)), work.journal
    except Crashed:
        return None, work.journal


ORDERS = st.lists(st.integers(0, 1 << 12), min_size=1, max_size=12)
LIMITS = st.builds(Limits, calls=st.none() | st.integers(1, 24), tokens=st.none() | st.just(900))


@pytest.mark.claim("cot2-lanes")
@pytest.mark.parametrize("name", SEARCHES)
@given(mood=st.integers(0, 10**6), one=ORDERS, other=ORDERS, limits=LIMITS)
@settings(max_examples=15)
def test_any_order_of_lanes_gives_the_same_journal(
    name: str, mood: int, one: list[int], other: list[int], limits: Limits
) -> None:
    logs = [MemoryRecorder(), MemoryRecorder()]
    ends = [live(name, log, model(mood, o), limits)[0] for log, o in zip(logs, (one, other))]  # noqa: B905
    assert ends[0] == ends[1]
    journal = logs[0].journal(EPISODE)
    assert journal == logs[1].journal(EPISODE)
    assert limits.calls is None or spent(journal) <= limits.calls
    policy = find(name)
    steps = policy.solve(TASK, policy.settings.resolve("paper", {}))
    again = Run(EPISODE, dict(journal), 7, MEMORY)
    assert replayed(drive(steps, again, Ledger.of(limits))) == ends[0]
    assert again.visited == journal.keys()


@pytest.mark.claim("cot2-lanes")
@pytest.mark.parametrize("name", ["cot2_meta", "best_of_n", "tot", "rest_mcts"])
@given(mood=st.integers(0, 10**6), before=ORDERS, after=ORDERS, calls=st.integers(1, 20))
@settings(max_examples=4, deadline=None)
def test_a_crash_after_any_record_resumes_to_the_same_journal(
    name: str, mood: int, before: list[int], after: list[int], calls: int
) -> None:
    limits = Limits(calls=calls)
    whole = MemoryRecorder()
    end, _ = live(name, whole, model(mood), limits)
    for stop in range(len(whole.records)):
        log = MemoryRecorder(stop_after=stop)
        assert live(name, log, model(mood, before), limits)[0] is None
        kept = log.journal(EPISODE)
        log.stop_after = None
        world = model(mood, after)
        assert live(name, log, world, limits)[0] == end
        assert log.journal(EPISODE) == whole.journal(EPISODE)
        answered = {at for at, said in kept.items() if isinstance(said, Completed)}
        assert not world.asked.keys() & answered


@pytest.mark.claim("cot2-repairs")
def test_the_token_limit_of_extra_expansions_is_held() -> None:
    """No repair, no call limit: the tokens of the full run are the limit of each problem."""
    policy = find("cot2_meta")
    values = {"repair": "none", "primary_calls": None, "stop_threshold": 1.0}
    steps = policy.solve(TASK, policy.settings.resolve("paper", values))
    world, log = model(5), MemoryRecorder()
    limits = Limits(tokens=5_280)
    work = Run(EPISODE, {}, 7, MEMORY, "events", log, world)

    async def go() -> Conclusion:
        task = asyncio.create_task(drive(steps, work, Ledger.of(limits)))
        while not task.done():
            await asyncio.sleep(0)
            world.release()
        return await task

    ended = asyncio.run(go())
    said = [event for event in work.journal.values() if isinstance(event, Completed)]
    assert sum(event.tokens or 0 for event in said) <= 5_280
    assert ended.limit == "tokens"
    assert len(said) > 16
    assert "repair" not in {event.kind for event in work.journal.values()}


@pytest.mark.claim("cot2-greedy")
def test_one_call_is_the_request_and_answer_of_greedy() -> None:
    cot2 = find("cot2_meta")  # with what its settings say of each role, as greedy's
    mine = run(cot2.solve(TASK, setting()), [chained("24")], calls=1)
    policy = find("greedy")
    theirs = run(policy.solve(TASK, policy.settings.resolve("paper", {})), [chained("24")], calls=1)
    assert mine.requests == theirs.requests
    assert mine.requests[0].fingerprint() == theirs.requests[0].fingerprint()
    assert mine.result.answer == theirs.result.answer == "24"
    none = run(cot2.solve(TASK, setting(tree=False)), [chained("24")])
    assert none.requests == theirs.requests
