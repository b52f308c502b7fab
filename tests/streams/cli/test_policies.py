from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from handlers.policies.registry import POLICIES
from streams.research.trials import check
from streams.research.trials.check import HASH_SEEDS, digests_elsewhere
from streams.research.trials.trial import Broken, Case
from tests.streams.cli.calling import Called, call

Elsewhere: TypeAlias = Callable[[str, str, Case], list[dict[str, str]]]
HEAD = """
import random
from handlers.policies.base import Conclusion, Policy
from handlers.roles.role import Role, answer
from schemas.asking import All, OutOfLimit, Stopped
from schemas.events.episode import Completed, EpisodeClosed
from schemas.events.reasoning import Generated, Voted
from schemas.settings import PolicySettings
from schemas.usage import Usage

REASONER = Role.of("reasoner", "Solve.", sections=("Problem",), reply=[answer()])
SEEN = []


def done(answer, **more):
    return Conclusion(answer=answer, **{"ended_by": "answered", **more})


def think(task, draw=0):
    return REASONER.ask(problem=task.problem, draw=draw)
"""
TAIL = """

MINE = Policy(
    name="mine", version="1", about="mine", settings=PolicySettings, roles=("reasoner",), solve=solve
)
"""


def tried(folder: Path, body: str, *options: str, tail: str = TAIL) -> Called:
    (folder / "mine.py").write_text(HEAD + body + tail)
    return call("policies", "check", "mine.py:MINE", *options)


GOOD = """
def solve(task, settings):
    said = yield from think(task)
    yield Generated(answer=said.answer, source=said.source)
    return done(said.answer)
"""

GOOD_LANES = """
def solve(task, settings):
    lanes = yield from All(think(task, draw) for draw in range(3))
    said = [lane for lane in lanes if not isinstance(lane, Stopped)]
    which = next((lane.which for lane in lanes if isinstance(lane, Stopped)), None)
    answers = sorted(one.answer or "" for one in said)
    yield Voted(answer=None, votes=0, of=3)
    return done(answers[0] if answers else None, limit=which)
"""

GOOD_WITH_BEST_SO_FAR = """
def solve(task, settings):
    best = None
    try:
        for draw in range(4):
            said = yield from think(task, draw)
            best = said.answer or best
    except OutOfLimit as limit:
        return done(best, ended_by="limit", limit=limit.which)
    return done(best)
"""


@pytest.mark.parametrize("body", [GOOD, GOOD_LANES, GOOD_WITH_BEST_SO_FAR])
def test_good_policies(folder: Path, body: str) -> None:
    called = tried(folder, body)
    assert called.code == 0, called.out
    assert called.lines[-1] == "mine.py:MINE: 9 checks, 0 failed"
    assert all(line.startswith("ok    ") for line in called.lines[:-1])


