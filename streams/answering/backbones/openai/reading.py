"""Reading a server's answer, whatever it is: bytes go in, a reply or a fault comes out. Pure; it never raises."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

import orjson

from handlers.answers.extract import extract
from streams.answering.backbones.openai.faults import MOST_SAID, Fault, as_it_is, of_status
from streams.answering.backbones.openai.sse import is_stream, one_completion, said_in
from streams.answering.backbones.openai.tools import with_calls
from streams.core.normalise import count

Json: TypeAlias = dict[str, Any]

BROKEN = "broken"
"""How a reply ends whose server gave up half-way: the model did not end it there."""
# Gateways pass on the words of the provider behind them, in capitals or not, and some explain one behind a
# colon. An unknown word counts as the end of the reply: what it holds decides whether it can be read.
FINISHES = {
    **dict.fromkeys(
        ("length", "max_tokens", "model_length", "model_context_window_exceeded"), "length"
    ),
    **dict.fromkeys(("content_filter", "safety", "refusal", "sensitive"), "refusal"),
    **dict.fromkeys(("recitation", "blocklist", "prohibited_content", "spii"), "refusal"),
    **dict.fromkeys(("error", "abort", "insufficient_system_resource", "network_error"), BROKEN),
}
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
    choices: object = told.get("choices")
    first = cast("list[object]", choices)[0] if isinstance(choices, list) and choices else None
    choice = cast("Json", first) if isinstance(first, dict) else {}
    reason = str(choice.get("finish_reason")).partition(":")[0].strip().lower()
    finish = FINISHES.get(reason, "stop")
    # Some servers tell an error with a status of success, in the midst of a stream, or within the choice that it
    # broke off. Beside a reply that came to its end it takes nothing away.
    error = choice.get("error")
    if not error and (not choices or finish == BROKEN):
        error = told.get("error")
    if error:
        fault = of_error(error, masked)
        # What came before it may be charged.
        return replace(fault, free=fault.free and not choices)
    if not isinstance(first, dict):
        said = "a reply without choices" if first is None else "a choice that is no object"
        return Fault("junk", said)
    if finish == BROKEN:
        return Fault("junk", f"a reply that its server broke off: {reason}")
    return _completion(told, choice, finish)


def of_error(error: object, masked: Callable[[str], str] = as_it_is) -> Fault:
    """What an error stands for that came with a status of success; the status that it should have had is its code."""
    told: Json = {"error": error}
    code = part(told, "error").get("code")
    status = code if isinstance(code, int) and 400 <= code < 600 else 502
    return of_status(status, told, masked=masked)


def is_whole(raw: bytes | bytearray) -> bool:
    """Whether a body is all there, although nobody said that it is at its end."""
    body = bytes(raw)
    value = one_completion(body, parse) if is_stream(body) else parse(body)
    return isinstance(value, dict)


def no_object(raw: bytes, masked: Callable[[str], str] = as_it_is) -> Fault:
    """What a body stands for that is no JSON object: garbled, or a page of somebody in between."""
    shown = masked(raw[:MOST_SAID].decode("latin-1"))[:80].encode("latin-1")
    # A page was written by a proxy or gateway before the endpoint, which charges nothing. Anything
    # else may be a paid reply that broke.
    if raw.lstrip()[:1] == b"<":
        return Fault("failed", f"a page instead of a reply: {shown!r}", free=True)
    return Fault("junk", f"not a JSON object: {shown!r}")


def parse(raw: bytes) -> object:
    """The JSON value, or ``None``, also where it holds too many. Lone surrogates pass: the world mends them."""
    # Counted by its signs before it is parsed, since the parsing is what takes the memory.
    if len(raw) > MOST_VALUES and sum(map(raw.count, (b",", b":", b"[", b"{"))) > MOST_VALUES:
        return None
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        pass
    try:
        # The quicker parser refuses lone surrogates, which some servers send; the reply is paid
        # for, so the slower one has to read it.
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


def _completion(told: Json, choice: Json, finish: str) -> Heard | Fault:
    message, usage = part(choice, "message"), part(told, "usage")
    text, thought = said_in(message.get("content"))
    refused = message.get("refusal")
    if isinstance(refused, str) and refused:
        text, finish = text or refused, "refusal"
    text = with_calls(text, message)
    # An empty reply that was cut off or refused is a reply; one that merely stopped is a server's fault.
    if text is None and finish == "stop":
        return Fault("junk", "a reply without content")
    said: object = part(choice, "logprobs").get("content")
    tokens = [
        (each.get("token"), float(value))
        for each in objects(said)
        if isinstance(value := each.get("logprob"), (int, float)) and math.isfinite(value)
    ]
    # All or none: a mean over some of the tokens would look like one over the reply.
    if not isinstance(said, list) or len(tokens) != len(cast("list[object]", said)):
        tokens = []
    named = tuple((token, value) for token, value in tokens if isinstance(token, str))
    # One token without a text, and nobody can say any more which of them make the answer.
    every = named if len(named) == len(tokens) else ()
    return Heard(
        text=text or "",
        thought=_name(message.get("reasoning_content"))
        or _name(message.get("reasoning"))
        or thought,
        finish=finish,
        model=_name(told.get("model")),
        prompt_tokens=count(usage.get("prompt_tokens")),
        completion_tokens=written(usage),
        reasoning_tokens=count(part(usage, "completion_tokens_details").get("reasoning_tokens")),
        cached_tokens=cached_in(usage),
        logprob=_mean([value for _, value in tokens]),
        token_logprobs=every or None,
        answer_logprob=_mean(_of_answer(text or "", every)),
    )


def written(usage: Json) -> int | None:
    """Completion tokens, thoughts among them: some servers count and charge for those in the total alone."""
    prompt, completion = count(usage.get("prompt_tokens")), count(usage.get("completion_tokens"))
    total = count(usage.get("total_tokens"))
    if prompt is None or completion is None or total is None:
        return completion
    beyond = max(total - prompt - completion, 0)
    thought = count(part(usage, "completion_tokens_details").get("reasoning_tokens"))
    # Where neither thoughts nor cached tokens are counted apart, thoughts are all that it can be. What else a
    # total may hold is nobody's guess.
    is_thought = beyond == thought or (thought is None and not cached_in(usage))
    return completion + beyond if is_thought else completion


def cached_in(usage: Json) -> int | None:
    """Tokens of the prompt that the server had read before; one provider counts them under a name of its own."""
    told = count(part(usage, "prompt_tokens_details").get("cached_tokens"))
    return count(usage.get("prompt_cache_hit_tokens")) if told is None else told


def _name(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _of_answer(text: str, tokens: Sequence[tuple[str, float]]) -> list[float]:
    """Values of the answer's tokens alone: sure steps say nothing of an unsure answer."""
    answer = extract(text) if tokens else None
    # The last place where it stands: before that a reply mentions it while it still reasons.
    begins = "".join(token for token, _ in tokens).rfind(answer) if answer else -1
    if not answer or begins < 0:
        return []
    values: list[float] = []
    at = 0
    for token, value in tokens:
        if at < begins + len(answer) and at + len(token) > begins:
            values.append(value)
        at += len(token)
    return values


def _mean(values: Sequence[float]) -> float | None:
    """The mean: unlike the sum of log-probabilities, it can be compared across lengths."""
    return math.fsum(values) / len(values) if values else None
