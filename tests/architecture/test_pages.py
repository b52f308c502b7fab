"""The pages for readers run: every block, every command's spelling, every table that repeats the code."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest
import typer

from handlers.policies.bases import SYSTEMS
from handlers.policies.mc2.settings import Mc2Settings
from handlers.policies.registry import POLICIES
from schemas.events.codec import decode, plain
from streams.interfaces.cli.app import app
from tests.architecture.generated import PARTS, SPEEDS, made, page_of, put, speeds
from tests.architecture.pages import (
    DECISIONS,
    DESIGN,
    DOCS,
    README,
    ROOT,
    SETTINGS,
    Block,
    anchors,
    blocks,
    commands,
    name,
    pages,
    prose,
)
from tests.architecture.settings import said
from tests.endpoint import Answer, Asked, serving, whole
from tests.streams.cli.calling import environment

URL = "http://127.0.0.1:8000/v1"
"""The endpoint that pages name; the test's own takes its place."""
ANYWHERE = {"--version", "--help", "--debug", "--display", "--log-level", "--log-format"}
REPLY = "The sum is 42.\nError_found: NO\nError_step: NONE\nError_description: none.\nAction: 1\n\
Justification: it holds.\nFinal_answer: ### 42 ### \\boxed{42}"
"""Reads as an answer, as a report and as a decision."""
OTHER_LANGUAGES = {"text", "mermaid"}
MOST_NOT_RUN = 2


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a user with an endpoint and ``metalogue`` on the path."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    with serving(agreed) as endpoint:
        yield environment(PATH=path, HOME=str(tmp_path), **endpoint.env())


def agreed(asked: Asked) -> Answer:
    """The same reply to every role."""
    return whole(REPLY)


@pytest.mark.slow
@pytest.mark.live
@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", [README, *sorted(DOCS.glob("*.md")), DESIGN / "tour.md"], ids=name)
def test_every_block_runs(page: Path, tmp_path: Path, shell: dict[str, str]) -> None:
    """In one empty folder, top to bottom, as a reader would."""
    printed = ""
    for block in blocks(page):
        where = f"{name(page)}:{block.line}"
        if block.said("file") is not None:
            (tmp_path / str(block.said("file"))).write_text(block.text, encoding="utf-8")
        elif block.said("prints") is not None:
            assert shape(printed) == shape(block.text), where
        elif is_run(block):
            printed = run(block, tmp_path, shell, where)


def all_blocks() -> list[Block]:
    """The blocks of every page."""
    return [block for page in pages() for block in blocks(page)]


def is_run(block: Block) -> bool:
    """Whether nothing but an exit code is said above, and the language is one that runs."""
    plain_block = block.above is None or block.above[0] == "exit"
    return plain_block and block.language not in OTHER_LANGUAGES


