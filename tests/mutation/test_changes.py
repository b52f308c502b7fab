from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.mutation.changes import Source, draw, files

TEXT = '''\
"""Words of a module."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

LIMIT: int = 3


def first(values: list[int] | None, *, above: int = 0) -> int | None:
    """Words of a function."""
    if values is None:
        raise ValueError("no values" + str(1))
    found = [v for v in values if v > above]
    return found[0] if found and len(found) < LIMIT else pick(found, mode="last", strict=True)


def pick(found: list[int], mode: str, strict: bool) -> int:
    return found[-1]
'''


def told(text: str) -> set[str]:
    """Each change of a text as its line with what is there before and after."""
    source = Source("a.py", text)
    made = (source.made(place) for places in source.places.values() for place in places)
    return {f"{each.line} {each.before} -> {each.after}" for each in made if each is not None}


def test_what_decides_is_changed() -> None:
    found = told(TEXT)
    assert {
        "15 values is None -> values is not None",
        "17 > above -> >= above",
        "17 > above -> <= above",
        "18 found and len(found) < LIMIT -> found or len(found) < LIMIT",
        "18 0 -> 1",
        "10 3 -> 4",
    } <= {each.replace("is -> is not", "values is None -> values is not None") for each in found}
    assert any('mode="last"' in each.partition(" -> ")[0] for each in found)


def test_what_no_result_shows_is_left_alone() -> None:
    said = [each.partition(" ") for each in told(TEXT)]
    assert not {int(line) for line, _, _ in said} & {1, 5, 7, 8, 14, 16}
    assert all("strict=True" in change for _, _, change in said if "pick(" in change)
    assert "18 True -> False" not in told(TEXT)


def test_every_change_is_another_program() -> None:
    source = Source("a.py", TEXT)
    made = [source.made(place) for places in source.places.values() for place in places]
    texts = [each.text for each in made if each is not None]
    assert len(texts) > 12
    same = ast.dump(ast.parse(TEXT))
    assert all(ast.dump(ast.parse(text)) != same for text in texts)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "pure" / "in").mkdir(parents=True)
    (tmp_path / "pure" / "in" / "a.py").write_text(TEXT, encoding="utf-8")
    (tmp_path / "pure" / "b.py").write_text(TEXT, encoding="utf-8")
    (tmp_path / "pure" / "empty.py").write_text('"""Nothing."""\n', encoding="utf-8")
    return tmp_path


def test_a_seed_draws_the_same_changes_of_all_files(tree: Path) -> None:
    paths = files(tree, ["pure"])
    assert paths == ["pure/b.py", "pure/empty.py", "pure/in/a.py"]
    drawn = draw(tree, paths, 7, 12)
    assert len({each.key for each in drawn}) == 12
    assert {each.path for each in drawn} == {"pure/b.py", "pure/in/a.py"}
    assert draw(tree, paths, 7, 12) == drawn
    assert draw(tree, paths, 8, 12) != drawn


def test_a_change_is_the_same_wherever_its_line_moves_to(tree: Path) -> None:
    (before,) = draw(tree, ["pure/b.py"], 1, 1)
    (tree / "pure" / "b.py").write_text(TEXT.replace("LIMIT: int", "# Why.\nLIMIT: int", 1))
    (after,) = draw(tree, ["pure/b.py"], 1, 1)
    assert (before.key, before.line + (before.line >= 10)) == (after.key, after.line)


def test_a_place_without_code_is_refused(tree: Path) -> None:
    with pytest.raises(ValueError, match="pure/none: no Python file"):
        files(tree, ["pure/none"])
