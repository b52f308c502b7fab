"""A price list that its user names and dates: on the record, over all commands, and never in place of the unknown."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.answering.backbones.prices import list_of
from streams.interfaces.cli.errors import OK, USAGE
from tests.streams.cli.calling import call

LIST = "name: our contract\ndate: 2026-11-01\nprices:\n  rehearsal: 1,2\n"
SOLVE = ("solve", "What is 2 + 2?", "--policy", "cot", "--backbone", "rehearsal", "--json")


@pytest.fixture
def listed(folder: Path) -> Path:
    path = folder / "prices.yaml"
    path.write_text(LIST)
    return path


def test_each_episode_says_by_which_list_it_was_priced(folder: Path, listed: Path) -> None:
    log = folder / "a.db"
    done = call(*SOLVE, "--prices", listed, "--log", log)
    assert done.code == OK
    assert done.json["usage"]["cost"] > 0
    assert call("show", "--json", "--log", log).json["price_list"] == "our contract of 2026-11-01"
    assert "prices our contract of 2026-11-01" in call("show", "--log", log).out
    assert call("verify", "--log", log).code == OK


def test_a_limit_of_cost_is_kept_by_it_and_the_record_verifies(folder: Path, listed: Path) -> None:
    log = folder / "a.db"
    listed.write_text(LIST.replace("rehearsal:", "rehearsal(seed=7):"))
    done = call(*SOLVE, "--prices", listed, "--cost-limit", "5", "--log", log)
    assert done.code == OK
    assert call("verify", "--log", log).code == OK


def test_prices_of_the_command_line_go_first_and_are_named(folder: Path, listed: Path) -> None:
    log = folder / "a.db"
    cheap = call(*SOLVE, "--prices", listed, "--price", "rehearsal=0.1,0.2", "--log", log)
    told = call("show", "--json", "--log", log).json
    assert told["price_list"] == "our contract of 2026-11-01; of their own: rehearsal"
    dear = call(*SOLVE, "--prices", listed, "--log", folder / "b.db")
    assert cheap.json["usage"]["cost"] == pytest.approx(dear.json["usage"]["cost"] / 10)


def test_a_model_that_is_not_on_it_costs_an_unknown_amount(folder: Path) -> None:
    (folder / "p.yaml").write_text(LIST.replace("rehearsal", "other"))
    done = call(*SOLVE, "--prices", folder / "p.yaml", "--log", folder / "a.db")
    assert done.json["usage"]["cost"] is None
    refused = call(
        *SOLVE, "--prices", folder / "p.yaml", "--cost-limit", "1", "--log", folder / "b.db"
    )
    assert refused.code == USAGE


def test_the_configuration_names_it_for_all_commands(folder: Path, listed: Path) -> None:
    (folder / "metalogue.yaml").write_text(f"price_list: {listed}\n")
    assert call(*SOLVE, "--log", folder / "a.db").json["usage"]["cost"] > 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "valid dictionary"),
        ("name: x\nprices:\n  m: 1,2\n", "date: Field required"),
        ("name: x\ndate: yesterday\nprices:\n  m: 1,2\n", "date: "),
        ("name: x\ndate: 2026-11-01\nprices: {}\n", "prices: "),
        ("name: x\ndate: 2026-11-01\nprices:\n  m: 1\n", "prices"),
        ("name: x\ndate: 2026-11-01\nprices:\n  m: free\n", "'free' is no price"),
        ("name: x\ndate: 2026-11-01\nprices:\n  m: 1,2\n  m: 3,4\n", "m: stands twice, in line 5"),
        (LIST + "currency: EUR\n", "currency: "),
        ("name: [", "not YAML"),
    ],
)
def test_what_is_wrong_is_named(folder: Path, text: str, said: str) -> None:
    (folder / "p.yaml").write_text(text)
    done = call(*SOLVE, "--prices", folder / "p.yaml", "--log", folder / "a.db")
    assert done.code == USAGE
    assert "--prices" in done.err
    assert said in done.err


def test_a_file_that_is_not_there_is_a_wrong_command_line(folder: Path) -> None:
    done = call(*SOLVE, "--prices", folder / "none.yaml", "--log", folder / "a.db")
    assert done.code == USAGE
    assert "none.yaml: No such file" in done.err


@given(st.text(max_size=200))
def test_any_text_is_a_list_or_is_refused(text: str) -> None:
    try:
        found = list_of(text)
    except ValueError:
        return
    assert found.prices
