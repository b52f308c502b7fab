"""Worlds of mechanisms whose truth is set by hand: repairs, grades, failures, arms, samples, actions, feelings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import comb
from statistics import fmean
from types import SimpleNamespace
from typing import Any

from schemas.events.base import Event
from schemas.events.episode import Completed
from schemas.events.monitoring import ExperienceFelt
from schemas.events.reasoning import ControllerActed, Generated
from schemas.events.search import (
    Grown,
    NodeExpanded,
    NodePruned,
    NodeRepaired,
    OracleScored,
    SearchDecided,
)
from schemas.events.strategy import RewardJudged, StrategyChosen
from schemas.outcome import Outcome
from schemas.usage import Usage
from streams.research.analysis.cases import Case
from tests.streams.bench.test_spreads import alike
from tests.streams.bench.worlds import case, grown

WORLDS, PROBLEMS, MANY = 400, 60, 240
"""Problems of a world, and of one whose failures of each class are to be some."""
Draw = Callable[[], float]
Made = Callable[[str, Draw], Case]
World = tuple[Made, Mapping[str, float]]


def graded(one: Case) -> Case:
    """The same, by a grader that is quick: reading a number takes most of a world's time."""
    return replace(one, grade=alike)


def repairing(problem: str, draw: Draw) -> Case:
    """One to three repairs; two of five were right before, of which one in five is lost, half of the rest saved."""
    saved, events = 0.3 if draw() < 0.5 else 0.7, list[Event]()
    for at in range(1 + int(3 * draw())):
        before = draw() < 0.4
        after = draw() >= 0.2 if before else draw() < saved
        old, new = ("24" if right else "25" for right in (before, after))
        events += grown((f"1.{at}.0", old, 0.4))
        events.append(Generated(answer=new, source=f"2.{at}.0"))
        events.append(
            NodeRepaired(
                round=0, node=f"1.{at}.0", into=f"2.{at}.0", parent="opened", step=1, depth=1,
                before=0.4, value=0.8,
            )
        )  # fmt: skip
    return graded(case(problem, "right", events, reference="24", answer="24"))


GRADES = {"A": (0.5, 0.9), "B": (0.3, 0.6), "C": (0.2, 0.3)}
"""How often each grade is given, and how often it is right."""


def marked(problem: str, draw: Draw) -> Case:
    """A case of grade A, B or C."""
    drawn = draw()
    letter = "A" if drawn < 0.5 else "B" if drawn < 0.8 else "C"
    last: Any = "restart" if letter == "C" else "accept"
    actions: list[Any] = [last] if letter == "A" else ["restart", last]
    events: list[Event] = [
        ControllerActed(round=at, action=action, source=str(at))
        for at, action in enumerate(actions)
    ]
    ended_by = "max_rounds" if letter == "C" else "accepted"
    right = draw() < GRADES[letter][1]
    return case(problem, "right" if right else "wrong", events, ended_by=ended_by)


def rho_of_grades() -> float:
    """Pearson's correlation of middle ranks, of the grades and outcomes as they are drawn."""
    right = sum(share * chance for share, chance in GRADES.values())
    below = {"C": 0.0, "B": 0.2, "A": 0.5}
    middle = {letter: below[letter] + share / 2 for letter, (share, _) in GRADES.items()}
    both = sum(
        share * (middle[letter] - 0.5) * (chance - right)
        for letter, (share, chance) in GRADES.items()
    )
    spread = sum(share * (middle[letter] - 0.5) ** 2 for letter, (share, _) in GRADES.items())
    return float(both / (spread * right * (1 - right)) ** 0.5)


WORDS = ("alpha", "beta", "gamma", "delta")


def worded(problem: str, draw: Draw) -> Case:
    """An answer of some of a reference's four words; one in five has none of them."""
    count = int(5 * draw())
    said = " ".join(WORDS[:count]) or "omega"
    one = case(problem, "wrong", reference=" ".join(WORDS), answer=said)
    return replace(one, problem=one.problem.model_copy(update={"dataset": "hotpotqa"}))


F1 = fmean(2 * count / (count + 4) for count in range(5))
CLASSES = {"F1": 0.15, "F2": 0.2, "F3": 0.2, "F4": 0.25, "unclassified": 0.1}
"""How often a failure is of each class; the others are of none that is known."""


