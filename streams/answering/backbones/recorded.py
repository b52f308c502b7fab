"""Replies that were recorded before, found by prompt and draw; without one it fails closed.

A recording is a file of JSON lines, one reply each::

    {"messages": [["system", "…"], ["user", "…"]], "draw": 0, "text": "…", "completion_tokens": 12}

Instead of ``messages`` (as asked, in full) a line may name its ``prompt`` (a single user message)
or its ``problem`` (what the prompt's problem section says; any prompt about it gets the reply).
``draw`` tells equal prompts apart and defaults to 0. ``finish``, ``model`` and the numbers of
``ModelReply`` may follow; those left out are unknown. ``save`` writes such a file.

Also read: the published GPT-4 logs of Game of 24 (a log, or the folder with them; ``24.csv`` beside
or above it), whose samples are found by puzzle, the draw being the sample's place.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from handlers.answers.game24 import numbers_of
from schemas.identity import text_digest
from schemas.prompt import Message
from schemas.written import loads
from streams.answering.backbones.rehearsal.prompts import read
from streams.core.backbone import ModelReply, ModelRequest, NotRecorded

_SAMPLES = "*naive_cot_sample*.json"
_ASKED = ("messages", "prompt", "problem")
_TEXTS = ("text", "finish", "model")
_TOKENS = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens")
_NUMBERS = ("attempts", *_TOKENS, "cost", "seconds", "logprob", "answer_logprob")


@dataclass(frozen=True, slots=True)
class Entry:
    """One recorded reply: what it answers, and where it stands."""

    key: str
    draw: int
    reply: ModelReply
    where: str


class Recorded:
    """Answers from a recording. Raises ``ValueError`` naming the line that cannot be read."""

    simulated = False

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._known: dict[tuple[str, int], Entry] = {}
        for entry in entries(self._path):
            # Equal replies may stand twice, since a recording may be put together from several runs;
            # of two different ones nobody could say which a replay would get.
            first = self._known.setdefault((entry.key, entry.draw), entry)
            if first.reply.text != entry.reply.text:
                raise ValueError(
                    f"{entry.where}: another reply than {first.where} to the same prompt"
                )

    @property
    def name(self) -> str:
        """``recorded:`` and the file."""
        return f"recorded:{self._path}"

    async def complete(self, request: ModelRequest) -> ModelReply:
        """The recorded reply to this prompt and draw. Raises ``NotRecorded``."""
        problem = read(request.messages).problem
        # A recording of this very prompt comes before one of its problem, which any prompt about it
        # may take.
        keys = [key_of(request.messages)] + ([] if problem is None else [problem_key(problem)])
        for key in keys:
            if (entry := self._known.get((key, request.draw))) is not None:
                return entry.reply
        about = "" if problem is None else f" ({problem[:60]!r})"
        # It fails closed: a reply that was never recorded would be made up, or paid for unseen.
        raise NotRecorded(
            f"no reply to prompt {keys[0]}{about}, draw {request.draw}, in {self._path}"
        )

    async def close(self) -> None:
        """Nothing to release."""


def key_of(messages: Iterable[Message]) -> str:
    """The digest that a prompt is found by."""
    return text_digest("\x1e".join(f"{speaker}\x1f{text}" for speaker, text in messages))


def problem_key(problem: str) -> str:
    """What a problem is found by: its words; of four bare numbers, the numbers in any order."""
    bare = not any(map(str.isalpha, problem))
    # The published logs and our data set write the four numbers in different orders.
    numbers = numbers_of(problem) if bare else None
    return f"problem {' '.join(map(str, sorted(numbers)) if numbers else problem.split())}"


def line(request: ModelRequest, reply: ModelReply) -> str:
    """A request and its reply as one line of a recording, without its end of line."""
    told = asdict(reply)
    known = {name: told[name] for name in (*_TEXTS, *_NUMBERS) if told[name] is not None}
    return json.dumps({"messages": request.messages, "draw": request.draw} | known)


def save(path: Path, said: Iterable[tuple[ModelRequest, ModelReply]]) -> None:
    """Write a recording."""
    path.write_text("".join(f"{line(*pair)}\n" for pair in said), encoding="utf-8")


# ── Readers of recordings ────────────────────────────────────────────────────────────────────


def entries(path: Path) -> Iterator[Entry]:
    """Everything recorded in a file or folder, by the reader for its name."""
    if not path.exists():
        raise ValueError(f"no recording at {path}")
    if path.is_dir():
        # One and no more: which of two runs was meant is not for us to guess.
        logs = sorted([*path.glob(_SAMPLES), *path.glob(f"logs/{_SAMPLES}")])
        if len(logs) != 1:
            raise ValueError(f"{len(logs)} files like {_SAMPLES} in {path}; one is expected")
        return entries(logs[0])
    if path.suffix not in READERS:
        raise ValueError(f"{path}: not a recording; it ends in one of {', '.join(READERS)}")
    return READERS[path.suffix](path)


def _lines(path: Path) -> Iterator[Entry]:
    with path.open(encoding="utf-8") as file:
        for number, text in enumerate(file, 1):
            where = f"{path}:{number}"
            if not text.strip():
                continue
            try:
                value: object = loads(text)
                if not isinstance(value, Mapping):
                    raise ValueError("not an object")
                said = dict(cast("Mapping[str, Any]", value))
                known = _known(said)
                reply: dict[str, Any] = {"finish": "stop", "model": "recorded"}
                reply |= {name: known[name] for name in (*_TEXTS, *_NUMBERS) if name in known}
                yield Entry(_key(known), int(known.get("draw", 0)), ModelReply(**reply), where)
            except (ValueError, TypeError) as error:
                raise ValueError(f"{where}: {error}") from None


def _known(said: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a line that say something: null is unknown, as what is left out is. Raises ``ValueError``."""
    # A misspelled field would silently become an unknown number; so no stranger passes.
    for name in said.keys() - {*_ASKED, "draw", *_TEXTS, *_NUMBERS}:
        raise ValueError(f"unknown field {name!r}")
    if not isinstance(said.get("text"), str):
        raise ValueError("no text")
    known = {name: value for name, value in said.items() if value is not None}
    for name, value in known.items():
        if name in _TEXTS and not isinstance(value, str):
            raise ValueError(f"{name} must be a text")
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if name in ("draw", *_NUMBERS) and not is_number:
            raise ValueError(f"{name} must be a number")
        if name == "draw" and value % 1:
            raise ValueError("draw must be a whole number")
    return known


