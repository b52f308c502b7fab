"""Refusals of providers, put into the status and words by which one judge judges all refusals. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, cast

from streams.answering.backbones.openai.faults import MOST_SAID, Fault, as_it_is, of_status
from streams.answering.backbones.openai.patience import asked_pause
from streams.answering.backbones.openai.rates import span
from streams.answering.backbones.openai.reading import objects, part
from streams.answering.backbones.providers.kinds import Provider

_WORDS = re.compile(r"[A-Za-z][A-Za-z0-9_]{2,60}")
_BAD_KEY = re.compile(r"API_KEY_INVALID|API key (?:not valid|expired)", re.IGNORECASE)
"""Gemini answers it with 400."""
_NOT_HERE = re.compile(r"FAILED_PRECONDITION|location is not supported", re.IGNORECASE)
"""Gemini is not to be had in this country, or not without a bill: with 400 as well."""
_NO_MODEL = re.compile(
    r"model identifier is invalid|on-demand throughput is|access to the model with", re.IGNORECASE
)
"""Bedrock answers 400, or 403 where the account was not given the model."""
_FAILED_THERE = 424
"""Bedrock: the model failed at this request; another attempt may do."""


def judged(
    provider: Provider,
    status: int,
    body: object,
    headers: Mapping[str, str],
    now: datetime,
    masked: Callable[[str], str] = as_it_is,
) -> Fault:
    """The fault that a status, what was said beside it, and the headers stand for."""
    error = _error(body)
    said = " ".join(str(value)[:MOST_SAID] for value in error.values() if value)
    pause = asked_pause(headers, now)
    if pause is None:
        pause = _told_pause(error.get("details"))
    told = {name: error[name] for name in ("code", "type", "message") if error.get(name)}
    if isinstance(error.get("param"), str):
        told["param"] = error["param"]
    told["metadata"] = " ".join(_ours(provider, said))
    return of_status(_status(status, said), {"error": told}, pause, masked)


def _error(body: object) -> dict[str, Any]:
    """The object that tells the error. Google says a name beside a number, which is the status again."""
    if not isinstance(body, dict):
        return {"message": body} if isinstance(body, str) else {}
    told = cast("dict[str, Any]", body)
    error = part(told, "error") or told
    if isinstance(error.get("status"), str):
        error = error | {"code": error["status"]}
    return error


def _status(status: int, said: str) -> int:
    """The status that says what is meant, where the provider uses another."""
    if status == 400 and (_BAD_KEY.search(said) or _NOT_HERE.search(said)):
        return 401
    if status in (400, 403) and _NO_MODEL.search(said):
        return 404
    return 502 if status == _FAILED_THERE else status


def _ours(provider: Provider, said: str) -> list[str]:
    """Our names of the parameters that are named in the provider's own words."""
    words = set(_WORDS.findall(said))
    found = {ours for word, ours in provider.words.items() if word in words}
    if not found and not words & _PLAIN:
        found = {ours for word, ours in provider.vague.items() if word in words}
    return sorted(found)


_PLAIN = frozenset({"temperature", "top_p", "max_tokens", "stop", "seed", "response_format"})


def _told_pause(details: object) -> float | None:
    """The pause that Google asks for within the error, such as ``34s``."""
    for each in objects(details):
        delay = each.get("retryDelay")
        if isinstance(delay, str):
            return span(delay)
    return None
