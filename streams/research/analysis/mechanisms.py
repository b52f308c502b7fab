"""Measures of mechanisms: decisions, repairs, arms, feelings, replies.

What nobody can judge is an unknown unit of its figure: counted, and in no share.

Source: MC² figure 3, table 4; CoT2-Meta tables 15, 19, 25; Meta-Reasoner figure 3, table 7; MGV App. A, B.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import fsum

from handlers.policies.cot2_meta.diagnose import Repairs, misjudged, repairs
from handlers.policies.cot2_meta.trace import tree_of
from handlers.policies.mc2.orchestrate import GRADE_VALUE
from handlers.policies.mc2.reflect import Grade, grade_of
from schemas.events.episode import Completed
from schemas.events.monitoring import ExperienceFelt
from schemas.events.reasoning import ControllerActed, Generated, KnowledgeReached
from schemas.events.search import OracleScored
from schemas.events.strategy import RewardJudged, StrategyChosen
from streams.research.analysis.calibrated import Stated
from streams.research.analysis.cases import RIGHT, Case, role_of
from streams.research.analysis.found import Cases, Found, Measure, Unit, Units, each, mean_of
from streams.research.analysis.measures import area, calibration
from streams.research.analysis.statistics import left_out, spearman

# ── Decisions ────────────────────────────────────────────────────────────────────────────────


def actions(case: Case) -> list[str]:
    """What the Controller did, round by round."""
    return [event.action for _, event in case.trace.events if isinstance(event, ControllerActed)]


def restarts(cases: Cases) -> Iterator[Unit]:
    """Each decision of a Controller: whether it was to restart. Source: MC² figure 3."""
    for case in cases:
        yield from (Unit(case.about, act == "restart") for act in actions(case))


def restarted(cases: Cases) -> Iterator[Unit]:
    """Each episode with a Controller: whether it restarted."""
    for case in cases:
        if found := actions(case):
            yield Unit(case.about, "restart" in found)


def grade(case: Case) -> str | None:
    """A, B or C of an episode with a Controller."""
    found = actions(case)
    # Which grade a patch earns is a setting of the policy. The record does not name it, and the
    # confidence that it closed with tells.
    patch: Grade = "B" if case.closed.confidence == GRADE_VALUE["B"] else "A"
    return grade_of(len(found), case.closed.ended_by, patch=patch) if found else None


def graded_a(cases: Cases) -> Iterator[Unit]:
    """Each episode with a grade: whether that is A."""
    for case in cases:
        if (found := grade(case)) is not None:
            yield Unit(case.about, found == "A")


def right_of(letter: str) -> Units:
    """Each episode of a grade: whether it is right."""
    return lambda cases: (
        Unit(case.about, RIGHT.get(case.outcome)) for case in cases if grade(case) == letter
    )


def grade_and_outcome(cases: Cases) -> Found:
    """Spearman's correlation of grade and outcome."""
    worth = {"A": 2.0, "B": 1.0, "C": 0.0}
    graded = [(c.about, worth[g], RIGHT.get(c.outcome)) for c in cases if (g := grade(c))]
    known = [(problem, a, float(b)) for problem, a, b in graded if b is not None]
    # A correlation is no mean of anything; what each
    # problem is worth to it is found by leaving it out.
    worths = left_out(known, _rho) or ()
    units = tuple(Unit(problem, value) for (problem, *_), value in zip(known, worths, strict=False))
    return Found(_rho(known), len(known), len(graded) - len(known), worth=units)


def _rho(pairs: Sequence[tuple[str, float, float]]) -> float | None:
    if len(pairs) < 2:
        return None
    return spearman([grade for _, grade, _ in pairs], [right for *_, right in pairs])


FITTED = range(2, 11)
"""Batches whose guidance has a figure of its own: the first has none. Source: MC² figure 6."""


def fit(side: int, batch: int | None = None) -> Units:
    """Each guided episode: its question's cosine to its own guidance, or to another's of its batch."""
    return lambda cases: (
        Unit(case.about, case.fits[side])
        for case in cases
        if case.fits is not None and batch in (None, case.opened.memory_version + 1)
    )


# ── Trees ────────────────────────────────────────────────────────────────────────────────────


def _repaired(pick: Callable[[Repairs], tuple[int, int]]) -> Units:
    def units(cases: Cases) -> Iterator[Unit]:
        for case in cases:
            found = repairs(tree_of(case.trace), case.judged)
            hits, count = pick(found)
            yield from (Unit(case.about, float(at < hits)) for at in range(count))
            yield from (Unit(case.about, None) for _ in range(found.unknown))

    return units


rescued = _repaired(lambda found: (found.rescued, found.wrong_before))
"""Each repair of a wrong trajectory: whether that made it right."""
hurt = _repaired(lambda found: (found.hurt, found.right_before))
"""Each repair of a right trajectory: whether that made it wrong."""


