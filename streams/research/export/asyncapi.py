"""The AsyncAPI 3.0 document of a log on Kafka, generated from topology and models."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from schemas.events.union import KINDS
from streams.core.topology import STAGES, TOPICS, Topic

FILE = Path("deploy/asyncapi.json")
BINDING = "0.5.0"
LOG = ("events", "learning")
PLAIN: Mapping[str, str] = {"problems": "problem", "answers": "answer", "feedback": "feedback"}
HEADERS = (
    *("ce_id", "ce_source", "ce_type", "ce_subject", "ce_time", "ce_dataschema", "ce_sequence"),
    *("ce_correlationid", "ce_causationid", "ce_partitionkey", "ce_specversion", "content-type"),
)


def document() -> dict[str, Any]:
    """The whole document."""
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Metalogue",
            "version": "1.0.0",
            "description": "Topics of a log on Kafka. Records are CloudEvents 1.0 in binary mode.",
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": "application/json",
        "servers": {"kafka": _server()},
        "channels": {topic.name: _channel(topic) for topic in TOPICS},
        "operations": _operations(),
        "components": {"messages": _messages(), "schemas": {"headers": _headers()}},
    }


def _server() -> dict[str, Any]:
    return {
        "host": "{host}",
        "protocol": "kafka",
        "variables": {"host": {"default": "127.0.0.1:9092"}},
    }


def _address(topic: Topic) -> str:
    if topic.name == "dead-letters":
        return "{prefix}dlq.metalogue.problems.v1"
    return f"{{prefix}}metalogue.{topic.name}.v1"


def _channel(topic: Topic) -> dict[str, Any]:
    policy = {"cleanup.policy": ["delete"]} | ({"retention.ms": -1} if topic.kept else {})
    return {
        "address": _address(topic),
        "description": topic.about,
        "messages": {name: _ref("messages", name) for name in _names(topic)},
        "parameters": {
            "prefix": {"description": "Prefix of the log with a dot, or nothing.", "default": ""}
        },
        "bindings": {
            "kafka": {"topicConfiguration": policy, "bindingVersion": BINDING},
        },
    }


def _names(topic: Topic) -> list[str]:
    if topic.name in LOG:
        return sorted(KINDS)
    return [PLAIN.get(topic.name, "dead-letter")]


def _operations() -> dict[str, Any]:
    made: dict[str, Any] = {}
    for stage in STAGES:
        for action, names in (("send", stage.writes), ("receive", stage.reads)):
            for name in names:
                made[f"{stage.name}-{action}-{name}"] = {
                    "action": action,
                    "channel": {"$ref": f"#/channels/{name}"},
                    "summary": stage.about,
                }
    return made


def _messages() -> dict[str, Any]:
    plain = {name: _message(f"./schemas/{name}.v1.json", "problem id") for name in PLAIN.values()}
    events = {kind: _message(f"./schemas/events/{kind}.v1.json", "episode") for kind in KINDS}
    dead: dict[str, Any] = {
        "contentType": "application/octet-stream",
        "summary": "The bytes as they came; headers __metalogue.errors.* say why they were refused.",
        "payload": {},
    }
    return {**dict(sorted((plain | events).items())), "dead-letter": dead}


def _message(schema: str, key: str) -> dict[str, Any]:
    return {
        "contentType": "application/json",
        "headers": _ref("schemas", "headers"),
        "payload": {"$ref": schema},
        "bindings": {
            "kafka": {"key": {"type": "string", "description": key}, "bindingVersion": BINDING}
        },
    }


def _headers() -> dict[str, Any]:
    texts: dict[str, Any] = {name: {"type": "string"} for name in HEADERS}
    claim = {"type": "string", "description": "The claim that a fenced record stands under."}
    theirs = "Other headers of a problem come back on its answer: a trace, a correlation id, where to reply."
    return {"type": "object", "description": theirs, "properties": texts | {"ce_epoch": claim}}


def _ref(kind: str, name: str) -> dict[str, str]:
    return {"$ref": f"#/components/{kind}/{name}"}


def text() -> str:
    """The document as its file holds it."""
    return json.dumps(document(), indent=2, ensure_ascii=False) + "\n"


def write(file: Path = FILE) -> bool:
    """Write the document; whether that changed the file."""
    now = text()
    if file.is_file() and file.read_text(encoding="utf-8") == now:
        return False
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(now, encoding="utf-8")
    return True
