from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.mutation import __main__ as mutation
from tests.mutation import trying
from tests.mutation.changes import Change
from tests.mutation.trying import Copies, Verdict, Word, attempt, copy_tree

RIGHT = "def double(value):\n    return 2 * value\n"
WRONG = RIGHT.replace("2 *", "3 *")
SAME = RIGHT.replace("2 * value", "value * 2")
ENDLESS = "def double(value):\n    while True:\n        pass\n"
TESTS = "from handlers.sizes import double\n\n\ndef test_double():\n    assert double(2) == 4\n"
TEST = "tests/test_sizes.py::test_double"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for folder in ("handlers", "tests"):
        (root / folder).mkdir(parents=True)
        (root / folder / "__init__.py").write_text("")
    (root / "handlers" / "sizes.py").write_text(RIGHT)
    (root / "tests" / "test_sizes.py").write_text(TESTS)
    (root / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n")
    (root / ".gitignore").write_text("*.db\n")
    (root / "left.db").write_text("no part of the tree")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    return root


@pytest.mark.slow
def test_a_change_is_noticed_or_survives_and_the_tree_stays_as_it_was(
    tree: Path, tmp_path: Path
) -> None:
    copy = copy_tree(tree, tmp_path / "copy")
    assert not (copy / "left.db").exists()
    place = "handlers/sizes.py"
    noticed = attempt(copy, place, WRONG, [TEST], 1.0)
    assert (noticed.word, noticed.by, noticed.tests) == ("noticed", TEST, 1)
    assert attempt(copy, place, "def double(:\n", [TEST], 1.0).word == "noticed"
    assert attempt(copy, place, SAME, [TEST], 1.0).word == "survived"
    assert attempt(copy, place, WRONG, [], 1.0).word == "untouched"
    with trying.changed(copy, place, ENDLESS):
        assert trying.run(copy, [TEST], 4.0) == (1, f"{trying.LATE} after 4 s")
    assert (copy / place).read_text() == (tree / place).read_text() == RIGHT


@pytest.mark.parametrize(
    ("wrong", "right", "word"),
    [
        ((1, f"{trying.LATE} after 60 s"), (0, ""), "noticed"),
        ((1, f"{trying.LATE} after 60 s"), (1, f"{trying.LATE} after 60 s"), "late"),
        ((1, "E  Failed: Timeout (>120.0s) from pytest-timeout."), (1, ""), "late"),
        ((1, "FAILED tests/test_sizes.py::test_double - assert 6 == 4"), (1, ""), "noticed"),
        ((4, "ImportError while loading conftest"), (0, ""), "noticed"),
        ((4, "ERROR: not found"), (4, "ERROR: not found"), "late"),
        ((5, "1 deselected"), (5, "1 deselected"), "untouched"),
    ],
)
def test_a_machine_that_is_slow_has_noticed_nothing_nor_has_who_did_not_run(
    wrong: tuple[int, str],
    right: tuple[int, str],
    word: Word,
    tree: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = tree / "handlers/sizes.py"

    def told(copy: Path, tests: list[str], limit_s: float) -> tuple[int, str]:
        return right if place.read_text() == RIGHT else wrong

    monkeypatch.setattr(trying, "run", told)
    assert attempt(tree, "handlers/sizes.py", WRONG, [TEST], 1.0).word == word


def test_nobody_shares_a_copy(tree: Path, tmp_path: Path) -> None:
    copies = Copies(tree, tmp_path / "copies", 2)
    with copies.one() as one, copies.one() as other:
        assert one != other
        assert {(each / "handlers" / "sizes.py").read_text() for each in (one, other)} == {RIGHT}


def test_what_fails_without_a_change_is_told_from_what_is_late(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {
        "fits": (0, ""),
        "fails": (1, "FAILED fails::test"),
        "late": (1, f"{trying.LATE} after 1 s"),
    }

    def told(copy: Path, tests: list[str], limit_s: float) -> tuple[int, str]:
        return max(said[each] for each in tests)

    monkeypatch.setattr(mutation, "run", told)
    assert mutation.sound(tree, ["fits"]) == ({"fits"}, set())
    assert mutation.sound(tree, ["fits", "fails", "late"]) == ({"fits"}, {"fails"})


def change(path: str, line: int, before: str) -> Change:
    return Change(path, line, line, "f", True, "number", f"return {before}", before, "9", "")


DRAWN = (
    change("handlers/a.py", 1, "1"),
    change("handlers/a.py", 2, "2"),
    change("streams/core/drive.py", 3, "3"),
    change("schemas/b.py", 4, "4"),
    change("schemas/b.py", 5, "5"),
)


def test_a_report_says_the_share_its_interval_and_what_survived_where() -> None:
    words: tuple[Word, ...] = ("noticed", "survived", "untouched", "survived")
    verdicts = {
        each.key: Verdict(word, "", 1, 1.0) for each, word in zip(DRAWN, words, strict=False)
    }
    reasons = {mutation.identity(DRAWN[3]): "four is five here"}
    said = mutation.report(DRAWN, verdicts, reasons)
    assert said == [
        "survived in handlers:",
        "  handlers/a.py:2 f: 2 -> 9 [number]",
        "survived in streams/core/drive.py:",
        "  streams/core/drive.py:3 f: 3 -> 9 [number; no test touches it]",
        "changes nothing: schemas/b.py:4 f: 4 -> 9 (four is five here)",
        "1 of 3 wrong changes noticed: 33.3% (95 % interval 6.1% to 79.2%)",
        "1 of 5 not tried yet: run it again, and it goes on",
    ]


def test_what_was_tried_is_not_tried_again_while_nothing_changes(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    def noted(copy: Path, path: str, text: str, tests: list[str], usual: float) -> Verdict:
        tried.append(path)
        return Verdict("survived", "", len(tests), 0.1)

    monkeypatch.setattr(mutation, "attempt", noted)
    kept, copies = tmp_path / "kept" / "verdicts", Copies(tree, tmp_path / "copies", 1)
    for drawn, tree_name in [(DRAWN[:2], "t1"), (DRAWN, "t1"), (DRAWN[:1], "t2")]:
        verdicts = mutation.Verdicts(kept, tree_name)
        mutation.try_all(
            drawn,
            copies,
            lambda each: [(f"tests/test_{each.line}.py", 1.0)],
            verdicts,
            workers=1,
            until=float("inf"),
            say=lambda line: None,
        )
    assert tried == [each.path for each in (*DRAWN, DRAWN[0])]


def test_what_a_slow_machine_could_not_tell_is_tried_again(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(copy: Path, path: str, text: str, tests: list[str], usual: float) -> Verdict:
        return Verdict("late", "late", len(tests), 60.0)

    monkeypatch.setattr(mutation, "attempt", slow)
    verdicts = mutation.Verdicts(tmp_path / "verdicts", "t")
    copies, said = Copies(tree, tmp_path / "copies", 1), list[str]()
    mutation.try_all(
        DRAWN[:1],
        copies,
        lambda each: [(TEST, 1.0)],
        verdicts,
        workers=1,
        until=float("inf"),
        say=said.append,
    )
    assert said[0].startswith("late ")
    assert mutation.report(DRAWN[:1], verdicts.found, {}) == [
        "1 of 1 not tried yet: run it again, and it goes on"
    ]


def test_nothing_is_begun_when_the_time_is_up(tree: Path, tmp_path: Path) -> None:
    verdicts = mutation.Verdicts(tmp_path / "verdicts", "t")
    copies = Copies(tree, tmp_path / "copies", 1)
    mutation.try_all(DRAWN, copies, lambda each: [], verdicts, workers=1, until=0.0)
    assert verdicts.found == {}


def test_what_is_said_to_change_nothing_stands_in_the_code_with_a_reason() -> None:
    for (path, _, source, before, _), reason in mutation.unchanging().items():
        text = (mutation.ROOT / path).read_text(encoding="utf-8")
        assert source in (line.strip() for line in text.splitlines()), (path, source)
        assert before.splitlines()[0] in text, (path, before)
        assert reason.strip(), (path, source)