BAD = {
    "random": (
        """
def solve(task, settings):
    said = yield from think(task)
    yield Generated(answer=str(random.random()), source=said.source)
    return done(said.answer)
""",
        {"deterministic", "processes", "resumes", "verifies", "limits"},
        "FAIL  deterministic at ",
    ),
    "remembers across runs": (
        """
def solve(task, settings):
    SEEN.append(task.id)
    said = yield from think(task, draw=len(SEEN))
    return done(said.answer)
""",
        {"deterministic", "resumes", "verifies", "limits"},
        "FAIL  deterministic at 0: completed.asked was ",
    ),
    "order of a set": (
        """
def solve(task, settings):
    for word in {"alpha", "beta", "gamma", "delta", "epsilon"}:
        yield Generated(answer=word, source="-")
    said = yield from think(task)
    return done(said.answer)
""",
        {"processes"},
        ": differs in another process (PYTHONHASHSEED=",
    ),
    "swallows the limit": (
        """
def solve(task, settings):
    best = None
    for draw in range(9):
        try:
            said = yield from think(task, draw)
            best = said.answer
        except OutOfLimit:
            pass
    return done(best)
""",
        {"limits"},
        "FAIL  limits        at 1: swallows the limit: went on asking",
    ),
    "hides the limit": (
        """
def solve(task, settings):
    best = None
    try:
        for draw in range(13):
            said = yield from think(task, draw)
            best = said.answer
    except OutOfLimit:
        pass
    return done(best)
""",
        {"limits"},
        "swallows the limit: a call was not made, but the Conclusion has no limit=",
    ),
    "never ends": (
        """
def solve(task, settings):
    while True:
        try:
            yield from think(task)
        except OutOfLimit:
            pass
""",
        {"concludes"},
        "still goes on after 5000 records",
    ),
    "yields junk": (
        """
def solve(task, settings):
    yield from think(task)
    yield "a thought"
    return done("1")
""",
        {"concludes"},
        "FAIL  concludes     at 1: yields 'a thought'; a policy may only ask",
    ),
    "is no generator": (
        """
def solve(task, settings):
    return done("1")
""",
        {"concludes"},
        "is no generator: it gave a Conclusion without any yield",
    ),
    "returns text": (
        """
def solve(task, settings):
    said = yield from think(task)
    return said.answer
""",
        {"concludes"},
        "not a Conclusion",
    ),
    "is surer than sure": (
        """
def solve(task, settings):
    said = yield from think(task)
    return done(said.answer, confidence=100)
""",
        {"concludes"},
        "its Conclusion has confidence 100; it is in [0, 1] or None",
    ),
    "has a defect": (
        """
def solve(task, settings):
    said = yield from think(task)
    return done(said.answer.upper())
""",
        {"concludes"},
        "AttributeError: 'NoneType' object has no attribute 'upper' (mine.py:",
    ),
    "forges an answer": (
        """
def solve(task, settings):
    yield Completed(asked="me", text="42", finish="stop", model="mine")
    return done("42")
""",
        {"concludes"},
        "at 0: states a Completed itself; answers come from the world",
    ),
    "states no fact": (
        """
def solve(task, settings):
    said = yield from think(task)
    yield EpisodeClosed(status="answered", ended_by="me", usage=Usage())
    return done(said.answer)
""",
        {"facts"},
        "states 'episode.closed', no fact of this build",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_policies(folder: Path, name: str) -> None:
    body, checks, message = BAD[name]
    called = tried(folder, body)
    assert called.code == 1
    failed = {line.split()[1] for line in called.lines if line.startswith("FAIL")}
    assert failed & checks, called.out
    assert failed <= checks, called.out
    assert message in called.out
    assert f"{len(failed)} failed" in called.lines[-1]


def test_bad_reflection_and_learning(folder: Path) -> None:
    tail = """

def reflect(trace, conclusion, settings):
    return {"luck": random.random()}


def learn(batch, settings):
    yield Generated(answer=str(random.random()), source="-")


MINE = Policy(
    name="mine", version="1", about="mine", settings=PolicySettings,
    solve=solve, roles=("reasoner",), learns="self", reflect=reflect, learn=learn,
)
"""
    called = tried(folder, GOOD, "--json", tail=tail)
    assert called.code == 1
    found: dict[str, Any] = {each["check"]: each for each in called.json["checks"]}
    assert {name for name, each in found.items() if not each["ok"]} == {"reflects", "learns"}
    assert found["learns"]["address"] == "0"
    assert found["learns"]["detail"].startswith("generated.answer was ")


def no_other_process(name: str, seed: str, case: Case) -> list[dict[str, str]]:
    """What another process comes to is none of the test's."""
    raise Broken(case, "not run")


@pytest.mark.parametrize(
    ("said", "where", "detail"),
    [
        (
            "rule_constants=lambda given: {'rate': float('nan')}",
            "reflects",
            "rule_constants: rate: must be a finite number",
        ),
        (
            "rule_constants=lambda given: {'of': object()}",
            "reflects",
            "rule_constants: of: no JSON for object",
        ),
        ("rule='mine@1'", "reflects", "rule: there is none called 'mine@1'"),
        ("window=lambda given, size: 0", "reflects", "window: 0 is no number of members"),
        ("rule='linucb@1'", "learns", "rule linucb@1: KeyError: 'arms' (bandits.py:"),
    ],
)
def test_what_no_batch_can_be_closed_with_is_found_beforehand(
    folder: Path, monkeypatch: pytest.MonkeyPatch, said: str, where: str, detail: str
) -> None:
    monkeypatch.setattr(check, "elsewhere", no_other_process)
    tail = TAIL.replace("solve=solve", f"solve=solve, learns='self', {said}")
    called = tried(folder, GOOD, "--json", tail=tail)
    found: dict[str, Any] = {each["check"]: each for each in called.json["checks"]}
    assert (called.code, found[where]["ok"]) == (1, False)
    assert detail in found[where]["detail"]


@pytest.fixture(scope="module")
def elsewhere() -> Elsewhere:
    """What all our policies come to in other processes, whichever of them ran before in the same one."""
    theirs = {
        (name, seed): digests
        for seed in HASH_SEEDS
        for name, digests in zip(POLICIES, digests_elsewhere([*POLICIES], seed), strict=True)
    }
    return lambda name, seed, case: theirs[name, seed]


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_every_policy_of_ours_passes(
    elsewhere: Elsewhere,
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    name: str,
) -> None:
    monkeypatch.setattr(check, "elsewhere", elsewhere)
    called = call("policies", "check", name, "--json")
    assert called.code == 0, called.out
    assert called.json["ok"]
    assert len(called.json["checks"]) == 9 + (POLICIES[name].learns != "none")


@pytest.mark.parametrize("said", ["", "roles=('reasner',), "])
def test_a_role_that_is_asked_and_not_declared(folder: Path, said: str) -> None:
    called = tried(folder, GOOD, "--json", tail=TAIL.replace('roles=("reasoner",), ', said))
    assert called.code == 1
    (wrong,) = [each for each in called.json["checks"] if not each["ok"]]
    assert (wrong["check"], wrong["address"]) == ("roles", "0")
    assert wrong["detail"].startswith("asks the role 'reasoner'; Policy(roles=...) declares ")


def test_roles_that_are_none(folder: Path) -> None:
    called = tried(folder, GOOD, tail=TAIL.replace('roles=("reasoner",)', 'roles="reasoner"'))
    assert called.code == 2
    assert "mine.py:MINE: roles: expected a tuple of texts, found 'reasoner'" in called.err


@pytest.mark.parametrize("name", ["nope", "absent.py:MINE", "mine.py:OTHER", "mine.py:solve"])
def test_no_such_policy(folder: Path, name: str) -> None:
    (folder / "mine.py").write_text(HEAD + GOOD + TAIL)
    called = call("policies", "check", name)
    assert called.code == 2
    assert "[policy.unknown, exit 2]" in called.err


def test_list(folder: Path) -> None:
    rows = {row["name"]: row for row in call("policies", "list", "--json").rows}
    assert rows.keys() >= set(POLICIES)
    assert rows["mc2"]["learns"] == "self"
    assert rows["mc2"]["settings"]["lessons_per_batch"] == {
        "service": 10,
        "paper": None,
        "learning": True,
    }
    text = call("policies", "list").out
    assert "cot@2  one chain of thought; learns nothing" in text
    assert "    output_cap = 8192   paper: null" in text
