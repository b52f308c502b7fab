"""A log as a client uses it: problems in, answers out. It belongs to one thread."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from types import MappingProxyType
from typing import Any, TypeAlias

from handlers.policies.base import Around
from handlers.reviewing import Thresholds
from schemas.answer import Answer, as_answer
from schemas.carried import as_text, of_text
from schemas.events.episode import EpisodeParked, ProblemAdmitted
from schemas.identity import digest
from schemas.problem import Feedback
from schemas.record import Record
from schemas.written import readable
from streams.engine.policies import find
from streams.interfaces.cli.cancelling import cancel, taken_out
from streams.interfaces.cli.config import load
from streams.interfaces.cli.prompting import given
from streams.interfaces.cli.reviews import Item, as_newest, judgement, queue, waiting_of
from streams.interfaces.cli.setup import tools_wanted
from streams.interfaces.cli.show.episode import page_of
from streams.interfaces.cli.show.library import Library
from streams.interfaces.cli.show.plain import episode_json
from streams.interfaces.door.asking import Asked, Way
from streams.interfaces.door.errors import Error
from streams.interfaces.door.lessons import Lesson, lessons_of
from streams.interfaces.door.messages import (
    Marks,
    answer_of,
    answers_after,
    line_of,
    met,
    refused_after,
    stopped_after,
    why,
)
from streams.producing.others import Others
from streams.producing.produce import Plan, Producer
from streams.producing.sources import BadLine, SourceLine
from streams.producing.subjects import Subjects
from streams.producing.typed import need_fit
from streams.runtime.embedded.health import GONE, Probe
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.queries import messages
from streams.runtime.kafka import aio
from streams.runtime.kafka.sending import Unrecorded
from streams.views.sheet import read

NO_HEADERS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Found:
    """An episode that is on the log: its problem's id and memory, and how far it is."""

    episode: str
    id: str
    memory: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """What its application wants to find on the answer."""
    answer: Answer | None = None
    parked: str | None = None
    cancelled: bool = False


Awaited: TypeAlias = str | Marks
"""An answer that somebody waits for: by its episode, or by the headers that it is to bear."""


def told_of(awaited: Awaited) -> str:
    """Say in words what is awaited."""
    if isinstance(awaited, str):
        return awaited
    return ", ".join(f"{name}={value}" for name, value in sorted(awaited))


@dataclass(slots=True)
class News:
    """Records that came since the last look, by what is awaited."""

    answers: dict[Awaited, Answer] = field(default_factory=dict[Awaited, Answer])
    parked: dict[Awaited, str] = field(default_factory=dict[Awaited, str])
    refused: dict[Awaited, str] = field(default_factory=dict[Awaited, str])
    cancelled: set[Awaited] = field(default_factory=set[Awaited])


