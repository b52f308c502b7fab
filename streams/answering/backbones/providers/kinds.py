"""The providers as a table, and the options that all of them have."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from streams.answering.backbones.openai import options


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(options.Options):
    """How to ask, as for any endpoint; but nothing is streamed, and no server's template is set.

    ``extra_body`` joins the body where the provider takes fields of its own: at the top for Anthropic, Gemini and
    Azure, as ``additionalModelRequestFields`` for Bedrock.
    """

    def __post_init__(self) -> None:
        # Named in full: a dataclass with slots is made anew, and a bare super() would mean the first one.
        options.Options.__post_init__(self)
        for name in ("stream", "chat_template_kwargs"):
            if getattr(self, name):
                raise ValueError(f"providers have no option {name!r}; only openai has")


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """One provider. ``library`` is what the library calls it; ``official`` its address where none is set.

    ``lacks`` are parameters that it has no word for, ``words`` its own words for ours in what it refuses; ``vague``
    ones are taken for ours only where it names nothing else.
    """

    name: str
    library: str
    keys: tuple[str, ...]
    address: str
    official: str
    lacks: frozenset[str] = frozenset()
    words: Mapping[str, str] = field(default_factory=dict[str, str])
    vague: Mapping[str, str] = field(default_factory=dict[str, str])


def _spelled(**words: str) -> dict[str, str]:
    """Words for ours as a provider writes them in camel case, and as its client does, with underscores."""
    # Errors name a field as the provider writes it, or as its client for Python does.
    apart = {
        _CAPITAL.sub(lambda at: f"_{at[0].lower()}", word): ours for word, ours in words.items()
    }
    return {**words, **{word: ours for word, ours in apart.items() if word != ours}}


_CAPITAL = re.compile(r"[A-Z]")
# What a provider has no word for is left out before it is asked, and stands on the record as what
# an endpoint refuses does.
_UNSEEDED = frozenset({"seed", "logprobs"})
AZURE, BEDROCK = "azure", "bedrock"
KINDS: dict[str, Provider] = {
    each.name: each
    for each in (
        Provider(
            name="anthropic",
            library="anthropic",
            keys=("ANTHROPIC_API_KEY",),
            address="ANTHROPIC_BASE_URL",
            official="https://api.anthropic.com",
            lacks=_UNSEEDED,
            words={
                "stop_sequences": "stop",
                **dict.fromkeys(("output_config", "output_format"), "response_format"),
                **dict.fromkeys(("budget_tokens", "effort"), "reasoning_effort"),
            },
            vague={"thinking": "reasoning_effort"},
        ),
        Provider(
            name="gemini",
            library="gemini",
            keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
            address="GOOGLE_GEMINI_BASE_URL",
            official="https://generativelanguage.googleapis.com",
            lacks=frozenset({"logprobs"}),
            words=_spelled(
                topP="top_p",
                maxOutputTokens="max_tokens",
                stopSequences="stop",
                responseJsonSchema="response_format",
                responseMimeType="response_format",
                thinkingConfig="reasoning_effort",
            ),
            vague={"Thinking": "reasoning_effort", "thinking": "reasoning_effort"},
        ),
        Provider(
            name=BEDROCK,
            library="bedrock",
            keys=("AWS_BEARER_TOKEN_BEDROCK", "AWS_SECRET_ACCESS_KEY"),
            address="AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
            official="",  # one in each region
            lacks=_UNSEEDED,
            words=_spelled(
                topP="top_p",
                maxTokens="max_tokens",
                stopSequences="stop",
                toolConfig="response_format",
                toolChoice="response_format",
                reasoningConfig="reasoning_effort",
            ),
            vague={"thinking": "reasoning_effort"},
        ),
        Provider(
            name=AZURE,
            library="azureopenai",
            keys=("AZURE_OPENAI_API_KEY",),
            address="AZURE_OPENAI_ENDPOINT",
            official="",  # one for each customer
            words={"max_completion_tokens": "max_tokens"},
        ),
    )
}
"""By the word that a backbone's name begins with."""