def _key(said: Mapping[str, Any]) -> str:
    match [name for name in _ASKED if name in said]:
        case ["messages"]:
            return key_of((str(speaker), str(text)) for speaker, text in said["messages"])
        case ["prompt"]:
            return key_of([("user", str(said["prompt"]))])
        case ["problem"]:
            return problem_key(str(said["problem"]))
        case _:
            raise ValueError(f"name one of {', '.join(_ASKED)}")


def _puzzle_log(path: Path) -> Iterator[Entry]:
    """``idx`` counts the rows of 24.csv from 0; ``ys`` are the samples of that puzzle."""
    from streams.support.datasets.game24 import ranked

    tables = [folder / "24.csv" for folder in (path.parent, path.parent.parent)]
    table = next((table for table in tables if table.is_file()), None)
    if table is None:
        raise ValueError(f"{path}: no 24.csv beside or above it")
    problems = [str(puzzle["problem"]) for puzzle in ranked(table)]
    for puzzle in json.loads(path.read_text(encoding="utf-8")):
        key = problem_key(problems[int(puzzle["idx"])])
        for draw, text in enumerate(puzzle["ys"]):
            reply = ModelReply(text=text, finish="stop", model="gpt-4")
            yield Entry(key, draw, reply, f"{path}: puzzle {puzzle['idx']}, sample {draw}")


READERS: dict[str, Callable[[Path], Iterator[Entry]]] = {".jsonl": _lines, ".json": _puzzle_log}
"""By the end of the file's name. ``metalogue export replies`` makes the first kind of logs of ours."""
