"""Consolidation: a role's rules, six at most, brought up to date with the lessons of the last batches.

Source: MC² eq. (11), § C.5; design/mc2.md D6 (what does not fit), D8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from handlers.learning.likeness import Likeness, likeness_of
from handlers.learning.sameness import Pointed, grouped
from handlers.policies.base import Batch
from handlers.policies.mc2.distil import Lesson
from handlers.policies.mc2.settings import ROLES, Mc2Settings, RoleName
from handlers.roles.consolidator import CONSOLIDATORS, RULES, SIX, Consolidator, RuleList, new_rules
from handlers.roles.role import RoleReply
from schemas.asking import All, OutOfLimit, Steps, Stopped
from schemas.events.learning import Consolidated, KnowledgeConsolidated
from schemas.identity import text_digest
from schemas.memory import Memory

# The consolidator is the only one who sees old rules and new lessons together, so what it says
# replaces a role's rules as a whole. What cannot be read replaces nothing: a batch whose reply went
# wrong must not empty the memory.


@dataclass(frozen=True, slots=True)
class Shown:
    """A lesson as the consolidator sees it, with those that say it again."""

    id: str
    batch: int
    text: str
    pointed: Pointed
    again: tuple[str, ...] = ()
    """Others of which it is the newest."""

    @property
    def ids(self) -> tuple[str, ...]:
        """Every lesson that it stands for."""
        return self.id, *self.again

    @property
    def block(self) -> str:
        """The lesson, headed by its id, and by those of others that say nearly the same."""
        others = f", and nearly the same: {', '.join(self.again)}" if self.again else ""
        return f"[{self.id}{others}]\n{self.text}"


@dataclass(frozen=True, slots=True)
class Window:
    """The rules before a batch, and the live lessons: those that fit, and those that do not."""

    role: RoleName
    rules: RuleList
    lessons: tuple[Shown, ...]
    left_out: tuple[Shown, ...] = ()
    withdrawn: tuple[str, ...] = ()
    """Rules that were retired."""

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of the present rules."""
        return tuple(rule for _, rule in self.rules)

    def ask(self, settings: Mc2Settings) -> Steps[RoleReply]:
        """The rules after the batch, as the consolidator proposes them."""
        consolidator = keeper(self.role, settings)
        check = consolidator.check(self.texts, strict=settings.new_rules == "strict")
        variables = {
            "rules": "\n".join(f"{name}: {rule}" for name, rule in self.rules),
            "lessons": "\n\n".join(lesson.block for lesson in self.lessons),
        }
        # Not told what was retired it would write it again in other words, from the
        # same lessons (D13).
        if self.withdrawn and not consolidator.exact:
            variables["withdrawn"] = "\n".join(f"- {rule}" for rule in self.withdrawn)
        return consolidator.role.put(variables, sampling=settings.sampling, check=check)


def consolidate(batch: Batch, new: Sequence[Lesson], settings: Mc2Settings) -> Steps[None]:
    """K_b from K_{b-1} and the lessons of batches b-w+1..b, each role by itself.

    Without a lesson in the window nobody is asked. Where a batch lost a forgotten problem, only rules
    that rested on it are written again. Source: MC² eq. (11).
    """
    windows = [
        window(role, batch, new, settings)
        for role in settings.active
        if not batch.revision or role in batch.stale
    ]
    asked = [one for one in windows if one.lessons]
    replies = iter(()) if not asked else iter((yield from All(one.ask(settings) for one in asked)))
    for one in windows:
        if one.lessons:
            fitting, said = yield from shortened(one, next(replies), settings)
            if isinstance(said, Stopped):
                yield _fact(fitting, fitting.rules, "fallback")
            elif not said.readable:
                yield _fact(fitting, fitting.rules, "fallback", said.source)
            else:
                rules = keeper(one.role, settings).rules(said.values)
                yield _fact(fitting, rules, "consolidated", said.source)
        elif one.rules:
            # Rules are part of a version only if it says them: silence would withdraw them.
            yield _fact(one, one.rules, "kept")