def net_repairs(cases: Cases) -> Found:
    """Rescued less hurt."""
    mended = [(case, repairs(tree_of(case.trace), case.judged)) for case in cases]
    found = sum((one for _, one in mended), Repairs())
    judged = found.wrong_before + found.right_before
    worth = tuple(Unit(case.about, float(one.net)) for case, one in mended)
    return Found(float(found.net), judged, found.unknown, worth=worth)


def parsed(name: str) -> Units:
    """Each reading of an oracle's reply: whether it came in this way. Source: CoT2-Meta table 25."""

    def units(cases: Cases) -> Iterator[Unit]:
        for case in cases:
            if any(isinstance(event, OracleScored) for _, event in case.trace.events):
                for how, count in tree_of(case.trace).parses.items():
                    yield from (Unit(case.about, how == name) for _ in range(count))

    return units


def misjudgements(cases: Cases) -> Iterator[Unit]:
    """F2: each wrong episode, whether a wrong leaf's process value exceeds a right one's."""
    for case in cases:
        if case.outcome in ("wrong", "withheld"):
            yield Unit(case.about, misjudged(tree_of(case.trace), case.judged))


# ── Failures ─────────────────────────────────────────────────────────────────────────────────

CLASSES = ("F1", "F2", "F3", "F4", "unclassified")
LOST = ("wrong", "withheld")


def failed(name: str) -> Units:
    """Each wrong episode: whether this is what its search failed by. Source: CoT2-Meta table 15."""
    if name == "F2":
        return misjudgements  # comes first: neither shadow runs nor baselines are needed for it
    return lambda cases: (
        Unit(case.about, None if case.failed_as is None else case.failed_as == name)
        for case in cases
        if case.outcome in LOST
    )


def classed(cases: Cases) -> Iterator[Unit]:
    """Each wrong episode: whether it is known what its search failed by."""
    for case in cases:
        if case.outcome in LOST:
            yield Unit(case.about, case.failed_as is not None)


def failures(name: str | None = None) -> Measure:
    """How many wrong episodes there are, or how many of a class."""

    def measured(cases: Cases) -> Found:
        every = each(lambda c: None if c.outcome == "unknown" else float(c.outcome in LOST))
        units = [*(failed(name) if name else every)(cases)]
        known = [unit.value for unit in units if unit.value is not None]
        sure = cases and (known or not units)  # of no failure, none is of any class
        others = (Unit(case.about, 0.0) for case in cases if name and case.outcome == "right")
        found = fsum(known) if sure else None
        return Found(found, len(known), len(units) - len(known), worth=(*units, *others))

    return measured


def calls_of_failures(name: str | None = None) -> Units:
    """Each wrong episode, or each of a class: the calls that it took."""
    return lambda cases: (
        Unit(case.about, case.closed.usage.calls)
        for case in cases
        if case.outcome in LOST and name in (None, case.failed_as)
    )


# ── Arms ─────────────────────────────────────────────────────────────────────────────────────


def pulls(case: Case) -> list[tuple[str, float | None]]:
    """Each choice of an arm, by the arm that was meant, with what its round brought."""
    events = [event for _, event in case.trace.events]
    judged = {e.round: e.reward for e in events if isinstance(e, RewardJudged)}
    return [
        (case.arms.get(event.arm, event.arm), judged.get(event.round))
        for event in events
        if isinstance(event, StrategyChosen) and event.arm is not None
    ]


def strategies(cases: Cases) -> Found:
    """Arms that were pulled at least once, over all episodes: #US of Meta-Reasoner table 7."""
    found = [arm for case in cases for arm, _ in pulls(case)]
    return Found(float(len(set(found))) if found else None, len(found))


def reward_of_pulls(cases: Cases) -> Iterator[Unit]:
    """Each pull with its reward; the first round pulls no arm. Source: Meta-Reasoner figure 3."""
    for case in cases:
        yield from (Unit(case.about, reward) for _, reward in advised(case))


REWARD = mean_of("reward of a round with advice", reward_of_pulls, 3)


def regret(cases: Cases) -> Found:
    """How much less a pull brought than the best arm's mean, over the pulls whose reward is known.

    What other arms would have brought in its place is unknown: this is the regret against the mean of the best.
    """
    taken = [(case.about, *pull) for case in cases for pull in pulls(case)]
    sure = [(problem, arm, reward) for problem, arm, reward in taken if reward is not None]
    if not sure:
        return Found(None, 0, len(taken))
    # By the arm that was meant, over all episodes: an
    # arm that was proposed anew each time is still one.
    means = mean_by_arm([(arm, reward) for _, arm, reward in sure])
    best = max(means, key=lambda arm: means[arm])
    often = len(sure) / sum(arm == best for _, arm, _ in sure)
    worth = tuple(  # the best arm's mean is moved by its own pulls alone
        Unit(problem, means[best] - reward + (often * (reward - means[best]) if arm == best else 0))
        for problem, arm, reward in sure
    )
    found = means[best] - fsum(reward for *_, reward in sure) / len(sure)
    return Found(found, len(sure), len(taken) - len(sure), worth=worth)


