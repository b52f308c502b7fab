"""The world sends each question to whoever can answer it, and records whatever comes back."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs

from handlers.answers.grade import Grade
from handlers.limits import UNBOUNDED, Reservation
from handlers.roles.role import Role, answer
from schemas.asking import Ask
from schemas.events.episode import (
    Checked,
    Completed,
    Embedded,
    QuestionAbandoned,
    Recalled,
    ReviewAnswered,
)
from schemas.identity import call_seed, text_digest
from schemas.memory import Memory, MemoryItem
from schemas.price import Price
from schemas.problem import ID_CHARS, Feedback, Limits
from schemas.questions import Check, Credit, Embed, Recall, Review, Sampling, UseTool
from schemas.vectors import pack
from streams.answering.embedders.hashed import hashed
from streams.answering.embedders.port import Bill
from streams.answering.retries import Patience
from streams.answering.world import Draining, Totals, World, capped
from streams.core.backbone import ModelReply, ModelRequest, SetupBroken, Stuck, Unreachable
from streams.core.drive import Run, Waiting

ROLE = Role.of("reasoner", "Solve it.", sections=("Problem", "Guidance?"), reply=[answer()])
ASKED = ROLE.question({"problem": "6 * 7?"})
GUIDED = ROLE.question({"problem": "6 * 7?", "guidance": "Multiply first."})
SAID = ModelReply(text="42", finish="stop", model="m", prompt_tokens=3, completion_tokens=2)
LONG = ModelReply(text="", finish="error", model="m", too_long=True, seconds=1.0, attempts=2)


@dataclass
class Model:
    """A backbone that says what it is told to, and remembers what it was asked."""

    name: str = "fake:m"
    simulated: bool = False
    replies: list[Any] = field(default_factory=list[Any])
    asked: list[ModelRequest] = field(default_factory=list[ModelRequest])
    closed: int = 0
    drained: int = 0
    looks: list[Any] = field(default_factory=list[Any])

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.asked.append(request)
        found: ModelReply | Exception = self.replies.pop(0) if self.replies else SAID
        if isinstance(found, Exception):
            raise found
        return found

    async def close(self) -> None:
        self.closed += 1

    def drain(self) -> None:
        self.drained += 1

    def watch(self, look: Callable[[], object]) -> None:
        self.looks.append(look)

    def why(self) -> str | None:
        return f"{self.name} is busy"

    def __hash__(self) -> int:
        return id(self)


@dataclass
class Letters:
    """Vectors of letters, at a bill."""

    name: str = "hashed-256"
    dimensions: int = 256
    bills: Bill | None = None
    closed: int = 0

    async def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        return [tuple(hashed(text)) for text in texts]

    def bill(self, texts: Sequence[str]) -> Bill | None:
        return self.bills

    async def close(self) -> None:
        self.closed += 1


def ask(
    world: World, question: Ask[Any], run: Run | None = None, reserved: Reservation = UNBOUNDED
) -> Any:
    run = run or Run("p/d/a/r", {}, 7, Memory("s", 0))
    return asyncio.run(world.answer(run, question, "asked", "3", reserved))


def worked(**more: Any) -> tuple[World, Model]:
    model = Model(**more)
    return World({"*": model}, Letters(), patient=False), model


# ── Models ───────────────────────────────────────────────────────────────────────────────────


def test_a_question_goes_to_its_role_s_model_and_any_other_to_the_rest() -> None:
    mine, rest = Model("fake:mine"), Model("fake:rest")
    world = World({"*": rest, "reasoner": mine}, Letters())
    assert ask(world, ASKED).text == "42"
    assert ask(world, structs.replace(ASKED, role="monitor")).text == "42"
    assert (len(mine.asked), len(rest.asked), world.calls_begun) == (1, 1, 2)
    assert world.description == "fake:rest, reasoner=fake:mine"
    assert not world.simulated
    half = World({"a": Model("x", simulated=True), "*": rest}, Letters())
    assert (half.simulated, half.description) == (True, "fake:rest, a=x (SIMULATED)")


def test_a_request_says_all_that_a_model_must_know() -> None:
    world, model = worked()
    question = structs.replace(ASKED, sampling=Sampling(temperature=0.5, max_tokens=90), draw=2)
    ask(world, question)
    ask(world, question, Run("p/d/a/r", {}, 7, Memory("s", 0), in_text=True))
    first, second = model.asked
    assert first == ModelRequest(
        question.messages(), question.sampling, call_seed(7, "3"), 2, question.template.schema,
        question.template.reply.asked(dict(question.variables)), True, question.template.tools,
    )  # fmt: skip
    assert first.schema is not None
    assert second == structs.replace(first, schema=None)
    ask(world, structs.replace(question, draw=0))
    assert not model.asked[-1].seeded, "nothing hangs on it"


@pytest.mark.parametrize(
    ("cap", "reserved", "asked"), [(None, None, None), (90, None, 90), (None, 50, 50), (90, 50, 50)]
)
def test_a_reply_is_no_longer_than_what_is_reserved(
    cap: int | None, reserved: int | None, asked: int | None
) -> None:
    world, model = worked()
    question = structs.replace(ASKED, sampling=Sampling(temperature=0.5, max_tokens=cap))
    ask(world, question, reserved=Reservation(reserved, 0, 0.0))
    assert model.asked[0].sampling == Sampling(temperature=0.5, max_tokens=asked)
    assert capped(question.sampling, cap) is question.sampling


def test_a_prompt_that_is_too_long_is_asked_once_more_without_its_guidance(
    caplog: pytest.LogCaptureFixture,
) -> None:
    again = replace(SAID, seconds=0.5, attempts=3, dropped=("seed",))
    world, model = worked(replies=[LONG, again])
    with caplog.at_level(logging.WARNING):
        said = ask(world, GUIDED)
    assert (said.text, said.attempts, said.seconds) == ("42", 5, 1.5)
    assert said.dropped == ("seed", "guidance")
    assert "fake:m: a prompt is too long" in caplog.text
    first, second = model.asked
    assert "Multiply first." in str(first.messages)
    assert second == structs.replace(first, messages=GUIDED.unguided() or ())
    world, model = worked(replies=[LONG])
    assert ask(world, ASKED).dropped is None, "there is nothing to leave out"
    world, model = worked()
    assert ask(world, GUIDED).dropped is None


@pytest.mark.parametrize(("first", "second"), [(True, True), (True, False), (False, True)])
def test_what_may_have_been_charged_has_no_known_cost(first: bool, second: bool) -> None:
    model = Model(replies=[replace(LONG, free=first), replace(SAID, free=second)])
    prices = {"fake": Price(prompt=1_000_000, completion=0)}
    world = World({"*": model}, Letters(), prices=prices)
    said = ask(world, GUIDED)
    assert said.cost == (3.0 if first and second else None)
    assert world.grant.prices == {"*": prices["fake"]}
    assert world.grant.unpriced == ()


def test_a_grant_names_limits_prices_and_models_without_a_price() -> None:
    model, other = Model("fake:m"), Model("other:n")
    prices = {"fake": Price(prompt=1, completion=2)}
    world = World(
        {"*": model, "a": other},
        Letters(),
        prices=prices,
        price_list="june",
        limits=Limits(calls=3),
    )
    grant = world.grant
    assert (grant.limits, dict(grant.prices), grant.unpriced, grant.price_list) == (
        Limits(calls=3),
        {"*": prices["fake"]},
        ("other:n",),
        "june",
    )
    assert World({"*": model}, Letters()).grant.limits == Limits()


def test_all_episodes_of_a_worker_share_its_totals_and_its_patience() -> None:
    patience = Patience()
    totals = Totals(calls=1)
    world = World({"*": Model()}, Letters(), totals=totals, patience=patience, patient=False)
    assert ask(world, ASKED).text == "42"
    with pytest.raises(Draining):
        ask(world, ASKED)
    assert (world.exhausted, world.draining) == ("calls", True)
    assert world.caller.patience is patience
    away = World({"*": Model(replies=[Unreachable("m", "away")])}, Letters(), patient=False)
    with pytest.raises(Unreachable):
        ask(away, ASKED)
    assert World({"*": Model()}, Letters()).caller.patient, "a server that is away comes back"


def test_a_tenant_s_reply_is_booked_while_its_call_is_open() -> None:
    seen: list[Any] = []

    class Book:
        @contextmanager
        def call(self, episode: str) -> Any:
            seen.append(f"open {episode}")
            yield "ada"
            seen.append("closed")

        def book(self, tenant: str, said: Completed) -> None:
            seen.append((tenant, said.text))

    world, _ = worked()
    budgets: Any = Book()
    world.budgets = budgets
    assert ask(world, ASKED).text == "42"
    assert seen == ["open p/d/a/r", ("ada", "42"), "closed"]


# ── Everybody else ───────────────────────────────────────────────────────────────────────────


def test_a_person_is_waited_for_by_a_problem_s_own_episode_alone() -> None:
    heard: dict[tuple[str, str], Feedback] = {}

    def reply(episode: str, address: str) -> Feedback | None:
        return heard.get((episode, address))

    people: Any = SimpleNamespace(reply=reply)
    world, _ = worked()
    nobody = ReviewAnswered(asked="asked", result="nobody")
    assert ask(world, Review("Is it right?")) == nobody
    world.people = people
    with pytest.raises(Waiting, match=r"^p/d/a/r waits for a person at 3$"):
        ask(world, Review("Is it right?"))
    for other in ("q/1", "b/s/1", "s/x"):
        assert ask(world, Review("?"), Run(other, {}, 1, Memory("s", 0))) == nobody
    heard["p/d/a/r", "3"] = Feedback.model_construct(reference="4\ud8002", by="ada" * 200)
    said = ask(world, Review("Is it right?"))
    assert (said.result, said.answer, said.verdict) == ("answered", "4�2", None)
    assert said.by == ("ada" * 200)[:ID_CHARS]
    heard["p/d/a/r", "3"] = Feedback.model_construct(verdict=False, by="ada")
    assert ask(world, Review("?")) == ReviewAnswered(
        asked="asked", result="answered", answer=None, verdict=False, by="ada"
    )
    heard["p/d/a/r", "3"] = Feedback.model_construct(passed=True, by="ada")
    assert ask(world, Review("?")).result == "passed"
    heard["p/d/a/r", "3"] = Feedback.model_construct(reference=42, by="ada")
    assert ask(world, Review("?")).answer == "42"


def test_an_answer_is_worth_what_a_checker_says_and_only_a_learner_is_told_by_a_label() -> None:
    asked: list[Any] = []

    class Labels:
        async def grade(self, question: Any) -> Grade:
            asked.append(question)
            return Grade(outcome="wrong", grader="qa@1", f1=0.5)

    world, _ = worked()
    right = "(8 + 8) / (4 / 6)"
    game = Check("game24", "4 6 8 8", right, subject="game24/a")
    unknown = Checked(asked="asked", outcome="unknown", checker="none")
    learner = Check("qa", "who?", "ada", subject="qa/a")
    assert ask(world, game).outcome == "right"
    assert ask(world, learner) == unknown, "there are no labels"
    world.references = Labels()
    assert ask(world, game).checker == "game24@2"
    assert ask(world, Check("qa", "who?", "ada")) == unknown, "who solves is never told"
    assert asked == []
    assert ask(world, learner) == Checked(asked="asked", outcome="wrong", checker="qa@1")
    credit = Credit("qa", "who?", "ada", subject="qa/a")
    assert ask(world, credit).credit == 0.5
    assert asked == [learner, credit]
    assert ask(world, Credit("game24", "4 6 8 8", right)).credit == 1.0


def test_a_tool_that_is_not_there_is_refused() -> None:
    world, _ = worked()
    said = ask(world, UseTool("search", (("query", "x"),)))
    assert said.result == "refused"


def remembered(count: int, vectors: bool = True) -> Memory:
    items = [
        MemoryItem(
            f"L{at}", "lesson", "r", text, text_digest(text), 1, f"d/{at}",
            vector=pack(hashed(text)) if vectors else None,
        )
        for at in range(count)
        for text in (f"lesson {at} of {'abcdefgh'[at % 8] * 5}",)
    ]  # fmt: skip
    return Memory("s", 4, tuple(items), embedder="hashed-256")


@pytest.mark.parametrize("count", [64, 65])
def test_large_memories_are_recalled_as_small_ones_are(count: int) -> None:
    """Only faster: the mirror is made with the first of them, and kept."""
    memory = remembered(count)
    world, _ = worked()
    run = Run("p/d/a/r", {}, 7, memory)
    question = Recall("lesson 3 of ddddd", ("r",), 3)
    said = ask(world, question, run)
    assert isinstance(said, Recalled)
    assert (said.memory_version, said.took) == (4, None)
    assert (said.items[0][0], said.items[0][1]) == ("L3", memory.items[3].text_digest)
    assert said.items[0][2] == pytest.approx(1, abs=1e-3)
    kept = world.mirrors
    assert (kept is None) == (count == 64)
    assert ask(world, question, run) == said
    assert world.mirrors is kept


def test_vectors_are_recorded_with_whose_they_are_and_what_they_took() -> None:
    world, _ = worked()
    said = ask(world, Embed(("one", "two")))
    assert said == Embedded(
        asked="asked", embedder="hashed-256", dimensions=256,
        vectors=(pack(hashed("one")), pack(hashed("two"))),
    )  # fmt: skip
    assert ask(world, Embed(("one",), named=True)).texts == (text_digest("one"),)
    world.embedder = Letters(bills=Bill(attempts=2, tokens=7, seconds=0.5))
    took = ask(world, Embed(("one",))).took
    assert (took.attempts, took.tokens, took.seconds) == (2, 7, 0.5)
    recalled = ask(world, Recall("lesson 1", ("r",), 1), Run("p/d/a/r", {}, 7, remembered(2)))
    assert recalled.took == took


def test_a_memory_s_own_embedder_is_asked_where_nobody_chose_one_for_all() -> None:
    world, _ = worked()
    world.embedder = Letters(name="other-256")
    asked: list[str | None] = []

    def of(name: str | None) -> Letters:
        asked.append(name)
        return Letters()

    with pytest.raises(SetupBroken):
        ask(world, Recall("lesson 1", ("r",), 1), Run("p/d/a/r", {}, 7, remembered(2)))
    chosen: Any = SimpleNamespace(of=of)
    world.embedders = chosen
    said = ask(world, Recall("lesson 1", ("r",), 1), Run("p/d/a/r", {}, 7, remembered(2)))
    assert said.items[0][0] == "L1"
    assert asked == ["hashed-256"]


# ── Errors, and the end ──────────────────────────────────────────────────────────────────────


def test_an_error_that_nobody_foresaw_gives_a_problem_s_question_up_and_answers_a_learner_s() -> (
    None
):
    class Broken(Letters):
        async def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
            raise RuntimeError("x" * 400)

    world = World({"*": Model()}, Broken())
    with pytest.raises(Stuck, match=r"^Embed: RuntimeError: xxx"):
        ask(world, Embed(("a",)))
    learner = Run("b/s/1", {}, 1, Memory("s", 0), topic="learning")
    said = ask(world, Embed(("a",)), learner)
    assert isinstance(said, QuestionAbandoned)
    assert said.reason.startswith("Embed: RuntimeError: xxx")
    odd: Any = SimpleNamespace()
    assert ask(world, odd, learner).reason.startswith(
        "SimpleNamespace: TypeError: nobody here answers a SimpleNamespace"
    )
    lost = World({"*": Model(replies=[Stuck("y" * 900)])}, Letters())
    assert ask(lost, ASKED, learner).reason == "y" * 500
    for error in (SetupBroken("auth", "m", "no"), Waiting("later")):

        class Stops(Letters):
            async def embed(self, texts: Sequence[str], error: Exception = error) -> Any:
                raise error

        with pytest.raises(type(error)):
            ask(World({"*": Model()}, Stops()), Embed(("a",)), learner)


def test_a_world_that_drains_asks_nothing_new_and_lets_go_of_what_waits() -> None:
    world, model = worked()
    other = Letters()
    world.embedder = other
    assert world.why() == ["fake:m is busy"]

    def look() -> None:
        """Somebody who looks before each call."""

    world.watch(look)
    assert model.looks == [look]
    world.draining = True
    assert (world.draining, model.drained) == (True, 1)
    with pytest.raises(Draining):
        ask(world, Check("game24", "4 6 8 8", "1"))
    world.draining = False
    assert (world.draining, model.drained) == (False, 1)
    assert ask(world, ASKED).text == "42"
    world.caller.exhausted = "calls"
    assert world.exhausted == "calls"


def test_everything_is_closed_once_also_where_the_work_failed() -> None:
    model, letters, tools, more = Model(), Letters(), Letters(), Letters()
    world = World({"*": model, "a": model}, letters)
    odd: Any = tools
    world.tools = odd
    chosen: Any = more
    world.embedders = chosen

    async def works() -> int:
        return 7

    async def fails() -> int:
        raise KeyError

    plain = Model()
    asyncio.run(World({"*": plain}, Letters()).close())
    assert plain.closed == 1
    assert asyncio.run(world.during(works())) == 7
    assert [each.closed for each in (model, letters, tools, more)] == [1, 1, 1, 1]
    with pytest.raises(KeyError):
        asyncio.run(world.during(fails()))
    assert [each.closed for each in (model, letters, tools, more)] == [2, 2, 2, 2]
