"""The tools: their arguments and results as types, what a model is told of them, and what they do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeAlias, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from schemas.answer import Answer
from schemas.answer_type import AnswerTypeSaid, Form
from schemas.events.episode import EpisodeOpened
from schemas.faults import first_fault
from schemas.outcome import Status
from schemas.problem import ID_CHARS, PROBLEM_CHARS, Name, ProblemId, ProblemText, Seed
from schemas.record import Record
from schemas.settings import BACKBONE
from streams.core.grants import SIMULATED
from streams.interfaces.door.access import Guest
from streams.interfaces.door.client import REASON_CHARS
from streams.interfaces.door.errors import Error
from streams.interfaces.door.lessons import FoundLesson
from streams.interfaces.door.service import Service
from streams.runtime.embedded.solving import text_id
from streams.views.states import ASKING

MOST_LESSONS = 50
Progress: TypeAlias = Callable[[Record], Awaitable[None]]
"""Is called with each record of an episode as it is written."""
A = TypeVar("A", bound=BaseModel)


class Given(BaseModel):
    """Arguments of a tool; a name that is not among them is refused, since a slip would else go unseen."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def by_name_too(schema: dict[str, Any]) -> None:
    """Say of a field that the bare name of a form stands for an object that holds nothing else."""
    schema["anyOf"] = [{"type": "string", "enum": list(get_args(Form))}, *schema["anyOf"]]


# ── solve ────────────────────────────────────────────────────────────────────────────────────


class SolveArguments(Given):
    """A problem, and how it is to be worked on."""

    problem: ProblemText = Field(
        description="The whole problem in words. The solver sees nothing else: no file, no conversation."
    )
    policy: str | None = Field(
        default=None,
        description="The reasoning policy, one of those that the tool's description lists; the first if absent.",
    )
    backbone: Name | None = Field(
        default=None,
        description="Who answers in place of the usual model: a name that the tool's description lists.",
    )
    call_limit: int | None = Field(
        default=None,
        ge=1,
        description="The most calls of a model that the episode may make. The operator's own limit holds as well.",
    )
    id: ProblemId | None = Field(
        default=None,
        description="A name for the problem. The same name, policy, backbone and seed are the same episode, "
        "never paid twice. Without one, the same text is the same problem.",
    )
    seed: Seed = Field(default=0, description="Another seed asks the same problem anew.")
    answer_type: AnswerTypeSaid | None = Field(
        default=None,
        description="What the answer is; one of another form is never given. The form's name, such as `number` or "
        '`yes_no`, or an object: `{"type": "number", "unit": "km"}`, `{"type": "choice", "options": ["a", "b"]}`, '
        '`{"type": "json", "schema": {…}}`.',
        json_schema_extra=by_name_too,
    )


# Results are types with descriptions, since the schema that is made of them is all that a model
# knows of a result.
class Spent(BaseModel):
    """The usage of the whole episode; a figure is null where that of some call is unknown."""

    calls: int
    prompt_tokens: int | None
    completion_tokens: int | None
    cost: float | None
    seconds: float | None


class Solved(BaseModel):
    """An answer with what it rests on."""

    answer: str | None = Field(description="Null where the solver abstained or a limit left none.")
    status: Status
    ended_by: str = Field(description="What ended the episode.")
    confidence: float | None = Field(
        description="What the policy claimed, in [0, 1]; null if unknown."
    )
    calibrated: float | None = Field(
        description="The chance of being right by graded answers; null until enough of them are known."
    )
    usage: Spent
    episode: str = Field(description="The episode's name: give it to the tool `explain`.")
    simulated: bool = Field(
        description="True where no model answered but a simulator, whose answers mean nothing."
    )

    @classmethod
    def of(cls, answer: Answer, *, simulated: bool) -> Solved:
        """The answer as a model reads it: in plain text where there is one beside its LaTeX."""
        used = answer.usage
        return cls(
            answer=answer.plain or answer.answer,
            status=answer.status,
            ended_by=answer.ended_by,
            confidence=answer.confidence,
            calibrated=answer.calibrated,
            usage=Spent(
                calls=used.calls,
                prompt_tokens=used.prompt_tokens,
                completion_tokens=used.completion_tokens,
                cost=used.cost,
                seconds=used.seconds,
            ),
            episode=answer.episode,
            simulated=simulated,
        )


