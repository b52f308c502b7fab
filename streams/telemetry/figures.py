"""Figures of a log for those who watch: read through SQL from where the last reading ended."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from schemas.events.codec import decode
from schemas.events.learning import Graded
from schemas.identity import is_taken, learning_parts
from state.folds.grades import GradesFold
from streams.runtime.embedded.queries import figures as queries
from streams.runtime.embedded.reading import ReadOnlyLog

SPAN = 20_000
"""Records that one reading takes in at most, so that it never holds the worker up for long."""


@dataclass(slots=True)
class Spent:
    """Calls, and what is known of their tokens and cost."""

    calls: int = 0
    tokens: int = 0
    counted: int = 0
    """Calls whose tokens are known."""
    cost: float = 0.0
    priced: int = 0

    @property
    def known_tokens(self) -> int | None:
        """All tokens, or unknown where those of any call are."""
        # Unknown is not zero. A sum that leaves calls out would look like a saving.
        return self.tokens if self.counted == self.calls else None

    @property
    def known_cost(self) -> float | None:
        """The whole cost, or unknown where that of any call is."""
        return self.cost if self.priced == self.calls else None

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            self.calls + other.calls,
            self.tokens + other.tokens,
            self.counted + other.counted,
            self.cost + other.cost,
            self.priced + other.priced,
        )


@dataclass(slots=True)
class BatchFigures:
    """One closed batch: how many members are right as far as is known now, what they spent, what it taught."""

    scope: str
    number: int
    members: int
    spent: Spent
    each: tuple[tuple[str, Spent], ...] = ()
    """What each member spent."""
    right: int = 0
    graded: int = 0
    lessons: int = 0
    versioned: bool = False

    def count(self, outcome: str, by: int = 1) -> None:
        """Count a member's outcome, or take it back."""
        self.right += by * (outcome == "right")
        self.graded += by * (outcome != "unknown")


@dataclass(slots=True)
class Answered:
    """An answer as it came in."""

    episode: str
    answer: str | None
    status: str
    calls: int


