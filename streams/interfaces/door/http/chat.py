"""Chat completions: what OpenAI's clients send as a problem, and an answer as what they expect."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Literal, Self

import orjson
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from schemas.answer import Answer
from schemas.fence import tagged
from schemas.problem import PROBLEM_CHARS
from schemas.record import Record
from streams.interfaces.door.handle import Handle

WHO = {
    "system": "Instructions",
    "developer": "Instructions",
    "user": "User",
    "assistant": "Assistant",
}

TURN = re.compile(
    rf"^[\W_]*(?:{'|'.join({*WHO.values()})})(?:[\W_]{{0,16}}\([^()]{{0,80}}\))?[\W_]*[:：﹕︰]",
    re.IGNORECASE,
)
"""A line that could be taken for the beginning of somebody's turn, with his name or without."""
NAME_CHARS = 64


# These models take what OpenAI's clients send, and no more of it than is worked with.
class Part(BaseModel):
    """A part of a message."""

    model_config = ConfigDict(extra="ignore")

    type: Literal["text"] = Field(description="Only text can be worked on.")
    text: str

    @model_validator(mode="before")
    @classmethod
    def _refused(cls, said: Any) -> Any:
        """What the assistant refused with is text, and was said."""
        match said:
            case {"type": "refusal", "refusal": text}:
                return {"type": "text", "text": text}
            case _:
                return said


class Message(BaseModel):
    """A turn of the conversation."""

    model_config = ConfigDict(extra="ignore")

    role: Literal["system", "developer", "user", "assistant"]
    name: str | None = Field(default=None, description="Which of several users, or of others.")
    content: str | list[Part] | None = None
    refusal: str | None = None
    audio: Any = None
    tool_calls: list[Any] | None = None
    function_call: Any = None

    @model_validator(mode="after")
    def _said(self) -> Self:
        # What was called or spoken and what came of it are a part of the problem, and would be missing in it.
        if self.tool_calls or self.function_call:
            raise ValueError("calls of tools cannot be worked on: say in words what came of them")
        # Beside a content it is the same in sound.
        if self.audio and not self.text:
            raise ValueError("audio cannot be worked on: say in words what was spoken")
        return self

    @property
    def who(self) -> str:
        """Whose turn it is: of several in one role each has a name."""
        # What stands there must not end the line, or speak for somebody else.
        name = re.sub(r"[^\w.-]+", "_", self.name or "")[:NAME_CHARS].strip("_")
        return f"{WHO[self.role]} ({name})" if name else WHO[self.role]

    @property
    def text(self) -> str:
        """Its text; what it refused with where it says nothing else."""
        parts = self.content if isinstance(self.content, list) else ()
        said = self.content if isinstance(self.content, str) else "".join(p.text for p in parts)
        return said or self.refusal or ""


class StreamOptions(BaseModel):
    """Options that say what a stream holds beside the answer."""

    model_config = ConfigDict(extra="ignore")

    include_usage: bool | None = None


