"""A library of what every scope has learned and what became of it, from one pass over `learning`.

It reads the log with the learner that workers have, so that a memory looks here as episodes saw it. The
command line reads it once; the dashboard lets it follow a log that grows. It shows policies that are not
here as well: a fold needs no policy, and whoever has lost one most wants to see what was learned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, get_args

from handlers.learning.retire import OVERTURNED
from schemas.events.learning import KnowledgeConsolidated, LessonDistilled, Reflected
from schemas.memory import Memory, MemoryItem
from schemas.outcome import Standing
from schemas.settings import near
from state.folds.grades import Known
from state.folds.lives import name_of
from state.folds.memory import MemoryFold
from state.folds.state import number_of, scope_of
from streams.engine.learner import Learner
from streams.engine.policies import find
from streams.interfaces.cli.errors import CliError, usage
from streams.interfaces.cli.show.arms import arms_in
from streams.interfaces.cli.show.page import Span, outcome
from streams.interfaces.cli.show.paste import command
from streams.research.analysis.effects import Measured, Probed, measured_on, most_probed
from streams.runtime.embedded.records import LogRecords

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog


@dataclass(frozen=True, slots=True)
class Use:
    """An episode that had a memory item in its prompts, and the version that it pinned."""

    episode: str
    version: int
    revision: int | None = None


@dataclass(slots=True)
class ScopeHistory:
    """One scope: its memory versions, every lesson ever, how rules came to be, who used what."""

    scope: str
    memory: MemoryFold
    lessons: dict[str, tuple[int, LessonDistilled]] = field(
        default_factory=dict[str, tuple[int, LessonDistilled]]
    )
    made: dict[tuple[int, str], KnowledgeConsolidated] = field(
        default_factory=dict[tuple[int, str], KnowledgeConsolidated]
    )
    uses: dict[str, list[Use]] = field(default_factory=dict[str, list[Use]])

    def version(self, number: int | None, field: str = "--at") -> Memory:
        """A memory version; the latest if no number is given. Raises a usage error naming ``field``."""
        if number is None:
            return self.memory.latest
        found = self.memory.versions.get(number)
        if found is None:
            raise usage(
                f"{self.scope} has no version {number}",
                field=field,
                error="memory.version",
                hint=f"Its versions are 0 to {self.memory.latest.number}",
            )
        return found

    def ids(self) -> set[str]:
        """Ids of everything that it ever learned."""
        versions = self.memory.versions.values()
        items = {item.id for memory in versions for item in memory.whole()} | set(self.lessons)
        return items | {str(arm["id"]) for arm in arms_in(self.memory.latest)}

    def no_such(self, wanted: str, log: str | None = None, where: str = "") -> CliError:
        """The error for an id of nothing, with the nearest there is."""
        # Ids of all versions are looked through, as what was retired or forgotten
        # is asked for as well.
        said = near(wanted, self.ids())
        lists = (command("lessons", "list", log=log), command("knowledge", "show", log=log))
        hint = f"{said[:1].upper()}{said[1:]} All: {', or '.join(lists)}".lstrip()
        what = f"no lesson, rule or arm {wanted!r}{where}"
        return usage(what, field="ID", error="lesson.unknown", hint=hint)

    def since(self, rule: MemoryItem, upto: int) -> int:
        """The version from which on a rule's text has stood without a break."""
        number = upto
        # By text and role, and not by id: consolidation writes all rules of a
        # role anew, and numbers them.
        while number > 0 and (before := self.memory.versions.get(number - 1)) is not None:
            if all(other.text != rule.text for other in before.of(rule.role, "rule")):
                break
            number -= 1
        return number

    def backing(self, rule: MemoryItem, upto: int) -> tuple[str, ...]:
        """The lessons that were read when a rule was first written."""
        # Later consolidations that left the text as it was had read other
        # lessons, and did not write it.
        written = self.made.get((self.since(rule, upto), rule.role))
        return () if written is None else written.lessons

    def is_retired(self, item: MemoryItem) -> bool:
        """Whether the newest version keeps an item out of prompts."""
        # By its mark, since ids of rules return: one that is written anew in the
        # same words stays retired.
        return any(other.mark == item.mark for _, other in self.memory.latest.aside)

    def is_overturned(self, item: MemoryItem) -> bool:
        """Whether that is because the outcome that it was said under was turned around."""
        turned = item.mark in self.memory.latest.standing.get(OVERTURNED, ())
        return turned and self.is_retired(item)

    def uses_of(self, item: MemoryItem) -> list[Use]:
        """Episodes that had this very text in their prompts."""
        versions, key = self.memory.versions, (item.id, item.text_digest)
        # An id alone names no text: a rule is rewritten, and a version may be closed again after
        # something was forgotten. What an episode had is what the revision that it pinned says.
        found: list[Use] = []
        for use in self.uses.get(item.id, ()):
            if use.version in versions:
                pinned = versions.pinned(use.version, use.revision)
                if any((other.id, other.text_digest) == key for other in pinned.items):
                    found.append(use)
        return found


def has_learned(shelf: ScopeHistory) -> bool:
    """Whether a scope has lessons, rules or arms."""
    return has_items(shelf) or bool(arms_in(shelf.memory.latest))


