"""Backbones as they are written: read, built, or refused with the option's name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from streams.answering.backbones.openai import OpenAIBackbone
from streams.answering.backbones.rehearsal import Options, Rehearsal
from streams.answering.backbones.spelling import BackboneConfig, Spelling, build, parse


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("openai", Spelling("openai", "")),
        ("openai:org/model:free", Spelling("openai", "org/model:free")),
        (
            "openai:m?stream=true&timeout_s=5",
            Spelling("openai", "m", {"stream": "true", "timeout_s": "5"}),
        ),
        ("recorded:a/b.jsonl", Spelling("recorded", "a/b.jsonl")),
        ("rehearsal", Spelling("rehearsal", "")),
        (
            "rehearsal:seed=7,latency_ms=200",
            Spelling("rehearsal", "", {"seed": "7", "latency_ms": "200"}),
        ),
        (
            "rehearsal?seed=7&latency_ms=200",
            Spelling("rehearsal", "", {"seed": "7", "latency_ms": "200"}),
        ),
    ],
)
def test_spellings_are_read(text: str, parts: Spelling) -> None:
    assert parse(text) == parts


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no backbone ''; there are openai, anthropic, gemini, bedrock, azure, llamacpp"),
        ("gpt-4", "no backbone 'gpt-4'"),
        ("rehearsal:sed=7", "rehearsal has no option 'sed'; it has empty, heed"),
        ("rehearsal:7", "'7' in 'rehearsal:7' is not NAME=VALUE"),
        ("rehearsal:seed=1,seed=2", "option seed stands twice"),
        ("rehearsal:seed=1.5", "rehearsal option seed must be a whole number, not '1.5'"),
        ("rehearsal:malformed=2", r"rehearsal option malformed must be in \[0, 1\], not 2"),
        ("rehearsal:latency_ms=-1", "rehearsal option latency_ms must be"),
        ("rehearsal:latency_ms=inf", "rehearsal option latency_ms must be"),
        ("rehearsal:latency_ms=nan", "rehearsal option latency_ms must be"),
        ("openai:m?stream=perhaps", "openai option stream must be true or false, not 'perhaps'"),
        ("openai:m?max_connections=many", "openai option max_connections must be a whole number"),
        ("openai:m?max_connections=0", "openai option max_connections must be more than 0"),
        ("openai:m?timeout_s=0", "openai option timeout_s must be more than 0"),
        ("openai:m?idle_s=nan", "openai option idle_s must be more than 0"),
        ("openai:m?max_attempts=-1", "openai option max_attempts must be more than 0"),
        ("openai:m?hedge_s=-1", "openai option hedge_s must be at least 0"),
        ("openai:m?prices=1", "openai has no option 'prices'"),
        ("recorded", "recorded needs a file: recorded:PATH"),
        ("recorded:no/such.jsonl", "no recording at no/such.jsonl"),
        ("recorded:x?a=b", "recorded has no option 'a'"),
    ],
)
def test_wrong_spellings_are_refused_by_name(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build(text)


def test_a_rehearsal_takes_its_options() -> None:
    built = build("rehearsal:seed=3,latency_ms=0.5,empty=0", BackboneConfig(model="ignored"))
    assert isinstance(built, Rehearsal)
    assert built.options == Options(seed=3, latency_ms=0.5, empty=0.0)
    assert built.name == "rehearsal(seed=3)"


def test_an_endpoint_takes_model_address_and_connections() -> None:
    base = "http://127.0.0.1:9/v1"
    for text, model in (("openai", "from-flag"), ("openai:own", "own")):
        built = build(text, BackboneConfig(model="from-flag", base_url=base, max_connections=3))
        assert isinstance(built, OpenAIBackbone)
        assert built.name == f"openai:{model}"


def test_a_recording_is_opened(tmp_path: Path) -> None:
    file = tmp_path / "said.jsonl"
    file.write_text('{"prompt": "hello", "text": "hi"}\n')
    assert build(f"recorded:{file}").name == f"recorded:{file}"


def test_only_what_is_asked_for_is_imported() -> None:
    code = (
        "import sys; from streams.answering.backbones.spelling import build; build('rehearsal');"
        "print([m for m in ('openai', 'httpx', 'streams.answering.backbones.recorded') if m in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"