def shortened(
    one: Window, said: RoleReply | Stopped, settings: Mc2Settings
) -> Steps[tuple[Window, RoleReply | Stopped]]:
    """What is said of the newest half of the lessons, and of half of them, while all of them bring no reply.

    A model whose own window is shorter than ``context_chars`` refuses the prompt: its rules would stay as they
    are for good.
    """
    while (
        isinstance(said, RoleReply) and said.completion.finish == "error" and len(one.lessons) > 1
    ):
        half = len(one.lessons) // 2
        one = replace(
            one, lessons=one.lessons[:half], left_out=(*one.lessons[half:], *one.left_out)
        )
        try:
            said = yield from one.ask(settings)
        except OutOfLimit as limit:
            return one, Stopped(limit.which)
    return one, said


def window(role: RoleName, batch: Batch, new: Sequence[Lesson], settings: Mc2Settings) -> Window:
    """The live lessons of one role, newest batch first, as many as fit into a prompt."""
    oldest = batch.number - settings.lesson_window + 1
    live = [
        Shown(item.id, item.batch, item.text, Pointed.at(item))
        for item in batch.memory.of(role, "lesson")
        if item.batch >= oldest
    ]
    for one in new:
        if one.fact.role == role:
            pointed = Pointed.of(text_digest(one.fact.text), one.vector, one.fact.polarity)
            live.append(Shown(one.fact.id, batch.number, one.fact.text, pointed))
    # The newest first, for if not all fit the oldest are the ones whose time is nearly over anyway.
    live.sort(key=lambda lesson: -lesson.batch)
    if settings.related:
        live = at_once(live, likeness_of(batch.memory.embedder))
    fitting, room = 0, settings.context_chars
    for lesson in live:
        room -= len(lesson.block) + 2
        if room < 0 and fitting:  # one at least is shown, however long it is
            break
        fitting += 1
    return Window(
        *(role, rules_of(batch.memory, role), tuple(live[:fitting]), tuple(live[fitting:])),
        withdrawn=withdrawn(batch.memory, role),
    )


def at_once(lessons: Sequence[Shown], meant: Likeness) -> list[Shown]:
    """Lessons that say the same as one, in the order of the first of each."""
    groups = grouped([lesson.pointed for lesson in lessons], meant)
    return [
        replace(lessons[first], again=tuple(lessons[at].id for at in others))
        for first, *others in groups
    ]


def rules_of(memory: Memory, role: RoleName) -> RuleList:
    """A role's rules by id."""
    return tuple((item.id, item.text) for item in memory.of(role, "rule"))


def withdrawn(memory: Memory, role: RoleName) -> tuple[str, ...]:
    """The texts of a role's rules that are retired, the newest first, as many as there may be rules.

    One that a person restored may lie aside too, while a newer rule has its place.
    """
    said = memory.standing.get("ruled", {})
    rules = [
        item
        for _, item in memory.aside
        if (item.role, item.kind) == (role, "rule") and said.get(item.mark) != "restored"
    ]
    rules.sort(key=lambda rule: -rule.batch)
    return tuple(rule.text for rule in rules[:RULES])


def keeper(role: RoleName, settings: Mc2Settings) -> Consolidator:
    """Who keeps a role's rules: up to six of them, or six to the letter."""
    return (SIX if settings.learned_form == "strict" else CONSOLIDATORS)[role]


def _fact(
    one: Window, rules: RuleList, result: Consolidated, source: str | None = None
) -> KnowledgeConsolidated:
    return KnowledgeConsolidated(
        role=one.role,
        rules=rules,
        result=result,
        new=new_rules(rules, one.texts),
        lessons=tuple(name for lesson in one.lessons for name in lesson.ids),
        left_out=tuple(name for lesson in one.left_out for name in lesson.ids),
        source=source,
    )


def warm_start(source: Memory) -> tuple[KnowledgeConsolidated, ...]:
    """K_0: the rules of a source scope's memory, all roles, without its lessons."""
    return tuple(
        KnowledgeConsolidated(role=role, rules=rules, result="warm", new=len(rules))
        for role in ROLES
        if (rules := rules_of(source, role))
    )
