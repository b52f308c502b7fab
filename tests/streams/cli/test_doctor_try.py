"""What `doctor --backbone B --try` says before it asks, and what it makes of the replies."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemas.questions import Complete
from streams.engine.policies import SHELF
from streams.interfaces.cli.doctor.specimens import MATERIAL, Specimen, specimens
from tests.endpoint import Answer, Asked, Endpoint, fails, serving, whole
from tests.streams.cli.calling import Called, call

ROLES = len(list(specimens()))
PLAIN = "rehearsal:seed=7,malformed=0,truncated=0,empty=0"
MONITOR = "Error_description: NONE\nError_step: NONE\nError_found: NO"


def question_of(specimen: Specimen) -> Complete:
    asked = next(specimen.ask())
    assert isinstance(asked, Complete)
    return asked


def tried(endpoint: Endpoint, *more: str) -> Called:
    words = ("--backbone", "openai:check", "--base-url", endpoint.url, *more)
    return call("doctor", *words)


def right(asked: Asked) -> Answer:
    """Reads as the Reasoner's reply, and as nobody else's."""
    return whole("36 - 20 = 16.\n\nFinal_answer: \\boxed{16}")


def test_each_role_of_each_policy_is_asked_with_its_own_prompt() -> None:
    asked = {each.role for each in specimens()}
    assert asked == {role for policy in SHELF.all() for role in policy.roles}
    prompts = ["\n".join(text for _, text in question_of(each).messages()) for each in specimens()]
    assert len(set(prompts)) == ROLES - 1, "the stronger model is asked for the same plain chain"
    shown = [name for name, text in MATERIAL.items() if any(text in prompt for prompt in prompts)]
    assert shown == list(MATERIAL)


def test_what_it_takes_is_said_and_nothing_asked_without_try(folder: Path) -> None:
    with serving(right) as endpoint:
        called = tried(endpoint, "--price", "check=1,2")
        assert not endpoint.asked
        told = tried(endpoint, "--price", "check=1,2", "--json").json["expected"]
    assert called.code == 0, called.err
    assert called.out.startswith(f"{ROLES} roles: {ROLES} to {2 * ROLES} calls, prompts of about ")
    assert (told["calls"], told["most_calls"]) == (ROLES, 2 * ROLES)
    tokens = 2 * told["prompt_tokens"] + told["most_completion_tokens"] / 2
    assert told["most_cost"] == pytest.approx((tokens + 2 * told["most_completion_tokens"]) / 1e6)


def test_a_price_that_nobody_knows_is_unknown(folder: Path) -> None:
    with serving(right) as endpoint:
        called = tried(endpoint)
    assert "cost unknown: Say what a million tokens cost: --price check=IN,OUT" in called.out


def test_it_says_how_each_reply_was_read(folder: Path) -> None:
    def replies(asked: Asked) -> Answer:
        told = asked.body["messages"]
        if "Error_found" not in str(told):
            return right(asked)
        return whole(MONITOR if len(told) > 2 else "I see no mistake.")

    with serving(replies) as endpoint:
        called = tried(endpoint, "--try", "--for", "mc2", "--json")
    found = {each["role"]: each for each in called.json["roles"]}
    assert found["reasoner"]["read"] == "read"
    assert found["reasoner"]["values"] == {"Final_answer": "16"}
    assert found["monitor"]["read"] == "asked again"
    assert found["monitor"]["reason"].startswith("Error_found: missing")
    assert [each["text"] for each in found["monitor"]["replies"]] == ["I see no mistake.", MONITOR]
    assert found["composer"]["read"] == "not read"
    assert found["composer"]["reason"] == "Guidance must hold at most 6 bullets"
    assert called.json["read"] + called.json["asked_again"] + called.json["not_read"] == 6
    assert called.code == 1, "a role could not be read"


def test_what_is_refused_is_dropped_and_named(folder: Path) -> None:
    def choosy(asked: Asked) -> Answer:
        if "logprobs" in asked.body:
            message = "Unsupported parameter: 'logprobs' is not supported with this model."
            return fails(400, "unsupported_parameter", message, param="logprobs")
        return right(asked)

    with serving(choosy) as endpoint:
        called = tried(endpoint, "--try", "--for", "cot")
        told = tried(endpoint, "--try", "--for", "cot", "--json").json
    assert called.code == 0, called.err
    assert "dropped   logprobs" in called.lines
    assert "took      max_tokens, seed, temperature, top_p" in called.lines
    assert "tells     tokens" in called.lines
    assert "ok    reasoner: read: Final_answer=16" in called.lines
    assert (told["dropped"], told["usage"]["calls"]) == (["logprobs"], 1)


def test_the_cost_is_said_before_the_first_call(folder: Path) -> None:
    """With a key that is refused nothing but the expectation is said."""
    with serving(lambda _: fails(401, "invalid_api_key", "no")) as endpoint:
        called = tried(endpoint, "--try", "--for", "mc2")
        assert len(endpoint.asked) == 1, "a wrong key is met once"
    assert called.code == 5
    assert called.err.splitlines()[0].startswith("openai:check: 6 roles: 6 to 12 calls")
    assert "key refused" in called.err


def test_a_reply_that_was_cut_is_no_reply(folder: Path) -> None:
    with serving(lambda _: whole("Final_answer: \\boxed{16}", finish="length")) as endpoint:
        called = tried(endpoint, "--try", "--for", "io")
    assert called.lines[3].startswith("fail  reasoner: not read; reply: it was cut off")
    assert called.lines[4] == "      it said: Final_answer: \\boxed{16}"


def test_every_role_of_the_simulator_is_read(folder: Path) -> None:
    told = call("doctor", "--backbone", PLAIN, "--try", "--json").json
    unread = [each["role"] for each in told["roles"] if each["read"] != "read"]
    assert unread == []
    assert told["usage"]["calls"] == ROLES
    assert not list(folder.iterdir()), "no log is made"


@pytest.mark.parametrize(
    "more", [("--adopt", "x"), ("--for", "nobody"), ("--role", "nobody=openai")]
)
def test_wrong_words(folder: Path, more: tuple[str, ...]) -> None:
    assert call("doctor", "--backbone", "rehearsal", "--try", *more).code == 2


def test_one_that_is_only_offered_is_tried_too(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log was looked at, and whatever was offered passed over."""
    monkeypatch.setenv("METALOGUE_BACKBONE", "rehearsal")
    wrong = call("doctor", "--offer", "mini=bogus:z")
    assert (wrong.code, wrong.err.startswith("--offer mini: no backbone")) == (2, True), wrong.err
    assert " roles: " in call("doctor", "--offer", "mini=rehearsal:seed=3").out
