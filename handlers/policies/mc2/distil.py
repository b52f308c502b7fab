"""Distillation: the telling episodes of a batch become lessons of each role.

Source: MC² eq. (10), § C.4; design/mc2.md D6, D7, D9.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from handlers.policies.base import Batch, Member, told
from handlers.policies.mc2.reflect import Excerpts, Mc2Reflection, Polarity
from handlers.policies.mc2.settings import LETTERS, Mc2Settings, RoleName
from handlers.policies.mc2.take import POLARITIES
from handlers.roles.controller import NUMBERED
from handlers.roles.distiller import BATCH_DISTILLERS, DISTILLERS, POLARITY, Distiller
from handlers.roles.excerpt import excerpt
from handlers.roles.role import RoleReply
from schemas.asking import All, Steps, Stopped
from schemas.events.learning import LessonDistilled, LessonDropped
from schemas.identity import is_taken
from schemas.memory import MemoryItem, Sided
from schemas.questions import Embed

# The batch's members become tasks, one a role and episode (or one a role, ``per_batch``), and all
# are asked at once: no lesson hangs on another, so lanes may end in any order while lessons are
# named and stated in the tasks'. A distiller never sees the right answer. What it may see of the
# outcome is ``outcome_tag`` (D7).

_OUTCOMES = {"right": "success", "wrong": "failure"}
_FIRST: tuple[Polarity, ...] = ("avoid", "both", "do")
"""What teaches most comes first, where not all can teach."""
DECLINED = "its distiller found nothing to teach"
"""Why there is no lesson where a reply can be read and says NONE: it is not asked for one again."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A member that a batch learns from, and whether to repeat or to avoid what it did, or both."""

    member: Member
    reflection: Mc2Reflection
    polarity: Polarity
    taken: bool = False
    """Whether it is another tool's: an attempt at which no Monitor and no Controller looked."""

    @property
    def subject(self) -> str:
        """The member's problem as ``domain/id``."""
        return f"{self.member.reflected.domain}/{self.member.reflected.problem_id}"

    @property
    def side(self) -> str:
        """What the distiller is told of the case: a patch is told apart from a restart that helped."""
        if self.taken:
            return f"taken_{self.polarity}"
        patched = self.polarity == "both" and self.reflection.ended_by == "corrected"
        return "patched" if patched else self.polarity

    def teaches(self, role: RoleName) -> bool:
        """Whether this role did anything that a lesson could be about."""
        # By what is on its record: a scope does not know which roles took part in an episode.
        if self.taken or role == "reasoner":
            return role == "reasoner"
        if role == "monitor":
            return bool(self.reflection.flags)
        return self.reflection.routed is not None


@dataclass(frozen=True, slots=True)
class Task:
    """One distillation: whose lesson, from which members."""

    role: RoleName
    distiller: Distiller
    variables: Mapping[str, str]
    polarity: Sided
    subject: str
    evidence: tuple[str, ...]
    last_action: int | None = None


@dataclass(frozen=True, slots=True)
class Lesson:
    """A lesson as stated, with the text that is embedded."""

    fact: LessonDistilled
    embedding_text: str
    vector: tuple[float, ...] = ()
    """Its embedding, once it has one."""


def chosen(members: Sequence[Member], limit: int | None = None) -> list[Chosen]:
    """The telling members of a batch in its order, at most ``limit``: failed ones first, then mended ones.

    Of other tools' traces those that somebody judged. Source: MC² eq. (9); the limit and these are ours.
    """
    found: list[Chosen] = []
    for member in members:
        if member.reflected.summary:
            reflection = Mc2Reflection.model_validate(member.reflected.summary)
            taken = is_taken(member.episode)
            polarity = POLARITIES.get(member.outcome) if taken else reflection.polarity
            if polarity is not None:
                found.append(Chosen(member, reflection, polarity, taken))
    # Of a hundred flawless episodes the last lesson teaches little, and each costs a call; failures
    # are rare and teach most. What was chosen stands in the batch's order again.
    first = sorted(range(len(found)), key=lambda at: (_FIRST.index(found[at].polarity), at))
    return [found[at] for at in sorted(first[:limit])]


def distil(batch: Batch, settings: Mc2Settings) -> Steps[list[Lesson]]:
    """The batch's lessons, stated in role and member order, and then embedded in that order."""
    selected = chosen(batch.members, settings.lessons_per_batch)
    tasks: list[Task] = []
    for role in settings.active:
        telling = [one for one in selected if one.teaches(role)]
        if settings.distil == "per_batch":
            tasks += [_together(role, telling, settings)] if telling else []
        else:
            tasks += [_single(role, one, settings) for one in telling]
    if not tasks:
        return []
    replies = yield from All(
        task.distiller.role.put(
            task.variables,
            sampling=settings.sampling,
            check=task.distiller.check(task.last_action, strict=settings.learned_form == "strict"),
        )
        for task in tasks
    )
    lessons: list[Lesson] = []
    numbers = dict.fromkeys(settings.active, 0)
    for task, said in zip(tasks, replies, strict=True):
        if isinstance(said, Stopped) or not said.readable or task.distiller.declines(said.values):
            yield _dropped(task, said)
            continue
        # Numbered by role and by what came of it, so that a lesson that was dropped leaves no gap.
        numbers[task.role] += 1
        values = task.distiller.taken(said.values, task.last_action)
        fact = LessonDistilled(
            id=f"L{batch.name}.{LETTERS[task.role]}{numbers[task.role]}",
            role=task.role,
            polarity=task.polarity,
            text=task.distiller.text(values, task.polarity),
            subject=task.subject,
            evidence=task.evidence,
            source=said.source,
        )
        yield fact
        descriptor_only = settings.embedded == "descriptor"
        embedded = task.distiller.embedding_text(values, descriptor_only=descriptor_only)
        lessons.append(Lesson(fact, embedded))
    if not lessons:
        return []
    vectors = yield from Embed(tuple(lesson.embedding_text for lesson in lessons))
    return [replace(one, vector=its) for one, its in zip(lessons, vectors, strict=True)]


