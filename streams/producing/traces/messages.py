"""Messages of a conversation, in OpenAI's form and in that of the conventions for generative AI, as steps of a case.

Sources: OpenAI's chat completions (``role``, ``content``, ``tool_calls``); OpenTelemetry semantic conventions for
generative AI, input and output messages (``role``, ``parts``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, cast

from schemas.events.traces import Step
from streams.producing.sources import BadLine

ASKS: Final = frozenset({"user", "human"})
SAYS: Final = frozenset({"assistant", "ai", "model"})
RETURNS: Final = frozenset({"tool", "function"})
TEXTS: Final = frozenset({"text", "input_text", "output_text"})
THOUGHTS: Final = frozenset({"reasoning", "thinking", "redacted_thinking", "refusal"})
"""Parts that say nothing to whoever asked."""
MADE_OF: Final = frozenset({"content", "parts", "tool_calls"})
"""One of these is in every message."""
DIGITS: Final = 6
"""Of a message's number, where messages stand in attributes one by one: more would be no number of a message."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool that a reply calls."""

    tool: str
    asked: str | None = None
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Returned:
    """What a call of a tool returned."""

    text: str
    id: str | None = None
    tool: str | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """One message: who speaks, what is said, which tools are called, what they returned, what else it holds."""

    role: str
    text: str = ""
    calls: tuple[Call, ...] = ()
    returned: tuple[Returned, ...] = ()
    others: tuple[str, ...] = ()
    """Sorts of parts that are no text: images, sounds, files."""


# ── Reading ──────────────────────────────────────────────────────────────────────────────────


def messages_of(said: Any, place: str) -> list[Message]:
    """The messages of a list, or of its JSON text. Raises ``BadLine`` that names what is wrong with which."""
    found = _list(said, place, "messages")
    return [message_of(each, f"{place}.{at}") for at, each in enumerate(found)]


def message_of(said: Any, place: str) -> Message:
    """One message. Raises ``BadLine`` that names its wrong field."""
    if not isinstance(said, dict):
        raise BadLine(1, place, f"expected a message, found {_kind(said)}", "input.field")
    given = cast("dict[str, Any]", said)
    role = given.get("role")
    if not isinstance(role, str):
        raise BadLine(1, f"{place}.role", "expected text that says who speaks", "input.field")
    parts = _Parts()
    name = "parts" if "parts" in given else "content"
    parts.take(given.get(name), f"{place}.{name}")
    if (called := given.get("tool_calls")) is not None:
        at = f"{place}.tool_calls"
        calls = _list(called, at, "calls")
        parts.calls += [_call(each, f"{at}.{number}") for number, each in enumerate(calls)]
    # In OpenAI's form the text of such a message is the result itself; in the other
    # one a part says so.
    if role in RETURNS and parts.texts and not parts.returned:
        tool, id = given.get("name"), given.get("tool_call_id", given.get("id"))
        parts.returned.append(Returned("\n".join(parts.texts), _text(id), _text(tool)))
        parts.texts.clear()
    return Message(
        role,
        "\n".join(parts.texts),
        tuple(parts.calls),
        tuple(parts.returned),
        tuple(parts.others),
    )


@dataclass(slots=True)
class _Parts:
    """What a message's content holds."""

    texts: list[str] = field(default_factory=list[str])
    calls: list[Call] = field(default_factory=list[Call])
    returned: list[Returned] = field(default_factory=list[Returned])
    others: list[str] = field(default_factory=list[str])

    def take(self, content: Any, place: str) -> None:
        """Take a text, a list of parts, or nothing. Raises ``BadLine``."""
        if isinstance(content, str):
            self.texts.append(content)
        elif isinstance(content, list):
            for at, part in enumerate(cast("list[Any]", content)):
                self._part(part, f"{place}.{at}")
        elif content is not None:
            said = f"expected text or a list of parts, found {_kind(content)}"
            raise BadLine(1, place, said, "input.field")

    def _part(self, part: Any, place: str) -> None:
        if isinstance(part, str):
            self.texts.append(part)
            return
        if not isinstance(part, dict):
            raise BadLine(1, place, f"expected a part, found {_kind(part)}", "input.field")
        given = cast("dict[str, Any]", part)
        # Thoughts say nothing to whoever asked, so that they are no part of a reply. What
        # is neither text nor a call is noted all the same: a problem with a picture
        # cannot be put in words.
        sort = str(given.get("type", "text"))
        if sort in TEXTS:
            text = given.get("content", given.get("text"))
            if not isinstance(text, str):
                raise BadLine(1, place, "expected a text in content", "input.field")
            self.texts.append(text)
        elif sort == "tool_call":
            self.calls.append(_call(given, place))
        elif sort == "tool_call_response":
            came = next((given[name] for name in ("response", "result") if name in given), None)
            if came is not None:
                self.returned.append(Returned(as_text(came), _text(given.get("id"))))
        elif sort not in THOUGHTS:
            self.others.append(sort)


def _list(said: Any, place: str, what: str) -> list[Any]:
    """A list, or that in a JSON text: attributes of spans hold nothing but plain values. Raises ``BadLine``."""
    if isinstance(said, str):
        try:
            said = loaded(said)
        except (ValueError, RecursionError) as error:
            raise BadLine(1, place, f"not JSON: {error}"[:200], "input.json") from error
    if not isinstance(said, list):
        raise BadLine(1, place, f"expected a list of {what}, found {_kind(said)}", "input.field")
    return cast("list[Any]", said)


