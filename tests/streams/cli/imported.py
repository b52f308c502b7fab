"""Lines of other tools' traces, and a log that they are taken into."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

from streams.runtime.embedded.log import SqliteLog
from tests.streams.cli.calling import Called, call

USER, ASSISTANT, TOOL = "user", "assistant", "tool"


def spoken(*pairs: tuple[str, str], **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": role, "content": content} for role, content in pairs], **more}


CASES = [
    spoken((USER, "What is 12 * 12?"), (ASSISTANT, "144"), id="t1", reference="144", model="gpt-4"),
    spoken((USER, "Capital of Australia?"), (ASSISTANT, "Sydney"), id="t2", label="wrong"),
    spoken((USER, "Nobody judged this?"), (ASSISTANT, "yes"), id="t3"),
]


def looked_up(found: str, answer: str, *, id: str, right: bool) -> dict[str, Any]:
    """An agent that calls a tool once."""
    call = {"id": "c", "function": {"name": "search", "arguments": '{"query": "capital"}'}}
    messages = [
        {"role": USER, "content": "Capital of Australia?"},
        {"role": ASSISTANT, "content": None, "tool_calls": [call]},
        {"role": TOOL, "tool_call_id": "c", "content": found},
        {"role": ASSISTANT, "content": answer},
    ]
    return {"messages": messages, "id": id, "verdict": right}


def file(folder: Path, *lines: dict[str, Any] | bytes, name: str = "traces.jsonl") -> Path:
    raw = (each if isinstance(each, bytes) else json.dumps(each).encode() for each in lines)
    path = folder / name
    path.write_bytes(b"\n".join(raw) + b"\n")
    return path


def taken_in(path: Path, log: Path, *options: str) -> Called:
    return call("import", "traces", path, "--log", f"sqlite:{log}", *options)


def worked(log: Path, *options: str) -> None:
    end = ("--until-idle", "--settle", "--no-tables", "-q")
    done = call("worker", "--log", f"sqlite:{log}", "--backbone", "rehearsal", *end, *options)
    assert done.code == 0, done.err


def verified(log: Path, *more: str) -> Called:
    return call("verify", *more, "--log", f"sqlite:{log}")


def events(log: Path, *kinds: str) -> list[Any]:
    with closing(SqliteLog(log)) as opened:
        return [record.event for record in opened.records(kinds=kinds)]


def with_keys(folder: Path) -> Path:
    """A log that was begun with keys."""
    for name in ("keys", "log"):
        (folder / name).mkdir()
    log = folder / "log" / "l.db"
    problem = file(folder, {"id": "p", "problem": "Why?"}, name="p.jsonl")
    call("produce", problem, "--log", f"sqlite:{log}", "--keys", folder / "keys" / "l", "-q")
    return log


def told_id(episode: str) -> str:
    """The id of a case's problem."""
    return episode.split("/")[2]
