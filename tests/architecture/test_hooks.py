"""Hooks of git: the commands of `make lint`, from this environment, and nothing from elsewhere."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import Any

import yaml

from tests.architecture.pages import ROOT

HOOKS = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))


def hooks() -> dict[str, dict[str, Any]]:
    (repo,) = HOOKS["repos"]
    assert repo["repo"] == "local"
    return {each["id"]: each for each in repo["hooks"]}


def test_nothing_is_fetched() -> None:
    assert {each["language"] for each in hooks().values()} == {"system"}
    assert all(each["pass_filenames"] is False for each in hooks().values())
    assert "://" not in (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")


def test_each_hook_runs_what_this_environment_has() -> None:
    for name, each in hooks().items():
        program, *arguments = shlex.split(each["entry"])
        assert (Path(sys.executable).parent / program.removeprefix(".venv/bin/")).exists(), name
        files = [word for word in arguments if word.startswith("tests/")]
        assert all((ROOT / file).is_file() for file in files), name


def test_the_hooks_are_the_commands_of_make_lint() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipes = re.findall(r"^lint-\w+: dev\n\t(.+)$", makefile, flags=re.MULTILINE)
    linted = {recipe.replace("$(BIN)", ".venv/bin") for recipe in recipes}
    assert len(linted) == 5
    assert linted <= {each["entry"] for each in hooks().values()}
    slow = {name for name, each in hooks().items() if each.get("stages") == ["pre-push"]}
    assert slow == {"mypy", "pyright"}
