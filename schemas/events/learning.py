"""What is learned: reflections, grades, batches, lessons, rules and memory versions."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, TypeAlias

from schemas.events.base import Act, Event
from schemas.memory import Sided
from schemas.outcome import Outcome
from schemas.problem import Limits, Profile, Values
from schemas.struct import NonNegativeInt, PositiveInt, always
from schemas.usage import Usage

Timing: TypeAlias = Literal["barrier", "streaming"]
Consolidated: TypeAlias = Literal["consolidated", "kept", "fallback", "warm"]


class SeriesOpened(Event, tag="series.opened"):
    """A finite, ordered set of problems was announced to one scope."""

    act: ClassVar[Act] = "learned"
    latest: ClassVar[tuple[str, ...]] = ("ahead",)
    scope: str
    series: str
    size: NonNegativeInt
    window: PositiveInt
    """Members of a batch (MC² eq. 17: m)."""
    timing: Timing
    policy: str
    policy_version: str
    profile: Profile
    settings: Values
    """The values as they were set."""
    seed: NonNegativeInt
    walk: PositiveInt
    order: str = always("released")
    ahead: bool | None = None
    """Whether its members read no memory, and so wait for no batch before theirs."""


class PositionVoided(Event, tag="position.voided"):
    """A place in a series will not be filled: refused, duplicate, or never arrived."""

    act: ClassVar[Act] = "learned"
    scope: str
    series: str
    position: NonNegativeInt
    reason: str


class TickPassed(Event, tag="tick.passed"):
    """Time passed for a scope: its open window closes with what it holds."""

    act: ClassVar[Act] = "learned"
    scope: str
    batch: PositiveInt


class Reflected(Event, tag="reflected"):
    """What an episode leaves to learn from; without its outcome (MC² eq. 8)."""

    act: ClassVar[Act] = "learned"
    later: ClassVar[tuple[str, ...]] = ("settings", "backbones")
    latest: ClassVar[tuple[str, ...]] = (
        "embedder",
        "texts",
        "statement",
        "held_out",
        "answer_type",
    )
    scope: str
    policy: str
    problem_id: str
    domain: str
    problem: str
    statement: str | None = None
    """How the domain's problems are put, where the problem came with it."""
    answer_type: dict[str, Any] | None = None
    """What the problem's answer is, where it says so."""
    problem_digest: str
    dataset: str | None = None
    profile: Profile
    learning: Values
    """The learning settings as they were set: what the scope's name is made of."""
    series: str | None = None
    position: NonNegativeInt | None = None
    labelled: bool
    status: str
    answer: str | None = None
    confidence: float | None = None
    confidence_source: str | None = None
    usage: Usage
    items: tuple[str, ...] = always(())
    held_out: tuple[str, ...] | None = None
    """Ids of rules that its prompts would have shown and that were held out, so that each is measured by itself."""
    memory_version: NonNegativeInt
    memory_revision: PositiveInt | None = None
    embedder: str | None = None
    """What made the vectors that its summary holds."""
    texts: tuple[str, ...] | None = None
    """What those vectors are made of, as far as the record of learning does not say it anyway."""
    settings: str | None = None
    """Digest of the resolved settings: with model and source, whose confidence this is."""
    backbones: str | None = None
    summary: dict[str, Any]
    """The policy's own pure summary: verdicts, ratings, excerpts."""


class Graded(Event, tag="graded"):
    """An episode's answer was compared with a reference or checked."""

    act: ClassVar[Act] = "learned"
    latest: ClassVar[tuple[str, ...]] = ("relearned_from",)
    scope: str
    outcome: Outcome
    grader: str
    """Name and version, such as ``game24@1``; of a grader in a file its digest too: ``mine@1+0f3a…``."""
    by: Literal["feedback", "checker", "regrade"]
    """What it was graded for: what somebody said of it, its domain's checker, or a person who had it graded anew."""
    source: str | None = None
    """Who gave the reference or verdict; of a judge, which model it was."""
    detail: str | None = None
    relearned_from: PositiveInt | None = None
    """The batch that was learned with another outcome of it: from there on versions are closed again."""


class GradeProposed(Event, tag="grade.proposed"):
    """An answer was graded anew by somebody who may append no grades: who owns its scope states the grade.

    It counts where no other grade came in between, so that what it says it follows is what it does follow.
    """

    act: ClassVar[Act] = "learned"
    scope: str
    grade: str
    """What the address at which the grade will stand has behind ``graded.``."""
    after: str | None = None
    """Address of the newest grade but for persons' verdicts that was known; none where there was none."""
    outcome: Outcome
    grader: str
    source: str | None = None
    detail: str | None = None


