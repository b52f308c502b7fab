"""Law: a graph that forgot a problem is the graph of a log without that problem's records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import convert

from handlers.learning.graph import EMPTY
from handlers.policies.base import Batch, Member
from handlers.policies.graph_memory import GraphSettings
from handlers.policies.graph_memory.build import Growing, consolidated, keep_cases
from handlers.policies.registry import find
from schemas.asking import Steps
from schemas.events.base import Event
from schemas.events.graph import PairCompared, PathGrounded, PrincipleInduced
from schemas.events.learning import BatchClosed, Reflected
from schemas.identity import episode_id, learning_id, text_digest
from schemas.memory import Memory
from schemas.outcome import Outcome
from schemas.usage import Usage
from schemas.vectors import pack
from tests.laws.test_forgetting import GONE, Log, forget, graded, meant
from tests.scripted import hashed, run

SCOPE = "d/graph_memory/main/0"
POLICY, SETTINGS = find("graph_memory"), GraphSettings.resolve("service", {})
TEXTS = {"p0": "a river", "p1": "a moon", "p2": "a river", "p3": "a town"}
"""Two problems have one text: they are one case."""
CASES = [text_digest(text) for text in dict.fromkeys(TEXTS.values())]
PATHS = ["GS SP AN", "GS SP NA", "GS IR AN", "GS IR NA"]
NAMES = ["M1.0", "M1.1", "M2.0", "M3.0"]


@dataclass(frozen=True)
class Turn:
    """One member of a batch: its problem, how its run went, and what was made of it."""

    problem: str
    outcome: Outcome
    path: str
    made: str
    target: str
    near: tuple[str, ...]
    rewards: tuple[float, float]


def turns(problems: list[str]) -> st.SearchStrategy[Turn]:
    made = ["create", "rewrite", "again", "borrow", "speculate", "pair", "nothing"]
    rewards = st.sampled_from([0.0, 1.0])
    return st.builds(
        Turn,
        st.sampled_from(problems),
        st.sampled_from(["right", "wrong", "unknown", "withheld"]),
        st.sampled_from(PATHS),
        st.sampled_from(made),
        st.sampled_from(NAMES),
        st.lists(st.sampled_from(CASES), min_size=1, max_size=2, unique=True).map(tuple),
        st.tuples(rewards, rewards),
    )


ONE_BY_ONE = st.lists(
    st.lists(turns(sorted(TEXTS)), min_size=1, max_size=1), min_size=1, max_size=6
)
TOGETHER = st.lists(
    st.lists(turns(["p0", "p1", "p3"]), min_size=1, max_size=3), min_size=1, max_size=4
)
"""In a batch of several no two problems have one text: else its cases would stand in another order."""
HISTORIES = ONE_BY_ONE | TOGETHER


def named(number: int, at: int, turn: Turn) -> tuple[str, Turn]:
    return f"{episode_id('d', turn.problem, '')}{number}-{at}", turn


def facts(number: int, name: str, turn: Turn) -> Iterator[Event]:
    """What a model once said of a run, as it stands on the log."""
    subject, case = f"d/{turn.problem}", text_digest(TEXTS[turn.problem])
    if turn.made == "pair":
        yield PairCompared(
            pair=f"{name}/{turn.target}", problem=case, principle=turn.target, p=0.5,
            active=tuple((each, 0.5 + at / 4) for at, each in enumerate(turn.near)),
            with_reward=turn.rewards[0], without_reward=turn.rewards[1],
            memory_version=number - 1, subject=subject,
        )  # fmt: skip
        return
    yield PathGrounded(
        case=case,
        subject=subject,
        path=turn.path,
        outcome=turn.outcome,
        source=name,
    )
    if turn.made != "nothing":
        yield induced(number, name, turn)


def induced(number: int, name: str, turn: Turn) -> PrincipleInduced:
    case = {"borrow": "neighbours", "speculate": "speculative"}.get(turn.made, "contrast")
    said: dict[str, object] = {"case": case, "decision": "update", "principle": turn.target, "paths": (turn.path,),
            "subject": f"d/{turn.problem}"}  # fmt: skip
    if turn.made in ("create", "rewrite", "speculate"):
        text = f"from {name}"
        said |= {"summary": text, "score": 60.0, "vector": pack(hashed(text))}
    if turn.made in ("create", "speculate"):
        said |= {"decision": "create", "principle": f"M{number}.{name[-1]}"}
    if turn.made == "again":
        said |= {"score": 85.0}  # as it was then: the fold reckons it anew
    if turn.made in ("borrow", "speculate"):
        said |= {"near": turn.near}
    return convert(said, PrincipleInduced)


def learning(batch: Batch, turns: Sequence[tuple[str, Turn]]) -> Steps[None]:
    """What ``learn`` states, with the calls' part given."""
    built = [m for m, (_, turn) in zip(batch.members, turns, strict=True) if turn.made != "pair"]
    yield from keep_cases(batch, built)
    growing = Growing({**EMPTY, **batch.memory.learned}, SETTINGS.constants, batch.number)
    for name, turn in turns:
        for fact in facts(batch.number, name, turn):
            yield from growing.state(fact)
    if growing.changed:
        yield consolidated(growing)


def reflected(turn: Turn, memory: Memory) -> Reflected:
    return Reflected(
        scope=SCOPE, policy="graph_memory@3", problem_id=turn.problem, domain="d",
        problem=TEXTS[turn.problem], problem_digest=turn.problem, profile="service", learning={},
        labelled=False, status="answered", answer="1", usage=Usage(calls=2),
        memory_version=memory.number,
        summary={"phase": "weigh" if turn.made == "pair" else "build", "path": turn.path},
    )  # fmt: skip