def failing(problem: str, draw: Draw) -> Case:
    """Right every second time; else of a class, at 6 to 14 calls."""
    if draw() < 0.5:
        return case(problem, "right")
    drawn, left, name = draw(), 0.0, None
    for each, share in CLASSES.items():
        left += share
        if name is None and drawn < left:
            name = each
    worth = 0.9 if name == "F2" else 0.4
    events = grown(("1.0.0", "25", worth), ("1.1.0", "24", 0.5))
    calls = Usage(calls=6 + int(9 * draw()))
    lost = case(problem, "wrong", events, reference="24", answer="25", usage=calls)
    return graded(replace(lost, failed_as=name))


def pulled(problem: str, *pulls: tuple[str, float | None]) -> Case:
    """A first round without advice, then these: arm and reward."""
    events: list[Event] = [RewardJudged(round=0, reward=1.0, steps=1, source="1")]
    for at, (arm, reward) in enumerate(pulls, 1):
        events.append(StrategyChosen(round=at, arm=arm, how="ucb"))
        events.append(RewardJudged(round=at, arm=arm, reward=reward, steps=at, source="1"))
    return case(problem, events=events)


ARMS = {"a": (0.5, 0.7), "b": (0.3, 0.4), "c": (0.2, 0.3)}
"""How often each arm is pulled, and its mean reward."""


def choosing(problem: str, draw: Draw) -> Case:
    """One to four pulls, whose rewards lie around their arm's mean and what the problem adds to it."""
    more, pulls = 0.4 * draw() - 0.2, list[tuple[str, float | None]]()
    for _ in range(1 + int(4 * draw())):
        drawn = draw()
        arm = "a" if drawn < 0.5 else "b" if drawn < 0.8 else "c"
        pulls.append((arm, ARMS[arm][1] + more + 0.2 * draw() - 0.1))
    return pulled(problem, *pulls)


REGRET = 0.7 - sum(share * mean for share, mean in ARMS.values())


def sampled(n: int, *chances: float) -> Made:
    """So many samples, of which as many are right as these chances say, drawn for the problem."""

    def made(problem: str, draw: Draw) -> Case:
        chance = chances[int(len(chances) * draw())]
        said = ["24" if draw() < chance else "25" for _ in range(n)]
        events: list[Event] = [
            Generated(answer=each, source=str(at)) for at, each in enumerate(said)
        ]
        return graded(case(problem, "right", events, reference="24", answer="24"))

    return made