def loaded(said: str) -> Any:
    """The value of a JSON text within a line. Raises ``ValueError`` where it is none, or has half a character."""
    try:
        found = json.loads(said)
        # An escape may be half of a pair, which no log can hold. The line itself was read without:
        # there it is spelled as text.
        json.dumps(found, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("nested too deep") from None
    return found


def _call(said: Any, place: str) -> Call:
    """A call, with its tool in the call itself or under ``function``."""
    # OpenAI's form has the tool under ``function``, the conventions have it in the part itself.
    given = cast("dict[str, Any]", said) if isinstance(said, dict) else {}
    inner = given.get("function")
    named = cast("dict[str, Any]", inner) if isinstance(inner, dict) else given
    tool = named.get("name")
    if not isinstance(tool, str) or not tool:
        raise BadLine(1, f"{place}.name", "expected the name of a tool", "input.field")
    asked = named.get("arguments")
    return Call(tool, None if asked is None else as_text(asked), _text(given.get("id")))


def as_text(value: Any) -> str:
    """A text as it is, any other value as its JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _kind(value: Any) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"


# ── What was asked, and what came of it ──────────────────────────────────────────────────────


def parted(messages: Sequence[Message], place: str) -> tuple[str, Sequence[Message]]:
    """What was asked, and the messages behind it: the last of the user's before anybody replied.

    Raises ``BadLine`` where nothing was asked, or what was asked is not all text.
    """
    spoken = (at for at, each in enumerate(messages) if each.role in SAYS)
    before = next(spoken, len(messages))
    asked = [at for at in range(before) if messages[at].role in ASKS]
    if not asked:
        raise BadLine(
            1, place, "no message of the user stands before the first reply", "trace.asked"
        )
    question = messages[asked[-1]]
    if question.others:
        said = f"what was asked holds more than text ({', '.join(sorted(set(question.others)))})"
        raise BadLine(1, f"{place}.{asked[-1]}", said, "trace.asked")
    if not question.text.strip():
        raise BadLine(1, f"{place}.{asked[-1]}", "what was asked is blank", "trace.asked")
    return question.text, messages[asked[-1] + 1 :]


@dataclass(slots=True)
class Steps:
    """The steps of a case so far. A call waits for what it returned, which comes in another message."""

    found: list[Step] = field(default_factory=list[Step])
    waiting: list[tuple[str | None, int]] = field(default_factory=list[tuple["str | None", int]])
    """Calls without a result: their id, and their place among the steps."""

    def take(self, messages: Sequence[Message]) -> None:
        """Take messages in their order; those of systems and developers are no steps."""
        for message in messages:
            if message.role in SAYS:
                self.says(message)
            elif message.role in ASKS and message.text.strip():
                self.found.append(Step(by="user", text=message.text))
            self.returns(message.returned)

    def says(self, message: Message, *, calls: bool = True) -> None:
        """Take a reply, and the calls in it."""
        if message.text.strip() or not message.calls:
            self.found.append(Step(by="assistant", text=message.text))
        # The call has its place now, and what it returned is put there when it comes.
        for call in message.calls if calls else ():
            self.waiting.append((call.id, len(self.found)))
            self.found.append(Step(by="tool", tool=call.tool, asked=call.asked))

    def returns(self, returned: Sequence[Returned]) -> None:
        """Take what calls returned: each is that of its id, else of the oldest call that waits."""
        for each in returned:
            of_id = [call for call in self.waiting if call[0] == each.id and each.id is not None]
            # Where one side bears no id, order is all that there is. A call with another id is
            # not answered by this.
            without = [call for call in self.waiting if each.id is None or call[0] is None]
            waits = next(iter((*of_id, *without)), None)
            if waits is None:
                self.found.append(Step(by="tool", tool=each.tool, text=each.text))
                continue
            self.waiting.remove(waits)
            call = self.found[waits[1]]
            self.found[waits[1]] = Step(by="tool", tool=call.tool, asked=call.asked, text=each.text)

    def all(self, place: str) -> tuple[Step, ...]:
        """All of them. Raises ``BadLine`` where nobody replied."""
        # Blank replies are dropped only here: until now other steps were known by
        # their place among all.
        kept = [step for step in self.found if step.by != "assistant" or (step.text or "").strip()]
        if not any(step.by == "assistant" for step in kept):
            raise BadLine(1, place, "no reply in it says anything", "trace.replies")
        return tuple(kept)


def unfolded(said: Any) -> Mapping[str, Any]:
    """A message that stands in one attribute: as it is, as the JSON text of one, or as its text alone."""
    found = said
    if isinstance(said, str):
        with suppress(ValueError, RecursionError):
            found = loaded(said)
    if isinstance(found, dict) and MADE_OF & found.keys():
        return cast("dict[str, Any]", found)
    return {"content": said}


def indexed(attributes: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """Messages that stand in attributes one by one: ``gen_ai.prompt.0.role``, ``gen_ai.prompt.0.content``."""
    found: dict[int, dict[str, Any]] = {}
    for key, value in attributes.items():
        number, dot, rest = key.removeprefix(f"{name}.").partition(".")
        numbered = number.isascii() and number.isdecimal() and len(number) <= DIGITS
        if key.startswith(f"{name}.") and dot and numbered:
            found.setdefault(int(number), {})[rest] = value
    made = [each for _, each in sorted(found.items())]
    for each in made:
        calls = indexed(each, "tool_calls") if "tool_calls" not in each else []
        if calls:
            each["tool_calls"] = calls
    return made
