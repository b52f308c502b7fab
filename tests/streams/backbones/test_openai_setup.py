from __future__ import annotations

import asyncio
import importlib.util
import re
import subprocess
import sys
from collections.abc import Mapping

import pytest

from streams.answering.backbones.openai import OpenAIBackbone, Options
from streams.answering.backbones.openai.options import OFFICIAL, find_site
from streams.core.backbone import BackboneError, SetupBroken, Unreachable
from streams.support.extras import install
from tests.endpoint import Answer, Endpoint, fails, serving
from tests.streams.backbones.asking import QUICK, asking

ENVIRON = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://env/v1", "OPENAI_MODEL": "env"}


def test_the_environment_says_where_and_the_arguments_win() -> None:
    site = find_site(ENVIRON)
    assert (site.url, site.key, site.model) == ("http://env/v1", "k", "env")
    assert site.key_source == "key from OPENAI_API_KEY"
    site = find_site(ENVIRON, model="arg", base_url="http://arg/v1", api_key="other")
    assert (site.url, site.key, site.model) == ("http://arg/v1", "other", "arg")
    assert site.key_source == "key from the command line"


def test_an_empty_variable_is_an_unset_one() -> None:
    site = find_site({"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "", "OPENAI_MODEL": ""})
    assert (site.url, site.model) == (OFFICIAL, None)


def test_the_official_endpoint_needs_a_key() -> None:
    with pytest.raises(SetupBroken, match="no key: set OPENAI_API_KEY") as caught:
        OpenAIBackbone("m", environ={})
    assert (caught.value.code, caught.value.where) == ("auth", OFFICIAL)


def test_an_address_without_a_scheme_is_refused() -> None:
    with pytest.raises(SetupBroken, match="OPENAI_BASE_URL must begin with http"):
        find_site({"OPENAI_BASE_URL": "localhost:8000"})


def test_a_key_from_a_mounted_file_ends_with_a_line() -> None:
    assert find_site(ENVIRON | {"OPENAI_API_KEY": "sk-1\n"}).key == "sk-1"


@pytest.mark.parametrize("key", ["sk-ü", "sk-1\nsk-2", "sk\x00"])
def test_a_key_that_no_header_can_carry_is_a_broken_set_up(key: str) -> None:
    with pytest.raises(SetupBroken, match="no HTTP header can carry") as told:
        find_site(ENVIRON | {"OPENAI_API_KEY": key, "OPENAI_BASE_URL": "http://u:S3@h/v1?sig=S3"})
    assert (told.value.code, told.value.where) == ("auth", "http://h/v1")
    assert key not in str(told.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SSL_CERT_FILE", "/nonexistent"),
        ("OPENAI_ORG_ID", "ü"),
        ("HTTP_PROXY", "socks9://x"),
    ],
)
def test_what_the_environment_forbids_is_a_broken_set_up(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No problem is charged for a client that cannot be made, or cannot send."""
    monkeypatch.setenv(name, value)
    with pytest.raises(SetupBroken, match=r"^http://127") as told:
        asyncio.run(asked_at("http://127.0.0.1:1/v1"))
    assert told.value.code == "client"


async def asked_at(url: str) -> None:
    backbone = OpenAIBackbone("m", base_url=url, environ={}, options=Options(max_attempts=1))
    try:
        await backbone.complete(asking())
    finally:
        await backbone.close()


def test_secrets_in_an_address_do_not_show() -> None:
    site = find_site({}, base_url="http://me:secret@host:1/v1/?token=secret")
    assert site.where == "http://host:1/v1"


def test_a_missing_client_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> None:
        assert name == "openai"

    monkeypatch.setattr(importlib.util, "find_spec", nothing)
    with pytest.raises(SetupBroken, match=re.escape(install("openai"))) as caught:
        OpenAIBackbone(environ=ENVIRON)
    assert caught.value.code == "extra"


def test_nothing_heavy_is_loaded_before_the_first_call() -> None:
    code = (
        "import sys; from streams.answering.backbones.openai import OpenAIBackbone as B;"
        "B('m', base_url='http://127.0.0.1:1/v1', environ={});"
        "print([m for m in ('openai', 'aiohttp', 'httpx', 'httpx2', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


async def named(url: str, environ: Mapping[str, str] | None = None) -> tuple[str, str]:
    options = Options(max_attempts=2, **QUICK)
    backbone = OpenAIBackbone(base_url=url, environ=environ or {}, options=options)
    before = backbone.name
    try:
        replies = await asyncio.gather(*(backbone.complete(asking(seed=n)) for n in range(5)))
        assert {reply.text for reply in replies} == {"2+2"}
        return before, backbone.name
    finally:
        await backbone.close()


def test_the_only_model_is_taken_and_no_key_is_needed() -> None:
    with serving(models=("tiny",)) as endpoint:
        assert asyncio.run(named(endpoint.url)) == ("openai", "openai:tiny")
        assert endpoint.listings == 1
        assert {asked.body["model"] for asked in endpoint.asked} == {"tiny"}
        assert endpoint.asked[0].headers["authorization"] == "Bearer none"


def offering(endpoint: Endpoint, answer: Answer) -> BackboneError:
    endpoint.models_answer = answer
    with pytest.raises((SetupBroken, Unreachable)) as caught:
        asyncio.run(named(endpoint.url))
    assert not endpoint.asked
    return caught.value


def test_several_models_or_none_ask_for_a_choice() -> None:
    with serving(models=("a", "b")) as endpoint:
        several = offering(endpoint, endpoint.models_answer)
        none = [offering(endpoint, answer) for answer in (Answer(raw=b"{}"), fails(404))]
    assert "the endpoint offers 2: a, b; set OPENAI_MODEL" in str(several)
    for error in (several, *none):
        assert isinstance(error, SetupBroken)
        assert error.code == "model"
    assert all("lists none" in str(error) for error in none)


def test_a_listing_that_fails_says_why() -> None:
    with serving() as endpoint:
        refused, down = offering(endpoint, fails(401)), offering(endpoint, fails(500))
    assert isinstance(refused, SetupBroken)
    assert refused.code == "auth"
    assert "no key was sent, OPENAI_API_KEY is not set" in str(refused)
    assert isinstance(down, Unreachable)


def test_calls_that_wait_for_the_model_share_one_failure_and_later_ones_ask_anew() -> None:
    async def body(endpoint: Endpoint) -> None:
        options = Options(max_attempts=2, **QUICK)
        backbone = OpenAIBackbone(base_url=endpoint.url, environ={}, options=options)
        calls = [backbone.complete(asking(seed=n)) for n in range(50)]
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert {type(outcome) for outcome in outcomes} == {Unreachable}
        assert endpoint.listings == 2
        endpoint.models_answer = listing
        assert (await backbone.complete(asking())).text == "2+2"
        await backbone.close()

    with serving() as endpoint:
        listing, endpoint.models_answer = endpoint.models_answer, fails(500)
        asyncio.run(body(endpoint))


def test_a_call_cancelled_while_it_waits_for_the_model_harms_no_other() -> None:
    async def body(endpoint: Endpoint) -> None:
        backbone = OpenAIBackbone(base_url=endpoint.url, environ={})
        calls = [asyncio.create_task(backbone.complete(asking(seed=n))) for n in range(2)]
        await asyncio.sleep(0)
        calls[0].cancel()
        assert (await calls[1]).text == "2+2"
        assert calls[0].cancelled()
        await backbone.close()

    with serving() as endpoint:
        asyncio.run(body(endpoint))
