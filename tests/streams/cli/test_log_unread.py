"""`metalogue log unread`: which replies were not read at once, and why; each is a case for a test."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from handlers.roles.form import Unreadable, parse
from handlers.roles.monitor import MONITOR
from tests.endpoint import Answer, Asked, fails, serving, whole
from tests.streams.cli.calling import call

LOG = ("--log", "a.db")
THOUGHT = "<think>It may be \\boxed{7}, and then"


def said(asked: Asked) -> Answer:
    """The Reasoner is cut within its thoughts once; the Monitor speaks plainly, then in form; the rest is well."""
    prompt = str(asked.body["messages"])
    if "You monitor" in prompt:
        again = "could not be read" in prompt
        return whole("Error_found: NO" if again else "All is well with this one.")
    if "You control" in prompt:
        return whole("Justification: it holds.\nAction: ACCEPT\nFinal_answer: \\boxed{5}")
    return whole(THOUGHT)


@pytest.fixture
def solved(folder: Path) -> Generator[None]:
    with serving(said) as endpoint:
        asked = ("solve", "What is 2 + 3?", "--policy", "mc2", "--call-limit", 9)
        done = call(*asked, "--backbone", "openai:check", "--base-url", endpoint.url, *LOG)
        assert done.code == 0, done.err
        yield


@pytest.mark.usefixtures("solved")
def test_each_is_named_with_what_was_wrong() -> None:
    said = call("log", "unread", *LOG)
    assert said.code == 0, said.err
    assert "reasoner  refused: it was cut off before its end" in said.out
    assert "monitor  asked again: Error_found: missing" in said.out
    assert "1  monitor asked again" in said.out
    assert "controller" not in said.out


@pytest.mark.usefixtures("solved")
def test_each_is_a_case_for_a_test() -> None:
    cases = {case["role"]: case for case in call("log", "unread", "--json", *LOG).rows}
    assert cases["reasoner"]["text"] == THOUGHT
    read = parse(cases["monitor"]["text"], MONITOR.reply)
    assert isinstance(read, Unreadable)
    assert str(read) == cases["monitor"]["reason"]
    assert cases["monitor"]["template"] == MONITOR.template.digest


def test_a_prompt_that_was_refused_stands_with_what_its_endpoint_said(folder: Path) -> None:
    why = "Your request was flagged as possibly violating our policy."
    with serving(lambda _: fails(400, "content_policy_violation", why)) as endpoint:
        done = call(
            *("solve", "What is 2 + 3?", "--policy", "cot", *LOG),
            *("--backbone", "openai:check", "--base-url", endpoint.url),
        )
    assert done.code != 0
    [case] = call("log", "unread", "--json", *LOG).rows
    assert why in case["reason"]
    assert why in call("show", "--at", "0", *LOG).out
    assert "(refusal) HTTP 400" in call("show", *LOG).out


def test_a_log_without_any_says_so(folder: Path) -> None:
    asked = ("solve", "What is 2 + 3?", "--policy", "cot", "--backbone", "rehearsal", *LOG)
    assert call(*asked).code in (0, 4)
    said = call("log", "unread", *LOG)
    assert (said.code, said.out) == (0, "every reply was read at once\n")
    assert call("log", "unread", "--log", "none.db").code == 2
