"""Backbones that a problem may choose: who answers, at what price, and what is told where there is none."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import metalogue
import openai
import pytest
from metalogue import Client, Engine

from handlers.policies.base import Around, Policy
from handlers.policies.baselines.chain import ChainSettings
from schemas.events.episode import EpisodeOpened
from schemas.price import Price
from schemas.problem import Limits, Problem
from state.folds.memory import MemoryFold
from streams.answering.backbones.rehearsal import Options, Rehearsal
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.core.grants import Lacking
from streams.engine.policies import SHELF, find
from streams.engine.scopes import scope_made
from streams.interfaces.door.errors import Error
from streams.replay.verify import Verifier
from streams.runtime.embedded.intake import scope_of
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.worker import Worker
from tests.endpoint import Endpoint, fails, whole
from tests.pace import soon
from tests.streams.cli.calling import call
from tests.streams.door.conftest import knows
from tests.streams.door.served import ASKED, LOG, served
from tests.surroundings import Serve

SUM = "What is 17 + 25?"
OFFERS = {"mini": "openai:small", "big": "openai:large"}


def models_of(endpoint: Endpoint) -> set[str]:
    """The models that were asked."""
    return {each.body["model"] for each in endpoint.asked}


def opened_by(log: SqliteLog) -> dict[str, str]:
    """Who answered each problem, as its record says."""
    return {
        record.episode: record.event.backbones
        for record in log.records("events", kinds=("episode.opened",))
        if isinstance(record.event, EpisodeOpened)
    }


def test_a_model_of_a_chat_is_a_policy_with_a_backbone_behind_it(serve: Serve) -> None:
    endpoint = serve()
    with served(offers=OFFERS) as door, door.client() as client:
        names = [each.id for each in client.models.list()]
        assert names == ["mc2", "cot", "mc2@big", "mc2@mini", "cot@big", "cot@mini"]
        assert client.models.retrieve("cot@mini").id == "cot@mini"
        said = client.chat.completions.create(model="cot@mini", messages=ASKED)  # type: ignore[arg-type]
        assert (said.model, said.choices[0].message.content) == ("cot@mini", "42")
        assert models_of(endpoint) == {"small"}
        endpoint.asked.clear()
        client.chat.completions.create(model="cot", messages=ASKED)  # type: ignore[arg-type]
        assert "small" not in models_of(endpoint), "the usual one is asked where none is named"
        for wrong in ("cot@other", "other@mini", "cot@", "@mini", "cot@mini@mini", "cot@openai:x"):
            with pytest.raises(openai.NotFoundError) as refused:
                client.chat.completions.create(model=wrong, messages=ASKED)  # type: ignore[arg-type]
            assert (refused.value.code, refused.value.param) == ("policy.unknown", "model")
    with closing(SqliteLog(Path("a.db"))) as log:
        assert sorted("small" in each for each in opened_by(log).values()) == [False, True]
        assert Verifier(log, find).run().diverged == []


def test_a_put_problem_chooses_by_its_settings_among_those_that_are_listed(serve: Serve) -> None:
    endpoint = serve()
    with served(offers=OFFERS) as door, door.http() as http:
        put = {"id": "a", "problem": SUM, "policy": "cot"}
        chosen = {**put, "settings": {"backbone": "mini"}}
        assert http.post("/v1/problems", json=chosen).status_code == 202
        episode = http.post("/v1/problems", json=chosen).json()["episode"]
        said = http.get(f"/v1/answers/{episode}", params={"wait_s": soon(30.0)}).json()
        assert (said["answer"], models_of(endpoint)) == ("42", {"small"})
        for wrong, code, status in (
            ("minni", "backbone.unknown", 404),
            ("openai:x", "policy.setting", 400),
            (7, "policy.setting", 400),
        ):
            reply = http.post("/v1/problems", json={**put, "settings": {"backbone": wrong}})
            error = reply.json()["error"]
            assert (reply.status_code, error["code"]) == (status, code)
            assert "backbone" in error["message"] + str(error["param"])
        told = http.post("/v1/problems", json={**put, "settings": {"backbone": "minni"}})
        assert "did you mean 'mini'?" in told.json()["error"]["message"]


def test_problems_with_different_backbones_learn_into_one_memory(serve: Serve) -> None:
    endpoint = serve()

    async def work() -> list[str]:
        async with Engine(LOG, backbone="openai", offers=OFFERS, policy="cot") as engine:
            found: list[str] = []
            for name in (None, "mini", "big"):
                handle = await engine.submit(
                    SUM, settings={} if name is None else {"backbone": name}
                )
                async with asyncio.timeout(soon(30.0)):
                    assert (await handle.answer()).answer == "42"
                found.append(handle.episode)
            with pytest.raises(Error) as unknown:
                await engine.submit(SUM, settings={"backbone": "other"})
            assert (unknown.value.code, unknown.value.field) == (
                "backbone.unknown",
                "settings.backbone",
            )
            with pytest.raises(Error) as unpriced:
                await engine.submit(SUM, settings={"backbone": "mini"}, cost_limit=1.0)
            assert "small" in str(unpriced.value)
            return found

    episodes = asyncio.run(work())
    assert len(set(episodes)) == 3, "another backbone is another episode"
    assert models_of(endpoint) >= {"small", "large"}
    with closing(SqliteLog(Path("a.db"))) as log:
        admitted: list[Any] = [log.find(each, "admitted") for each in episodes]
        assert len({each.scope for each in admitted}) == 1
        assert Verifier(log, find).run().diverged == []


def world(offers: Mapping[str, int], **given: Any) -> World:
    """A world of simulators, each with its own seed."""
    offered = {name: Rehearsal(Options(seed=seed)) for name, seed in offers.items()}
    own = {"*": Rehearsal(Options(seed=1)), "monitor": Rehearsal(Options(seed=2))}
    return World(own, HashedEmbedder(), offered=offered, **given)


def test_what_is_chosen_answers_in_the_place_of_the_usual_one_and_of_no_role_with_its_own() -> None:
    here = world({"mini": 3})
    cast = here.cast("mini")
    assert cast["*"] is here.offered["mini"]
    assert cast["monitor"] is here.backbones["monitor"]
    own, mini = here.terms(None), here.terms("mini")
    assert own.backbones == here.description
    assert "seed=3" in mini.backbones
    assert "monitor=" in mini.backbones
    with pytest.raises(Lacking, match="not offered here"):
        here.terms("other")


def test_its_price_is_the_one_that_a_limit_of_cost_is_kept_by() -> None:
    def priced(seed: int) -> Price:
        return Price(prompt=seed, completion=seed)

    names = {seed: Rehearsal(Options(seed=seed)).name for seed in (1, 2, 3)}
    book = {name: priced(seed) for seed, name in names.items()}
    here = world({"mini": 3}, prices=book, limits=Limits(cost=1.0))
    assert here.terms("mini").grant.prices == {"*": priced(3), "monitor": priced(2)}
    assert here.terms(None).grant.prices == {"*": priced(1), "monitor": priced(2)}
    assert here.terms("mini").grant.limits == Limits(cost=1.0)


def test_what_is_usual_hangs_on_the_price_of_who_answers() -> None:
    cheap, dear = Price(prompt=1, completion=1), Price(prompt=10, completion=10)
    around = Around(
        roles=("strong",),
        prices={"*": dear, "strong": dear},
        offered={"mini": cheap, "free": None},
    )
    usual = find("cascade").usual
    assert usual("service", around.under({}))["strong_price"] == 1.0
    assert usual("service", around.under({"backbone": "mini"}))["strong_price"] == 10.0
    for unknown in ("free", "elsewhere"):
        assert usual("service", around.under({"backbone": unknown})) == {"strong": True}
    assert Around.of(json.loads(json.dumps(around.said()))) == around
    assert "offered" not in Around().said()


def put(path: Path, *names: str | None) -> None:
    """A new log with a line for each of these backbones."""
    lines = [
        {"id": f"n{n}", "problem": f"What is {n} + 1?", "policy": "cot"}
        | ({} if name is None else {"settings": {"backbone": name}})
        for n, name in enumerate(names)
    ]
    source = path.with_suffix(".jsonl")
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert call("produce", source, "--log", f"sqlite:{path}").code == 0


def worked(path: Path, here: World) -> None:
    with closing(SqliteLog(path)) as log:
        asyncio.run(Worker(log, here, find).run(until_idle=True))


def test_a_line_that_names_nobody_is_a_dead_letter_and_the_others_are_answered(
    folder: Path,
) -> None:
    path = folder / "b.db"
    put(path, None, "mini", "other")
    worked(path, world({"mini": 3}))
    with closing(SqliteLog(path)) as log:
        assert sorted("seed=3" in each for each in opened_by(log).values()) == [False, True]
        ((_, _, headers, value),) = log.messages("dead-letters")
        assert "settings.backbone: not offered here" in json.dumps(dict(headers))
        assert json.loads(value)["id"] == "n2", "as it came"


def test_an_admitted_problem_waits_for_a_worker_that_still_offers_its_backbone(
    folder: Path,
) -> None:
    path = folder / "b.db"
    put(path, "mini", None)
    before = world({"mini": 3})
    with closing(SqliteLog(path)) as log:
        worker = Worker(log, before, find)

        async def admit() -> None:
            assert len(list(worker.intake.take())) == 2
            await worker.writer.commit()

        asyncio.run(admit())  # and killed here, before anything is asked
    with pytest.raises(Lacking, match="not offered here"):
        worked(path, world({}))
    with closing(SqliteLog(path)) as log:
        assert len(list(log.messages("answers"))) == 1, "the other one goes on"
        assert list(log.messages("dead-letters")) == []
    worked(path, world({"mini": 3}))
    with closing(SqliteLog(path)) as log:
        assert len(list(log.messages("answers"))) == 2
        assert sorted("seed=3" in each for each in opened_by(log).values()) == [False, True]
        assert Verifier(log, find).run().diverged == []


def test_solve_says_what_is_wrong_before_anything_is_on_the_log(serve: Serve) -> None:
    endpoint = serve()
    offer = ("--offer", "mini=openai:small", "--backbone", "openai")
    chosen = ("solve", SUM, "--set", "backbone=mini", "--log", LOG)
    assert call(*chosen, *offer).out.strip() == "42"
    assert models_of(endpoint) == {"small"}
    # What is known is told without the backbone that gave it.
    assert call(*chosen, "--backbone", "openai").out.strip() == "42"
    wrong = call("solve", SUM, "--set", "backbone=other", "--log", "sqlite:n.db", *offer)
    assert wrong.code == 2
    assert "did you mean" in wrong.err or "there are mini" in wrong.err
    assert "--set backbone" in wrong.err
    assert not Path("n.db").exists()
    for spelled in ("mini", "mini=", "=openai", "a b=openai", "mini=nosuch:x"):
        work = ("worker", "--log", LOG, "--backbone", "openai", "--until-idle")
        bad = call(*work, "--offer", spelled)
        assert (bad.code, "--offer" in bad.err) == (2, True), spelled
    twice = call("solve", SUM, *offer, "--offer", "mini=openai:x", "--log", "sqlite:n.db")
    assert (twice.code, "twice" in twice.err) == (2, True)


def test_what_nobody_chose_is_not_made_and_marks_nothing(
    serve: Serve, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve()
    monkeypatch.setenv("METALOGUE_OFFERS", '{"far": "anthropic:model", "sim": "rehearsal"}')
    solve = ("solve", SUM, "--log", LOG, "--backbone", "openai")
    told = call(*solve, "--json").json
    assert (told["answer"], told["simulated"]) == ("42", False)
    assert call(*solve, "--set", "backbone=sim", "--json").json["simulated"]
    needed = call(*solve, "--set", "backbone=far")
    assert (needed.code, needed.err.startswith("METALOGUE_OFFERS: offers.far: ")) == (5, True)


async def answer_of(engine: Engine, problem: str, **settings: str) -> str | None:
    """The answer to a problem under these settings."""
    handle = await engine.submit(problem, settings=settings)
    async with asyncio.timeout(soon(30.0)):
        return (await handle.answer()).answer


def test_one_that_cannot_be_asked_stops_nobody_who_did_not_ask_for_it(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    serve(
        lambda asked: (
            fails(401, message="wrong key") if asked.body["model"] == "gone" else knows(asked)
        )
    )
    Path("none.jsonl").write_text("")
    offers = {"bad": "openai:gone", "past": "recorded:none.jsonl", **OFFERS}

    async def work() -> None:
        for number in range(2):  # and after a restart, which meets the open ones first
            async with Engine(LOG, backbone="openai", offers=offers, policy="cot") as engine:
                for name in ("bad", "past"):
                    await engine.submit("What is 1 + 1?", settings={"backbone": name})
                assert await answer_of(engine, f"What is {number} + 2?") == str(number + 2)
                assert await answer_of(engine, f"What is {number} + 2?", backbone="mini") == str(
                    number + 2
                )

    asyncio.run(work())
    assert "wrong key" in caplog.text
    assert "no reply to prompt" in caplog.text, "each reason is told, and not the first alone"
    with closing(SqliteLog(Path("a.db"))) as log:
        assert len(list(log.messages("answers"))) == 4
    # Mended, it is answered.
    serve()
    assert call("worker", "--until-idle", "--log", LOG, "--backbone", "openai", *(
        word for name, each in {**OFFERS, "bad": "openai:x", "past": "openai:y"}.items()
        for word in ("--offer", f"{name}={each}")
    )).code == 0  # fmt: skip
    with closing(SqliteLog(Path("a.db"))) as log:
        assert len(list(log.messages("answers"))) == 6
        assert Verifier(log, find).run().diverged == []


def test_the_usual_one_that_cannot_be_asked_still_ends_the_work(serve: Serve) -> None:
    serve(lambda asked: fails(401, message="wrong key"))
    same = ("--backbone", "openai:gone", "--offer", "mini=openai:gone")
    for setting in ((), ("--set", "backbone=mini")):
        ended = call("solve", SUM, "--log", LOG, *same, *setting)
        assert (ended.code, "wrong key" in ended.err) == (5, True)


def test_a_name_that_is_no_text_is_refused_as_any_wrong_setting(serve: Serve, folder: Path) -> None:
    serve()
    path = folder / "b.db"
    source = folder / "b.jsonl"
    lines = [
        {"id": "a", "problem": SUM, "settings": {"backbone": ["x"]}},
        {"id": "b", "problem": SUM},
    ]
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert call("produce", source, "--log", f"sqlite:{path}").code == 0
    work = call("worker", "--until-idle", "--backbone", "openai", "--log", f"sqlite:{path}")
    assert work.code == 0
    with closing(SqliteLog(path)) as log:
        ((_, _, headers, _),) = log.messages("dead-letters")
        assert "settings.backbone: Input should be a valid string" in json.dumps(dict(headers))
        assert len(list(log.messages("answers"))) == 1

    async def ask() -> Error:
        async with Engine(LOG, backbone="openai:own", prices={"own": (1.0, 1.0)}) as engine:
            with pytest.raises(Error) as refused:
                await engine.submit(SUM, settings={"backbone": ["x"]}, cost_limit=1.0)
            return refused.value

    assert asyncio.run(ask()).code == "policy.setting"


@pytest.mark.parametrize("policy", [each.name for each in SHELF.all()])
def test_who_answers_tells_no_memories_apart(policy: str) -> None:
    found = find(policy)
    plain, other = (
        Problem(id="a", problem=SUM, domain="default", policy=policy, settings=settings)
        for settings in ({}, {"backbone": "mini"})
    )
    assert scope_of(found, other) == scope_of(found, plain)
    made = scope_made(found, MemoryFold("s"), "service", {"backbone": "mini"})
    assert made.settings.backbone is None


class Small(ChainSettings):
    """Settings of a policy that is always answered by one of those that are offered."""

    backbone: str | None = "mini"


def test_a_policy_may_choose_for_itself(folder: Path) -> None:
    path = folder / "b.db"
    put(path, None)
    own = replace(find("cot"), settings=Small)

    def by(name: str) -> Policy[Any]:
        return own

    for here, answered in ((world({}), 0), (world({"mini": 3}), 1)):
        with closing(SqliteLog(path)) as log:
            if not answered:
                worker = Worker(log, here, by)
                assert list(worker.intake.take()) == [], "refused by its field"
                continue
            asyncio.run(Worker(log, here, by).run(until_idle=True))
            assert ["seed=3" in each for each in opened_by(log).values()] == [True]


def test_what_a_policy_chooses_for_itself_is_made_to_solve_and_to_fork(
    serve: Serve, folder: Path
) -> None:
    endpoint = serve()
    (folder / "own.py").write_text(
        "from dataclasses import replace\n"
        "from handlers.policies.baselines.chain import COT, ChainSettings\n"
        "class Small(ChainSettings):\n    backbone: str | None = 'mini'\n"
        "OWN = replace(COT, name='own', settings=Small)\n"
    )
    offer = ("--policy", "own.py:OWN", "--offer", "mini=openai:small", "--backbone", "openai:own")
    assert call("solve", SUM, "--log", LOG, *offer).out.strip() == "42"
    with metalogue.open_log(LOG) as log:
        (episode,) = [each.id for each in log.episodes()]
    assert (
        call("fork", episode, "--at", "0", "--log", LOG, "--set", "parameters={}", *offer).code == 0
    )
    assert models_of(endpoint) == {"small"}


def test_replies_are_exported_by_who_gave_them(serve: Serve) -> None:
    serve()
    offer = ("--offer", "mini=openai:small", "--backbone", "openai:own", "--log", LOG)
    assert call("solve", SUM, *offer).code == 0
    serve(lambda asked: whole("Otherwise: \\boxed{42}"))
    assert call("solve", SUM, *offer, "--set", "backbone=mini").code == 0
    twice = call("export", "replies", "-", "--log", LOG)
    assert (twice.code, "--backbone NAME" in twice.err) == (2, True)
    for name, text in (("own", "It comes to"), ("mini", "Otherwise"), ("small", "Otherwise")):
        (line,) = call("export", "replies", "-", "--log", LOG, "--backbone", name).lines
        assert text in line


def test_doctor_asks_each_that_is_offered_once(serve: Serve) -> None:
    endpoint = serve()
    tried = ("doctor", "--backbone", "openai:own", "--offer", "mini=openai:small", "--for", "cot")
    found = call(*tried, "--try", "--json").json["roles"]
    assert [each["offer"] for each in found] == [None] * (len(found) - 1) + ["mini"]
    assert models_of(endpoint) == {"own", "small"}


def test_a_fork_is_answered_by_whom_it_names(serve: Serve) -> None:
    endpoint = serve()
    offer = ("--offer", "mini=openai:small", "--backbone", "openai:own")
    assert call("solve", SUM, "--set", "backbone=mini", "--log", LOG, *offer).code == 0
    with metalogue.open_log(LOG) as log:
        (episode,) = [each.id for each in log.episodes()]
    for words, model in (((), "own"), (("--set", "backbone=mini"), "small")):
        endpoint.asked.clear()
        forked = call("fork", episode, "--at", "0", "--log", LOG, *offer, *words, "--json")
        assert forked.code == 0
        # Who answers as before is not paid again.
        assert models_of(endpoint) == ({model} if model == "own" else set())
        assert forked.json["reused_calls"] == (0 if model == "own" else 1)
    assert call("verify", "--log", LOG).code == 0


def test_the_configuration_offers_too(
    serve: Serve, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint = serve()
    (folder / "metalogue.yaml").write_text("backbone: openai\noffers: {mini: 'openai:small'}\n")
    assert call("solve", SUM, "--set", "backbone=mini", "--log", LOG).code == 0
    assert models_of(endpoint) == {"small"}
    monkeypatch.setenv("METALOGUE_OFFERS", '{"a b": "openai"}')
    wrong = call("solve", SUM, "--log", LOG)
    assert (wrong.code, "METALOGUE_OFFERS" in wrong.err) == (5, True)


def test_a_client_hears_that_no_worker_offers_it(serve: Serve) -> None:
    serve()

    async def work() -> str:
        async with Engine(LOG, backbone="openai", offers=OFFERS), Client(LOG) as client:
            handle = await client.submit(SUM, settings={"backbone": "other"})
            with pytest.raises(Error) as refused:
                async with asyncio.timeout(soon(30.0)):
                    await handle.answer()
            return str(refused.value)

    assert "settings.backbone: not offered here" in asyncio.run(work())
