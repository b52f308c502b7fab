"""Nothing that is read can choose what runs: every way to run code is named here, with who chooses."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml

from streams.support.yamls import reader
from tests.architecture.test_code import PACKAGES, name_of, parsed, sources

RUNS_A_FILE = {
    "streams/engine/policies.py": "a policy's file, which the command line gave",
    "streams/answering/grading/plugged.py": "a grader's file, which the command line gave, in a process of its own",
}
LOADS_INSTALLED = {
    "streams/engine/policies.py": "policies that were installed, all of them",
    "streams/answering/grading/own.py": "the grader that the command line named",
}
NAMED_BY_US = {
    ("streams/interfaces/cli/app.py", "import_module"): "our own modules of commands",
    ("streams/runtime/kafka/aio.py", "import_module"): "a part of aiokafka that the code asks for",
    (
        "streams/answering/grading/opinions.py",
        "import_module",
    ): "a grader's library, from our own command",
    (
        "streams/answering/grading/plugged.py",
        "import_module",
    ): "an installed grader, which the command line named",
    (
        "streams/engine/prompts/catalogue.py",
        "import_module",
    ): "our roles, and policies of this build",
    ("streams/public/metalogue/__init__.py", "import_module"): "the home of one of its names",
    ("streams/answering/embedders/minilm.py", "find_spec"): "one of NEEDED",
    ("streams/answering/backbones/providers/backbone.py", "find_spec"): "one of NEEDED",
    ("streams/interfaces/cli/doctor/setup.py", "find_spec"): "our packages",
    ("streams/interfaces/cli/observing.py", "find_spec"): "an extra's module",
    ("streams/answering/grading/grader.py", "find_spec"): "a grader's library",
    ("streams/answering/models.py", "find_spec"): "a wheel of ours",
    ("streams/public/metalogue/__init__.py", "find_spec"): "our packages",
}
"""Modules that are imported by a name which is no literal, and who says it."""
RUNNING = {"exec", "eval", "compile", "__import__", "execfile", "runpy", "run_path", "run_module"}
BY_NAME = {"import_module", "find_spec"}
FROM_FILES = {"spec_from_file_location", "module_from_spec", "SourceFileLoader", "exec_module"}
LOADERS = {"pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "jsonpickle"}
YAML = {"load", "load_all", "full_load", "unsafe_load", "FullLoader", "UnsafeLoader", "Loader"}
SHELLS = {"system", "popen", "getoutput", "create_subprocess_shell"}


@cache
def told(path: Path) -> tuple[ast.AST, ...]:
    """The calls, imports and lists of a file, which is walked through once."""
    kinds = (ast.Call, ast.Import, ast.ImportFrom, ast.List)
    return tuple(node for node in ast.walk(parsed(path)) if isinstance(node, kinds))


def calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    """Every call by the last part of what is called."""
    for node in told(path):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                yield node.func.id, node
            elif isinstance(node.func, ast.Attribute):
                yield node.func.attr, node


def whole(node: ast.expr) -> str:
    """``yaml.load`` of what is called."""
    return ast.unparse(node)


def ours() -> list[Path]:
    return sources(*PACKAGES)


def test_two_places_run_files() -> None:
    found = {
        name_of(path)
        for path in ours()
        for name, call in calls(path)
        if (name in RUNNING and whole(call.func) != "re.compile") or name in FROM_FILES
    }
    assert found == set(RUNS_A_FILE)


def test_what_is_imported_by_name_is_named_by_us() -> None:
    found = {
        (name_of(path), name)
        for path in ours()
        for name, call in calls(path)
        if name in BY_NAME and not isinstance(call.args[0], ast.Constant)
    }
    assert found == set(NAMED_BY_US)


def test_what_is_installed_is_loaded_by_one_place_for_each_sort() -> None:
    found = [name_of(p) for p in ours() for name, _ in calls(p) if name == "entry_points"]
    assert sorted(found) == sorted(LOADS_INSTALLED)


@pytest.mark.parametrize("module", sorted(LOADERS))
def test_nothing_is_read_that_could_run(module: str) -> None:
    for path in ours():
        for node in told(path):
            if isinstance(node, ast.Import):
                assert all(each.name.partition(".")[0] != module for each in node.names), path
            if isinstance(node, ast.ImportFrom):
                assert (node.module or "").partition(".")[0] != module, path


def test_our_reader_of_yaml_makes_plain_values_alone() -> None:
    assert issubclass(reader(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    # Of its own it has nothing that makes a value.
    assert reader().yaml_constructors == yaml.SafeLoader.yaml_constructors
    assert reader().yaml_multi_constructors == yaml.SafeLoader.yaml_multi_constructors


def test_yaml_holds_plain_values_and_arrays_are_numbers() -> None:
    for path in ours():
        for name, call in calls(path):
            assert not (name in YAML and whole(call.func) == f"yaml.{name}"), path
            said = {each.arg: whole(each.value) for each in call.keywords}
            assert said.get("Loader", "yaml.SafeLoader") in ("yaml.SafeLoader", "reader()"), path
            assert "allow_pickle" not in said, path
            assert "trust_remote_code" not in said, path


def test_no_shell_reads_what_we_say() -> None:
    for path in ours():
        for name, call in calls(path):
            assert name not in SHELLS, path
            assert all(each.arg != "shell" for each in call.keywords), path


def test_a_python_of_ours_takes_nothing_from_the_working_directory() -> None:
    """``-m`` and ``-c`` put that folder first: only ``streams.support.child`` starts one, with ``-P``."""
    for path in ours():
        for node in told(path):
            if isinstance(node, ast.List) and any(
                whole(each) == "sys.executable" for each in node.elts
            ):
                assert name_of(path) == "streams/support/child.py"
                assert whole(node.elts[1]) == "'-P'"


def test_templates_are_files_of_ours_and_escape() -> None:
    made = [(path, call) for path in ours() for name, call in calls(path) if name == "Environment"]
    for path, call in made:
        said = {each.arg: whole(each.value) for each in call.keywords}
        assert "autoescape" in said, path
        assert "loader" in said, path
    assert not [path for path in ours() for name, _ in calls(path) if name == "from_string"]
