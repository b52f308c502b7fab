"""An episode's record seen as rounds of three roles; and the paper's ``history`` made of it.

Source: MC² eq. (7), § C.6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from handlers.policies.base import Trace
from handlers.policies.last_call import CLOSED
from handlers.policies.mc2.settings import NAMED, RoleName
from handlers.roles.composer import COACHES, NOTHING, read_bullets
from handlers.roles.controller import CODES, CONTROLLER, FALLBACK, Decision, decision_of
from handlers.roles.monitor import MONITOR, Report, report_of
from handlers.roles.objects import as_text
from handlers.roles.reasoner import REASONER
from handlers.roles.role import Role
from schemas.events.episode import Completed
from schemas.events.reasoning import ControllerActed, Generated, KnowledgeReached, MonitorReported
from schemas.identity import digest
from schemas.spoken import spoken

# Reflections and the paper's ``history`` are both made of these turns. Facts hold no texts
# but the addresses of replies, so texts are looked up and read again here, by the readers
# that the episode itself had.

BASES: Mapping[RoleName, Role] = {
    "reasoner": REASONER,
    "monitor": MONITOR,
    "controller": CONTROLLER,
}


@dataclass(frozen=True, slots=True)
class Update:
    """One attempt to renew a role's guidance: what stood before, and what stands after."""

    before: str
    after: str
    succeeded: bool
    model: str


@dataclass(slots=True)
class Turn:
    """One round as recorded. A limit may have ended it before Monitor or Controller spoke."""

    index: int
    answer: str | None
    trajectory: str
    report: Report | None = None
    report_text: str = ""
    report_at: str = ""
    """The address of the Monitor's reply."""
    routed: bool = False
    """Whether the Controller was asked; a clean report may have accepted in its stead."""
    decision: Decision | None = None
    decision_text: str = ""
    final: str | None = None
    fallback: bool = False
    updates: Mapping[RoleName, Update] = field(default_factory=dict["RoleName", Update])

    @property
    def action(self) -> int | None:
        """1 accept, 2 patch, 3 restart; none if the Controller was not asked."""
        return None if self.decision is None else CODES[self.decision.action]

    @property
    def guidance(self) -> tuple[str, ...]:
        """The guidance that stood in this round's prompts."""
        return tuple(update.after for update in self.updates.values() if update.after)


def turns(trace: Trace) -> list[Turn]:
    """The rounds of an episode, oldest first; a pure function of its record."""
    replies = {at: event for at, event in trace.events if isinstance(event, Completed)}
    said = {at: spoken(event.text).text for at, event in replies.items()}
    found: list[Turn] = []
    updates: dict[int, dict[RoleName, Update]] = {}
    notes: dict[RoleName, str] = {}
    for _, event in trace.events:
        if isinstance(event, KnowledgeReached):
            role = NAMED[event.role]
            before, reply = notes.get(role, ""), replies[event.source]
            composed = event.result != "fallback"
            if composed:
                after = (read_bullets(COACHES[role], said[event.source]) or NOTHING).text
            else:
                # It keeps what stood before, unless that was about another trajectory: then the
                # fact counts no bullets.
                after = before if event.bullets else ""
            # Kept by round: a role's guidance is on record before its reply in that round is.
            update = Update(before, after, composed, reply.model)
            updates.setdefault(event.round, {})[role] = update
            notes[role] = after
        elif isinstance(event, Generated) and event.role != CLOSED:
            found.append(Turn(event.round, event.answer, as_text(said[event.source])))
        elif isinstance(event, MonitorReported | ControllerActed):
            _fill(found[-1], event, said[event.source])
    for turn in found:
        turn.updates = updates.get(turn.index, {})
    return found


def _fill(turn: Turn, event: MonitorReported | ControllerActed, text: str) -> None:
    if isinstance(event, MonitorReported):
        readable = event.parse != "fallback"
        turn.report, turn.report_text = report_of(text, readable=readable), as_text(text)
        turn.report_at = event.source
        return
    # A clean report that accepts by itself stands as the decision's source: nobody was asked then.
    turn.fallback, turn.final = event.parse == "fallback", event.answer
    turn.routed = event.source != turn.report_at
    if not turn.routed:
        turn.decision = Decision("accept")
        return
    turn.decision_text = as_text(text)
    turn.decision = FALLBACK if turn.fallback else decision_of(text)


# ── The paper's history ──────────────────────────────────────────────────────────────────────


def history(trace: Trace) -> list[dict[str, Any]]:
    """The interaction trace as plain values, one record a round, numbered from 1 (MC² § C.6)."""
    # The names are the paper's, to the letter.
    found: list[dict[str, Any]] = []
    for turn in turns(trace):
        report, decision = turn.report, turn.decision
        reasoner = {
            "final_answer": turn.answer,
            "full_response": turn.trajectory,
            "policy_update": _update(turn, "reasoner"),
        }
        monitor = (
            None
            if report is None
            else {
                "error_found": report.flag,
                "error_location": report.step,
                "error_description": report.description,
                "explanation": report.explanation,
                "full_report": turn.report_text,
                "policy_update": _update(turn, "monitor"),
            }
        )
        controller = (
            None
            if decision is None
            else {
                "action": turn.action,
                "justification": decision.justification,
                "suggestions": decision.advice,
                "corrected_reasoning": decision.reasoning,
                "final_answer": turn.final,
                "full_decision": turn.decision_text,
                "policy_update": _update(turn, "controller"),
            }
        )
        found.append(
            {
                "iteration": turn.index + 1,
                "reasoner": reasoner,
                "monitor": monitor,
                "controller": controller,
            }
        )
    return found


def _update(turn: Turn, role: RoleName) -> dict[str, Any] | None:
    """Was guidance used, and renewed, by which model, the prompts' digests; none if not tried."""
    update = turn.updates.get(role)
    if update is None:
        return None
    template = BASES[role].template.digest
    return {
        "used": bool(update.after),
        "succeeded": update.succeeded,
        "model": update.model,
        "prompt_before": digest([template, update.before]),
        "prompt_after": digest([template, update.after]),
    }