def has_items(shelf: ScopeHistory) -> bool:
    """Whether a scope has lessons or rules."""
    return bool(shelf.lessons or shelf.made)


@dataclass(slots=True)
class Library:
    """Every scope of a log."""

    learner: Learner
    shelves: dict[str, ScopeHistory] = field(default_factory=dict[str, ScopeHistory])
    unanswered: set[str] = field(default_factory=set[str])
    """Episodes that ended without an answer."""
    measured: Measured = field(default_factory=Measured)
    """What `metalogue effect lesson` found of lessons and rules."""
    read_to: int = 0
    """Where the log ended when it was read last."""

    @classmethod
    def of(cls, log: str | None) -> Library:
        """What the scopes of the log of this name have learned."""
        from streams.interfaces.cli.opening import open_log

        with closing(open_log(log)) as opened:
            return cls.read(opened)

    @classmethod
    def read(cls, log: SqliteLog) -> Library:
        """What the scopes have learned, be their policies here or not."""
        library = cls(Learner(find, LogRecords(log)))
        library.follow(log)
        return library

    def follow(self, log: SqliteLog) -> None:
        """Take in what the log has had added since it was read last."""
        # A page asks whenever it is looked at: where nothing came there is
        # nothing to do, not even a query.
        end = log.end()
        if self.read_to == end:
            return
        for record in log.records("learning", after=self.read_to):
            episode, event = record.episode, record.event
            # A record out of place, such as another build's, teaches no worker, so it
            # must not show here.
            if not self.learner.feed(episode, record.address, event):
                continue
            match event:
                case Reflected():
                    if event.answer is None:
                        self.unanswered.add(episode)
                    use = Use(episode, event.memory_version, event.memory_revision)
                    uses = self._shelf(event.scope).uses
                    for item in event.items:
                        uses.setdefault(item, []).append(use)
                case LessonDistilled():
                    lesson = (number_of(episode), event)
                    self._shelf(scope_of(episode)).lessons.setdefault(event.id, lesson)
                case KnowledgeConsolidated():
                    # What a revision says stands for what it was.
                    made = self._shelf(scope_of(episode)).made
                    made[number_of(episode), event.role] = event
                case _:
                    pass
        self.measured, self.read_to = measured_on(log), end

    def effects(self, shelf: ScopeHistory, item: MemoryItem) -> list[Probed]:
        """What an item's episodes came to without it, first by whom it was probed most."""
        return most_probed(self.measured.get((shelf.scope, name_of(item)), {}))

    def _shelf(self, scope: str) -> ScopeHistory:
        known = self.shelves.get(scope)
        if known is None:
            known = self.shelves[scope] = ScopeHistory(scope, self.learner.memory(scope))
        return known

    def known(self, episode: str) -> Known:
        """What is known of an episode's answer."""
        return self.learner.grades.of(episode)

    def outcome(self, episode: str) -> Span:
        """The same in words, in its colour."""
        return outcome(self.known(episode), episode not in self.unanswered)

    def standing(self, episode: str) -> Standing:
        """The outcome, with *undecided* and *not graded* told apart."""
        return self.known(episode).standing(episode not in self.unanswered)

    def outcomes(self, uses: list[Use]) -> dict[str, int]:
        """How many of the uses came to which outcome."""
        found = [self.known(use.episode).outcome for use in uses]
        return {name: found.count(name) for name in ("right", "wrong", "unknown") if name in found}

    def right_of(self, uses: list[Use]) -> str:
        """How many of the uses are right, and of how many nobody can say."""
        found = self.outcomes(uses)
        unknown = found.get("unknown", 0)
        return f"{found.get('right', 0)} right" + (f", {unknown} not graded" if unknown else "")

    def standings(self, uses: list[Use]) -> dict[Standing, int]:
        """The same for people."""
        found = Counter(self.standing(use.episode) for use in uses)
        return {name: found[name] for name in get_args(Standing) if found[name]}

    def chosen(
        self, part: str | None, holds: Callable[[ScopeHistory], bool] = has_learned
    ) -> list[ScopeHistory]:
        """The scopes meant: all that hold something, or those of this name or part. Raises a usage error."""
        shelves = sorted(self.shelves.values(), key=lambda shelf: shelf.scope)
        if part is None:
            return [shelf for shelf in shelves if holds(shelf)]
        # A whole name goes before a part, or a scope whose name begins another's
        # could never be meant.
        found = [s for s in shelves if s.scope == part] or [s for s in shelves if part in s.scope]
        if not found:
            names = ", ".join(shelf.scope for shelf in shelves) or "none"
            raise usage(
                f"no scope {part!r}",
                field="--scope",
                error="scope.unknown",
                hint=f"There are {names}",
            )
        return found

    def one(
        self, part: str | None, holds: Callable[[ScopeHistory], bool] = has_learned
    ) -> ScopeHistory:
        """The one scope that is meant. Raises a usage error that lists the choices."""
        # What holds nothing is no choice: most logs have scopes of policies that learn nothing.
        found = self.chosen(part, holds)
        if len(found) == 1:
            return found[0]
        if not found:
            raise CliError("nothing learned yet", error="learned.nothing", exit=1)
        names = ", ".join(shelf.scope for shelf in found)
        raise usage(
            "several scopes", field="--scope", error="scope.ambiguous", hint=f"Name one: {names}"
        )
