"""Reading a server's answer, whatever it is: bytes go in, a reply or a fault comes out. Pure; it never raises."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import orjson

from handlers.answers.extract import extract
from streams.answering.backbones.openai.faults import MOST_SAID, Fault, as_it_is, of_status
from streams.answering.backbones.openai.sse import is_stream, one_completion
from streams.answering.backbones.openai.tools import with_calls

Json: TypeAlias = dict[str, Any]

FINISHES = {
    **dict.fromkeys(("length", "max_tokens", "MAX_TOKENS"), "length"),
    **dict.fromkeys(("content_filter", "safety", "SAFETY", "refusal"), "refusal"),
}
_MOST_TOKENS = 1 << 53
MOST_VALUES = 1 << 21
"""Values of one JSON text that is read: three bytes make an empty list, and that takes eighty in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """One completion as the server told it; what it left out is ``None``."""

    text: str
    thought: str | None
    finish: str
    model: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    reasoning_tokens: int | None
    cached_tokens: int | None
    logprob: float | None
    token_logprobs: tuple[tuple[str, float], ...] | None = None
    answer_logprob: float | None = None
    """Mean over the tokens of its answer, where one is marked."""

    @property
    def size(self) -> int:
        """Tokens of the reply, as told or as the text is long."""
        told = self.completion_tokens
        return len(self.text) // 4 if told is None else told


def read(raw: bytes, masked: Callable[[str], str] = as_it_is) -> Heard | Fault:
    """The completion in a response body, streamed or whole; ``masked`` hides a key in an error's text."""
    value = one_completion(raw, parse) if is_stream(raw) else parse(raw)
    if not isinstance(value, dict):
        return no_object(raw, masked)
    told = cast("Json", value)
    if told.get("error") and not told.get("choices"):
        code = part(told, "error").get("code")
        status = code if isinstance(code, int) and 400 <= code < 600 else 502
        return of_status(status, told, masked=masked)
    return _completion(told)


def no_object(raw: bytes, masked: Callable[[str], str] = as_it_is) -> Fault:
    """What a body stands for that is no JSON object: garbled, or a page of somebody in between."""
    shown = masked(raw[:MOST_SAID].decode("latin-1"))[:80].encode("latin-1")
    if raw.lstrip()[:1] == b"<":
        return Fault("failed", f"a page instead of a reply: {shown!r}", free=True)
    return Fault("junk", f"not a JSON object: {shown!r}")


def parse(raw: bytes) -> object:
    """The JSON value, or ``None``, also where it holds too many. Lone surrogates pass: the world mends them."""
    if len(raw) > MOST_VALUES and sum(map(raw.count, (b",", b":", b"[", b"{"))) > MOST_VALUES:
        return None
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(raw.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def part(value: Json, name: str) -> Json:
    """The object under a name, or an empty one."""
    inner: object = value.get(name)
    return cast("Json", inner) if isinstance(inner, dict) else {}


def objects(value: object) -> list[Json]:
    """The objects in a list; none if it is no list."""
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("Json", item) for item in items if isinstance(item, dict)]


def model_ids(raw: bytes) -> list[str]:
    """The models that a listing names."""
    listing = parse(raw)
    data: object = cast("Json", listing).get("data") if isinstance(listing, dict) else None
    return [name for entry in objects(data) if (name := _name(entry.get("id")))]


def _completion(told: Json) -> Heard | Fault:
    choices: object = told.get("choices")
    if not isinstance(choices, list) or not choices:
        return Fault("junk", "a reply without choices")
    choice: object = cast("list[object]", choices)[0]
    if not isinstance(choice, dict):
        return Fault("junk", "a choice that is no object")
    return _choice(told, cast("Json", choice))


def _choice(told: Json, choice: Json) -> Heard | Fault:
    message, usage = part(choice, "message"), part(told, "usage")
    logprobs: object = part(choice, "logprobs").get("content")
    refused, text = message.get("refusal"), _text(message.get("content"))
    finish = FINISHES.get(str(choice.get("finish_reason")), "stop")
    if isinstance(refused, str) and refused:
        text, finish = text or refused, "refusal"
    text = with_calls(text, message)
    if text is None and finish == "stop":
        return Fault("junk", "a reply without content")
    return Heard(
        text=text or "",
        thought=_name(message.get("reasoning_content")) or _name(message.get("reasoning")),
        finish=finish,
        model=_name(told.get("model")),
        prompt_tokens=count(usage.get("prompt_tokens")),
        completion_tokens=count(usage.get("completion_tokens")),
        reasoning_tokens=count(part(usage, "completion_tokens_details").get("reasoning_tokens")),
        cached_tokens=count(part(usage, "prompt_tokens_details").get("cached_tokens")),
        logprob=_mean_logprob(logprobs),
        token_logprobs=_token_logprobs(logprobs),
        answer_logprob=_answer_logprob(text or "", logprobs),
    )


def _text(content: object) -> str | None:
    """Content as a string, or as the list of parts that some servers send."""
    if isinstance(content, list):
        parts = [
            cast("Json", item) for item in cast("list[object]", content) if isinstance(item, dict)
        ]
        return "".join(text for item in parts if isinstance(text := item.get("text"), str))
    return content if isinstance(content, str) else None


def _name(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def count(value: object) -> int | None:
    """A number of tokens; anything else, and a bool above all, is unknown."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    whole = isinstance(value, int) or value.is_integer()
    return int(value) if whole and 0 <= value < _MOST_TOKENS else None


def _mean_logprob(content: object) -> float | None:
    """Mean log-probability of the tokens: unlike the sum, comparable across lengths."""
    values = [value for _, value in _tokens(content) or ()]
    return math.fsum(values) / len(values) if values else None


def _token_logprobs(content: object) -> tuple[tuple[str, float], ...] | None:
    """Each token with its log-probability; unknown where a token has no text."""
    every = _tokens(content) or []
    told = tuple((token, value) for token, value in every if isinstance(token, str))
    return told if told and len(told) == len(every) else None


def _answer_logprob(text: str, content: object) -> float | None:
    """Mean log-probability of the tokens of the answer alone: sure steps say nothing of an unsure answer."""
    every = _token_logprobs(content)
    answer = None if every is None else extract(text)
    if every is None or not answer:
        return None
    begins = "".join(token for token, _ in every).rfind(answer)
    values: list[float] = []
    at = 0
    for token, value in every:
        if begins >= 0 and at < begins + len(answer) and at + len(token) > begins:
            values.append(value)
        at += len(token)
    return math.fsum(values) / len(values) if values else None


def _tokens(content: object) -> list[tuple[object, float]] | None:
    """What a server says of each token; nothing where one has no finite log-probability."""
    if not isinstance(content, list) or not content:
        return None
    items = cast("list[object]", content)
    told = [cast("Json", item) for item in items if isinstance(item, dict)]
    found: list[tuple[object, float]] = [
        (each.get("token"), float(value))
        for each in told
        if isinstance(value := each.get("logprob"), (int, float)) and math.isfinite(value)
    ]
    return found if len(found) == len(items) else None