def found_by(item: MemoryItem, settings: Mc2Settings) -> str:
    """What is embedded of a lesson, should another embedder have to."""
    distillers = BATCH_DISTILLERS if settings.distil == "per_batch" else DISTILLERS
    distiller = distillers[cast("RoleName", item.role)]
    return distiller.found_by(item.text, descriptor_only=settings.embedded == "descriptor")


def _dropped(task: Task, said: RoleReply | Stopped) -> LessonDropped:
    if isinstance(said, Stopped):
        reason, source = f"limit: {said.which}", None
    else:
        reason, source = str(said.problem) if said.problem else DECLINED, said.source
    return LessonDropped(role=task.role, reason=reason, source=source, evidence=task.evidence)


def kept(batch: Batch) -> list[Lesson]:
    """The lessons that stay when a batch loses a forgotten problem; their vectors stay with them."""
    return [
        Lesson(
            LessonDistilled(
                id=item.id,
                role=item.role,
                polarity=item.polarity or "both",
                text=item.text,
                subject=item.subject,
                evidence=item.evidence,
                source="",
            ),
            item.text,
        )
        for item in batch.kept
    ]


_SECTIONS: Mapping[Polarity, str] = {"do": "do", "avoid": "avoid", "both": "mended"}

# ── What a distiller sees ────────────────────────────────────────────────────────────────────


def _single(role: RoleName, one: Chosen, settings: Mc2Settings) -> Task:
    """The question, the excerpts and the polarity; the outcome only if it is asked for (D7)."""
    excerpts, rejected = one.reflection.excerpts, one.reflection.rejected
    variables = {
        "problem": told(one.member.reflected),
        "polarity": POLARITY[one.side],
        "trajectory": excerpts.trajectory,
        "report": excerpts.report,
        "decision": excerpts.decision,
        "rejected_attempt": "" if rejected is None else _attempt(rejected),
    }
    if _has_course(one, settings):
        variables["course"] = course(one.reflection)
    if settings.outcome_tag == "on":
        variables["outcome"] = _OUTCOMES.get(one.member.outcome, "unknown")
    return Task(
        role,
        DISTILLERS[role],
        variables,
        one.polarity,
        one.subject,
        (one.member.episode,),
        one.reflection.routed,
    )


def _together(role: RoleName, selected: Sequence[Chosen], settings: Mc2Settings) -> Task:
    """All selected episodes of a batch at once, as lists of what to repeat, to avoid, and of both (D6)."""
    # Equal room for each episode, and one share for the prompt itself: otherwise the first
    # ones would fill it.
    room = settings.context_chars // (len(selected) + 1)
    cases: dict[Polarity, list[str]] = {"do": [], "avoid": [], "both": []}
    for one in selected:
        reflection, rejected = one.reflection, one.reflection.rejected
        said = _attempt(reflection.excerpts)
        if rejected is not None:
            said = f"First attempt, sent back\n{_attempt(rejected)}\nAccepted attempt\n{said}"
        parts = [f"Question: {told(one.member.reflected)}", said]
        if _has_course(one, settings):
            parts.append(f"Course: {course(reflection)}")
        if settings.outcome_tag == "on":
            parts.append(f"Result: {_OUTCOMES.get(one.member.outcome, 'unknown')}")
        cases[one.polarity].append(excerpt("\n".join(parts), room))
    # A lesson of good and bad cases alike stands on neither side. And one of several
    # problems belongs to none of them: it may be shown to each (D11 keeps only a problem's
    # own lessons from it).
    sides: list[Polarity] = [side for side, found in cases.items() if found]
    return Task(
        role,
        BATCH_DISTILLERS[role],
        {_SECTIONS[side]: "\n\n".join(cases[side]) for side in sides},
        sides[0] if len(sides) == 1 else "both",
        selected[0].subject if len(selected) == 1 else "",
        tuple(one.member.episode for one in selected),
    )


def _has_course(one: Chosen, settings: Mc2Settings) -> bool:
    """Whether there were rounds of three roles to tell of."""
    return settings.course == "on" and settings.roles == "RMC" and not one.taken


def _attempt(excerpts: Excerpts) -> str:
    """What the three roles said of one attempt."""
    parts = {
        "Reasoning": excerpts.trajectory,
        "Monitor": excerpts.report,
        "Controller": excerpts.decision,
    }
    return "\n".join(f"{name}: {text}" for name, text in parts.items() if text)


def course(reflection: Mc2Reflection) -> str:
    """What each round came to, a line each, and how each role was rated. Source: MC² eq. (14), § C.1."""
    lines: list[str] = []
    found = reflection.trajectories
    for at in range(reflection.rounds):
        answer = found.reasoner[at]
        parts = ["no answer" if answer is None else f"answer {answer}"]
        # A limit may have ended the last round before Monitor or Controller spoke.
        if at < len(found.monitor):
            flag, step, description = found.monitor[at]
            where = f" at step {step}: {description}" if flag == "YES" else ""
            parts.append(f"a mistake found: {flag or 'unknown'}{where}")
        if at < len(found.controller):
            action, why = found.controller[at]
            parts.append(f"{NUMBERED[str(action)]}{f', because {why}' if why else ''}")
        lines.append(f"Round {at + 1}: {'; '.join(parts)}")
    rated = ", ".join(f"{role} {reflection.ratings.of(role)}" for role in LETTERS)
    return "\n".join((*lines, f"How each role did: {rated}."))
