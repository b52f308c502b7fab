"""`import metalogue`: what there is, where it is defined, what it costs, and what a stranger's folder does to it."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from time import perf_counter

import metalogue
import pytest

from tests.streams.cli.calling import ROOT

NAMES = """
All Answer Asked Client Conclusion Engine Episode Error Forked Handle Limits Log Memory MemoryItem Policy
PolicySettings Problem Record Review Reviewed Role Steps Task Usage Verified asolve choice fork number open_log play
solve text verify
"""
"""What programs may rely on. A name that goes or changes breaks them: say so in CHANGELOG.md, then here."""
ROUNDS = 5


def test_the_names_are_those_that_were_promised() -> None:
    assert sorted(metalogue.__all__) == sorted(NAMES.split())
    assert dir(metalogue) == sorted(metalogue.__all__)


@pytest.mark.parametrize("name", sorted(metalogue.__all__))
def test_each_name_is_the_thing_itself_and_says_what_it_is(name: str) -> None:
    found = getattr(metalogue, name)
    (home,) = [module for module, names in metalogue.PLACES.items() if name in names]
    assert found is getattr(import_module(home), name)
    if name != "Steps":  # an alias of a generator's type
        assert found.__module__ == home, "a class has one identity, where it is defined"
        assert found.__doc__


def test_what_there_is_none_of_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'solv'"):
        _ = metalogue.solv  # pyright: ignore[reportAttributeAccessIssue]


def took(*words: str) -> float:
    began = perf_counter()
    subprocess.run([sys.executable, *words], check=True, cwd=ROOT)
    return perf_counter() - began


def test_importing_it_costs_less_than_ten_starts_of_python() -> None:
    pairs = [(took("-c", "pass"), took("-c", "import metalogue")) for _ in range(ROUNDS)]
    bare, ours = (min(each) for each in zip(*pairs, strict=True))
    assert ours < 10 * bare


def test_importing_it_loads_nothing_heavy() -> None:
    heavy = {"pydantic", "numpy", "lancedb", "aiokafka", "openai", "fastapi", "sqlite3", "asyncio"}
    code = f"import sys, metalogue; print(sorted({heavy!r} & set(sys.modules)))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert said.stdout == "[]\n"


@pytest.mark.parametrize("ours", ["schemas", "handlers", "state", "streams"])
def test_a_folder_that_stands_before_one_of_ours_is_named(tmp_path: Path, ours: str) -> None:
    (tmp_path / ours).mkdir()
    (tmp_path / ours / "__init__.py").touch()
    code = "import metalogue"
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    last = said.stderr.strip().splitlines()[-1]
    assert "ImportError" in last
    assert str(tmp_path / ours) in last
    assert "rename" in last
