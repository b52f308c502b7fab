"""The cascade: a few cheap chains, then whatever is expected to gain more than it costs, until nothing is.

It composes the systems: difficulty is felt as in MGV, agreement and a learned chance say when an answer is enough
(CoT2-Meta's stop), a contextual bandit chooses what else to try (Meta-Reasoner), among it a check by a Monitor
and guidance by lessons (MC²), and a small tree of thoughts (CoT2-Meta).
"""

from __future__ import annotations

from collections.abc import Sequence

from handlers.learning.cascade import expected_reward
from handlers.learning.likeness import likeness_of
from handlers.policies.around import through
from handlers.policies.base import Conclusion, Task
from handlers.policies.cascade.arms import draw, offered, pull
from handlers.policies.cascade.settings import ArmName, CascadeSettings, constants
from handlers.policies.cascade.working import Spending, Work
from handlers.policies.mgv.knowledge import knowledge_of
from handlers.policies.mgv.signals import ease
from schemas.asking import OutOfLimit, Steps
from schemas.events.monitoring import ExperienceFelt
from schemas.events.strategy import How, StrategyChosen
from schemas.identity import hash01
from schemas.questions import Embed, Recall, Recollection
from schemas.vectors import pack

EXTREME = 0.05
"""No problem feels easier or harder than that: a feeling makes nothing certain."""
CONFIDENCE = "estimate"
"""Where the confidence comes from: what agreement and other witnesses let expect."""


def solve(task: Task, settings: CascadeSettings) -> Steps[Conclusion]:
    """The leading answer once nothing more is worth its price, or once a limit ends it."""
    work = yield from begin(task, settings)
    limit: str | None = None
    try:
        yield from through(draw(work, settings.first), watch=work.spending)
        yield work.stated(None, None)
        ended = yield from escalate(work)
    except OutOfLimit as reached:
        # Chains may have come in since the last weighing; the answer rests on all of them.
        work.weigh()
        ended, limit = "limit", reached.which
    return concluded(work, ended, limit)


def begin(task: Task, settings: CascadeSettings) -> Steps[Work]:
    """What the memory version knows, and how difficult the problem feels. Source: MGV Algorithm 1 line 6."""
    # Embedded even with an empty memory: this problem is a case for those that come after it.
    query = (yield from Embed((task.problem,)))[0]
    known = Recollection(0, ())
    warm = settings.warm_start is not None
    if task.memory_version > 0 or warm:
        guides = "guided" in settings.means
        kinds = ("rule", "lesson") if warm else ("lesson",)
        known = yield from Recall(
            task.posed,
            roles=("reasoner",) if guides else (),
            top=settings.lessons_shown,
            kinds=kinds if guides else (),
            exclude=task.subject,
            related=True,
        )
    difficulty = yield from feel(task, settings, known, query)
    return Work(task, settings, known.learned, difficulty, Spending(settings), known.items)


def feel(
    task: Task, settings: CascadeSettings, known: Recollection, query: tuple[float, ...]
) -> Steps[float]:
    """Difficulty in [0, 1]: by how first answers to similar problems turned out, else by the problem's features."""
    knowledge = knowledge_of(known.learned)
    floor = likeness_of(known.embedder).floor
    near = knowledge.vectors.nearest(query, settings.recall_k)
    told = ((similarity, knowledge.by_id[name]["easy"]) for name, similarity in near)
    labelled = [
        (similarity, easy) for similarity, easy in told if similarity >= floor and easy is not None
    ]
    h = knowledge.hardness(task.problem, settings.min_cases)
    felt = ease(labelled, h, EXTREME, "xor")
    value = round(max(EXTREME, 1 - felt.value), 6)
    yield ExperienceFelt(
        experience="difficulty",
        source=felt.source,
        value=value,
        inputs=(("h", h), ("cases", float(len(labelled)))),
        round=0,
        subject=task.subject,
    )
    return value


def escalate(work: Work) -> Steps[str]:
    """Arms, as long as the best of them is expected to gain more than it costs. What ended it."""
    while True:
        arms = yield from offered(work)
        if not arms:
            return "spent"
        scores = scored(work, arms)
        chosen, gain = best(scores)
        how: How = "ucb"
        if gain <= 0:
            # Were only doubtful problems tried further, a regression would know nothing of
            # sure ones, and chains that agree on something wrong would never be found out.
            # More chains cannot tell.
            others = [each for each in scores if each[0] != "more"]
            if not others or not audited(work):
                return "enough"
            chosen, how = best(others)[0], "explore"
        yield StrategyChosen(round=work.rounds, arm=chosen, how=how, scores=scores)
        came = yield from through(pull(work, chosen), watch=work.spending)
        yield work.stated(chosen, came)


def scored(work: Work, arms: Sequence[ArmName]) -> tuple[tuple[ArmName, float], ...]:
    """What each arm is expected to gain less its price: beforehand, and as its regression corrects it."""
    context = work.context()
    pinned = constants(work.settings)
    learned = dict(work.bandit.scores(pack(context)))
    return tuple(
        (
            arm,
            round(
                expected_reward(arm, context, work.margin, pinned, work.raises)
                + learned.get(arm, 0.0),
                9,
            ),
        )
        for arm in arms
    )


def best(scores: Sequence[tuple[ArmName, float]]) -> tuple[ArmName, float]:
    """The arm with the highest score; of equals the one that is named first."""
    return max(scores, key=lambda score: score[1])


def audited(work: Work) -> bool:
    """Whether something is tried although nothing speaks for it: on a drawn share of the problems, once."""
    drawn = hash01(work.task.seed, "audit", work.task.subject) < work.settings.audit
    return drawn and not work.opinions


def concluded(work: Work, ended: str, limit: str | None) -> Conclusion:
    """The leading answer, unless what it costs when wrong weighs more than what it is worth when right."""
    lead = work.lead
    withheld = lead.chance < (1 - lead.chance) * work.settings.wrong_costs
    if lead.answer is None or withheld:
        return Conclusion(answer=None, ended_by="withheld" if lead.answer else ended, limit=limit)
    return Conclusion(
        answer=lead.answer,
        ended_by=ended,
        confidence=round(lead.chance, 6),
        confidence_source=CONFIDENCE,
        limit=limit,
    )
