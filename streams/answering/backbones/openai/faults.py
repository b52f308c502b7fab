"""Why an attempt failed, and whose fault it is: the set-up's, the moment's or the prompt's.

- *auth model quota moved proxy tls*: the set-up's. Every call would meet it, so no problem may be
  charged for it. A 400 or 422 belongs here when it refuses a parameter that we send for every call, or the
  model. *moved*: the endpoint sends us elsewhere. *proxy*, *tls*: who stands between us does not let us
  through; nobody can say who it is that answers.
- *lost failed busy unasked*: the moment's. Nothing came, or the endpoint said that it fails or put us
  off; worth asking again. *unasked*: others found it down, so it was not asked at all.
- *timeout junk*: no usable answer, perhaps a paid one; asked once more, then recorded as it is.
- *error refusal*: the prompt's (too long, filtered); recorded at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

Kind: TypeAlias = Literal[
    "auth",
    "model",
    "quota",
    "moved",
    "proxy",
    "tls",
    "lost",
    "failed",
    "busy",
    "unasked",
    "timeout",
    "junk",
    "error",
    "refusal",
]

SETUP: frozenset[Kind] = frozenset({"auth", "model", "quota", "moved", "proxy", "tls"})
LOST: frozenset[Kind] = frozenset({"lost", "failed"})
MOMENT: frozenset[Kind] = frozenset({*LOST, "busy", "unasked"})
ONCE_MORE: frozenset[Kind] = frozenset({"timeout", "junk"})

# A wrong path looks like a wrong model (404, 405): both are for a person to set right. Whoever puts
# us off with 503 or 529 is there, so this must not open the breaker; 408, 409 and 425 are failures
# that the next attempt need not meet. 424 is TGI's word for a model that failed, 498 Groq's for no room, 499 a
# gateway's for a call that it let go.
BY_STATUS: dict[int, Kind] = {
    **dict.fromkeys((401, 403), "auth"),
    407: "proxy",
    **dict.fromkeys((404, 405, 410, 415), "model"),
    402: "quota",
    **dict.fromkeys((408, 409, 424, 425, 499), "failed"),
    **dict.fromkeys((429, 498, 503, 529), "busy"),
}
GAVE_UP = frozenset({408, 499, 504, 524})
"""Somebody in between waited for the model no longer, which may have worked on, and be charged for."""
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
    r"context[_ ](?:length|window|size)|maximum context|prompt is too long|too many tokens|n_ctx|"
    r"input is too long|input token count|maximum (?:number of tokens|model length|prompt length)|"
    # TGI and who runs it, Moonshot, Qwen, and who counts a prompt against a minute's tokens.
    r"inputs\W{1,3}(?:tokens|must have less than)|exceeded model token limit|range of input length|"
    r"request too large",
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
_NAMED = r"(?:response_format|temperature|top_p|seed|logprobs|reasoning_effort)"
# Bounds are told right behind the name. "The temperature should be 20 degrees" may be quoted from a prompt, so that
# what is merely said to be so needs the signs of a name, a range, or a number that ends what is said.
_BOUND = (
    rf"{_NAMED}\S{{0,12}}(?: parameter| value)? (?:must be|(?:may|can|must|should) only be|(?:has|have|needs?) to be|"
    r"(?:is|are) (?:fixed|restricted|limited) (?:at|to)|"
    r"should be (?:in\b|between|one of|at (?:most|least)|less|greater|[<>=]|"
    r"[\d.]{1,9}(?: (?:for|when|with|if)\b|[^\w\s]|$)))|"
    rf"['\"`]{_NAMED}['\"`] should be|"
    rf"only .{{1,30}} (?:is|are) (?:allowed|accepted|permitted) for ['\"`]?{_NAMED}|"
    rf"invalid (?:value for |parameter )?['\"`]?{_NAMED}['\"`]?(?: value)?(?:[:.,]|$)|"
    # Anthropic, and who answers with the list of pydantic.
    rf"{_NAMED}(?:: |['\")\]]{{1,4}}, ?['\"]msg['\"]: ?['\"])(?:range\b|input should be)"
)
# The form becomes a grammar in servers of local models, whose refusals speak of nothing else.
_GRAMMAR = (
    r"(?:failed to|could not|cannot|error) (?:pars|compil|build|initiali[sz])(?:e|ing) (?:the |a )?grammar|"
    r"(?:invalid|unsupported|empty) grammar\b|grammar (?:error|is invalid)\b"
)
_REFUSES = re.compile(
    r"\b(?:unknown|unsupported|unrecogni[sz]ed|unexpected|deprecated|forbidden|unavailable)|"
    r"not (?:supported|permitted|allowed|accepted|available|enabled|implemented)|extra inputs|extra_forbidden|"
    r"does(?: not|n't) support|only the default|cannot find field|cannot (?:both )?be (?:specified|used|set)|"
    r"json_schema\S{0,3} (?:is enabled only|supported values are)|invalid (?:json )?schema for response|"
    rf"{_GRAMMAR}|{_BOUND}",
    re.IGNORECASE,
)
"""What may refuse a parameter, if it names one of ours as well."""
_NO_TOOLS = re.compile(
    r"tool[- _]choice requires|tools? (?:param|parameter)s? requires?|support tool (?:use|calling)|"
    r"(?:does(?: not|n't)|not) support (?:tools|function[- ]call)|"
    r"(?:tools|tool calling|function calling)\W{1,3}(?:is|are) not (?:supported|enabled|available)",
    re.IGNORECASE,
)
"""Servers that have no tool calls, or were started without them, say so in words of their own."""
_IN_A_FORM = re.compile(
    rf"response[ -]format|json[_ ]schema|json mode|structured[_ ]output|{_GRAMMAR}", re.IGNORECASE
)
"""What endpoints call the form that is asked for by ``response_format``."""
_EXCLUDES = re.compile(r"cannot both|only one of|use only one|mutually exclusive", re.IGNORECASE)
# Words that can be a parameter. A refusal is read for the names of what we sent, since every server
# words it in its own way; only what it names is left out, and not what we suppose that it means.
_NAMES = re.compile(r"[A-Za-z][A-Za-z0-9_]{2,60}")
_NOT_TLS = re.compile(r"http request (?:was sent )?to (?:an )?https (?:port|server)", re.IGNORECASE)
_OURS = frozenset(
    {
        *("model", "seed", "temperature", "top_p", "stop", "logprobs"),
        *("response_format", "stream", "stream_options", "tools"),
        *("reasoning_effort", "chat_template_kwargs"),
    }
)
_CHOSEN = frozenset(
    {"seed", "temperature", "top_p", "logprobs", "response_format", "reasoning_effort"}
)
"""Those of them that are no word of a sentence: a 403 that names one refuses it, and not the key."""
_CAPS = frozenset({"max_tokens", "max_completion_tokens"})
"""They may also be too large for one call, which refuses them for no other."""


MOST_SAID = 4096
"""Characters of what an endpoint says of an error that are looked at."""
MOST_SHOWN = 300
"""Characters of it that people are shown."""


def as_it_is(text: str) -> str:
    """Nothing is hidden."""
    return text


@dataclass(frozen=True, slots=True)
class Fault:
    """Why an attempt gave no reply. ``pause`` is what the server asked for, in seconds.

    ``free`` says that nothing can have been charged for it; else its cost is unknown.
    """

    kind: Kind
    detail: str
    pause: float | None = None
    free: bool = False
    names: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    """Words of the error that may be a parameter's name."""
    excludes: bool = False
    """Whether it says that parameters exclude each other."""


