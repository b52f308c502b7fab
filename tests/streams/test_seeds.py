"""Endpoints are told a seed where something uses it: a server that remembers replies must still give several."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from handlers.policies.baselines.chain import CHAIN
from schemas.events.episode import Completed
from schemas.memory import Memory
from schemas.questions import Complete, Sampling
from streams.core.drive import Run
from streams.core.seeds import is_used
from tests.endpoint import Answer, Asked, Endpoint, serving, whole
from tests.streams.cli.calling import Called, call
from tests.streams.cli.conftest import folder as folder

SUM = "1 + 2"


class Remembering:
    """A server that answers what it was asked before, byte by byte, as it did then; anew, another number."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    def __call__(self, asked: Asked) -> Answer:
        body = json.dumps(asked.body, sort_keys=True)
        text = self.known.setdefault(body, f"Final_answer: \\boxed{{{len(self.known)}}}")
        return whole(text)


def solve(endpoint: Endpoint, *more: str) -> Called:
    words = ("--backbone", "openai:check", "--base-url", endpoint.url, "--log", "a.db")
    called = call("solve", SUM, *words, *more)
    assert called.code == 0, called.err
    return called


def bodies(endpoint: Endpoint) -> list[dict[str, Any]]:
    return [asked.body for asked in endpoint.asked]


def test_a_single_question_has_no_seed(folder: Path) -> None:
    with serving(Remembering()) as endpoint:
        solve(endpoint)
        assert [set(body) for body in bodies(endpoint)] == [{"model", "messages", "max_tokens"}]


@pytest.mark.parametrize(
    "more", [("--seed", "3"), ("--profile", "paper")], ids=["another seed", "paper"]
)
def test_what_somebody_chose_is_told(folder: Path, more: tuple[str, ...]) -> None:
    with serving(Remembering()) as endpoint:
        solve(endpoint, *more)
        assert all("seed" in body for body in bodies(endpoint))


def test_samples_differ_behind_a_server_that_remembers(folder: Path) -> None:
    server = Remembering()
    with serving(server) as endpoint:
        solve(endpoint, "--policy", "self_consistency")
        assert len({body["seed"] for body in bodies(endpoint)}) == 5
    assert len(server.known) == 5


def test_a_prompt_that_returns_is_asked_anew(folder: Path) -> None:
    """A restart without advice puts the Reasoner's very question again."""
    server = Remembering()

    def replies(asked: Asked) -> Answer:
        prompt = str(asked.body["messages"])
        if "Error_found" in prompt and "Corrected_reasoning" not in prompt:
            return whole("Error_description: all\nError_step: 1\nError_found: YES")
        if "Corrected_reasoning" in prompt:
            return whole("Justification: no\nAction: RESTART\nSuggestions: NONE")
        return server(asked)

    with serving(replies) as endpoint:
        solve(endpoint, "--policy", "mc2", "--set", "advice=composer")
        reasoned = [body for body in bodies(endpoint) if "Error_found" not in str(body["messages"])]
    assert [("seed" in body) for body in reasoned] == [False, True, True]
    assert len({str(body["messages"]) for body in reasoned}) == 1, "one prompt, three times"
    assert len(server.known) == 3


def test_samples_of_a_fork_differ_and_its_prefix_is_not_asked(folder: Path) -> None:
    server = Remembering()
    with serving(server) as endpoint:
        episode = json.loads(solve(endpoint, "--json").out)["episode"]
        words = ("--backbone", "openai:check", "--base-url", endpoint.url, "--log", "a.db")
        forked = call("fork", episode, "--at", "0", "--samples", "3", *words)
        assert forked.code == 0, forked.err
        seeds = [body.get("seed") for body in bodies(endpoint)]
    assert seeds[0] is None
    assert len(set(seeds)) == len(seeds) == len(server.known)


def test_a_seed_can_be_sent_always_or_never(folder: Path) -> None:
    with serving(Remembering()) as endpoint:
        words = ("--base-url", endpoint.url, "--log", "a.db")
        call("solve", SUM, "--backbone", "openai:check?send_seed=true", *words)
        more = ("--seed", "2", *words)
        call("solve", SUM, "--backbone", "openai:check?send_seed=false", *more)
        assert ["seed" in body for body in bodies(endpoint)] == [True, False]
        wrong = call("solve", SUM, "--backbone", "openai:check?send_seed=maybe", *words)
    assert wrong.code == 2
    assert "send_seed must be used, true, false, not 'maybe'" in wrong.err


def test_log_probabilities_are_asked_for_by_who_uses_them(folder: Path) -> None:
    asked: dict[str, bool] = {}
    for policy, settings in (("cot", ()), ("mgv_flavell", ()), ("mgv_flavell", ("verbal",))):
        with serving(Remembering()) as endpoint:
            more = [word for each in settings for word in ("--set", f"confidence={each}")]
            words = ("--backbone", "openai:check", "--base-url", endpoint.url, "--log", "a.db")
            call("solve", SUM, *words, "--policy", policy, "--call-limit", "4", *more)
            asked[f"{policy} {' '.join(settings)}"] = any(
                "logprobs" in body for body in bodies(endpoint)
            )
    assert asked == {"cot ": False, "mgv_flavell ": True, "mgv_flavell verbal": False}


def test_nothing_is_drawn_at_temperature_zero() -> None:
    def question(temperature: float | None, draw: int = 0) -> Complete:
        return CHAIN.question(
            {"problem": SUM}, draw=draw, sampling=Sampling(temperature=temperature)
        )

    def is_told(asked: Complete, address: str, **more: Any) -> bool:
        run = Run("e", more.pop("journal", {}), 7, Memory("s", 0), **more)
        return is_used(run, asked, asked.fingerprint(), address)

    plain = question(None)
    known = {"0": Completed(asked=plain.fingerprint(), text="", finish="stop", model="m")}
    assert is_told(question(None, 1), "1")
    assert is_told(plain, "3.1.0")
    assert is_told(plain, "1", journal=known)
    assert is_told(plain, "1", seeded=True)
    assert not is_told(plain, "1")
    assert not is_told(question(0.0, 1), "3.1.0", seeded=True)
