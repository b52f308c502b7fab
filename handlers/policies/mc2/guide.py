"""Guidance before each call: what memory knows, composed for one role, problem and round.

Source: MC² eq. (12), (13), (15), § C.3; design/mc2.md D2 to D5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from handlers.policies.base import Task
from handlers.policies.mc2.settings import ROLES, Mc2Settings, RoleName
from handlers.roles.composer import COACHES, NOTHING, Bullets, compose
from handlers.roles.controller import CONTROLLER
from handlers.roles.monitor import MONITOR
from handlers.roles.reasoner import REASONER
from handlers.roles.role import Role
from schemas.asking import Steps
from schemas.events.graph import ExperienceShown
from schemas.events.reasoning import KnowledgeOmitted, KnowledgeReached
from schemas.identity import hash01
from schemas.questions import Recall, RecalledItem, Recollection

# One recall for an episode, then one composition before each call. The recall fixes what the
# episode may know; the compositions only choose among it for the role and round at hand, so all
# rounds rest on one memory version.

NO_MEMORY = Recollection(0, ())
AS_IT_IS = """\
Section "Guidance" was learned from other problems: use what fits this one and ignore the rest."""
UNCOMPOSED: Mapping[str, Role] = {
    role.name: role.noting("Guidance", AS_IT_IS, template=f"{role.name}.uncomposed")
    for role in (REASONER, MONITOR, CONTROLLER)
}
"""Who is shown rules and lessons without a composer: nobody wrote these for the problem at hand."""


@dataclass(slots=True)
class Guide:
    """What one episode recalled, and the guidance that each of its roles had last."""

    settings: Mc2Settings
    memory: Recollection
    spared: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Ids of the rules that this episode does without, by the role that they are for."""
    told: set[str] = field(default_factory=set[str])
    """Roles of which that is on record."""
    previous: dict[RoleName, Bullets] = field(default_factory=dict["RoleName", Bullets])

    def note(
        self, role: RoleName, round: int, own_chars: int, context: Mapping[str, str]
    ) -> Steps[str]:
        """Guidance for one call. Without a rule or lesson of the role: none, and nobody is asked.

        ``own_chars`` is the length of the role's own prompt, which guidance must leave room for.
        """
        # Said when the role is about to be guided, and not at the start: a role that was never
        # asked, since a limit came first, did not do without a rule either, and must not count in
        # what the rule is worth.
        if role in self.spared and role not in self.told:
            self.told.add(role)
            yield KnowledgeOmitted(role=role, items=self.spared[role])
        rules, lessons = self.memory.of(role, "rule"), self.memory.of(role, "lesson")
        if not rules and not lessons:
            return ""
        room = self.settings.context_chars - own_chars
        if self.settings.composer == "off":
            return (yield from as_it_is(role, (*rules, *lessons), room))
        known = {"rules": rule_lines(rules), "lessons": lesson_blocks(lessons)}
        composed = yield from compose(
            COACHES[role],
            {**context, **known},
            previous=self.previous.get(role, NOTHING),
            room=room,
            strict=self.settings.bullets == "strict",
            figures=role != "reasoner" or self.settings.figures == "keep",
            sampling=self.settings.sampling,
        )
        self.previous[role] = bullets = composed.bullets
        yield KnowledgeReached(
            round=round,
            role=role,
            source=composed.source,
            result=composed.result,
            bullets=len(bullets.lines),
            cut=0 if composed.result == "fallback" else bullets.cut,
            items=tuple(item.id for item in (*rules, *lessons)),
        )
        return bullets.text


def as_it_is(role: RoleName, items: Sequence[RecalledItem], room: int) -> Steps[str]:
    """Rules and then lessons for a role, each in its own words, as many as fit into ``room`` characters."""
    said = ""
    shown: list[str] = []
    for item in items:
        more = f"- {item.text}" if item.kind == "rule" else f"\n{item.text}"
        longer = f"{said}\n{more}".lstrip("\n")
        if len(longer) > room:
            break
        said = longer
        shown.append(item.id)
    if shown:
        yield ExperienceShown(sort=role, items=tuple(shown))
    return said


def recollect(task: Task, settings: Mc2Settings) -> Steps[Guide]:
    """One recall for the whole episode; none where memory is empty or not to be used.

    Where a floor decides what is near, problems are compared as they are put: four bare numbers are like
    nothing that was ever said of such problems.
    """
    warm = task.memory_version > 0 or settings.warm_start is not None
    if not settings.kinds or not warm:
        return Guide(settings, NO_MEMORY)
    memory = yield from Recall(
        query=task.problem if settings.relevance_floor is None else task.posed,
        roles=tuple(settings.active),
        top=settings.lessons_shown,
        kinds=settings.kinds,
        exclude=task.subject if settings.exclude_self else "",
        related=settings.related,
    )
    return measuring(task, relevant(memory, settings), settings)


def measuring(task: Task, memory: Recollection, settings: Mc2Settings) -> Guide:
    """A guide without the rules that are held out of this episode, each by a draw of its own.

    Rules of a role are always shown together: only who does without one of them tells what that one is worth.
    """
    out = [
        item for item in memory.items if item.kind == "rule" and is_held_out(task, item, settings)
    ]
    spared = {role: tuple(item.id for item in out if item.role == role) for role in ROLES}
    left = replace(memory, items=tuple(item for item in memory.items if item not in out))
    return Guide(settings, left, {role: ids for role, ids in spared.items() if ids})


def is_held_out(task: Task, rule: RecalledItem, settings: Mc2Settings) -> bool:
    """Whether an episode does without a rule: drawn by problem, seed and the rule's text."""
    # By its text and not its id: a rule keeps its draw while it is passed on from
    # version to version.
    drawn = hash01("held out", task.seed, task.subject, rule.role, rule.text)
    return drawn < settings.held_out


def relevant(memory: Recollection, settings: Mc2Settings) -> Recollection:
    """What was recalled, without lessons under the floor of similarity, if one is set.

    Where none of a role's lessons reaches it, its rules, which were made of such lessons, go too: nothing
    is known of problems like this one, and no coach is asked. Rules alone, as after a warm start, stay.
    """
    floor = settings.relevance_floor
    near, lost = memory.items, set(memory.unrelated)
    if isinstance(floor, float):
        near = tuple(item for item in near if item.kind != "lesson" or reaches(item, floor))
        lost = {item.role for item in memory.items if item.kind == "lesson"}
        lost -= {item.role for item in near if item.kind == "lesson"}
    return replace(memory, items=tuple(item for item in near if item.role not in lost))


def reaches(item: RecalledItem, floor: float) -> bool:
    """Whether a lesson is like enough to the problem."""
    return item.similarity is not None and item.similarity >= floor


def rule_lines(rules: Sequence[RecalledItem]) -> str:
    """Rules, a line each, by their ids."""
    return "\n".join(f"{rule.id}: {rule.text}" for rule in rules)


def lesson_blocks(lessons: Sequence[RecalledItem]) -> str:
    """Lessons, nearest first, each headed by its id."""
    return "\n\n".join(f"[{lesson.id}]\n{lesson.text}" for lesson in lessons)
