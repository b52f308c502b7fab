"""Solving one problem: what is printed, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.streams.cli.calling import call
from tests.streams.cli.learned import change
from tests.streams.cli.test_consume import SAFE, STEERING

SOLVE = (
    "solve",
    "4 5 6 10",
    "--domain",
    "game24",
    "--backbone",
    "rehearsal:seed=7",
    "--log",
    "a.db",
)


@pytest.fixture
def steering(folder: Path) -> Path:
    """A log whose one answer would paint a terminal."""
    assert call(*SOLVE).code == 0
    _answered(folder, STEERING)
    return folder / "a.db"


def _answered(folder: Path, text: str) -> None:
    """Change the answer on the log."""
    answer = json.dumps(text)
    change(
        folder / "a.db",
        "update records set body = json_set(body, '$.answer', json(?)) where kind = 'episode.closed'",
        answer,
    )


@pytest.mark.usefixtures("steering")
@pytest.mark.parametrize("terminal", [True, False])
def test_an_answer_steers_no_terminal_be_it_piped_or_not(terminal: bool) -> None:
    """What is piped now is shown on a terminal later. As it is, it stands in the JSON."""
    assert call(*SOLVE, terminal=terminal).raw.decode() == SAFE + "\n"
    assert call(*SOLVE, "--json", terminal=terminal).json["answer"] == STEERING


MC2 = (
    "solve",
    "4 5 6 10",
    "--domain",
    "game24",
    "--policy",
    "mc2",
    "--backbone",
    "rehearsal:seed=5,malformed=0,truncated=0,empty=0",  # no reply is asked for again
)


def test_a_spent_limit_says_where_and_how_to_go_on(folder: Path) -> None:
    done = call(*MC2, "--call-limit", 3, "--log", "a.db")
    assert done.code == 4
    assert "3 of 3 calls (--call-limit 3); the next call (reasoner) was not made" in done.err
    assert "[budget.spent, exit 4]" in done.err
    assert f"Best so far {done.out.strip()}, confidence" in done.err
    (again,) = re.findall(r"metalogue (fork .* --call-limit 6 --log a.db)", done.err)
    assert call(*again.split(), "--backbone", "rehearsal:seed=7").code in (0, 4)


def test_scripts_get_the_answer_and_the_error(folder: Path) -> None:
    done = call(*MC2, "--call-limit", 3, "--log", "a.db", "--json")
    error = json.loads(done.err.splitlines()[-1])
    assert (done.code, done.json["status"]) == (4, "exhausted")
    assert (error["error"], error["exit"]) == ("budget.spent", 4)


def test_an_answer_in_latex_is_printed_in_plain_text(folder: Path) -> None:
    """Word for word it stands in the JSON."""
    assert call(*SOLVE).code == 0
    _answered(folder, r"\frac{1}{2}")
    assert call(*SOLVE).out == "1/2\n"
    told = call(*SOLVE, "--json").json
    assert (told["answer"], told["plain"]) == (r"\frac{1}{2}", "1/2")


def test_without_an_answer_nothing_is_printed_as_one(folder: Path) -> None:
    done = call(*MC2, "--token-limit", 1, "--log", "a.db")
    assert (done.code, done.out) == (4, "")
    assert "budget spent, tokens (--token-limit 1)" in done.err
    assert "No answer so far." in done.err
    assert " 0 calls" in done.err


def test_one_call_is_one_call(folder: Path) -> None:
    assert re.search(r"\b1 call\b", call(*SOLVE).err)


def test_a_blank_problem_is_refused_in_plain_words(folder: Path) -> None:
    done = call("solve", " ", "--backbone", "rehearsal")
    assert (done.code, done.err) == (2, "PROBLEM: is blank [usage, exit 2]\n")


def test_what_a_tenant_solves_is_its_own_and_its_budget_covers_it(folder: Path) -> None:
    """Two users of one application share neither answers nor memory; a day's budget holds for `solve` too."""
    (folder / "metalogue.yaml").write_text("budgets: {ann: calls=1}\n")
    asked = (*SOLVE, "--json")
    first = call(*asked, "--tenant", "ann")
    assert first.code == 0, first.err
    other = call(*asked, "--tenant", "bob")
    plain = call(*asked)
    named = [json.loads(each.out)["episode"] for each in (first, other, plain)]
    assert len(set(named)) == 3
    assert [each.split("/")[2].partition(".")[0] for each in named[:2]] == ["ann", "bob"]
    assert json.loads(call(*asked, "--tenant", "ann").out)["episode"] == named[0], "known is free"
    spent = call("solve", "4 4 6 10", *asked[2:], "--tenant", "ann")
    assert spent.code == 4, spent.err
    assert "ann has spent its budget of" in spent.err
    assert "it goes on tomorrow, or with a higher budget" in spent.err
    assert call("solve", "4 4 6 10", *asked[2:], "--tenant", "bob").code == 0
    assert call("verify", "--log", "a.db").code == 0
    wrong = call(*asked, "--tenant", "a b")
    assert wrong.code == 2
    assert "--tenant" in wrong.err