async def solve(
    service: Service, guest: Guest, given: SolveArguments, progress: Progress
) -> Solved:
    """Put a problem, tell of each step as it is recorded, and wait for the answer."""
    name = service.offer.policies[0] if given.policy is None else given.policy
    policy = service.policy(name, field="policy", lists="the tool's description")
    typed = given.answer_type
    chosen = {} if given.backbone is None else {BACKBONE: service.backbone(given.backbone)}
    # Named by its text: assistants repeat calls, and a repeated one must not be paid for.
    id = guest.own_id(text_id(given.problem, typed) if given.id is None else given.id)
    handle = await service.submit(
        guest,
        given.problem,
        id,
        policy,
        new=False,
        settings={**service.client.way.settings, **chosen},
        seed=given.seed,
        call_limit=given.call_limit,
        answer_type=None if typed is None else typed.said,
    )
    again = f"call solve again with the same arguments to wait on for {handle.episode}"
    simulated = False

    async def followed() -> Answer:
        nonlocal simulated
        async for record in handle.events():
            # As the episode's opening says: it may have been worked on elsewhere, or long ago.
            if isinstance(record.event, EpisodeOpened):
                simulated = SIMULATED in record.event.backbones
            await progress(record)
        return await handle.answer()

    answer = await service.waited(followed(), service.offer.patience_s, again)
    return Solved.of(answer, simulated=simulated)


# ── explain ──────────────────────────────────────────────────────────────────────────────────


class ExplainArguments(Given):
    """Which episode is meant."""

    episode: Annotated[str, StringConstraints(min_length=1, max_length=4 * ID_CHARS)] = Field(
        description="The episode's name, as `solve` gave it."
    )


class Explained(BaseModel):
    """How an episode came to its answer, or how far it is."""

    episode: str
    problem: str
    policy: str | None
    status: str = Field(
        description=f"`open` while it goes on, `{ASKING}` where its policy waits for a person's word, "
        "`parked` where a person has to decide whether it goes on."
    )
    answer: str | None
    confidence: float | None
    lessons: list[str] = Field(description="Ids of the lessons that were in its prompts.")
    page: str = Field(
        description="The episode told step by step: who was asked what, what was found, what it cost."
    )


async def explain(
    service: Service, guest: Guest, given: ExplainArguments, progress: Progress
) -> Explained:
    """Tell a guest's own episode as `metalogue show` does."""
    # Raises for another's. Nothing below asks again whose episode it is.
    await service.own(given.episode, guest)
    said = await service.client.explain(given.episode)
    return Explained(
        episode=said["episode"],
        problem=said["problem"],
        policy=said["policy"],
        status=said["status"],
        answer=said["answer"],
        confidence=said["confidence"],
        lessons=said["items"],
        page=await service.client.page(given.episode),
    )


# ── cancel ───────────────────────────────────────────────────────────────────────────────────


class CancelArguments(Given):
    """Which episode is taken out, and why."""

    episode: Annotated[str, StringConstraints(min_length=1, max_length=4 * ID_CHARS)] = Field(
        description="The episode's name, as `solve` gave it."
    )
    reason: Annotated[str, StringConstraints(min_length=1, max_length=REASON_CHARS)] | None = Field(
        default=None, description="Why, in a sentence: it stands on the record."
    )


class Cancelled(BaseModel):
    """An episode that is not worked on any more."""

    episode: str
    status: str = Field(description="`cancelled`.")


async def cancel(
    service: Service, guest: Guest, given: CancelArguments, progress: Progress
) -> Cancelled:
    """Take a guest's own episode out, whoever waits for it."""
    await service.own(given.episode, guest)
    await service.client.cancel(given.episode, by=f"mcp:{guest.name}", reason=given.reason)
    return Cancelled(episode=given.episode, status="cancelled")


# ── search_lessons ───────────────────────────────────────────────────────────────────────────


class SearchArguments(Given):
    """The search for lessons."""

    query: Annotated[str, StringConstraints(min_length=1, max_length=PROBLEM_CHARS)] = Field(
        description="A problem or a question in words; lessons that are most like it are found."
    )
    top: int = Field(default=5, ge=1, le=MOST_LESSONS, description="How many at most.")


class ProbedEffect(BaseModel):
    """The outcomes of a lesson's episodes when they were run again without it."""

    by: str = Field(description="Which models answered those runs.")
    episodes: int
    judged: int = Field(description="Of those, how many could be graded with it and without.")
    points: float | None = Field(
        description="Points of accuracy that it brought; null if none is judged."
    )
    interval: tuple[float, float] | None = Field(description="The 95 % interval of the points.")


class LessonEffect(BaseModel):
    """The effect of a lesson, beside episodes of the same batch that did without it."""

    opportunities: float = Field(description="Graded episodes that had it while others had not.")
    points: float | None = Field(
        description="Points of accuracy that it brought; null while nobody can say."
    )


