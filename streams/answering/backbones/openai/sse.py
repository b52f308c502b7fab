"""A streamed reply, put together into the one that would have come whole."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias, cast

from streams.answering.backbones.openai.tools import Calls

Json: TypeAlias = dict[str, Any]

MOST_CHUNKS = 1 << 18
"""Tokens that a reply streams one by one; the longest of today's models end at half of it."""
_EVENT = re.compile(rb"^data:([^\n]*)", re.MULTILINE)
_END = re.compile(rb"^data:[ \t]*\[DONE\]", re.MULTILINE)
_STARTS = re.compile(rb"\s*+(?:data|event|id|retry)?:")


def said_in(content: object) -> tuple[str | None, str | None]:
    """What a message says and what was thought before it: a text, or parts of both, as some servers send them."""
    texts = texts_in(content)
    parts = cast("list[object]", content) if isinstance(content, list) else []
    kinds = [cast("Json", each).get("thinking") for each in parts if isinstance(each, dict)]
    thoughts = [text for each in kinds for text in texts_in(each)]
    return "".join(texts) if texts else None, "".join(thoughts) if thoughts else None


def texts_in(content: object) -> list[str]:
    """A text, or those of a list of parts; none where it is neither."""
    if isinstance(content, str):
        return [content]
    parts = cast("list[object]", content) if isinstance(content, list) else []
    texts = [cast("Json", each).get("text") for each in parts if isinstance(each, dict)]
    return [text for text in texts if isinstance(text, str)]


def is_stream(raw: bytes) -> bool:
    """Whether a body is server-sent events; some servers stream unasked, some never do."""
    # Told by the body and not by its header, which some servers get wrong. Lines that only keep
    # the connection open may come first, empty ones too.
    return _STARTS.match(raw) is not None


def says_end(raw: bytes | bytearray, new: int) -> bool:
    """Whether so many last bytes of a body say that a stream is at its end."""
    # A line of JSON holds no line's end, so no text of a reply can look like this. It may come in two pieces.
    return _END.search(raw, max(len(raw) - new - 16, 0)) is not None


def one_completion(raw: bytes, parse: Callable[[bytes], object]) -> Json | None:
    """The completion that the chunks add up to; nothing if it broke off or has a hole.

    What comes behind a hole, or behind more chunks than a reply can have tokens, is not looked at.
    """
    whole = _Whole()
    for number, found in enumerate(_EVENT.finditer(raw)):
        data = found[1].strip()
        if data == b"[DONE]":
            whole.ended = True
        # An event without data only keeps the connection open.
        elif data:
            whole.take(parse(data))
        # The bytes of a body are bounded already; this bounds the work that the smallest chunks
        # make.
        whole.spoilt = whole.spoilt or number >= MOST_CHUNKS
        if whole.spoilt:
            break
    return whole.completion()


class _Whole:
    """The reply as the chunks so far make it."""

    def __init__(self) -> None:
        self.ended = self.spoilt = False
        self.told: Json = {}
        self.text: list[str] = []
        self.refusal: list[str] = []
        self.thought: list[str] = []
        self.logprobs: list[object] = []
        self.calls = Calls()
        self.finish: object = None

    def take(self, chunk: object) -> None:
        """Add one chunk. An unreadable one spoils the whole: a text with a hole is no reply."""
        if not isinstance(chunk, dict):
            self.spoilt = True
            return
        said = cast("Json", chunk)
        self.told |= {name: said[name] for name in ("model", "usage", "error") if said.get(name)}
        choices: object = said.get("choices")
        for each in cast("list[object]", choices) if isinstance(choices, list) else []:
            # One choice is asked for; a server that sends more of them must not mix their texts.
            if not isinstance(each, dict) or cast("Json", each).get("index"):
                continue
            choice = cast("Json", each)
            if choice.get("error"):
                self.told["error"] = choice["error"]
            delta, logprobs = choice.get("delta"), choice.get("logprobs")
            if isinstance(delta, dict):
                piece = cast("Json", delta)
                # A server that has both names for its thoughts sends them twice.
                thinks = "reasoning_content" if piece.get("reasoning_content") else "reasoning"
                text, thought = said_in(piece.get("content"))
                for value, texts in (
                    (text, self.text),
                    (thought, self.thought),
                    (piece.get("refusal"), self.refusal),
                    (piece.get(thinks), self.thought),
                ):
                    if isinstance(value, str):
                        texts.append(value)
                self.calls.take(piece)
            if isinstance(logprobs, dict):
                content: object = cast("Json", logprobs).get("content")
                self.logprobs += cast("list[object]", content) if isinstance(content, list) else []
            # Some servers never send ``[DONE]``: a reason to finish ends the reply as well.
            self.finish = choice.get("finish_reason") or self.finish
            self.ended = self.ended or bool(self.finish)

    def completion(self) -> Json | None:
        """The body of a reply that was not streamed, or of the error that broke it off."""
        if "error" in self.told:
            # Whether anything had come by then tells whether it may be charged.
            came = any((*self.text, *self.thought)) or self.calls.every or "usage" in self.told
            broken = [{"finish_reason": "error"}] if came else []
            return {"error": self.told["error"], "choices": broken}
        # A reply that broke off would stand on the record for good, as if the model had ended
        # there. As junk it is asked for once more.
        if self.spoilt or not self.ended:
            return None
        message = {
            "content": "".join(self.text) if self.text else None,
            "refusal": "".join(self.refusal) or None,
            "reasoning_content": "".join(self.thought) or None,
            "tool_calls": self.calls.whole(),
        }
        choice = {"message": message, "finish_reason": self.finish}
        choice["logprobs"] = {"content": self.logprobs}
        return self.told | {"choices": [choice]}
