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
_PLAIN = frozenset({"temperature", "top_p", "max_tokens", "stop", "seed", "response_format"})


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
    if pause is None:  # Google asks for one within the error, such as ``34s``
        details = objects(error.get("details"))
        delays = [delay for each in details if isinstance(delay := each.get("retryDelay"), str)]
        pause = span(delays[0]) if delays else None
    told = {name: error[name] for name in ("code", "type", "message") if error.get(name)}
    if isinstance(error.get("param"), str):
        told["param"] = error["param"]
    # Our names for the parameters that its words name, so that the common judge knows them. A vague word
    # counts only where no plain one stands: a refused temperature may be explained by "thinking".
    words = set(_WORDS.findall(said))
    ours = {name for word, name in provider.words.items() if word in words}
    if not ours and not words & _PLAIN:
        ours = {name for word, name in provider.vague.items() if word in words}
    told["metadata"] = " ".join(sorted(ours))
    # A status is put right before the common judge sees it, where the provider means another by it.
    if status == 400 and (_BAD_KEY.search(said) or _NOT_HERE.search(said)):
        status = 401
    elif status in (400, 403) and _NO_MODEL.search(said):
        status = 404
    elif status == _FAILED_THERE:
        status = 502
    return of_status(status, {"error": told}, pause, masked)


def _error(body: object) -> dict[str, Any]:
    """The object that tells the error. Google says a name beside a number, which is the status again."""
    if not isinstance(body, dict):
        return {"message": body} if isinstance(body, str) else {}
    told = cast("dict[str, Any]", body)
    error = part(told, "error") or told
    if isinstance(error.get("status"), str):
        error = error | {"code": error["status"]}
    return error