def mean_by_arm(pulled: Sequence[tuple[str, float]]) -> dict[str, float]:
    """The mean reward of each arm, in the order of their names."""
    rewards: dict[str, list[float]] = {}
    for arm, reward in pulled:
        rewards.setdefault(arm, []).append(reward)
    return {arm: sum(found) / len(found) for arm, found in sorted(rewards.items())}


def advised(case: Case) -> list[tuple[int, float | None]]:
    """Rounds with advice of any kind, listed or free, each with its reward."""
    events = [event for _, event in case.trace.events]
    judged = {e.round: e.reward for e in events if isinstance(e, RewardJudged)}
    return [(e.round, judged.get(e.round)) for e in events if isinstance(e, StrategyChosen)]


def recovered(cases: Cases) -> Iterator[Unit]:
    """Each episode whose first answer was wrong: whether it ended right."""
    for case in cases:
        said = (event.answer for _, event in case.trace.events if isinstance(event, Generated))
        first = next((answer for answer in said if answer is not None), None)
        # One that nobody can judge may have been wrong: it is counted as unknown, and not left out.
        if first is not None and (right := case.judged(first)) is not True:
            yield Unit(case.about, None if right is None else RIGHT.get(case.outcome))


# ── Feelings ─────────────────────────────────────────────────────────────────────────────────


def felt(kind: str, *, last: bool = False, of_wrong: bool = False) -> Measure:
    """How well a feeling tells right answers from wrong ones: the first of its kind, before any attempt.

    Over what was answered: a withheld answer would be wrong because the feeling was low, by the policy's
    own rule. ``last``: of a judgement of what was done. ``of_wrong``: what is high where it will go wrong.
    """

    def measured(cases: Cases) -> Found:
        felt_of, unknown = _felt(cases, kind, last=last, of_wrong=of_wrong)
        return area(felt_of, unknown)

    return measured


def felt_error(kind: str, *, last: bool = False, of_wrong: bool = False) -> Measure:
    """The calibration error of a feeling, over the same answers."""

    def measured(cases: Cases) -> Found:
        felt_of, unknown = _felt(cases, kind, last=last, of_wrong=of_wrong)
        return calibration(felt_of, unknown)

    return measured


def _felt(cases: Cases, kind: str, *, last: bool, of_wrong: bool) -> tuple[list[Stated], int]:
    """Problem, feeling and whether it came as it says, of what was answered; how many nobody could grade."""
    items: list[Stated] = []
    unknown = 0
    for case in cases:
        events = (event for _, event in case.trace.events)
        found = [e.value for e in events if isinstance(e, ExperienceFelt) and e.experience == kind]
        value = found[-1 if last else 0] if found else None
        if value is None:
            continue
        if case.outcome not in ("right", "wrong"):
            unknown += 1
        else:
            items.append((case.about, value, (case.outcome == "wrong") is of_wrong))
    return items, unknown


# ── Replies ──────────────────────────────────────────────────────────────────────────────────


def _replies(cases: Cases) -> Iterator[tuple[Case, Completed]]:
    for case in cases:
        for _, event in case.trace.events:
            # What a fork took over from its parent was asked once, and is counted there.
            if isinstance(event, Completed) and not event.reused:
                yield case, event


def cost_of(role: str) -> Units:
    """Each reply of a role: what a thousand such calls cost; unknown where nobody gave a price."""
    return lambda cases: (
        Unit(case.about, None if reply.cost is None else 1_000 * reply.cost)
        for case, reply in _replies(cases)
        if role_of(reply) == role
    )


def cut_off(cases: Cases) -> Iterator[Unit]:
    """Each reply: whether its length cut it off; unknown where the server does not say how it ended."""
    for case, reply in _replies(cases):
        yield Unit(case.about, reply.finish == "length" if reply.finish else None)


def unguided(cases: Cases) -> Iterator[Unit]:
    """Each composed guidance: whether a fallback stands in its place."""
    for case in cases:
        for _, event in case.trace.events:
            if isinstance(event, KnowledgeReached):
                yield Unit(case.about, event.result == "fallback")


def unread(cases: Cases) -> Iterator[Unit]:
    """Each reply that a policy read: whether it could not be read, and a default stands in its place."""
    for case in cases:
        for _, event in case.trace.events:
            # Any fact that says how it was read, of whatever policy:
            # new kinds are counted without being named here.
            parse = getattr(event, "parse", None)
            if isinstance(parse, str):
                yield Unit(case.about, parse in UNREAD)


UNREAD = frozenset({"fallback", "unreadable", "defaulted"})
