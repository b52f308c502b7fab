"""Files of settings are bounded in size, depth and what they come to; a refusal names file, line and field."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from streams.research.bench.recipe import BadRecipe, read
from streams.support.yamls import DEPTH, FILE_CHARS, VALUES, TooMuch, bounded
from tests.pace import within
from tests.streams.cli.calling import call

MERGED = "a0: &a0 {x: 1, y: 2}\n" + "".join(
    f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}\n" for n in range(1, 12)
)
LISTED = "a0: &a0 [x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)
TOO_DEEP = f"nested deeper than {DEPTH}"
TOO_MANY = f"more than {VALUES:,} values, with those that aliases stand for"
YAML = {
    "brackets": ("[" * 50_000, f"1: {TOO_DEEP}"),
    "braces": ("policy: " + "{a: " * 5_000, f"1: {TOO_DEEP}"),
    "dashes": ("policy: cot\nlog:\n" + "- " * 5_000, f"3: {TOO_DEEP}"),
    "aliases": (LISTED, f"6: {TOO_MANY}"),
    "merged": (MERGED, f"5: {TOO_MANY}"),
    "values": ("- a\n" * 60_000, f"20000: {TOO_MANY}"),
    "size": (f"policy: {'a' * FILE_CHARS}", f"1: longer than {FILE_CHARS:,} characters"),
}


@pytest.mark.parametrize("name", YAML)
def test_a_yaml_file_beyond_its_bounds_is_refused_with_its_line(folder: Path, name: str) -> None:
    text, said = YAML[name]
    (folder / "metalogue.yaml").write_text(text)
    called = within(5, lambda: call("config", "show"))
    assert called.code == 5
    assert called.err.startswith(f"metalogue.yaml:{said} [config.size, exit 5]\n"), called.err


MARKED = {
    "2024-13-45": "timestamp",
    "2024-01-01 25:00:00": "timestamp",
    "!!timestamp secret": "timestamp",
    "!!float secret": "float",
    '!!int ""': "int",
    "!!bool secret": "bool",
}
"""Values that are not what they are marked as or look like, and what that is."""


@pytest.mark.parametrize("value", MARKED)
def test_a_value_that_is_not_what_it_looks_like_is_refused_at_its_place(
    folder: Path, value: str
) -> None:
    said = f"not YAML: a value cannot be read as {MARKED[value]}; quote it if it is text"
    (folder / "metalogue.yaml").write_text(f"policy: cot\nlog: {value}\n")
    called = call("config", "show")
    assert called.code == 5
    assert called.err.startswith(f"metalogue.yaml:2:6: {said} [config.syntax, exit 5]"), called.err
    assert "secret" not in called.err
    (folder / "mine.yaml").write_text(f"name: x\nlog: {value}\n")
    with pytest.raises(BadRecipe) as refused:
        read(folder / "mine.yaml")
    assert str(refused.value) == f"mine.yaml:2: {said}"


@pytest.mark.parametrize("number", ["9" * 5000, "0x" + "f" * 5000, "1:" + "5:" * 3000 + "5"])
def test_a_number_that_nobody_could_be_told_is_refused(folder: Path, number: str) -> None:
    (folder / "metalogue.yaml").write_text(f"policy: cot\nlog: {number}\n")
    called = call("config", "show")
    assert called.code == 5
    assert called.err.startswith("metalogue.yaml:2: a number of more than 4,300 characters")


@pytest.mark.parametrize("name", YAML)
def test_so_is_a_recipe(tmp_path: Path, name: str) -> None:
    text, said = YAML[name]
    (tmp_path / "mine.yaml").write_text(text)
    with pytest.raises(BadRecipe) as refused:
        read(tmp_path / "mine.yaml")
    assert str(refused.value) == f"mine.yaml:{said}"


def test_a_recipe_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadRecipe, match="not YAML"):
        read(tmp_path / "mine.yaml")


def test_aliases_may_be_used() -> None:
    text = "a: &a {x: 1}\nb: {<<: *a, y: 2}\n" + "c: [*a, *a]\n"
    assert yaml.safe_load(bounded(text))["b"] == {"x": 1, "y": 2}


@pytest.mark.parametrize(
    "pump", ["a: b\n", "- a\n", "? a\n", "'", '"\\x41', "# \n", "&a ", " ", "\t", "a\n"]
)
def test_the_bounds_are_found_in_passing(pump: str) -> None:
    def read_it() -> None:
        with suppress(TooMuch, yaml.YAMLError):
            bounded(pump * (FILE_CHARS // len(pump)))

    within(5, read_it)


DOUBLING = "A0=aaaaaaaaaaaaaaaa\n" + "".join(
    f"A{n}=${{A{n - 1}}}${{A{n - 1}}}\n" for n in range(1, 40)
)
DOTENV = {
    "doubling": (
        DOUBLING,
        ".env:13: A12: longer than 65,536 characters with its variables filled in",
    ),
    "itself": ("A=aaaaaaaaaaaaaaaa\n" + "A=${A}${A}\n" * 40, ".env:41: A: longer than"),
    "a line": (f"A=1\nB=a{' ' * 5_000}b\n", ".env:2: a line of more than 4,096 characters"),
    "size": ("A=1\n" * 20_000, ".env: longer than 65,536 characters"),
    "bytes": ("A=\udcff\n", ".env: not UTF-8: invalid start byte"),
}


@pytest.mark.parametrize("name", DOTENV)
def test_lines_beyond_their_bounds_are_refused_by_name(folder: Path, name: str) -> None:
    text, said = DOTENV[name]
    (folder / ".env").write_bytes(text.encode(errors="surrogateescape"))
    called = within(5, lambda: call("config", "show"))
    assert called.code == 5
    assert called.err.startswith(said), called.err


def test_lines_may_be_made_of_others(folder: Path) -> None:
    (folder / ".env").write_text("A=1\nB=${A}/${HOME:-x}\nMETALOGUE_POLICY=mc2\n")
    assert call("config", "show", "--json").json["policy"]["value"] == "mc2"
