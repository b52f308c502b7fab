"""What code and pages cite exists: pages, headings, numbered decisions, files and names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.pages import DECISIONS, DESIGN, DOCS, README, ROOT, anchors, name, prose
from tests.architecture.test_code import PACKAGES, parsed, sources, tracked

FOLDERS = "schemas|handlers|state|streams|tests|deploy"
PAGE = re.compile(r"\bdesign/(\w+)\.md(?:#([a-z0-9-]+))?")
DECISION = re.compile(r"\bD(\d{1,2})\b")
UNNAMED = re.compile(
    r"\b(?:our|architecture|baselines|evaluation|kafka|vocabulary|rehearsal|conventions|screens) page\b"
    r'|\bspecification "|\bmeasured\.md\b'
)
"""A page that a reader could not find, for it says neither folder nor name."""
RECORD = re.compile(r"\bdecisions/(\d{4})")
FILE = re.compile(rf"(?<![\w/.])(?:{FOLDERS})(?:/[\w-]+)+\.(?:py|md|toml|sh|json|txt|yaml)\b")
DOTTED = re.compile(r"``((?:schemas|handlers|state|streams|tests)(?:\.\w+)+)``")
COMMENT = re.compile(r"(?:^ *|  )# (.+)$", re.MULTILINE)
MOST_FILES = 12


def cited(path: Path) -> str:
    """What a module says to its reader: its docstrings and comments."""
    comments = COMMENT.findall(path.read_text(encoding="utf-8"))
    return "\n".join((*texts(parsed(path)), *comments))


def texts(module: ast.Module) -> Iterator[str]:
    """Docstrings, those below attributes too."""
    for node in ast.walk(module):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield text
            case _:
                pass


@cache
def decided(page: str) -> frozenset[str]:
    """Numbers of the decisions that a page of a system lists."""
    text = (DESIGN / f"{page}.md").read_text(encoding="utf-8")
    return frozenset(re.findall(r"^- \*\*D(\d+)\*\*", text, flags=re.MULTILINE))


def faults(text: str) -> list[str]:
    """What a text cites that is not there."""
    found = [f"{each[0]!r}: which page?" for each in UNNAMED.finditer(text)]
    pages = [(page, head) for page, head in PAGE.findall(text)]
    for page, head in pages:
        file = DESIGN / f"{page}.md"
        if not file.is_file():
            found.append(f"design/{page}.md")
        elif head and head not in anchors(file):
            found.append(f"design/{page}.md#{head}")
    there = {
        each for page, _ in pages if (DESIGN / f"{page}.md").is_file() for each in decided(page)
    }
    found += [f"D{each}" for each in sorted(set(DECISION.findall(text)) - there)]
    records = {record.name[:4] for record in DECISIONS.glob("*.md")}
    found += [f"decisions/{each}" for each in RECORD.findall(text) if each not in records]
    found += [each for each in FILE.findall(text) if not (ROOT / each).is_file()]
    return found + [each for each in DOTTED.findall(text) if not is_there(each)]


@cache
def is_there(dotted: str) -> bool:
    """Whether a name leads to a module, or to something that one defines or imports."""
    parts = dotted.split(".")
    for upto in range(len(parts), 0, -1):
        place = ROOT.joinpath(*parts[:upto])
        file = (
            place.with_suffix(".py")
            if place.with_suffix(".py").is_file()
            else place / "__init__.py"
        )
        if file.is_file():
            return set(parts[upto:]) <= words(file)
        if place.is_dir():
            return upto == len(parts)
    return False


@cache
def words(file: Path) -> frozenset[str]:
    """Every identifier of a module."""
    found: set[str] = set()
    for node in ast.walk(parsed(file)):
        for attribute in ("name", "id", "attr", "arg"):
            word = getattr(node, attribute, None)
            if isinstance(word, str):
                found.add(word)
    return frozenset(found)


@pytest.mark.parametrize("package", [*PACKAGES, "tests"])
def test_what_docstrings_and_comments_cite_is_there(package: str) -> None:
    mine = Path(__file__)
    found = {
        name(path): each
        for path in sources(package)
        if path != mine and (each := faults(cited(path)))
    }
    assert found == {}


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("Source: architecture page, *Verbs*.", ["'architecture page': which page?"]),
        ('Source: specification "Evaluation".', ["'specification \"': which page?"]),
        ("Source: MC² eq. (10); design/mc2.md D6, D99.", ["D99"]),
        ("Source: MC²; our D6.", ["D6"]),
        ("design/nothing.md, design/architecture.md#verbs", ["design/nothing.md"]),
        ("design/architecture.md#nothing", ["design/architecture.md#nothing"]),
        ("deploy/decisions/9999 and tests/nothing.py", ["decisions/9999", "tests/nothing.py"]),
        ("``handlers.learning.recall.select``, ``streams.nowhere``", ["streams.nowhere"]),
    ],
)
def test_a_citation_that_leads_nowhere_would_be_seen(text: str, missing: list[str]) -> None:
    assert faults(text) == missing


@pytest.mark.parametrize("page", sorted(DESIGN.glob("*.md")), ids=name)
def test_design_pages_name_files_that_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert [each for each in FILE.findall(text) if not (ROOT / each).is_file()] == []
    folders = re.findall(rf"`((?:{FOLDERS})(?:/[\w-]+)+)`", text)
    assert [each for each in folders if not (ROOT / each).is_dir()] == []


@pytest.mark.parametrize("page", sorted(DESIGN.glob("*.md")), ids=name)
def test_decisions_are_numbered_in_order(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    numbers = [int(each) for each in re.findall(r"^- \*\*D(\d+)\*\*", text, flags=re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert bool(numbers) == ("\n## Decisions\n" in text)


def test_every_design_page_is_listed_and_within_reach_of_the_readme() -> None:
    index = DESIGN / "README.md"
    listed = {(DESIGN / each).resolve() for each in re.findall(r"\]\(([^)#]+)\)", prose(index))}
    assert {*DESIGN.glob("*.md")} - {index} <= listed
    assert "deploy/docs/design/README.md" in prose(README)


def stops() -> list[tuple[Path, str]]:
    """The stops of the tour: a file each, and what is said of it."""
    parts = re.split(r"^## \d+\. ", prose(DESIGN / "tour.md"), flags=re.MULTILINE)[1:]
    found: list[tuple[Path, str]] = []
    for part in parts:
        link = re.search(r"\]\(([^)]+\.py)\)", part.splitlines()[0])
        assert link is not None, part.splitlines()[0]
        found.append(((DESIGN / link[1]).resolve(), part.partition("\n## ")[0]))
    return found


def test_the_tour_follows_a_problem_through_few_files() -> None:
    files = [file for file, _ in stops()]
    assert len(files) == len(set(files)) <= MOST_FILES
    linked = re.findall(r"\]\(([^)]+\.py)\)", prose(DESIGN / "tour.md"))
    assert {(DESIGN / each).resolve() for each in linked} == set(files), "no file beside the stops"


@pytest.mark.parametrize("stop", stops(), ids=lambda stop: name(stop[0]))
def test_the_tour_names_what_stands_in_each_file(stop: tuple[Path, str]) -> None:
    file, text = stop
    names = set(re.findall(r"`([A-Za-z_]\w*)`", text))
    topics = {"problems", "feedback", "learning", "admitted"}
    assert names - topics, "a stop says what to look at"
    assert names - topics - words(file) == set()


def test_pages_of_systems_are_linked_from_their_policies() -> None:
    """Where a setting says ``D6``, its reader finds what that is."""
    for page in sorted((DOCS / "policies").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if DECISION.search(text):
            links = re.findall(r"\]\(\.\./design/(\w+)\.md\)", text)
            known = {number for each in links for number in decided(each)}
            assert set(DECISION.findall(text)) <= known, name(page)


def test_tracked_files_hold_these_pages() -> None:
    assert {*DESIGN.glob("*.md")} <= set(tracked())
