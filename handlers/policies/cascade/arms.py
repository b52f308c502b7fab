"""What may be tried after the first chains: one chain more, a check, guidance, a small search, a stronger model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from handlers.policies import facts
from handlers.policies.around import unlearned
from handlers.policies.baselines.chain import CHAIN, think
from handlers.policies.cascade.settings import STRONG, ArmName
from handlers.policies.cascade.working import Attempt, Opinion, Work
from handlers.policies.cot2_meta import COT2_META
from handlers.policies.mc2.guide import lesson_blocks, rule_lines
from handlers.roles.monitor import MONITOR, report_of
from handlers.roles.reasoner import ONCE
from handlers.roles.role import RoleReply
from schemas.asking import All, OutOfLimit, Steps, Stopped
from schemas.events.graph import ExperienceShown
from schemas.events.reasoning import MonitorReported
from schemas.questions import Remain

ASKED_STRONG = replace(CHAIN, name=STRONG)
"""The same chain of thought, by another model."""
AVOID = "Do not repeat this fault, which a check found in the earlier attempt: {fault}"
"""What the Monitor says is a finding; the section that it goes into holds what is to be done."""


def offered(work: Work) -> Steps[tuple[ArmName, ...]]:
    """The arms that are left, that have something to go on, and that the limit covers."""
    left = (yield from Remain()).calls
    return tuple(
        arm
        for arm in work.settings.means
        if _has_grounds(work, arm)
        and (left is None or (work.settings.calls(arm) or work.to_turn) <= left)
    )


def _has_grounds(work: Work, arm: ArmName) -> bool:
    # Only chains may be drawn again and again: the same check of the same
    # trajectory finds the same.
    match arm:
        case "more":
            return len(work.chains) + work.to_turn <= work.settings.most_samples
        case "guided":
            return bool(work.guidance) and arm not in work.tried
        case "check":
            return work.leading is not None and arm not in work.tried
        case _:
            return arm not in work.tried


def pull(work: Work, arm: ArmName) -> Steps[str | None]:
    """Try an arm. The answer that it stands for; none where it gave none, and for chains, which vote."""
    work.tried.add(arm)
    match arm:
        case "more":
            yield from draw(work, work.to_turn)
            return None
        case "check":
            came = yield from check(work)
        case "guided":
            came = yield from guided(work)
        case "search":
            came = yield from search(work)
        case "strong":
            said = yield from ASKED_STRONG.put(
                {"problem": work.task.stated}, sampling=work.settings.sampling
            )
            came = yield from generated(work, said, STRONG)
    if came is not None:
        work.opinions.append(Opinion(arm, came))
    return came


def draw(work: Work, count: int) -> Steps[None]:
    """So many chains more, side by side. Raises ``OutOfLimit`` where a limit kept one from being drawn."""
    first = len(work.chains)
    lanes = [think(work.task.stated, work.settings.sampling, first + at) for at in range(count)]
    said = yield from All(lanes)
    # What was drawn counts before the limit is raised: the answer at the limit is the best so far.
    work.chains += [Attempt(one.answer, one.text) for one in said if not isinstance(one, Stopped)]
    stopped = next((lane for lane in said if isinstance(lane, Stopped)), None)
    if stopped is not None:
        raise OutOfLimit(stopped.which)


def check(work: Work) -> Steps[str | None]:
    """A Monitor goes through the leading trajectory; what it finds wrong goes into a fresh attempt.

    A report that cannot be read speaks neither for the answer nor against it. Source: MC² eq. (5).
    """
    # What leads may be an opinion without a trajectory that could be gone through.
    leading = work.leading
    if leading is None or leading.answer is None:
        return None
    said = yield from MONITOR.put(
        {
            "problem": work.task.posed,
            "candidate": leading.answer,
            "trajectory": leading.text,
        },
        sampling=work.settings.sampling,
    )
    report = report_of(said.text, readable=said.readable)
    yield MonitorReported(
        round=work.rounds,
        flag=report.flag,
        step=report.step,
        source=said.source,
        parse=said.parse,
    )
    if report.flag != "YES":
        return leading.answer if report.flag == "NO" else None
    fault = report.description or report.explanation or "it did not say which"
    again = yield from ONCE.put(
        {"problem": work.task.stated, "advice": AVOID.format(fault=fault)},
        sampling=work.settings.sampling,
    )
    return (yield from generated(work, again))


def guided(work: Work) -> Steps[str | None]:
    """A chain that is given rules or principles, and the lessons of similar problems.

    Source: MC² eq. (13), without a composer.
    """
    rules = [item for item in work.guidance if item.kind == "rule"]
    lessons = [item for item in work.guidance if item.kind == "lesson"]
    yield ExperienceShown(
        sort="reasoner",
        items=tuple(item.id for item in (*rules, *lessons)),
        # Rules go to every problem: nobody asked how much like it they are.
        scores=() if rules else tuple(item.similarity or 0.0 for item in lessons),
    )
    texts = filter(None, (rule_lines(rules), lesson_blocks(lessons)))
    said = yield from ONCE.put(
        {"problem": work.task.stated, "guidance": "\n\n".join(texts)},
        sampling=work.settings.sampling,
    )
    return (yield from generated(work, said))


def search(work: Work) -> Steps[str | None]:
    """CoT2-Meta under a limit of its own; what it spends of it comes from the episode's."""
    calls = work.settings.search_calls
    # In a lane of its own, whose allowance bounds it, and without what its scope learned:
    # this scope's memory is the cascade's. A vote after an abstention would only repeat the
    # chains that are there.
    values: dict[str, Any] = {"primary_calls": calls, "fallback_samples": 0}
    own = COT2_META.resolve("service", values)
    steps = unlearned(COT2_META.solve(work.task, own))
    (ended,) = yield from All([steps], allow=[calls])
    return None if isinstance(ended, Stopped) else ended.answer


def generated(work: Work, said: RoleReply, role: str = "reasoner") -> Steps[str | None]:
    """State a trajectory with its answer."""
    yield facts.generated(said, work.rounds, role)
    return said.answer
