"""Laws of the codec and of the world's normalisation: whatever is said can be kept, and read back."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, TypeAlias, cast

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import structs
from pydantic import ValidationError

from schemas.events.base import Event
from schemas.events.codec import BadEvent, UnknownEvent, as_written, decode, encode, plain
from schemas.events.reasoning import MonitorReported
from schemas.events.search import ConfidenceStated, FrontierScored, Grown, NodeExpanded
from schemas.events.union import KINDS
from schemas.events.upcasts import upcast
from schemas.identity import (
    address_order,
    canonical,
    episode_id,
    episode_parts,
    hash01,
    is_numbered,
    text_digest,
)
from schemas.problem import Feedback, Problem, ProblemRecord
from schemas.prompt import Section, Template
from schemas.questions import Complete
from schemas.reply import Reply
from streams.core.backbone import ModelReply
from streams.core.compare import difference, same
from streams.core.normalise import TEXT_CAP, completed
from tests.laws.events import ANY_EVENT, EVENTS, JSON, TEXT
from tests.laws.series import opened

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=30)
"""Lone surrogates too."""
ANY_FLOAT = st.floats(allow_nan=True, allow_infinity=True)
ODD = st.sampled_from([-1, 1 << 53, 10**400, -(10**400)])


SERIES = opened("x", 1, 1)


# -- round trips ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(KINDS))
@given(st.data())
@settings(max_examples=25)
def test_every_kind_of_event_comes_back_as_it_was(kind: str, data: st.DataObject) -> None:
    event = data.draw(EVENTS[kind])
    body = encode(event)
    again = decode(kind, body)
    assert again == event
    assert type(again) is type(event)
    assert encode(again) == body
    assert decode(kind, body.decode()) == event
    assert json.loads(body, parse_constant=pytest.fail)["kind"] == kind


@given(ANY_EVENT)
@settings(max_examples=100)
def test_the_bytes_of_an_event_are_json_that_any_reader_reads_alike(event: Event) -> None:
    body = encode(event)
    assert json.loads(body) == orjson.loads(body) == plain(event)
    assert same(event, decode(event.kind, orjson.dumps(plain(event))))


@given(ANY_EVENT, ANY_EVENT)
@settings(max_examples=150)
def test_two_events_are_the_same_or_a_field_is_named(one: Event, other: Event) -> None:
    assert same(one, one)
    assert same(one, other) == same(other, one)
    if one.kind == other.kind and not same(one, other):
        name, recorded, now = difference(one, other)
        assert name.startswith(f"{one.kind}.")
        assert name.partition(".")[2] in {*plain(one), *plain(other)} or "." in one.kind
        assert recorded != now


@given(st.sampled_from(sorted(KINDS)), st.binary(max_size=40) | JSON.map(orjson.dumps))
@settings(max_examples=150)
def test_what_is_no_event_is_refused_by_name(kind: str, body: bytes) -> None:
    try:
        read = decode(kind, body)
    except BadEvent as error:
        said = str(error)
    else:
        said = f"{read.kind}: an event after all"
    assert said.startswith(f"{kind}: ")


# -- what no build knows ----------------------------------------------------------------------------


@given(TEXT.filter(lambda kind: kind not in KINDS), JSON)
def test_an_unknown_kind_is_kept_verbatim(kind: str, body: Any) -> None:
    raw = orjson.dumps(body)
    event = decode(kind, raw)
    assert isinstance(event, UnknownEvent)
    assert (event.kind, encode(event)) == (kind, raw)
    assert decode(kind, raw.decode()) == event


@given(st.sampled_from(sorted(KINDS)), st.integers(2, 9), JSON)
def test_an_unknown_version_of_a_known_kind_is_kept_verbatim(
    kind: str, version: int, more: Any
) -> None:
    raw = orjson.dumps({"kind": kind, "version": version, "new": more})
    event = decode(kind, raw)
    assert isinstance(event, UnknownEvent)
    assert (event.kind, encode(event)) == (kind, raw)


Hop: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]


def hop(version: int) -> Hop:
    return lambda body: {**body, "version": version + 1, "seen": [*body.get("seen", ()), version]}


@given(st.integers(1, 6), st.integers(1, 8), st.dictionaries(TEXT, JSON, max_size=2))
def test_a_body_climbs_the_ladder_one_hop_a_version(
    newest: int, version: int, more: dict[str, Any]
) -> None:
    ladder = {("k", step): hop(step) for step in range(1, newest)}
    body: dict[str, Any] = {**more, "kind": "k", "version": version, "seen": []}
    risen = upcast(body, ladder)
    assert risen["seen"] == list(range(version, newest))
    assert risen["version"] == max(version, newest)
    assert upcast(risen, ladder) == risen
    assert upcast({**body, "kind": "other"}, ladder) == {**body, "kind": "other"}
    assert body["seen"] == []


def test_a_body_that_names_no_version_is_of_the_first() -> None:
    assert upcast({"kind": "k"}, {("k", 1): hop(1)})["version"] == 2
    assert upcast({"kind": "k"}, {("k", 2): hop(2)}) == {"kind": "k"}


# -- whatever a server sends ------------------------------------------------------------------------


@given(
    ANY_TEXT,
    ANY_TEXT,
    ANY_TEXT,
    st.none() | st.integers() | ANY_FLOAT | st.booleans() | st.text(max_size=3) | ODD,
    st.none() | ANY_FLOAT | st.text(max_size=3) | ODD,
    st.none() | ANY_FLOAT | ODD,
)
@settings(max_examples=200)
def test_any_reply_can_be_recorded_and_read_back(
    text: str,
    finish: str,
    model: str,
    count: Any,
    amount: Any,
    logprob: float | None,
) -> None:
    event = completed(
        "Complete x",
        ModelReply(
            text=text,
            finish=finish,
            model=model,
            attempts=count,
            prompt_tokens=count,
            completion_tokens=count,
            reasoning_tokens=count,
            cached_tokens=count,
            cost=amount,
            seconds=amount,
            logprob=logprob,
        ),
    )
    body = encode(event)
    assert decode("completed", body) == event
    known = [event.cost, event.seconds, event.logprob]
    assert all(number is None or math.isfinite(number) for number in known)
    assert event.prompt_tokens is None or event.prompt_tokens == count
    assert type(event.prompt_tokens) in (int, type(None))
    assert event.prompt_tokens is not None or not (type(count) is int and 0 <= count < 1 << 53)
    assert event.attempts == (event.prompt_tokens or 1)
    assert len(event.text) <= len(text)
    if text.isprintable():
        assert event.text == text
    orjson.loads(body)


@given(st.integers(-2, 2), st.sampled_from(["a", "é", "\U0001f600", "\ud800"]))
@settings(max_examples=20)
def test_a_reply_beyond_the_cap_is_cut_and_marked(beyond: int, letter: str) -> None:
    event = completed("x", ModelReply(text=letter * (TEXT_CAP + beyond), finish="stop", model="m"))
    assert len(event.text) == min(TEXT_CAP, TEXT_CAP + beyond)
    assert event.truncated == (beyond > 0 or None)
    encode(event)


@given(st.sampled_from([math.nan, math.inf, -math.inf]))
def test_no_event_holds_what_is_not_a_finite_number(value: float) -> None:
    grown = Grown(node="1", strategy="s", depth=1, value=value)
    events: dict[str, Event] = {
        "value": ConfidenceStated(node="0", source="0", value=value),
        "scores": FrontierScored(round=0, scores=(("0", value),), chosen="0"),
        "children": NodeExpanded(round=0, node="0", children=(grown,)),
    }
    for field, event in events.items():
        with pytest.raises(BadEvent, match=f"{event.kind}: {field}: .*finite"):
            as_written(event)


@given(ANY_EVENT)
@settings(max_examples=100)
def test_a_whole_number_may_be_spelled_with_a_fraction_of_nothing(event: Event) -> None:
    """``12.0`` is an integer to JSON Schema, and to builds that read events by pydantic."""
    body = orjson.dumps(_with_fractions(orjson.loads(encode(event))))
    assert decode(event.kind, body) == event


def _with_fractions(value: Any) -> Any:
    if type(value) is int and abs(value) < 1 << 53:
        return float(value)
    if isinstance(value, dict):
        return {name: _with_fractions(each) for name, each in cast("dict[str, Any]", value).items()}
    return (
        list(map(_with_fractions, cast("list[Any]", value))) if isinstance(value, list) else value
    )


@given(ANY_EVENT)
@settings(max_examples=100)
def test_an_event_is_written_as_it_is(event: Event) -> None:
    assert as_written(event) == event


def test_what_is_written_is_what_readers_find() -> None:
    """Numbers and sequences as they are declared, whatever a policy put there."""
    stated = FrontierScored(round=0, scores=[["0", 1]], chosen="0")  # type: ignore[arg-type]
    found = as_written(stated)
    assert found.scores == (("0", 1.0),)
    assert type(found.scores[0][1]) is float
    assert encode(found) == encode(decode(found.kind, encode(stated)))


def test_what_is_nested_too_deeply_is_refused_and_ends_nobody() -> None:
    deep = "[" * 200_000 + "]" * 200_000
    with pytest.raises(BadEvent, match=r"series\.opened: .*recursion"):
        decode("series.opened", f'{{"settings":{{"a":{deep}}}}}')
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    with pytest.raises(BadEvent, match=r"series\.opened: settings: .*recursion"):
        as_written(structs.replace(SERIES, settings={"a": nested}))


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ({"round": -1}, "round: Expected `int` >= 0"),
        ({"flag": "PERHAPS"}, "flag: Invalid enum value 'PERHAPS'"),
        ({"source": 3}, "source: Expected `str`, got `int`"),
        ({"source": object()}, "source: no JSON for object"),
        ({"step": "\ud800"}, "step: 'utf-8' codec can't encode"),
    ],
)
def test_what_no_reader_could_read_is_not_written(said: dict[str, Any], wrong: str) -> None:
    stated: dict[str, Any] = {"round": 0, "source": "0", **said}
    event = MonitorReported(**stated)
    with pytest.raises(BadEvent, match=f"monitor.reported: {wrong}"):
        as_written(event)


@given(st.sampled_from([math.nan, math.inf, -math.inf]), st.booleans())
def test_no_event_holds_one_deep_in_its_values(value: float, deep: bool) -> None:
    """A number that JSON cannot say would come back as another value than was acted on."""
    settings_ = {"x": [{"y": value}] if deep else value}
    with pytest.raises(ValueError, match="finite"):
        Problem(id="x", problem="x", domain="d", settings=settings_)
    with pytest.raises(ValueError, match="finite"):
        as_written(structs.replace(SERIES, settings=settings_))


# -- identity ---------------------------------------------------------------------------------------


@given(st.dictionaries(TEXT, JSON, max_size=6), st.randoms(use_true_random=False))
def test_one_value_has_one_canonical_text_whatever_the_order_of_its_keys(
    value: dict[str, Any], chance: Any
) -> None:
    shuffled = list(value.items())
    chance.shuffle(shuffled)
    assert canonical(value) == canonical(dict(shuffled))
    assert orjson.loads(canonical(value)) == value


@given(ANY_TEXT, ANY_TEXT)
def test_a_digest_tells_any_two_texts_apart(one: str, other: str) -> None:
    assert (text_digest(one) == text_digest(other)) == (one == other)
    assert 0.0 <= hash01(one, other) < 1.0


@given(st.sampled_from([10**30, -(1 << 70), 1 << 64]), st.booleans())
def test_a_number_without_canonical_json_is_refused_where_it_comes_in(
    huge: int, deep: bool
) -> None:
    """It would have no digest, so no episode could be named after it."""
    value = [huge] if deep else huge
    with pytest.raises(TypeError):
        canonical(value)
    with pytest.raises(ValidationError, match="64 bits") as refused:
        Problem(id="x", problem="x", domain="d", settings={"n": value})
    assert refused.value.errors()[0]["loc"] == ("settings",)
    for model, name in ((ProblemRecord, "answer"), (Feedback, "reference")):
        said = {"id": "x", "problem": "x", "domain": "d", "problem_id": "x", name: value}
        fields = {name: each for name, each in said.items() if name in model.model_fields}
        with pytest.raises(ValidationError, match="64 bits"):
            model.model_validate(fields)


ADDRESSES = st.one_of(
    st.lists(st.integers(0, 120), min_size=1, max_size=5).map(lambda n: ".".join(map(str, n))),
    st.sampled_from(["admitted", "opened", "closed", "parked.0", "reflected", "graded.ab"]),
)


@given(st.lists(ADDRESSES, max_size=12, unique=True), st.randoms(use_true_random=False))
@example(["10", "9", "9.0.0", "opened", "admitted", "closed"], None)
def test_the_order_of_addresses_is_total(addresses: list[str], chance: Any) -> None:
    ordered = sorted(addresses, key=address_order)
    if chance is not None:
        chance.shuffle(addresses)
    assert sorted(addresses, key=address_order) == ordered
    assert len({address_order(at) for at in addresses}) == len(addresses)
    rank = [0 if at in ("admitted", "opened") else 1 if is_numbered(at) else 2 for at in ordered]
    assert rank == sorted(rank)


@given(st.lists(ANY_TEXT, min_size=1, max_size=6))
@example(["²", "3", "٣"])
def test_any_names_can_be_ordered(names: list[str]) -> None:
    assert len({address_order(name) for name in names}) == len(set(names)) or any(
        name.startswith("0") or ".0" in name for name in names
    )


@given(st.from_regex(r"[a-z0-9.-]{1,9}", fullmatch=True), TEXT.filter(bool))
def test_an_episode_names_its_parts(domain: str, problem: str) -> None:
    assert episode_parts(episode_id(domain, problem, "0123abcd")) == (domain, problem, "0123abcd")
    assert " " not in episode_id(domain, problem, "0123abcd")


# -- fingerprints -----------------------------------------------------------------------------------

NAMED = st.dictionaries(st.sampled_from("xyz"), st.sampled_from(["", "1", "2"]), max_size=3)
TEMPLATE = Template(
    "t", "Think.", tuple(Section(n.upper(), n, optional=True) for n in "xyz"), Reply(())
)


@given(NAMED, NAMED)
@settings(max_examples=300)
def test_questions_that_a_model_would_see_differ_have_other_fingerprints(
    one: dict[str, str], other: dict[str, str]
) -> None:
    left = Complete("r", TEMPLATE, tuple(one.items()))
    right = Complete("r", TEMPLATE, tuple(other.items()))
    if left.messages() != right.messages():
        assert left.fingerprint() != right.fingerprint()
    if left == right:
        assert left.fingerprint() == right.fingerprint()