def voted(n: int, chance: float) -> float:
    """How often the vote of n samples is right; a tie is decided by the first, which is either."""

    def often(right: int) -> float:
        return float(comb(n, right) * chance**right * (1 - chance) ** (n - right))

    more = sum(often(right) for right in range(n + 1) if 2 * right > n)
    return more + (often(n // 2) / 2 if n % 2 == 0 else 0.0)


def acting(depth: int) -> Made:
    """One to three nodes at a depth, each gone on with, pruned or repaired; every second search stops there."""

    def made(problem: str, draw: Draw) -> Case:
        names = [f"1.{at}.0" for at in range(1 + int(3 * draw()))]
        children = tuple(Grown(node=name, strategy="direct", depth=depth) for name in names)
        events: list[Event] = [NodeExpanded(round=0, node="opened", children=children)]
        for at, name in enumerate(names):
            drawn = draw()
            if drawn < 0.5:
                events.append(NodeExpanded(round=1, node=name, children=()))
            elif drawn < 0.8:
                events.append(NodePruned(round=1, node=name, value=0.1))
            else:
                events.append(
                    NodeRepaired(
                        round=1, node=name, into=f"2.{at}.0", parent="opened", step=1, depth=depth,
                        before=0.4, value=0.8,
                    )
                )  # fmt: skip
        if draw() < 0.5:
            events.append(SearchDecided(action="stop", node=names[0], calls=1))
        return case(problem, "wrong", events)

    return made


TAKEN = {"expand": 1.0, "prune": 0.6, "repair": 0.4, "stop": 0.5}
"""How many of each action there are at that depth, beside the root's own expansion at depth 0."""


def at_depth(depth: int) -> dict[str, float]:
    root = depth == 0
    shares = {
        name: 100 * (count + (root and name == "expand")) / (2.5 + root)
        for name, count in TAKEN.items()
    }
    here = {f"act_{name}_at_{depth}": share for name, share in shares.items()}
    return here | ({f"act_{name}": share for name, share in shares.items()} if root else {})


def ending(problem: str, draw: Draw) -> Case:
    """A search that ends right by itself or by a repair, wrong with a right answer pruned or without, or withheld."""
    drawn = draw()
    events = grown(("1.0.0", "24" if drawn >= 0.6 else "25", 0.4))
    said, ended = "24", "1.0.0"
    outcome: Outcome = "right"
    if drawn < 0.2:
        said, outcome = "25", "wrong"
    elif drawn < 0.35:
        return graded(case(problem, "withheld", events))
    elif drawn < 0.6:
        events.append(Generated(answer="24", source="2.0.0"))
        events.append(
            NodeRepaired(
                round=0, node="1.0.0", into="2.0.0", parent="opened", step=1, depth=1, before=0.4, value=0.8
            )
        )  # fmt: skip
        ended = "2.0.0"
    elif drawn < 0.75:
        events.append(NodePruned(round=0, node="1.0.0", value=0.1))
        said, outcome = "25", "wrong"
    events.append(SearchDecided(action="stop", node=ended, calls=1))
    return graded(case(problem, outcome, events, reference="24", answer=said))


FLOWS = {"incorrect": 20, "abstained": 15, "repaired": 25, "over_pruned": 15, "correct": 25}


def guided(batch: int) -> Made:
    """Guidance of a batch, which is nearer to its own question than to another."""

    def made(problem: str, draw: Draw) -> Case:
        one = case(problem, "right")
        opened: Any = SimpleNamespace(memory_version=batch - 1)
        return replace(one, opened=opened, fits=(0.4 + 0.4 * draw(), 0.1 + 0.4 * draw()))

    return made


def audited(problem: str, draw: Draw) -> Case:
    """One to three audited prunes, of which easy problems lose more; the relaxed run is better, worse or alike."""
    lost = 0.2 if draw() < 0.5 else 0.4
    spared = tuple(draw() < lost for _ in range(1 + int(3 * draw())))
    return replace(
        case(problem, "wrong"), spared=spared, gap=float(int(4 * draw()) > 1) - (draw() < 0.2)
    )


def judged(problem: str, draw: Draw) -> Case:
    """Two to four calls of a judge at 1 to 3 thousandths, beside one of another role that is dearer."""
    events: list[Event] = [
        Completed(asked="complete step x", text="t", finish="stop", model="m", cost=9.0)
    ]
    for _ in range(2 + int(3 * draw())):
        cost = 0.001 + 0.002 * draw()
        events.append(
            Completed(asked="complete judge x", text="t", finish="stop", model="m", cost=cost)
        )
    return case(problem, events=events)


def read_again(problem: str, draw: Draw) -> Case:
    """Three readings of an oracle: at once, after the re-prompt or by default."""
    bad, events = 0.1 if draw() < 0.5 else 0.5, list[Event]()
    for _ in range(3):
        drawn = draw()
        parse: Any = "recovered" if drawn < bad else "defaulted" if drawn < bad + 0.2 else "first"
        events.append(
            OracleScored(node="1.0.0", steps=(), rewards=(), value=0.5, source="1", parse=parse)
        )
    return case(problem, events=events)


def confident(values: Sequence[tuple[float, float]]) -> Made:
    """One of these confidences, each right as often as stands beside it."""

    def made(problem: str, draw: Draw) -> Case:
        confidence, chance = values[int(len(values) * draw())]
        right = draw() < chance
        return case(
            problem, "right" if right else "wrong", confidence=confidence, confidence_source="stated"
        )  # fmt: skip

    return made


def leaning(by: Callable[[float], float]) -> Made:
    """Any confidence, right as often as this says of it."""

    def made(problem: str, draw: Draw) -> Case:
        confidence = draw()
        right = draw() < by(confidence)
        return case(
            problem, "right" if right else "wrong", confidence=confidence, confidence_source="stated"
        )  # fmt: skip

    return made


def feeling(experience: Any, *, of_wrong: bool = False) -> Made:
    """A feeling of .2, .5 or .8, which comes true less often than it says."""

    def made(problem: str, draw: Draw) -> Case:
        said = (0.2, 0.5, 0.8)[int(3 * draw())]
        true = draw() < said / 2
        event = ExperienceFelt(experience=experience, source="assess", value=said, round=0)
        return case(problem, "right" if true is not of_wrong else "wrong", [event])

    return made


VOTES = ((0.4, 0.2), (0.6, 0.35), (0.8, 0.5), (1.0, 0.8))
"""Shares of votes, and how often such a vote is right: all too sure of themselves."""
