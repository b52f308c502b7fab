from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutation import touching
from tests.mutation.changes import Change
from tests.mutation.touching import Map, Part, by_import, passed, soonest

CODE = """\
LIMIT = 3


def small(value):
    return value < LIMIT


def large(value):
    return (
        value
        > LIMIT
    )
"""
TESTS = """\
import pytest
from handlers.sizes import large, small


@pytest.mark.parametrize("value", [1, 2])
def test_small(value):
    assert small(value)


def test_large():
    assert large(4)


def test_broken():
    assert small(9)
"""
OTHER = """\
def test_nothing():
    assert True
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(touching, "digest", touching.digest.__wrapped__)
    for folder in ("handlers", "tests"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").write_text("")
    (tmp_path / "handlers" / "sizes.py").write_text(CODE)
    (tmp_path / "tests" / "test_sizes.py").write_text(TESTS)
    (tmp_path / "tests" / "test_other.py").write_text(OTHER)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n")
    return tmp_path


def change(line: int, first: int, *, called: bool = True) -> Change:
    return Change("handlers/sizes.py", line, first, "f", called, "kind", "", "a", "b", "")


@pytest.mark.slow
def test_a_map_knows_who_runs_a_line_and_is_made_again_where_something_changed(tree: Path) -> None:
    kept = tree / "kept"
    first = Map(tree, kept)
    assert first.load() == ["tests/test_other.py", "tests/test_sizes.py"]
    assert list(first.make(first.load(), 1)) == [2]
    names = [test for test, _ in first.touching(change(5, 5))]
    assert names == ["tests/test_sizes.py::test_small"], "one that fails says nothing"
    names = [test for test, _ in first.touching(change(11, 9))]
    assert names == ["tests/test_sizes.py::test_large"], "a statement of several lines"
    names = [test for test, _ in first.touching(change(1, 1, called=False))]
    assert sorted(names) == ["tests/test_sizes.py::test_large", "tests/test_sizes.py::test_small"]
    passing = [test for test, _ in first.of(["tests/test_sizes.py", "tests/test_unknown.py"])]
    assert sorted(passing) == sorted(names), "one that fails says nothing here, too"

    again = Map(tree, kept)
    assert again.load() == []
    assert again.touching(change(5, 5)) == first.touching(change(5, 5))
    (tree / "handlers" / "sizes.py").write_text(f"{CODE}\nMORE = 1\n")
    assert Map(tree, kept).load() == ["tests/test_sizes.py"]
    (kept / "tests.test_other.py.json").write_text("{")
    assert Map(tree, kept).load() == ["tests/test_other.py", "tests/test_sizes.py"]


def test_tests_that_are_about_a_line_come_before_those_that_pass_through_it(tmp_path: Path) -> None:
    """The fastest came first, and a changed line that all episodes run was tried on none of its own tests."""
    other = {line: [0] for line in range(1, 91)}
    passing = Part(
        {},
        ["t/test_run.py::test_run"],
        [0.01],
        {"handlers/sizes.py": {5: [0]}, "handlers/run.py": other},
    )
    own = Part(
        {},
        ["t/test_sizes.py::test_all", "t/test_sizes.py::test_small"],
        [0.1, 0.2],
        {"handlers/sizes.py": {5: [0, 1], 6: [0], 7: [0]}},
    )
    known = Map(tmp_path, tmp_path)
    known.parts = {"t/test_run.py": passing, "t/test_sizes.py": own}
    assert known.touching(change(5, 5)) == [
        ("t/test_sizes.py::test_small", 0.2),
        ("t/test_sizes.py::test_all", 0.1),
        ("t/test_run.py::test_run", 0.01),
    ]
    many = Part({}, [f"t/test_sizes.py::test_{at}" for at in range(10)], [0.1] * 10, {})
    many.lines = {"handlers/sizes.py": {5: [*range(10)]}}
    known.parts["t/test_sizes.py"] = many
    asked = [test for test, _ in known.touching(change(5, 5))]
    assert asked.index("t/test_run.py::test_run") == 8, "no file has all of the time"


def test_the_nearest_by_imports_come_first(tree: Path) -> None:
    (tree / "tests" / "shown.py").write_text("from handlers.sizes import small\n")
    (tree / "tests" / "test_far.py").write_text("from tests import shown\n")
    (tree / "tests" / "live").mkdir()
    (tree / "tests" / "live" / "test_sizes.py").write_text(TESTS)
    near = by_import(tree, "handlers/sizes.py", 5)
    assert near == ["tests/test_sizes.py", "tests/test_far.py"]
    assert by_import(tree, "handlers/sizes.py", 1) == ["tests/test_sizes.py"]


def test_a_report_tells_which_tests_passed_in_all_their_cases(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    cases = (
        '<testcase classname="tests.a.test_b" name="test_one[1]" time="0.5"/>'
        '<testcase classname="tests.a.test_b" name="test_one[2]" time="0.25"/>'
        '<testcase classname="tests.a.test_b" name="test_two[1]" time="1"/>'
        '<testcase classname="tests.a.test_b" name="test_two[2]" time="1"><failure/></testcase>'
        '<testcase classname="tests.a.test_b" name="test_three" time="1"><skipped/></testcase>'
    )
    report.write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    assert passed(report) == {"tests/a/test_b.py::test_one": 0.75}


def test_as_many_tests_are_run_as_there_is_time_for() -> None:
    known = [("a", 3.0), ("b", 5.0), ("c", 1.0)]
    assert soonest(known, 4.0) == ["a", "c"]
    assert soonest(known, 0.5) == ["a"], "one at least"
    assert soonest([], 4.0) == []
