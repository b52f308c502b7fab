"""The inner loop: Reasoner, Monitor and Controller take turns until one answer stands.

Source: MC² eq. (4) to (7), Algorithm 1 line 13.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from handlers.answers.alike import alike
from handlers.policies.base import Conclusion, Task
from handlers.policies.mc2.guide import UNCOMPOSED, Guide, recollect
from handlers.policies.mc2.settings import NAMED, Mc2Settings
from handlers.roles.controller import CONTROLLER, FALLBACK, Decision, decision_of, needs_answer
from handlers.roles.excerpt import excerpt
from handlers.roles.monitor import MONITOR, report_of
from handlers.roles.reasoner import ONCE, REASONER
from handlers.roles.role import Check, Role, RoleReply
from schemas.asking import OutOfLimit, Steps
from schemas.events.reasoning import ControllerActed, Generated, MonitorReported, Parse

# ``orchestrate`` is Algorithm 1's inner loop and reads like it; what each role is shown stands
# in ``reason``, ``monitor`` and ``control``. A role gets texts of the round whole, its composer
# only excerpts of them: the role has to find a fault in them, the composer only to see what kind
# of problem it is.

GRADE_VALUE: Mapping[str, float] = {"A": 1.0, "B": 0.5, "C": 0.0}
"""Confidence by grade (source ``value``; ours)."""


@dataclass(slots=True)
class Episode:
    """One problem being worked on: round k, the last report and decision, the answers so far."""

    task: Task
    settings: Mc2Settings
    guide: Guide
    round: int = 0
    advice: str = ""
    feedback: str = ""
    answers: list[str | None] = field(default_factory=list["str | None"])
    judged: bool = False
    """Whether a decision about the last answer could be read."""

    @property
    def unsettled(self) -> float | None:
        """The confidence in an answer that nobody accepted; unknown where nobody judged it, unless set otherwise."""
        return GRADE_VALUE["C"] if self.judged or self.settings.grades_unjudged else None

    @property
    def best(self) -> str | None:
        """The last answer that could be read."""
        return next((answer for answer in reversed(self.answers) if answer is not None), None)

    def ask(
        self,
        role: Role,
        own: Mapping[str, str],
        seen: Mapping[str, str],
        check: Check | None = None,
    ) -> Steps[RoleReply]:
        """A role's reply, after the guidance that its composer makes of ``seen``."""
        if self.settings.composer == "off":
            role = replace(role, template=UNCOMPOSED[role.name].template)
        own_chars = sum(len(text) for _, text in role.question(own).messages())
        guidance = yield from self.guide.note(NAMED[role.name], self.round, own_chars, seen)
        return (
            yield from role.put(
                {**own, "guidance": guidance}, sampling=self.settings.sampling, check=check
            )
        )


def solve(task: Task, settings: Mc2Settings) -> Steps[Conclusion]:
    """An answer, however far the limits let it come."""
    guide = yield from recollect(task, settings)
    episode = Episode(task, settings, guide)
    try:
        if settings.roles == "R":
            return (yield from reason_alone(episode))
        return (yield from orchestrate(episode))
    except OutOfLimit as limit:
        confidence = None if settings.roles == "R" else episode.unsettled
        return _concluded(episode.best, "limit", confidence, limit.which)


def most_calls(settings: Mc2Settings) -> int:
    """Each role and its composer in each round, and again where a reply cannot be read."""
    composing = 2 if settings.composer == "on" else 0
    reasoning = composing + (2 if settings.ask_again else 1)
    judging = 2 * (composing + 2)
    return reasoning if settings.roles == "R" else (reasoning + judging) * settings.max_rounds


def orchestrate(episode: Episode) -> Steps[Conclusion]:
    """Reason, monitor, control; at most N rounds. Source: MC² eq. (7), the stop rule."""
    for k in range(episode.settings.max_rounds):
        episode.round = k
        attempt = yield from reason(episode)
        report = yield from monitor(episode, attempt)
        decision = yield from decide(episode, attempt, report)
        match decision.action:
            case "accept":
                return _concluded(decision.answer, "accepted", GRADE_VALUE["B" if k else "A"])
            case "patch" if is_doubted(episode, decision):
                episode.advice = decision.justification or ""
            case "patch":
                grade = "B" if k else episode.settings.patch_grade
                return _concluded(decision.answer, "corrected", GRADE_VALUE[grade])
            case "restart":
                # Only the last advice counts (eq. 4): one of an older round speaks of an
                # attempt that is gone.
                episode.advice = decision.advice or ""
    return _concluded(episode.best, "max_rounds", episode.unsettled)


