"""Providers as they are named and set up: keys, addresses, the extra, and what is loaded when."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from streams.answering.backbones.providers import KINDS, Options, ProviderBackbone
from streams.answering.backbones.spelling import BackboneConfig, build
from streams.core.backbone import SetupBroken
from streams.support.extras import install
from tests.endpoint import Asked, serving
from tests.streams.backbones.asking import asking
from tests.streams.backbones.providers.wires import SECRET, WIRES, Wire, with_provider
from tests.streams.cli.calling import call


@pytest.fixture(params=WIRES)
def wire(request: pytest.FixtureRequest) -> Wire:
    return WIRES[request.param]


def test_a_backbone_is_named_by_provider_and_model(wire: Wire) -> None:
    environ = {wire.key: SECRET, wire.address: "https://h.example", **wire.more}
    built = build(
        f"{wire.kind}:a/b:c?timeout_s=5", BackboneConfig(environ=environ, max_connections=3)
    )
    assert isinstance(built, ProviderBackbone)
    assert (built.name, built.simulated) == (f"{wire.kind}:a/b:c", False)
    assert SECRET not in f"{built!r} {built}"
    assert build(wire.kind, BackboneConfig(environ=environ, model="m")).name == f"{wire.kind}:m"


def broken(kind: str, environ: dict[str, str], **more: Any) -> SetupBroken:
    with pytest.raises(SetupBroken) as caught:
        ProviderBackbone(kind, more.pop("model", "m"), environ=environ, **more)
    return caught.value


def test_what_is_missing_is_named(wire: Wire) -> None:
    whole = {wire.key: SECRET, wire.address: "https://h.example", **wire.more}
    error = broken(wire.kind, {name: each for name, each in whole.items() if name != wire.key})
    assert (error.code, wire.key in error.detail) == ("auth", True)
    error = broken(wire.kind, whole, model=None)
    assert (error.code, f"--backbone {wire.kind}:" in error.detail) == ("model", True)
    for bad in ("ftp://h", "https://", "https://h:99999"):
        error = broken(wire.kind, whole | {wire.address: bad})
        assert (error.code, wire.address in error.detail) == ("model", True)
    assert broken(wire.kind, whole | {wire.key: "ключ-123"}).code == "auth"


def test_where_a_provider_has_no_address_of_its_own_one_is_asked_for() -> None:
    secret = {"AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1"}
    keys = {"AWS_SECRET_ACCESS_KEY": SECRET, "AWS_ACCESS_KEY_ID": "A"}
    assert "AWS_REGION" in broken("bedrock", keys).detail
    for region in ("evil.example/", "us-east-1.evil.example", "us east 1", "a@b-c-1"):
        assert "is no region" in broken("bedrock", keys | {"AWS_REGION": region}).detail
    assert "AZURE_OPENAI_ENDPOINT" in broken("azure", {"AZURE_OPENAI_API_KEY": SECRET}).detail
    assert "AWS_ACCESS_KEY_ID" in broken("bedrock", secret).detail
    made = ProviderBackbone("bedrock", "m", environ=keys | {"AWS_REGION": "us-gov-west-1"})
    assert "https://bedrock-runtime.us-gov-west-1.amazonaws.com" in repr(made)


def test_a_key_of_the_environment_goes_nowhere_that_a_folder_names(wire: Wire) -> None:
    environ = {wire.key: SECRET, wire.address: "https://evil.example", **wire.more}

    def place_of(name: str) -> str:
        return "environment" if name == wire.key else ".env:3"

    error = broken(wire.kind, environ, place_of=place_of)
    assert (error.code, error.where) == ("auth", "evil.example")
    assert ".env:3" in error.detail
    both: list[Callable[[str], str]] = [lambda _: "environment", lambda _: ".env:2"]
    for place_of_both in both:  # one and the same said the key and the address
        made = ProviderBackbone(wire.kind, "m", environ=environ, place_of=place_of_both)
        assert "evil.example" in repr(made)


def test_a_missing_extra_names_the_command(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec

    def without(name: str) -> object:
        return None if name == "any_llm" else found(name)

    monkeypatch.setattr(importlib.util, "find_spec", without)
    error = broken(wire.kind, {wire.key: SECRET})
    assert error.code == "extra"
    assert install("providers") in error.detail


def test_what_only_an_endpoint_of_openai_s_kind_has_is_refused_by_name() -> None:
    for said in ("stream=true", "chat_template_kwargs={}"):
        with pytest.raises(ValueError, match=said.partition("=")[0]):
            build(f"anthropic:m?{said}", BackboneConfig(environ={"ANTHROPIC_API_KEY": SECRET}))
    with pytest.raises(ValueError, match="extra_body"):
        Options(extra_body="[]")
    with pytest.raises(ValueError, match="gemini has no option 'temperature'"):
        build("gemini:m?temperature=1", BackboneConfig(environ={}))


def test_nothing_of_the_library_is_loaded_before_a_question() -> None:
    code = (
        "import sys; from streams.answering.backbones.spelling import build, BackboneConfig;"
        "build('anthropic:m', BackboneConfig(environ={'ANTHROPIC_API_KEY': 'k-12345678'}));"
        "print([m for m in ('any_llm', 'anthropic', 'google.genai', 'boto3', 'httpx') if m in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


def test_no_model_s_environment_is_taken_that_was_not_meant(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Variables that the libraries read by themselves would send the key elsewhere, or another one here."""
    with serving(wire.echo) as evil, serving(wire.echo) as endpoint:
        for name in (
            *("ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL", "AZURE_OPENAI_ENDPOINT"),
            *("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "OPENAI_BASE_URL"),
        ):
            monkeypatch.setenv(name, evil.url)
        for name, value in {
            "ANTHROPIC_AUTH_TOKEN": "other-token",
            "GOOGLE_GENAI_USE_VERTEXAI": "true",
            "GOOGLE_CLOUD_PROJECT": "other",
            "GOOGLE_API_KEY": "other-key",
            "AZURE_OPENAI_AD_TOKEN": "other-token",
            "AWS_ACCESS_KEY_ID": "OTHER",
        }.items():
            monkeypatch.setenv(name, value)
        reply = with_provider(wire, endpoint, lambda b: b.complete(asking()))
        (asked,) = endpoint.asked
        assert (reply.text, evil.asked) == ("2+2", [])
    shown = " ".join(asked.headers.values())
    assert "other" not in shown
    assert "OTHER" not in shown


@pytest.mark.parametrize("kind", KINDS)
def test_a_refused_key_ends_with_exit_5_and_charges_nothing(
    kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wire = WIRES[kind]
    monkeypatch.chdir(tmp_path)
    asked: list[Asked] = []

    def script(each: Asked) -> Any:
        asked.append(each)
        return wire.bad_key

    with serving(script) as endpoint:
        for name, value in wire.env(endpoint).items():
            monkeypatch.setenv(name, value)
        log = f"sqlite:{tmp_path / 'l.db'}"
        said = call("solve", "2+2", "--policy", "cot", "--backbone", f"{kind}:m-1", "--log", log)
    assert (said.code, len(asked)) == (5, 1)
    assert "model.auth" in said.err
    assert wire.key in said.err
    stats = call("log", "stats", "--json", "--log", log).json
    assert (stats["closed"], stats["completions"]) == (0, 0)