class BatchClosed(Event, tag="batch.closed"):
    """A window of a scope is complete; what learns from it, and from which memory, is pinned."""

    act: ClassVar[Act] = "learned"
    later: ClassVar[tuple[str, ...]] = ("calibration", "revised", "retirement")
    latest: ClassVar[tuple[str, ...]] = (
        *("measured", "regraded", "overturned", "retold", "throughout"),
    )
    scope: str
    batch: PositiveInt
    series: str | None = None
    members: tuple[str, ...]
    outcomes: tuple[Outcome, ...]
    """What was known of each member's answer when the batch closed."""
    previous: NonNegativeInt
    policy: str
    policy_version: str
    settings: str
    """Digest of the resolved settings, kept once per log."""
    limits: Limits = always(Limits())
    rule: str | None = None
    """The learning rule that folds what the members measured, as ``name@version``."""
    constants: dict[str, Any] | None = None
    """The rule's constants."""
    revision: PositiveInt | None = None
    """Closed again without the members that a person had forgotten: version ``4.1`` for 4."""
    revised: tuple[str, ...] | None = None
    """Addresses of a person's retirements and restorations that count from this version on."""
    retirement: str | None = None
    """The rule by which memory items are retired on their measured outcome, as ``name@version``."""
    calibration: str | None = None
    """The rule that calibrators are fitted by, as ``name@version``."""
    embedder: str | None = None
    """Closed again only for vectors of its version's lessons by this embedder."""
    measured: str | None = None
    """By which embedder measures get vectors anew, where another made theirs."""
    regraded: Literal[True] | None = None
    """Closed again only for outcomes that were graded anew: nobody is asked, and nothing is withdrawn."""
    overturned: tuple[str, ...] | None = None
    """Marks of what was said in this batch under outcomes that were turned around since: it is set aside. Records of
    earlier builds do not say it, and set nothing aside."""
    retold: Literal[True] | None = None
    """Facts about its members are folded with the outcomes above, since some are others than when they were stated."""
    throughout: Literal[True] | None = None
    """Closed again with what rests on a forgotten problem looked for in all that was ever said of the batch, and
    carried past revisions for outcomes. Records of earlier builds do not say it, and looked in the newest one alone."""
    seed: NonNegativeInt


class LessonDistilled(Event, tag="lesson.distilled"):
    """A micro-lesson of one role (MC² eq. 10)."""

    act: ClassVar[Act] = "learned"
    id: str
    role: str
    polarity: Sided
    text: str
    subject: str
    """The problem that it came from, as ``domain/id``."""
    evidence: tuple[str, ...]
    source: str
    vector: str | None = None
    """Embedding of what it is found by, base64 float16; none: the vector that stands in its place."""


class LessonDropped(Event, tag="lesson.dropped"):
    """A distiller's reply could not be used as a lesson."""

    act: ClassVar[Act] = "learned"
    role: str
    reason: str
    source: str | None = None
    evidence: tuple[str, ...]


class KnowledgeConsolidated(Event, tag="knowledge.consolidated"):
    """The rules of one role after a batch (MC² eq. 11)."""

    act: ClassVar[Act] = "learned"
    role: str
    rules: tuple[tuple[str, str], ...]
    """Rule id and text, in order."""
    result: Consolidated
    new: NonNegativeInt = always(0)
    """Rules whose text stands in no earlier version."""
    lessons: tuple[str, ...] = always(())
    """Ids of the lessons that were in the window."""
    left_out: tuple[str, ...] = always(())
    """Ids of the lessons that did not fit."""
    source: str | None = None


class MemoryVersioned(Event, tag="memory.versioned"):
    """A memory version is complete: everything that an episode of the scope may know."""

    act: ClassVar[Act] = "learned"
    scope: str
    number: NonNegativeInt
    revision: PositiveInt | None = None
    live_from: NonNegativeInt
    """The first batch whose lessons are still live (MC² eq. 11: the window w)."""
    state: str
    """Digest of the memory at this version."""
    origin: str | None = None
    """Scope and version of a warm start."""


class KnowledgeRevised(Event, tag="knowledge.revised"):
    """A person took a memory item out of service, or put it back; the next version heeds it."""

    act: ClassVar[Act] = "learned"
    scope: str
    item: str
    """The item's id."""
    name: str
    """Its name in its scope: ids of rules return with other texts."""
    change: Literal["retired", "restored"]
    by: str | None = None
    reason: str | None = None


class EmbedderChanged(Event, tag="embedder.changed"):
    """A person chose another embedder for a memory: its vectors are made anew before anything opens."""

    act: ClassVar[Act] = "learned"
    scope: str
    embedder: str
    """Its full name, such as ``hashed-256``."""
    by: str | None = None
    reason: str | None = None


class ProblemForgotten(Event, tag="problem.forgotten"):
    """A person had a problem forgotten: what cites it is withdrawn from a scope's memory."""

    act: ClassVar[Act] = "learned"
    scope: str
    domain: str
    problem_id: str
    limits: Limits = always(Limits())
    """What learning each later version again may spend."""
    by: str | None = None
    reason: str | None = None


class SubjectErased(Event, tag="subject.erased"):
    """A person had a subject erased: its key is destroyed, and what was sealed with it can be read by nobody."""

    act: ClassVar[Act] = "learned"
    subject: str
    """The subject's mark; its name stood with its key."""
    by: str | None = None
    reason: str | None = None
