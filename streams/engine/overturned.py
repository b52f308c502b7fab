"""What was said under outcomes that were turned around since: it is set aside when its batch is closed again.

An outcome is turned around where it was right when the batch was learned from and is wrong now, or the other way
round. What became known later, or unknown, turns nothing. Nobody is asked, so only what is wrong as a whole is set
aside:

- a lesson that says to repeat what a wrong answer did, or to avoid what a right one did;
- a rule or principle that is new in its batch where all that it was written from is gone: the lessons that were read,
  the problems that it was induced from, or, where neither is named, the members of its batch.

The closing names them, so that memories fold without any policy's code. The standing of the version carries the
names on, and whoever grades the answers back brings them back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from msgspec import structs

from handlers.learning.graph import CASE
from handlers.learning.retire import OVERTURNED
from schemas.events.base import Event
from schemas.events.graph import PrincipleInduced
from schemas.events.learning import BatchClosed, KnowledgeConsolidated, LessonDistilled
from schemas.identity import episode_parts, is_taken, learning_id
from schemas.memory import Memory
from schemas.outcome import Outcome
from state.folds.forgetting import WRITTEN
from state.folds.learned import rules_of
from streams.engine.scopes import Scope

OPPOSITE: Mapping[str, Outcome] = {"right": "wrong", "wrong": "right"}


def marked(scope: Scope, closed: BatchClosed) -> BatchClosed:
    """The closing of a batch once more, with what its outcomes overturn."""
    version, before = (scope.memory.versions[closed.batch - ago] for ago in (0, 1))
    names = (learning_id(scope.id, closed.batch, each) for each in range(version.revision + 1))
    journals = [scope.memory.journal(name) for name in names]
    # In ``service`` outcomes decide over memory, whoever was told them: items are retired on them.
    # In ``paper`` a method that learns without labels has to stay one.
    by_all = scope.policy.learns == "labels" or scope.profile == "service"
    found = overturned(journals, closed, before, by_all=by_all)
    # What a former revision said may be gone since, with a problem that was forgotten.
    marks = tuple(sorted(found & {item.mark for item in version.whole()}))
    # Said even where it is nothing, to tell it from closings of builds that set nothing aside.
    return structs.replace(closed, overturned=marks or (() if closed.regraded else None))


def overturned(
    journals: Sequence[Mapping[str, Event]], closed: BatchClosed, before: Memory, *, by_all: bool
) -> set[str]:
    """Marks of what falls when a batch is closed so; ``journals`` are what was said of it, by revision.

    ``before`` is the version before the batch. If not ``by_all``, only outcomes of other tools' traces count.
    """
    now = dict(zip(closed.members, closed.outcomes, strict=True))
    gone: set[str] = {*before.standing.get(OVERTURNED, ())}
    held = {item.mark for item in before.whole()}
    falls: dict[str, bool] = {}
    subjects: dict[str, set[str]] = {}
    for journal in journals:
        said = journal["batch"]
        assert isinstance(said, BatchClosed)
        # Each was said under the outcomes of its own revision.
        pairs = zip(said.members, said.outcomes, strict=True)
        turned: dict[str, Outcome] = {
            member: OPPOSITE[was]
            for member, was in pairs
            if was in OPPOSITE and now.get(member) == OPPOSITE[was] and (by_all or is_taken(member))
        }
        lessons = (event for event in journal.values() if isinstance(event, LessonDistilled))
        # A case is a problem's text alone, and says nothing of any answer to it.
        falls |= {each.id: _contradicted(each, turned) for each in lessons if each.role != CASE}
        for event in journal.values():
            if isinstance(event, PrincipleInduced) and event.principle and event.subject:
                subjects.setdefault(event.principle, set()).add(event.subject)
        fallen = gone | {mark for mark, fell in falls.items() if fell}
        falls |= {
            rule.mark: _rests_on_nothing(rule.id, event, subjects, fallen, said, turned)
            for event in journal.values()
            if isinstance(event, KnowledgeConsolidated) and event.result in WRITTEN
            for rule in rules_of(event, closed.batch)
            if rule.mark not in held
        }
    return {mark for mark, fell in falls.items() if fell}


def _contradicted(lesson: LessonDistilled, turned: Mapping[str, Outcome]) -> bool:
    """Whether what an episode's answer turned out to be speaks against a lesson of it."""
    now = {turned[episode] for episode in lesson.evidence if episode in turned}
    if lesson.polarity == "both" and len(lesson.evidence) > 1:
        return bool(now)  # nobody can say which of its words came from which of them
    # One of both sides has an attempt to avoid, and a later one, which is the answer, to repeat.
    return ("right" if lesson.polarity == "avoid" else "wrong") in now


def _rests_on_nothing(
    rule: str,
    written: KnowledgeConsolidated,
    subjects: Mapping[str, Set[str]],
    fallen: Set[str],
    said: BatchClosed,
    turned: Mapping[str, Outcome],
) -> bool:
    """Whether all that a rule was written from is gone."""
    if rule in subjects:
        return subjects[rule] <= {"/".join(episode_parts(episode)[:2]) for episode in turned}
    if written.lessons:
        return fallen >= {*written.lessons}
    return bool(said.members) and turned.keys() >= {*said.members}