def is_too_long(fault: Fault) -> bool:
    """Whether the prompt is longer than the model takes, as providers and servers word it."""
    return fault.kind == "error" and _TOO_LONG.search(fault.detail) is not None


def of_status(
    status: int,
    body: object,
    pause: float | None = None,
    masked: Callable[[str], str] = as_it_is,
) -> Fault:
    """The fault that an HTTP status and the error body with it stand for; ``masked`` hides a key in its text."""
    error = _error(body)
    # The key is looked for before anything is cut: half a key is no key any more, and still a secret.
    said = [
        masked(str(error[name]))[:MOST_SAID]
        for name in ("code", "type", "message")
        if error.get(name)
    ]
    everything = " ".join((*said, str(error.get("metadata", ""))[:MOST_SAID]))
    parameter = error.get("param")
    words = _NAMES.findall(f"{everything} {parameter if isinstance(parameter, str) else ''}")
    names = frozenset((*words, *map(str.lower, words)))
    # Their words seldom hold the parameter's own name.
    if _NO_TOOLS.search(everything):
        names |= {"tools"}
    if _IN_A_FORM.search(everything) and _REFUSES.search(everything):
        names |= {"response_format"}
    kind = _kind(status, everything, parameter, names, pause)
    # A refused key may come back in the message; the first word is the code.
    shown = " ".join(" ".join(said[:1] if kind == "auth" else said).split())
    detail = f"HTTP {status} {shown}".strip()[:MOST_SHOWN]
    excludes = _EXCLUDES.search(everything) is not None
    free = status not in GAVE_UP
    return Fault(kind, detail, pause, free=free, names=names, excludes=excludes)


def _error(body: object) -> dict[str, Any]:
    """The object that tells the error: at the top, in a list of one, or under ``error`` or ``detail``."""
    if isinstance(body, list):
        body = next(iter(cast("list[object]", body)), None)
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


def _kind(
    status: int, said: str, parameter: object, names: frozenset[str], pause: float | None
) -> Kind:
    # The words come before the status: one status stands for several faults. Spent quota comes first of
    # all, for it is told with the status of a limit that passes, and would be asked again for hours.
    passes = pause is not None or _PASSES.search(said) is not None
    perhaps = status == 429 and not passes and _PERHAPS_SPENT.search(said) is not None
    if status in (400, 403, 429) and (_SPENT.search(said) or perhaps):
        return "quota"
    if status in (400, 403) and _FILTERED.search(said):
        return "refusal"
    if status == 429 and _NEVER_FITS.search(said):
        return "error"
    if status == 403 and _REFUSES.search(said) and not _CHOSEN.isdisjoint(names):
        return "model"
    if status in (400, 404, 422, 500, 501) and _NO_TOOLS.search(said):
        return "model"
    if status in BY_STATUS:
        return BY_STATUS[status]
    if status in (400, 422):
        return _bad_request(said, parameter, names)
    # Of a status that nobody told us of: the request is to blame for those of the client, and its
    # problem alone is charged; the others may pass.
    return "error" if 400 <= status < 500 else "failed"


def _bad_request(said: str, parameter: object, names: frozenset[str]) -> Kind:
    """The prompt's fault, unless the words blame what we send with every call."""
    # Length comes first: such a refusal often names ``max_tokens``, and leaving that out would not help.
    if _TOO_LONG.search(said):
        return "error"
    if _NOT_TLS.search(said):
        return "tls"
    refuses = _REFUSES.search(said) and not (_OURS | _CAPS).isdisjoint(names)
    if parameter in _OURS or refuses or _NO_MODEL.search(said) or _NO_PARAMETER.search(said):
        return "model"
    return "error"