class NamedSchema(BaseModel):
    """A JSON Schema with its name."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    shape: dict[str, Any] = Field(alias="schema")


class ResponseFormat(BaseModel):
    """What the answer is to be: text, any JSON object, or a JSON value that holds to a schema."""

    model_config = ConfigDict(extra="ignore")

    type: Literal["text", "json_object", "json_schema"]
    json_schema: NamedSchema | None = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.type == "json_schema" and self.json_schema is None:
            raise ValueError("json_schema: missing")
        return self

    @property
    def answer_type(self) -> dict[str, Any] | None:
        """The type of answer that a problem says."""
        match self.type:
            case "text":
                return None
            case "json_object":
                return {"type": "json", "schema": {"type": "object"}}
            case "json_schema":
                assert self.json_schema is not None
                return {"type": "json", "schema": self.json_schema.shape}


class ChatRequest(BaseModel):
    """A chat completion as it is asked for.

    How a policy draws its samples is its own affair: ``temperature``, ``top_p`` and their kin are taken and have
    no effect. More than one choice cannot be had, and no call of a client's tool, probabilities of tokens or audio.
    """

    # Clients send whatever OpenAI's API knows by now. To refuse a field would be to
    # refuse the client.
    model_config = ConfigDict(extra="ignore")

    model: str
    messages: list[Message] = Field(min_length=1, max_length=256)
    n: Literal[1] | None = None
    # Tools may be offered and stay uncalled. Who insists on a call would take none for one without arguments.
    tool_choice: Literal["none", "auto"] | None = None
    function_call: Literal["none", "auto"] | None = None
    # Who asks for one of these reads it in the reply, where it would be missing.
    logprobs: Literal[False] | None = None
    modalities: list[Literal["text"]] | None = None
    audio: None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    response_format: ResponseFormat | None = None

    @field_validator("tool_choice", mode="before")
    @classmethod
    def _uncalled(cls, said: Any) -> Any:
        """Of those that are allowed, too, none has to be called."""
        match said:
            case {"type": "allowed_tools", "allowed_tools": {"mode": "auto"}}:
                return "auto"
            case _:
                return said


def problem_of(messages: Sequence[Message]) -> str:
    """The problem that a conversation puts: its one message, or all of it with who said what."""
    if len(messages) == 1:
        return messages[0].text
    # Nothing but who would have said it is no problem, and is refused as an empty one.
    if not any(each.text.strip() for each in messages):
        return ""
    # One character more than a problem may have is enough for its check to refuse it, and the
    # rest is not copied.
    turns: list[str] = []
    for each in messages:
        # What a user of an application writes must not speak as the application does.
        apart = any(map(TURN.match, each.text.splitlines()))
        turns.append(f"{each.who}: {tagged('said', each.text) if apart else each.text}")
    return "\n\n".join(turns)[: PROBLEM_CHARS + 1]


def _head(handle: Handle, model: str, kind: str) -> dict[str, Any]:
    # The episode's name is in the id: with that alone a client can ask for events and
    # explanations later.
    return {
        "id": f"chatcmpl-{handle.episode}",
        "object": kind,
        "created": int(time.time()),
        "model": model,
    }


def usage_of(answer: Answer) -> dict[str, int] | None:
    """Tokens of the whole episode; none where some call's are unknown: a part of them would pass for all."""
    # Clients add these up to bills.
    used = answer.usage
    if used.prompt_tokens is None or used.completion_tokens is None:
        return None
    return {
        "prompt_tokens": used.prompt_tokens,
        "completion_tokens": used.completion_tokens,
        "total_tokens": used.prompt_tokens + used.completion_tokens,
    }


def _said(answer: Answer) -> tuple[str, str | None, str]:
    """The text of an answer, what is said where there is none, and why it ended, in a client's words."""
    # A client that reads only the text must not take an abstention for an empty answer.
    if answer.answer is not None:
        return answer.answer, None, "length" if answer.status == "exhausted" else "stop"
    why = f"No answer was given: {answer.status}, {answer.ended_by}."
    return "", why, "length" if answer.status == "exhausted" else "stop"


def extras(answer: Answer) -> dict[str, Any]:
    """Return the fields that a chat completion does not have."""
    return {
        "episode": answer.episode,
        "status": answer.status,
        "ended_by": answer.ended_by,
        "confidence": answer.confidence,
        "calibrated": answer.calibrated,
        "calls": answer.usage.calls,
    }


def completion(handle: Handle, model: str, answer: Answer) -> dict[str, Any]:
    """An answer as a chat completion."""
    text, refusal, finish = _said(answer)
    message = {"role": "assistant", "content": text, "refusal": refusal}
    return {
        **_head(handle, model, "chat.completion"),
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        "usage": usage_of(answer),
        "metalogue": extras(answer),
    }


def progress(record: Record) -> dict[str, Any]:
    """A step of the work, for who watches a stream."""
    return {"address": record.address, "kind": record.event.kind}


async def chunks(
    handle: Handle, model: str, *, with_usage: bool, free: Callable[[], object]
) -> AsyncIterator[bytes]:
    """A stream of chunks: steps as they are recorded, beside empty deltas, then the answer as a whole.

    Whoever has the answer has his place free again (``free``).
    """
    head = _head(handle, model, "chat.completion.chunk")

    def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return event({**head, "choices": [choice], **more})

    yield chunk({"role": "assistant", "content": ""})
    # Empty deltas keep the connection alive for minutes, and clients of OpenAI pass over them.
    async for record in handle.events():
        yield chunk({}, metalogue=progress(record))
    # As a whole, for an answer is known only when the policy has concluded: its replies are
    # drafts until then.
    answer = await handle.answer()
    free()
    text, refusal, finish = _said(answer)
    if text:
        yield chunk({"content": text})
    if refusal is not None:
        yield chunk({"refusal": refusal})
    yield chunk({}, finish, metalogue=extras(answer))
    if with_usage:
        yield event({**head, "choices": [], "usage": usage_of(answer)})
    yield b"data: [DONE]\n\n"


def event(said: Any, name: str | None = None, id: int | None = None) -> bytes:
    """A server-sent event; ``id`` is what a client that was cut off says it saw last."""
    # No line break can be within: JSON spells it out. So one line of data is always enough.
    line = b"data: " + orjson.dumps(said) + b"\n\n"
    line = line if id is None else b"id: %d\n" % id + line
    return line if name is None else b"event: " + name.encode() + b"\n" + line