def closing(number: int, turns: Sequence[tuple[str, Turn]]) -> BatchClosed:
    return BatchClosed(
        scope=SCOPE, batch=number, members=tuple(name for name, _ in turns),
        outcomes=tuple(turn.outcome for _, turn in turns), previous=number - 1,
        policy=POLICY.name, policy_version=POLICY.version, settings="s",
        rule=POLICY.rule, constants=POLICY.rule_constants(SETTINGS),
        retirement=POLICY.retirement, seed=1,
    )  # fmt: skip


def told(log: Log, number: int, turns: Sequence[tuple[str, Turn]]) -> None:
    """One batch of a log."""
    memory = log.state.memory(SCOPE).latest
    members = tuple(Member(name, reflected(turn, memory), turn.outcome) for name, turn in turns)
    for member in members:
        log.say(member.episode, "reflected", member.reflected)
        log.say(member.episode, "graded.0", graded(member.outcome, "checker"))
    closed, episode = closing(number, turns), learning_id(SCOPE, number)
    log.say(episode, "batch", closed)
    batch = Batch(SCOPE, number, members, memory, 1)
    for address, event in run(learning(batch, turns), (), memory=memory).events:
        log.say(episode, address, event)
    log.version(closed)


def lived(history: Sequence[Sequence[Turn]], *gone: str) -> Log:
    """The log of a world in which nobody ever asked these problems."""
    log = Log(scope=SCOPE, span=None)
    for number, batch in enumerate(history, 1):
        turns = [named(number, at, turn) for at, turn in enumerate(batch)]
        told(log, number, [each for each in turns if each[1].problem not in gone])
    return log


def equal(log: Log, other: Log) -> None:
    mine, theirs = log.state.memory(SCOPE).versions, other.state.memory(SCOPE).versions
    assert [meant(memory) for memory in mine.values()] == [meant(m) for m in theirs.values()]
    assert [memory.state() for memory in mine.values()] == [m.state() for m in theirs.values()]
    assert log.state.hash() == other.state.hash()


@given(HISTORIES)
@settings(max_examples=60)
def test_a_graph_without_a_problem_is_that_of_a_log_without_it(history: list[list[Turn]]) -> None:
    log = lived(history)
    forget(log)
    equal(log, lived(history, GONE))


@given(HISTORIES)
@settings(max_examples=30)
def test_two_problems_may_be_forgotten_one_after_the_other(history: list[list[Turn]]) -> None:
    log = lived(history)
    forget(log)
    forget(log, "p1")
    equal(log, lived(history, GONE, "p1"))


def turn(problem: str, made: str, target: str = "M1.0", path: str = PATHS[0]) -> Turn:
    return Turn(problem, "right", path, made, target, (CASES[0],), (1.0, 0.0))


@pytest.mark.parametrize("made", ["create", "nothing", "borrow", "again"])
def test_what_rests_on_a_forgotten_principle_goes_with_it(made: str) -> None:
    """Its node, its edges, what was borrowed from it, and its sentence in prompts."""
    log = lived([[turn("p0", "create")], [turn("p1", made, path=PATHS[2])]])
    forget(log)
    latest = log.state.memory(SCOPE).latest
    rules = {item.id: item.text for item in latest.items if item.kind == "rule"}
    mine = {"M2.0": "from p/d/p1/2-0"} if made == "create" else {}
    assert rules == mine
    assert set(latest.learned["principles"]) == set(mine)
    assert not any("p/d/p0" in item.text for item in latest.whole())


def test_a_rewritten_principle_keeps_the_words_of_those_who_stay() -> None:
    history = [[turn("p1", "create")], [turn("p0", "rewrite")], [turn("p0", "again")]]
    log = lived(history)
    before = log.state.memory(SCOPE).latest.learned["principles"]["M1.0"]
    assert (before["summary"], before["score"]) == ("from p/d/p0/2-0", 65.0)
    forget(log)
    after = log.state.memory(SCOPE).latest
    held = after.learned["principles"]["M1.0"]
    assert (held["summary"], held["score"], held["version"]) == ("from p/d/p1/1-0", 60.0, 1)
    assert [item.text for item in after.items if item.kind == "rule"] == ["from p/d/p1/1-0"]


def test_a_principle_that_its_pairs_speak_against_is_set_aside_and_kept() -> None:
    """Ten pairs lost tell more than chance; nine do not, and what was forgotten does not count."""
    lost = Turn("p1", "right", PATHS[0], "pair", "M1.0", (CASES[0],), (0.0, 1.0))
    others = Turn("p0", "right", PATHS[0], "pair", "M1.0", (CASES[0],), (0.0, 1.0))
    history = [[turn("p1", "create")], *[[lost]] * 9, [others]]
    log = lived(history)
    before, after = (log.state.memory(SCOPE).versions[number] for number in (10, 11))
    assert [item.id for item in before.items if item.kind == "rule"] == ["M1.0"]
    assert [item.id for item in after.items if item.kind == "rule"] == []
    assert [item.id for _, item in after.aside] == ["M1.0"]
    assert set(after.learned["principles"]) == {"M1.0"}
    forget(log)
    assert [i.id for i in log.state.memory(SCOPE).latest.items if i.kind == "rule"] == ["M1.0"]
