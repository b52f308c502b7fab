"""A streamed reply, put together into the one that would have come whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, cast

Json: TypeAlias = dict[str, Any]

_STARTS = (b"data:", b":", b"event:", b"id:", b"retry:")


def is_stream(raw: bytes) -> bool:
    """Whether a body is server-sent events; some servers stream unasked, some never do."""
    return raw[:64].lstrip().startswith(_STARTS)


def one_completion(raw: bytes, parse: Callable[[bytes], object]) -> Json | None:
    """The completion that the chunks add up to; nothing if it broke off or has a hole."""
    whole = _Whole()
    for data in _events(raw):
        if data == b"[DONE]":
            whole.ended = True
        else:
            whole.take(parse(data))
    return whole.completion()


def _events(raw: bytes) -> Iterator[bytes]:
    for line in raw.replace(b"\r\n", b"\n").split(b"\n"):
        if line.startswith(b"data:"):
            yield line[5:].strip()


class _Whole:
    """What the chunks said so far."""

    def __init__(self) -> None:
        self.ended = self.spoilt = False
        self.told: Json = {}
        self.text: list[str] = []
        self.refusal: list[str] = []
        self.logprobs: list[object] = []
        self.finish: object = None

    def take(self, chunk: object) -> None:
        """Add one chunk. An unreadable one spoils the whole: a text with a hole is no reply."""
        if not isinstance(chunk, dict):
            self.spoilt = True
            return
        said = cast("Json", chunk)
        self.told |= {name: said[name] for name in ("model", "usage", "error") if said.get(name)}
        choices: object = said.get("choices")
        for choice in cast("list[object]", choices) if isinstance(choices, list) else []:
            if isinstance(choice, dict) and not cast("Json", choice).get("index"):
                self._choice(cast("Json", choice))

    def _choice(self, choice: Json) -> None:
        delta, logprobs = choice.get("delta"), choice.get("logprobs")
        if isinstance(delta, dict):
            self._delta(cast("Json", delta))
        if isinstance(logprobs, dict):
            content: object = cast("Json", logprobs).get("content")
            self.logprobs += cast("list[object]", content) if isinstance(content, list) else []
        self.finish = choice.get("finish_reason") or self.finish
        self.ended = self.ended or bool(self.finish)

    def _delta(self, delta: Json) -> None:
        for name, texts in (("content", self.text), ("refusal", self.refusal)):
            value: object = delta.get(name)
            if isinstance(value, str):
                texts.append(value)

    def completion(self) -> Json | None:
        """The body of a reply that was not streamed, or of the error that broke it off."""
        if "error" in self.told:
            return {"error": self.told["error"]}
        if self.spoilt or not self.ended:
            return None
        message = {
            "content": "".join(self.text) if self.text else None,
            "refusal": "".join(self.refusal) or None,
        }
        choice = {"message": message, "finish_reason": self.finish}
        choice["logprobs"] = {"content": self.logprobs}
        return self.told | {"choices": [choice]}