@dataclass(slots=True)
class Figures:
    """The figures of a log so far."""

    problems: int = 0
    refused: int = 0
    """Problems that were put, and that a worker could not take: they have dead letters."""
    solved: set[str] = field(default_factory=set[str])
    """Episodes of solves whose problems nobody put for workers."""
    begun: list[str] = field(default_factory=list[str])
    """Solves that were read since anybody looked whether they were put as well."""
    admitted: int = 0
    closed: int = 0
    failed: int = 0
    held: Counter[str] = field(default_factory=Counter[str])
    """How often an episode that waits for a person was parked more than adopted."""
    asking: Counter[str] = field(default_factory=Counter[str])
    """How many questions to a person an open episode has put that nobody has answered."""
    taken_out: set[str] = field(default_factory=set[str])
    """Open episodes that a person took out for good."""
    repeated: int = 0
    solving: Spent = field(default_factory=Spent)
    learning: Spent = field(default_factory=Spent)
    probing: Spent = field(default_factory=Spent)
    """What forks and other probes spent, which answer nothing."""
    batches: dict[tuple[str, int], BatchFigures] = field(
        default_factory=dict[tuple[str, int], BatchFigures]
    )
    versions: int = 0
    lessons: int = 0
    rules: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    latest: Answered | None = None
    closings: Counter[str] = field(default_factory=Counter[str])
    """Members by what was known of them when their batch was closed, which is what was learned from."""
    grades: GradesFold = field(default_factory=GradesFold)
    member_of: dict[str, BatchFigures] = field(default_factory=dict[str, BatchFigures])
    open: dict[str, Spent] = field(default_factory=dict[str, Spent])
    """What closed episodes spent that are in no closed batch yet."""
    unlearned: set[str] = field(default_factory=set[str])
    """Those of them that a batch waits for: from what was solved beside the worker nobody learns."""
    waits: list[str] = field(default_factory=list[str])
    """Why calls wait just now."""

    @property
    def total(self) -> int:
        """Problems that were produced or solved at once, and that can come to an answer."""
        # A log on Kafka is read partition by partition: an end may be there before its beginning.
        asked = self.problems - self.refused + len(self.solved)
        return max(max(asked, self.admitted) - len(self.taken_out), self.closed)

    @property
    def worked(self) -> list[BatchFigures]:
        """Batches that hold work of ours: one of other tools' traces has nothing to measure."""
        return [batch for batch in self.batches.values() if batch.members]

    @property
    def learnt_from(self) -> list[BatchFigures]:
        """Batches that are closed and have no memory version yet: their scopes learn from them now."""
        return [batch for batch in self.batches.values() if not batch.versioned]

    def feed(self, kind: str, topic: str, episode: str, body: str) -> None:
        """Take one record in."""
        # Bodies are decoded only where something in them counts: most records by far are
        # none of these kinds.
        match kind:
            case "problem.admitted":
                self.admitted += 1
            case "episode.opened":
                if orjson.loads(body).get("purpose") == "solve":
                    self.begun.append(episode)
            case "episode.closed" if topic == "events" and episode.startswith("p/"):
                self._closed(episode, orjson.loads(body))
            case "reflected":
                self.unlearned.add(episode)
            case "episode.parked" | "episode.adopted" | "review.asked" | "review.answered":
                self._left_to_people(kind, episode, body)
            case "batch.closed":
                self._batch(orjson.loads(body))
            case "graded":
                self._graded(episode, body)
            case "memory.versioned" | "lesson.distilled" | "knowledge.consolidated":
                self._learned(kind, episode, body)
            case _:
                pass

    @property
    def parked(self) -> int:
        """Episodes that wait for a person."""
        return len(self.held)

    def _left_to_people(self, kind: str, episode: str, body: str) -> None:
        # Where nobody can be asked an answer says so, and no question came before it. Below zero falls an
        # episode that a person cancelled without its ever having been parked, too.
        of = self.held if kind.startswith("episode.") else self.asking
        of[episode] += 1 if kind in ("episode.parked", "review.asked") else -1
        if of[episode] <= 0:
            del of[episode]
        if kind == "episode.adopted" and orjson.loads(body).get("void"):
            self.taken_out.add(episode)
            del self.asking[episode]

    def _closed(self, episode: str, body: dict[str, Any]) -> None:
        self.taken_out.discard(episode)
        del self.asking[episode]
        usage = body["usage"]
        prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
        calls = int(usage["calls"])
        # Known as a whole or not at all: half of it would pass for the sum.
        if prompt is None or completion is None:
            self.open[episode] = Spent(calls)
        else:
            self.open[episode] = Spent(calls, prompt + completion, calls)
        self.closed += 1
        self.failed += body["status"] == "failed"
        self.latest = Answered(episode, body.get("answer"), body["status"], calls)

    def _batch(self, body: dict[str, Any]) -> None:
        # A batch that is closed again brings no new members: what they spent was
        # counted the first time.
        if body.get("revision") is not None:
            return
        # Cases of other tools are learned from like members, but spent nothing here.
        of = dict(zip(body["members"], body["outcomes"], strict=True))
        members: list[str] = [each for each in of if not is_taken(each)]
        spent = [self.open.pop(member, Spent()) for member in members]
        self.unlearned.difference_update(of)
        each = tuple(zip(members, spent, strict=True))
        batch = BatchFigures(body["scope"], body["batch"], len(members), sum(spent, Spent()), each)
        self.batches[batch.scope, batch.number] = batch
        self.closings.update(of[each] for each in members)
        for member in members:
            self.member_of[member] = batch
            batch.count(self.grades.outcome(member))

    def _graded(self, episode: str, body: str) -> None:
        """A grade may come after its batch was closed, and a person's verdict after any other."""
        event, before = decode("graded", body), self.grades.outcome(episode)
        assert isinstance(event, Graded)
        self.grades.feed(episode, event)
        batch = self.member_of.get(episode)
        # The outcome that counted until now is taken back, and the one that holds now is counted.
        if batch is not None:
            batch.count(before, -1)
            batch.count(self.grades.outcome(episode))

    def _learned(self, kind: str, episode: str, body: str) -> None:
        parts = learning_parts(episode)
        # Nobody of ours wrote it: such a record counts for no fold either.
        if parts is None:
            return
        scope, number, revision = parts
        batch = self.batches.get((scope, number))
        if kind == "knowledge.consolidated":
            event = orjson.loads(body)
            self.rules[scope, event["role"]] = len(event["rules"])
        elif kind == "lesson.distilled":
            self.lessons += 1
            if batch is not None:
                batch.lessons += 1
        elif revision is None:
            # A version that is closed again, such as without a forgotten problem, is no other batch.
            self.versions += 1
            if batch is not None:
                batch.versioned = True


class Reader:
    """Reads figures through a connection of its own; nothing is written."""

    def __init__(self, path: str | Path) -> None:
        self.log = ReadOnlyLog(Path(path))
        self.figures = Figures()
        self.offset = self.problems = 0

    def read(self) -> bool:
        """Take in what is new, up to a span of records. Returns whether there is more."""
        # Up to one end for all queries: what is appended in between must not count in one figure
        # and miss in another.
        end = self.log.end()
        upto = min(end, self.offset + SPAN)
        for found in queries.calls(self.log, self.offset, upto):
            tokens = int(found.prompt_tokens + found.completion_tokens)
            spent = Spent(found.calls, tokens, found.counted, found.cost, found.priced)
            if found.topic == "learning":
                self.figures.learning += spent
            elif found.sort == "q/":
                self.figures.probing += spent
            else:
                self.figures.solving += spent
        for fact in queries.facts(self.log, self.offset, upto):
            self.figures.feed(*fact)
        self.offset = upto
        put = queries.problems(self.log, self.problems)
        # One that was put as well counts among the problems, whichever of the two came first. Only
        # what is new is looked up: a door may solve for months.
        solved, begun = self.figures.solved, self.figures.begun
        if solved and put.problems:
            solved.difference_update(queries.put_since(self.log, self.problems))
        if begun:
            solved.update(begun)
            solved.difference_update(queries.put(self.log, begun))
            begun.clear()
        self.figures.problems += put.problems
        self.figures.refused += put.refused
        # Problems are messages and no records, with offsets of their own.
        self.problems = max(self.problems, put.last)
        self.figures.repeated = self.log.counter("repeated")
        return upto < end

    def read_all(self) -> Figures:
        """Everything up to the log's present end."""
        while self.read():
            pass
        return self.figures

    def close(self) -> None:
        """Let go of the file."""
        self.log.close()
