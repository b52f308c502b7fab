"""What a server said, whatever it said: bytes in, reply or fault out. Pure; never raises."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import orjson

from streams.backbones.openai.faults import Fault, of_status
from streams.backbones.openai.sse import is_stream, one_completion

Json: TypeAlias = dict[str, Any]

FINISHES = {
    **dict.fromkeys(("length", "max_tokens", "MAX_TOKENS"), "length"),
    **dict.fromkeys(("content_filter", "safety", "SAFETY", "refusal"), "refusal"),
}
_MOST_TOKENS = 1 << 53


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """One completion as the server told it; what it left out is ``None``."""

    text: str
    finish: str
    model: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    reasoning_tokens: int | None
    cached_tokens: int | None
    logprob: float | None

    @property
    def size(self) -> int:
        """Tokens of the reply, as told or as the text is long."""
        told = self.completion_tokens
        return len(self.text) // 4 if told is None else told


def read(raw: bytes) -> Heard | Fault:
    """The completion in a response body, streamed or whole."""
    value = one_completion(raw, parse) if is_stream(raw) else parse(raw)
    if not isinstance(value, dict):
        return no_object(raw)
    told = cast("Json", value)
    if told.get("error") and not told.get("choices"):
        code = part(told, "error").get("code")
        return of_status(code if isinstance(code, int) and 400 <= code < 600 else 502, told)
    return _completion(told)


def no_object(raw: bytes) -> Fault:
    """What a body stands for that is no JSON object: garbled, or a page of somebody in between."""
    if raw.lstrip()[:1] == b"<":
        return Fault("failed", f"a page instead of a reply: {raw[:80]!r}", free=True)
    return Fault("junk", f"not a JSON object: {raw[:80]!r}")


def parse(raw: bytes) -> object:
    """The JSON value, or ``None``. Lone surrogates pass: the world mends them."""
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
    refused, text = message.get("refusal"), _text(message.get("content"))
    finish = FINISHES.get(str(choice.get("finish_reason")), "stop")
    if isinstance(refused, str) and refused:
        text, finish = text or refused, "refusal"
    if text is None and finish == "stop":
        return Fault("junk", "a reply without content")
    return Heard(
        text=text or "",
        finish=finish,
        model=_name(told.get("model")),
        prompt_tokens=count(usage.get("prompt_tokens")),
        completion_tokens=count(usage.get("completion_tokens")),
        reasoning_tokens=count(part(usage, "completion_tokens_details").get("reasoning_tokens")),
        cached_tokens=count(part(usage, "prompt_tokens_details").get("cached_tokens")),
        logprob=_mean_logprob(part(choice, "logprobs").get("content")),
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
    if not isinstance(content, list) or not content:
        return None
    items = cast("list[object]", content)
    values = [
        cast("Json", item).get("logprob") if isinstance(item, dict) else None for item in items
    ]
    known = [value for value in values if isinstance(value, (int, float)) and math.isfinite(value)]
    return math.fsum(known) / len(known) if len(known) == len(values) else None