class SearchedLesson(BaseModel):
    """A lesson in force."""

    id: str
    text: str
    role: str = Field(description="Whose prompt it is put into.")
    polarity: str | None = Field(description="`do`, `avoid` or `both`; null where it does not say.")
    scope: str = Field(description="Domain, policy and memory that it was learned in.")
    similarity: float = Field(description="Cosine of the lesson and the query, in [-1, 1].")
    by: str = Field(
        description="The embedder of that cosine; those of two embedders do not compare."
    )
    used: int = Field(description="Episodes that had it in their prompts.")
    right: int = Field(description="Of those, how many were right.")
    wrong: int = Field(description="Of those, how many were wrong; the rest is not known.")
    effect: LessonEffect
    probed: list[ProbedEffect] = Field(
        description="Controlled effects, if an operator had them measured."
    )

    @classmethod
    def of(cls, found: FoundLesson) -> SearchedLesson:
        """A lesson that was found, as plain values."""
        lesson, item = found.lesson, found.lesson.item
        return cls(
            id=item.id,
            text=item.text,
            role=item.role,
            polarity=item.polarity,
            scope=lesson.scope,
            similarity=found.similarity,
            by=found.by,
            used=lesson.used,
            right=lesson.right,
            wrong=lesson.wrong,
            effect=LessonEffect(
                opportunities=lesson.effect.opportunities, points=lesson.effect.points
            ),
            probed=[
                ProbedEffect(
                    by=each.who,
                    episodes=len(each.effect.pairs),
                    judged=len(each.effect.judged),
                    points=each.effect.points,
                    interval=each.effect.interval,
                )
                for each in lesson.probed
            ],
        )


class Searched(BaseModel):
    """Lessons, the most alike first."""

    lessons: list[SearchedLesson]


async def search(
    service: Service, guest: Guest, given: SearchArguments, progress: Progress
) -> Searched:
    """Find lessons of a guest's own memory."""
    # The guest's own memory and no other: lessons quote the problems that they were learned from.
    found = await service.client.lessons(given.query, memory=guest.name, top=given.top)
    return Searched(lessons=[SearchedLesson.of(each) for each in found])


# ── all of them ──────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Tool(Generic[A]):
    """A tool that may be called: what a model is told of it, and what it does for a guest."""

    name: str
    title: str
    about: str
    arguments: type[A]
    result: type[BaseModel]
    work: Callable[[Service, Guest, A, Progress], Awaitable[BaseModel]]
    reads: bool
    """Whether it changes nothing and spends nothing."""

    async def __call__(
        self, service: Service, guest: Guest, given: object, progress: Progress
    ) -> BaseModel:
        """Its result. Raises an ``Error`` that names the argument that is wrong."""
        try:
            arguments = self.arguments.model_validate(given)
        except ValidationError as error:
            # By its name, since the model that made the call is the one that has to mend it.
            field, what = first_fault(error)
            raise Error(what, code="input.field", field=field or "arguments") from error
        return await self.work(service, guest, arguments, progress)


def tools_of(policies: Sequence[str], backbones: Sequence[str] = ()) -> list[Tool[Any]]:
    """The tools of a server that offers these policies, and these backbones beside the usual one."""
    # In the description of one tool: a tool for each of thirty policies would fill an
    # assistant's context.
    listed = ", ".join(f"`{name}`" for name in policies)
    others = ", ".join(f"`{name}`" for name in backbones)
    chosen = f" Backbones: {others}; the operator's own answers if none is named." if others else ""
    return [
        Tool(
            "solve",
            "Solve a problem",
            "Solve one self-contained problem under a reasoning policy that samples, criticises and revises, and "
            "learns from earlier problems. Use it for mathematics, logic and multi-step questions where a single "
            "reply may err; it takes seconds to minutes and calls a model many times, each call on the record. It "
            "returns the answer with its status, confidence, usage and the episode's name. The same problem "
            f"asked again costs nothing. Policies: {listed}; the first is used if none is named.{chosen}",
            SolveArguments,
            Solved,
            solve,
            reads=False,
        ),
        Tool(
            "explain",
            "Explain an episode",
            "Tell how an episode came to its answer, or how far it is: each step with who was asked, what came "
            "back, what was decided and what it cost, and the lessons that it was given. Use it after `solve`, "
            "when the answer is to be checked or is doubted. It asks no model and costs nothing.",
            ExplainArguments,
            Explained,
            explain,
            reads=True,
        ),
        Tool(
            "cancel",
            "Cancel an episode",
            "Take out an episode that has not ended: no more calls are made for it, now or after a restart, and "
            "nobody gets an answer of it. What it asked so far stays on the record. Use it for a problem that "
            "was put by mistake or is not needed any more.",
            CancelArguments,
            Cancelled,
            cancel,
            reads=False,
        ),
        Tool(
            "search_lessons",
            "Search lessons",
            "Find lessons that were learned from earlier problems and are most like a question, each with how "
            "often it was used, how often those answers were right, and the effect that was measured. Use it "
            "to see what is known of a kind of problem before it is tried. It asks no model that solves problems.",
            SearchArguments,
            Searched,
            search,
            reads=True,
        ),
    ]
