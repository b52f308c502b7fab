"""What `deploy` installs and starts: one version of each package, commands of ours, values that fit their schema."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.architecture.pages import ROOT
from tests.streams.cli.calling import call

jsonschema: Any = import_module("jsonschema")
COMPOSE = ROOT / "deploy" / "compose.yaml"
CHART = ROOT / "deploy" / "helm" / "metalogue"


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def understood(words: list[str]) -> bool:
    """Whether the command line knows this command and each of its options."""
    return call(*words, "--help").code == 0


def pins(path: Path) -> dict[str, str]:
    """The version of each package that a list installs."""
    lines = path.read_text(encoding="utf-8").splitlines()
    found = (re.match(r"([A-Za-z0-9._-]+)==([^ ;\\]+)", line) for line in lines)
    return {each[1].lower(): each[2] for each in found if each is not None}


def test_a_package_has_one_version_in_all_lists() -> None:
    """So that an environment does not hang on which list was installed last."""
    lists = {path.name: pins(path) for path in (ROOT / "deploy" / "locks").glob("*.txt")}
    assert len(lists["requirements-providers.txt"]) > len(lists["requirements.txt"]) > 20
    # What trains has an environment of its own, and holds fsspec back: it shares what runs with the others.
    training, runs = lists.pop("train.txt"), lists["requirements.txt"]
    assert {"torch", "trl", "pytest"} <= training.keys()
    assert runs.items() <= training.items()
    found: dict[str, set[str]] = {}
    for each in lists.values():
        for name, version in each.items():
            found.setdefault(name, set()).add(version)
    assert {name: versions for name, versions in found.items() if len(versions) > 1} == {}


def test_every_service_runs_a_command_of_ours() -> None:
    services = read(COMPOSE)["services"]
    ours = {name: each["command"] for name, each in services.items() if "build" in each}
    assert set(ours) == {"topics", "worker", "projector", "dashboard", "door"}
    assert [words for words in ours.values() if not understood(words)] == []
    assert not understood(["dashboard", "--lisen", "0.0.0.0:8790"]), "a misspelt one is seen"


def test_the_dashboard_is_published_on_this_machine_alone() -> None:
    (port,) = read(COMPOSE)["services"]["dashboard"]["ports"]
    assert port.startswith("127.0.0.1:")
    assert read(CHART / "values.yaml")["dashboard"]["enabled"] is False


def test_a_door_is_published_on_this_machine_alone_and_only_where_it_was_asked_for() -> None:
    service = read(COMPOSE)["services"]["door"]
    (port,) = service["ports"]
    assert port.startswith("127.0.0.1:")
    assert service["profiles"] == ["door"]
    assert "--tokens" in service["command"]
    assert read(CHART / "values.yaml")["door"]["enabled"] is False


def test_workers_are_told_to_serve_their_pages_to_others() -> None:
    """By themselves they serve them to their own machine, where no probe of a cluster comes from."""
    wide = ["--metrics", "0.0.0.0:6066"]
    assert read(COMPOSE)["services"]["worker"]["command"][-2:] == wide
    template = (CHART / "templates" / "worker.yaml").read_text(encoding="utf-8")
    assert 'args: [worker, --metrics, "0.0.0.0:6066"]' in template
    assert "containerPort: 6066" in template


def test_the_chart_s_values_fit_its_schema() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    values = read(CHART / "values.yaml")
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.validate(values, schema)
    assert set(values) <= set(schema["properties"])
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(values | {"dashbord": {}}, schema)
