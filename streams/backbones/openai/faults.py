"""Why an attempt failed, and whose fault it is: the set-up's, the moment's or the prompt's.

- *auth model quota*: the set-up's. Every call would meet it, so no problem may be charged for it.
  A 400 or 422 belongs here when it refuses a parameter that we send for every call, or the model.
- *lost failed busy unasked*: the moment's. Nothing came, or the endpoint said that it fails or put us
  off; worth asking again. *unasked*: others found it down, so it was not asked at all.
- *timeout junk*: no usable answer, perhaps a paid one; asked once more, then recorded as it is.
- *error refusal*: the prompt's (too long, filtered); recorded at once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

Kind: TypeAlias = Literal[
    "auth",
    "model",
    "quota",
    "lost",
    "failed",
    "busy",
    "unasked",
    "timeout",
    "junk",
    "error",
    "refusal",
]

SETUP: frozenset[Kind] = frozenset({"auth", "model", "quota"})
LOST: frozenset[Kind] = frozenset({"lost", "failed"})
MOMENT: frozenset[Kind] = frozenset({*LOST, "busy", "unasked"})
ONCE_MORE: frozenset[Kind] = frozenset({"timeout", "junk"})

BY_STATUS: dict[int, Kind] = {
    **dict.fromkeys((401, 403, 407), "auth"),
    **dict.fromkeys((404, 405, 410, 415), "model"),
    402: "quota",
    **dict.fromkeys((408, 409, 425), "failed"),
    **dict.fromkeys((429, 503, 529), "busy"),
}
_SPENT = re.compile(
    r"insufficient[_ ](?:quota|balance|funds|credit)|billing_(?:hard|not)|out of credit|"
    r"credit balance is too low",
    re.IGNORECASE,
)
# Said of spent quota and of limits per minute alike; the latter mostly say when to come back.
_PERHAPS_SPENT = re.compile(r"exceeded your (?:current )?quota|plan and billing", re.IGNORECASE)
_PASSES = re.compile(
    r"rate.?limit|per (?:minute|second|hour|day)|try again|retry in", re.IGNORECASE
)
_FILTERED = re.compile(r"content_filter|content_policy|flagged_input|moderation", re.IGNORECASE)
_TOO_LONG = re.compile(
    r"context[_ ](?:length|window|size)|maximum context|prompt is too long|too many tokens",
    re.IGNORECASE,
)
# Refused like any other, and for ever: the prompt alone is more than a minute's tokens.
_NEVER_FITS = re.compile(r"request too large", re.IGNORECASE)
_NO_MODEL = re.compile(
    r"model_not_found|model\W.{0,80}(?:not exist|not found|not supported)", re.IGNORECASE
)
_NO_PARAMETER = re.compile(
    r"(?:unknown|unsupported|unrecogni[sz]ed)[_ ](?:request |field|parameter|argument|value)|"
    r"extra_forbidden|extra inputs|not permitted|is not supported with this model",
    re.IGNORECASE,
)
_OURS = frozenset(
    {
        *("model", "seed", "temperature", "top_p", "stop", "logprobs"),
        *("response_format", "stream", "stream_options"),
    }
)


@dataclass(frozen=True, slots=True)
class Fault:
    """Why an attempt gave no reply. ``pause`` is what the server asked for, in seconds.

    ``free`` says that nothing can have been charged for it; else its cost is unknown.
    """

    kind: Kind
    detail: str
    pause: float | None = None
    free: bool = False


def of_status(status: int, body: object, pause: float | None = None) -> Fault:
    """The fault that an HTTP status and the error body with it stand for."""
    error = _error(body)
    said = [str(error[name]) for name in ("code", "type", "message") if error.get(name)]
    everything = " ".join((*said, str(error.get("metadata", ""))))
    kind = _kind(status, everything, error.get("param"), pause)
    # A refused key may come back in the message; the first word is the code.
    shown = " ".join(said[:1] if kind == "auth" else said)
    return Fault(kind, f"HTTP {status} {shown}".strip()[:300], pause, free=True)


def _error(body: object) -> dict[str, Any]:
    """The object that tells the error: at the top, or under ``error`` or ``detail``."""
    if not isinstance(body, dict):
        return {"message": body} if isinstance(body, str) else {}
    told = cast("dict[str, Any]", body)
    for name in ("error", "detail"):
        inner: object = told.get(name)
        if isinstance(inner, dict):
            return cast("dict[str, Any]", inner)
        if isinstance(inner, (str, list)):
            return {"message": str(cast("object", inner))}
    return told


def _kind(status: int, said: str, parameter: object, pause: float | None) -> Kind:
    if _is_spent(status, said, pause):
        return "quota"
    if status in (400, 403) and _FILTERED.search(said):
        return "refusal"
    if status == 429 and _NEVER_FITS.search(said):
        return "error"
    if status in BY_STATUS:
        return BY_STATUS[status]
    if status in (400, 422):
        return _bad_request(said, parameter)
    return "failed" if status >= 500 else "error"


def _is_spent(status: int, said: str, pause: float | None) -> bool:
    if status not in (400, 403, 429):
        return False
    if _SPENT.search(said):
        return True
    passes = pause is not None or _PASSES.search(said) is not None
    return status == 429 and not passes and _PERHAPS_SPENT.search(said) is not None


def _bad_request(said: str, parameter: object) -> Kind:
    if _TOO_LONG.search(said):
        return "error"
    if parameter in _OURS or _NO_MODEL.search(said) or _NO_PARAMETER.search(said):
        return "model"
    return "error"