def run(block: Block, folder: Path, shell: dict[str, str], where: str) -> str:
    """What a block prints; it must end as its comment says, or else well."""
    text = block.text.replace(URL, shell["OPENAI_BASE_URL"])
    starts = {"bash": ["bash", "-euo", "pipefail", "-c"], "python": [sys.executable, "-c"]}
    assert block.language in starts, f"{where}: nobody runs {block.language}"
    done = subprocess.run(
        [*starts[block.language], text],
        cwd=folder,
        env=shell,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    printed = done.stdout.decode()
    assert done.returncode == int(block.said("exit") or 0), f"{where}:\n{printed}"
    return printed


def shape(text: str) -> list[str]:
    """The lines with every figure as 0: figures may move, words may not."""
    return [re.sub(r"\d+(?:[.,]\d+)*", "0", line).rstrip() for line in text.strip().splitlines()]


def test_the_event_shown_is_one() -> None:
    (shown,) = (block.text for block in all_blocks() if block.said("event") is not None)
    said: dict[str, object] = json.loads(shown)
    assert plain(decode(str(said["kind"]), shown)) == said


def test_few_blocks_are_not_run_and_each_says_why() -> None:
    reasons = [block.said("not run") for block in all_blocks()]
    named = [reason for reason in reasons if reason is not None]
    assert len(named) <= MOST_NOT_RUN
    tests = [test for reason in named for test in re.findall(r"tests/\S+\.py", reason)]
    assert len(tests) == len(named)
    assert all((ROOT / test).is_file() for test in tests)


@pytest.mark.parametrize("page", pages(), ids=name)
def test_commands_are_spelled_as_they_are(page: Path) -> None:
    for words in commands(page):
        wrong = misspelled(words)
        assert wrong is None, f"{name(page)}: metalogue {' '.join(words)}: {wrong}"


@cache
def whole_command() -> Any:
    """The tree of all commands, which takes a while to make."""
    return typer.main.get_command(app)


def misspelled(words: list[str]) -> str | None:
    """The first word that is no command or option of ours, if there is one."""
    command: Any = whole_command()
    rest = list(words)
    while hasattr(command, "commands") and rest and not rest[0].startswith("-"):
        if rest[0] not in command.commands:
            return rest[0]
        command = command.commands[rest.pop(0)]
    known = {option for parameter in command.params for option in parameter.opts} | ANYWHERE
    options = (word.partition("=")[0].rstrip(",:.") for word in rest if word.startswith("--"))
    return next((option for option in options if option not in known), None)


def test_a_misspelled_command_would_be_seen() -> None:
    assert misspelled(["log", "stats", "--json"]) is None
    assert misspelled(["log", "statistics"]) == "statistics"
    assert misspelled(["verify", "--lgo", "x"]) == "--lgo"


@pytest.mark.parametrize("part", PARTS)
def test_generated_parts_are_up_to_date(part: str) -> None:
    text = page_of(part).read_text(encoding="utf-8")
    assert put(text, part, made(part)) == text, "python -m tests.architecture.generated"


def test_every_diagram_is_generated() -> None:
    drawn = [block.text for block in all_blocks() if block.language == "mermaid"]
    assert all(any(text in made(part) for part in PARTS) for text in drawn)


def test_the_table_of_speeds_takes_what_the_bench_prints() -> None:
    figures = {name: 1.5 for row in SPEEDS for name in row[1:3]}
    told = speeds({**figures, "kept_bytes_per_step": {"12": 1008.0}, "replay_events_per_s": 316885})
    assert "| 1.5 µs | floor 1.5 µs |" in told
    assert "| 316,885 | |" in told


def test_the_settings_of_mc2_are_those_of_the_code() -> None:
    table = prose(DOCS / "policies.md").partition("## MC²")[2].partition("\n## ")[0]
    rows = (row for row in table.splitlines() if row.startswith("| `"))
    told = [[cell.strip(" `") for cell in row.split("|")[1:4]] for row in rows]
    service, paper = (Mc2Settings.resolve(profile, {}) for profile in ("service", "paper"))
    assert told == [
        [name, as_told(getattr(service, name)), as_told(getattr(paper, name))]
        for name in Mc2Settings.model_fields
    ]


def as_told(value: object) -> str:
    """A setting's value as the table spells it."""
    if isinstance(value, tuple):
        return ", ".join(map(str, cast("tuple[object, ...]", value)))
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value is None else str(value)


@pytest.mark.parametrize("name", POLICIES)
def test_every_setting_of_every_policy_says_what_it_does(name: str) -> None:
    """In a docstring below it: the pages of ``deploy/docs/policies`` are made of them."""
    model = POLICIES[name].settings
    silent = [field for field in model.model_fields if not said(model).get(field)]
    assert silent == [], "a docstring, then python -m tests.architecture.generated"


@pytest.mark.parametrize("name", POLICIES)
def test_every_page_of_a_policy_says_what_was_decided_and_why(name: str) -> None:
    text = (SETTINGS / f"{name}.md").read_text(encoding="utf-8")
    told = text.partition("\n## What was decided, and why\n")[2].partition("\n## ")[0]
    bullets = [line for line in told.splitlines() if line.startswith("- **")]
    assert bullets
    if "simplified" in POLICIES[name].about:
        assert any(line.startswith("- **What is simplified**") for line in bullets)


@pytest.mark.parametrize("name", [*SYSTEMS, "graph_memory"])
def test_the_systems_pages_say_what_was_decided_and_why(name: str) -> None:
    text = (SETTINGS / f"{name}.md").read_text(encoding="utf-8")
    told = text.partition("\n## What was decided, and why\n")[2]
    assert sum(line.startswith("- **") for line in told.splitlines()) >= 6
    marked = set(re.findall(r"`([a-z_]+)(?::[^`]*)?`", told.partition("\n## ")[0]))
    settings = POLICIES[name].settings.model_fields.keys()
    assert len(marked & settings) >= 5, "by the settings that carry the decisions"


def test_no_page_is_of_a_policy_that_is_not() -> None:
    assert {page.stem for page in SETTINGS.glob("*.md")} == set(POLICIES)


def test_an_own_policy_takes_twenty_lines() -> None:
    policy = next(block for block in blocks(README) if block.said("file") == "checked.py")
    code = [line for line in policy.text.splitlines() if line and not line.startswith('"""')]
    assert len(code) <= 24
    assert sum(not line.startswith(("from ", "import ")) for line in code) <= 20
    assert max(map(len, code)) <= 100


@pytest.mark.parametrize("page", pages(), ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", prose(page)):
        if not target.startswith("https://"):
            path, _, anchor = target.partition("#")
            found = page.parent / path if path else page
            assert found.exists(), target
            assert not anchor or anchor in anchors(found), target


def test_every_page_is_within_reach_of_the_readme() -> None:
    linked = {
        (README.parent / target).resolve() for target in re.findall(r"\]\(([^)#]+)", prose(README))
    }
    assert set(DOCS.glob("*.md")) <= linked


def test_decisions_are_numbered_and_count_their_costs() -> None:
    records = sorted(DECISIONS.glob("*.md"))
    for number, record in enumerate(records, 1):
        assert record.name.startswith(f"{number:04}-"), record.name
        text = record.read_text(encoding="utf-8")
        assert text.startswith(f"# {record.name[:4]}: "), record.name
        headings = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
        assert headings == ["Status", "Context", "Decision", "Alternatives", "Costs"], record.name
        status = text.partition("## Status\n\n")[2].partition("\n\n")[0]
        assert re.match(
            r"(Proposed|Accepted|Replaced by \[\d{4}\]\(.+\)) on \d{4}-\d\d-\d\d", status
        ), record.name
        alternatives = text.partition("## Alternatives\n\n")[2].partition("\n\n## ")[0]
        assert len(re.findall(r"^- \*\*[^*]+\.\*\* \S", alternatives, flags=re.MULTILINE)) >= 2, (
            record.name
        )
        assert len(text.splitlines()) <= 80, record.name