def is_doubted(episode: Episode, decision: Decision) -> bool:
    """Whether a patch sends the Reasoner back as a restart does: it changes the answer, and a round is left.

    Nobody checks a patch. Of 62 that changed an answer, one of a model of 1.5 billion parameters was right, and
    nineteen replaced a right one (``deploy/docs/evidence.md``).
    """
    settings = episode.settings
    if settings.patches == "taken" or episode.round + 1 == settings.max_rounds:
        return False
    candidate = episode.answers[-1]
    return candidate is not None and not alike(candidate, decision.answer, episode.task.problem)


def reason_alone(episode: Episode) -> Steps[Conclusion]:
    """The Reasoner by itself: chain of thought, with guidance if memory has any."""
    yield from reason(episode)
    return _concluded(episode.best, "answered", None)


def reason(episode: Episode) -> Steps[RoleReply]:
    """ŷ_k and τ_k from the problem and the last advice u_{k-1} alone. Source: MC² eq. (4)."""
    own, seen = {"problem": episode.task.stated}, {"problem": episode.task.posed}
    if episode.settings.advice != "composer" or episode.settings.composer == "off":
        own["advice"] = episode.advice
    if episode.settings.advice != "direct":
        seen["recent_feedback"] = episode.feedback
    said = yield from episode.ask(REASONER if episode.settings.ask_again else ONCE, own, seen)
    answer = said.answer
    episode.answers.append(answer)
    if answer is not None:
        episode.judged = False
    parse: Parse = said.parse if answer is not None else "unreadable"
    yield Generated(round=episode.round, answer=answer, source=said.source, parse=parse)
    return said


def monitor(episode: Episode, attempt: RoleReply) -> Steps[RoleReply]:
    """The report g_k on the problem, ŷ_k and τ_k. Source: MC² eq. (5)."""
    own = _case(episode, attempt)
    seen = {"problem": own["problem"], "trajectory": _excerpt(episode, attempt)}
    said = yield from episode.ask(MONITOR, own, seen)
    report = report_of(said.text, readable=said.readable)
    yield MonitorReported(
        round=episode.round,
        flag=report.flag,
        step=report.step,
        source=said.source,
        parse=said.parse,
    )
    return said


def decide(episode: Episode, attempt: RoleReply, report: RoleReply) -> Steps[Decision]:
    """The Controller's decision, or an accept where the Monitor found nothing and that may settle it."""
    # Where nothing was found the Controller has nothing to mend or to advise, and its call is
    # saved. Without a readable answer there is nothing to accept, however clean the report is.
    clean = report.readable and report.get("Error_found") == "NO"
    if episode.settings.clean_reports == "ask" or not clean or attempt.answer is None:
        return (yield from control(episode, attempt, report))
    yield ControllerActed(
        round=episode.round, action="accept", answer=attempt.answer, source=report.source
    )
    return Decision("accept", answer=attempt.answer)


def control(episode: Episode, attempt: RoleReply, report: RoleReply) -> Steps[Decision]:
    """The action a_k, with ỹ_k or u_k, from all that the round produced. Source: MC² eq. (6)."""
    candidate = episode.answers[-1]
    own = _case(episode, attempt) | {"report": report.text}
    seen = {name: own[name] for name in ("problem", "trajectory", "report")} | {
        "trajectory": _excerpt(episode, attempt),
        "report": _excerpt(episode, report),
    }
    said = yield from episode.ask(CONTROLLER, own, seen, needs_answer(candidate))
    decision = decision_of(said.text) if said.readable else FALLBACK
    if candidate is not None:
        episode.judged = episode.judged or said.readable
    if decision.action == "accept":
        # ŷ_k counts, or the Controller's answer where ŷ_k cannot be read. A Controller that accepts
        # has no reason to copy the answer without a slip.
        ours, theirs = candidate, decision.answer
        if episode.settings.accept_answer == "controller":
            ours, theirs = theirs, ours
        answer = theirs if ours is None else ours
        decision = Decision("accept", decision.justification, answer=answer)
    yield ControllerActed(
        round=episode.round,
        action=decision.action,
        answer=decision.answer,
        source=said.source,
        parse=said.parse,
    )
    episode.feedback = f"{report.text.strip()}\n\n{said.text.strip()}"
    return decision


def _case(episode: Episode, attempt: RoleReply) -> dict[str, str]:
    return {
        "problem": episode.task.posed,
        "candidate": episode.answers[-1] or "",
        "trajectory": attempt.text,
    }


def _excerpt(episode: Episode, said: RoleReply) -> str:
    return excerpt(said.text, episode.settings.excerpt_chars)


def _concluded(
    answer: str | None, ended_by: str, confidence: float | None, limit: str | None = None
) -> Conclusion:
    return Conclusion(
        answer=answer,
        ended_by=ended_by,
        confidence=confidence,
        confidence_source=None if confidence is None else "value",
        limit=limit,
    )