class Mailbox:
    """Puts problems and feedback on a log, and reads what came of them."""

    def __init__(self, log: SqliteLog) -> None:
        self.log, self.others = log, Others(log)
        self.around = Around(tools_wanted() is not None)
        """What the policies will have at hand: of a worker elsewhere only what is configured."""
        self.probe = None if log.is_owned_elsewhere else Probe(log.path)
        """Tries the file; what lies on Kafka is tried by reading on."""
        self.version = (-1, -1)
        self.library: Library | None = None
        """What was learned, read when it is first asked for."""
        self.awaited: frozenset[Awaited] = frozenset()
        """Whose news was looked for last."""
        # From the log's end: it may hold a million answers for which nobody here ever waited.
        self.answered = messages.last(log, "answers")
        self.letters = messages.last(log, "dead-letters")
        self.recorded = log.end()

    def close(self) -> None:
        """Let go of the log."""
        self.log.close()

    # -- putting -----------------------------------------------------------------------------------

    def post(
        self, asked: Asked, way: Way, *, new: bool = False, headers: Mapping[str, str] = NO_HEADERS
    ) -> Found:
        """Put a problem on the log, unless it is there. Raises an ``Error`` that names what is wrong with it."""
        self._need_log()
        policy, (id, memory) = way.found(), way.own(asked.id)
        plan = Plan(
            source="client",
            find=find,
            policy=policy.name,
            domain=way.domain,
            profile=way.profile,
            values=dict(way.settings),
            limits=way.limits(),
            seed=way.seed,
            memory=way.memory,
            tenant=way.tenant,
            priority=way.priority,
            # Problems of clients come one by one for as long as they like: they form a stream.
            finite=False,
            around=self.around,
            statements=load().statements,
            answer_type=way.typed(),
            headers=headers,
            prompts=given(None),
        )
        # Dry, so that nothing is on the log when it is refused: a caller is told, and
        # needs no dead letter.
        producer = Producer(self.log, plan, self.others)
        line = SourceLine(1, line_of(asked.id, asked.problem, asked.answer))
        done = producer.run([line], dry=True)
        for refusal in done.refused:
            error = refusal.error
            raise Error(error.what, code=error.code, field=error.field)
        # The same id with other settings is another episode, which is what a series of runs wants.
        # Whoever says ``new`` wants an id to mean one thing.
        (episode,) = producer.seen
        if new and any(each != episode for each in messages.runs_of_problem(self.log, episode)):
            what = f"{asked.id!r} is already taken, with another policy or other settings"
            raise Error(what, code="input.duplicate", field="id")
        if done.produced:
            self._put(producer.messages, asked, episode, new)
            return Found(episode, id, memory, headers)
        # A known problem may be given its reference later.
        if asked.answer is not None:
            self.log.publish([each for each in producer.messages if each[0] == "feedback"])
        found = self.find(episode)
        return Found(episode, id, memory, headers) if found is None else found

    def _put(
        self,
        said: Iterable[tuple[str, str, Mapping[str, Any], bytes]],
        asked: Asked,
        episode: str,
        new: bool,
    ) -> None:
        """Put a problem that was not there.

        Raises an ``Error`` that names its episode where brokers do not say whether they took it, and one where another
        client put another problem under its id before us, at the same time.
        """
        try:
            self.log.publish(said)
        except (aio.kafka_error(), Unrecorded, OSError) as error:
            # A file says at once whether it took it. Of a broker that was there a moment ago nobody knows, and who
            # asks for the same once more, under another id, may pay for it twice.
            if self.probe is not None:
                raise
            what = f"no broker said whether it took the problem, which may be worked on: {error}"
            hint = "Ask for its answer later; put again under its id it is the same"
            raise Error(what, code="log.unsure", where=episode, hint=hint) from error
        # By the order of the log, which the worker goes by as well: when we looked, not even ours was there.
        first = messages.first_put(self.log, episode)
        what = ""
        if first is not None and first[1] != asked.problem:
            what = f"{asked.id!r} is already taken by another problem text"
        elif first is not None and new and first[0] != episode:
            what = f"{asked.id!r} is already taken, with another policy or other settings"
        if what:
            raise Error(what, code="input.duplicate", field="id")

    def judge(self, said: Feedback) -> None:
        """Put feedback on the log; the same twice is one. Of an episode that waits for it, it is the answer.

        Raises an ``Error`` where the answer is of a subject who was erased, or a reference of another form than its
        problem's type.
        """
        self._need_log()
        # On Kafka this fetches what others sent meanwhile; the question may have been put just now.
        self.log.data_version()
        waiting = None if said.episode is None else waiting_of(self.log, said.episode)
        # What a person says of an episode that waits for him is his answer, and must
        # fit what was asked.
        if waiting is not None:
            reference = None if said.reference is None else str(said.reference)
            word = {"verdict": said.verdict, "score": said.score, "passed": said.passed}
            said = judgement(waiting, said.by, reference=reference, **word)
        said = as_newest(self.log, said)
        body = said.model_dump_json(exclude_none=True).encode()
        try:
            Subjects(self.log).need_key(body)
        except BadLine as error:
            raise Error(error.what, code=error.code, field="episode") from error
        try:
            need_fit(self.log, said)
        except BadLine as error:
            raise Error(error.what, code=error.code, field=error.field) from error
        self.log.publish([("feedback", digest(body.decode()), {}, body)])

    def reviews(self, thresholds: Thresholds, memory: str | None, limit: int) -> list[Item]:
        """The answers that wait for a person; those of one memory, if it is named."""
        self.log.data_version()
        found = (each for each in queue(self.log, thresholds) if memory in (None, each.memory))
        return list(islice(found, limit))

    def cancel(self, episode: str, by: str | None, reason: str | None) -> None:
        """State that an episode is taken out. Raises an ``Error`` where there is none, or it is over."""
        self._need_log()
        self.log.data_version()
        if self.find(episode) is None:
            raise Error("no such episode", code="episode.unknown", where=episode)
        cancel(self.log, episode, by=by, reason=reason)

    def _need_log(self) -> None:
        """Raise an ``Error`` where nobody would ever read what is put."""
        if self.probe is not None and not self.probe.is_there:
            hint = "Stop what works on it, bring the file back, and start again"
            raise Error(GONE, code="log.gone", where=str(self.log.path), hint=hint)

    # -- reading -----------------------------------------------------------------------------------

    def trouble(self) -> str | None:
        """Why nothing can be put or read just now; nothing where both can. Raises what a broker that is away does."""
        if self.probe is not None:
            return self.probe.trouble()
        self.log.data_version()  # on Kafka this fetches
        return None

    def find(self, episode: str) -> Found | None:
        """An episode that is on the log, or whose problem is."""
        found = self._found(episode)
        # An answer stays as it is. All else may be new on the log, put and worked on elsewhere.
        if found is None or found.answer is None:
            self.log.data_version()
            found = self._found(episode)
        return found

    def _found(self, episode: str) -> Found | None:
        id, memory, headers = "", "", dict[str, str]()
        admitted = self.log.find(episode, "admitted")
        # An admitted problem is read from its record, as the worker read it; one that
        # waits has only this.
        put = messages.find(self.log, "problems", episode)
        if isinstance(admitted, ProblemAdmitted):
            id, memory = admitted.problem.id, admitted.problem.memory
            headers = as_text(admitted.headers)
        elif put is not None and (problem := readable(put.value)) is not None:
            id, memory = problem.id, problem.memory
            headers = {name: each.decode() for name, each in of_text(put.headers)}
        else:
            return None
        answer, parked = answer_of(self.log, episode), self._parked(episode)
        cancelled = answer is None and taken_out(self.log, episode) is not None
        return Found(episode, id, memory, headers, answer, parked, cancelled)

    def _parked(self, episode: str) -> str | None:
        """Why an episode waits for a person, if it does."""
        kinds = ("episode.parked", "episode.adopted")
        said = [each.event for each in self.log.records(episode=episode, kinds=kinds)]
        last = said[-1] if said else None
        return last.reason if isinstance(last, EpisodeParked) else None

    def records(self, episode: str, after: int) -> list[Record]:
        """The records of an episode behind an offset."""
        self.log.data_version()
        return list(self.log.records(episode=episode, after=after))

    def explained(self, episode: str) -> dict[str, Any] | None:
        """How an episode came to its answer, as `metalogue show --json` says it; none where there is none."""
        self.log.data_version()
        sheet = read(self.log, episode)
        return None if sheet.admitted is None else episode_json(sheet)

    def page(self, episode: str) -> str | None:
        """The same as a page of text, as `metalogue show` prints it; none where there is none."""
        self.log.data_version()
        sheet = read(self.log, episode)
        return None if sheet.admitted is None else page_of(sheet, None, episode).text()

    def lessons(self, memory: str) -> list[Lesson]:
        """The lessons in force under a memory's name; only what is new on the log is read again."""
        self.log.data_version()
        if self.library is None:
            self.library = Library.read(self.log)
        else:
            self.library.follow(self.log)
        return list(lessons_of(self.library, memory))

    def news(self, waiting: Iterable[Awaited]) -> News:
        """Return what came since the last look, and for those who wait since then everything that came for them."""
        found, wanted = News(), frozenset(waiting)
        fresh = wanted - self.awaited
        # Nobody counts as looked for until this look is through. One that breaks off, because the
        # log is busy or a broker away, has lost what it found by then, and the next one has to look
        # for all of them anew.
        self.awaited = frozenset()
        # A log on Kafka counts what it brought in itself; another process may have brought it
        # into the same file.
        version = self.log.data_version(), SqliteLog.data_version(self.log)
        if version == self.version and not fresh:
            self.awaited = wanted
            return found
        # Those who wait since just now may wait for what was passed over before: each is looked up
        # once by itself. From then on the records since the last look are enough for all of them.
        for each in fresh:
            self._before(each, found)
        marked = [each for each in wanted if not isinstance(each, str)]
        episodes = [each for each in wanted if isinstance(each, str)]
        for at, episode, answer, headers in answers_after(self.log, self.answered):
            self.answered = at
            theirs: tuple[Awaited, ...] = (episode, *met(headers, marked))
            for heard in theirs:
                if heard in wanted:
                    found.answers.setdefault(heard, answer)
        for at, episode, reason in stopped_after(self.log, self.recorded):
            self.recorded = at
            if episode in wanted and reason is None:
                found.cancelled.add(episode)
            elif episode in wanted and reason is not None:
                found.parked[episode] = reason
        for at, refused, letter in refused_after(self.log, self.letters, episodes):
            self.letters = at
            own = () if refused is None else (refused,)
            found.refused |= dict.fromkeys((*met(letter, marked), *own), why(letter))
        over = {*found.answers, *found.parked, *found.refused, *found.cancelled}
        self.version, self.awaited = version, wanted - over
        return found

    def _before(self, awaited: Awaited, found: News) -> None:
        """Take in what came for an answer before anybody looked for its news."""
        if not isinstance(awaited, str):
            borne = messages.bearing(self.log, "answers", awaited)
            answer = None if borne is None else as_answer(borne.value)
            if answer is not None:
                found.answers[awaited] = answer
                return
            refusal = messages.bearing(self.log, "dead-letters", awaited)
            if refusal is not None:
                found.refused[awaited] = why(refusal.headers)
            return
        answer, parked = answer_of(self.log, awaited), self._parked(awaited)
        if answer is not None:
            found.answers[awaited] = answer
        elif parked is not None:
            found.parked[awaited] = parked
        elif taken_out(self.log, awaited) is not None:
            found.cancelled.add(awaited)
        elif self.log.find(awaited, "admitted") is None:
            # A worker admits or refuses, so this reading of all refusals is spared
            # whoever was admitted.
            for _, refused, letter in refused_after(self.log, 0, [awaited]):
                if refused is not None:
                    found.refused[refused] = why(letter)
