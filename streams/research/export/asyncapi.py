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
    operations: dict[str, Any] = {}
    for stage in STAGES:
        for action, names in (("send", stage.writes), ("receive", stage.reads)):
            for name in names:
                operations[f"{stage.name}-{action}-{name}"] = {
                    "action": action,
                    "channel": {"$ref": f"#/channels/{name}"},
                    "summary": stage.about,
                }
    texts: dict[str, Any] = {name: {"type": "string"} for name in HEADERS}
    claim = {"type": "string", "description": "The claim that a fenced record stands under."}
    theirs = "Other headers of a problem come back on its answer: a trace, a correlation id, where to reply."
    headers: dict[str, Any] = {
        "type": "object",
        "description": theirs,
        "properties": texts | {"ce_epoch": claim},
    }
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Metalogue",
            "version": "1.0.0",
            "description": "Topics of a log on Kafka. Records are CloudEvents 1.0 in binary mode.",
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": "application/json",
        "servers": {
            "kafka": {
                "host": "{host}",
                "protocol": "kafka",
                "variables": {"host": {"default": "127.0.0.1:9092"}},
            }
        },
        "channels": {topic.name: _channel(topic) for topic in TOPICS},
        "operations": operations,
        "components": {"messages": _messages(), "schemas": {"headers": headers}},
    }


def _channel(topic: Topic) -> dict[str, Any]:
    # What a log is derived from is kept for ever; a
    # broker's own default would drop it after a week.
    policy = {"cleanup.policy": ["delete"]} | ({"retention.ms": -1} if topic.kept else {})
    dead = topic.name == "dead-letters"
    names = sorted(KINDS) if topic.name in LOG else [PLAIN.get(topic.name, "dead-letter")]
    return {
        "address": f"{{prefix}}{'dlq.metalogue.problems' if dead else f'metalogue.{topic.name}'}.v1",
        "description": topic.about,
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in names},
        "parameters": {
            "prefix": {"description": "Prefix of the log with a dot, or nothing.", "default": ""}
        },
        "bindings": {
            "kafka": {"topicConfiguration": policy, "bindingVersion": BINDING},
        },
    }


def _messages() -> dict[str, Any]:
    plain = {name: _message(f"./schemas/{name}.v1.json", "problem id") for name in PLAIN.values()}
    events = {kind: _message(f"./schemas/events/{kind}.v1.json", "episode") for kind in KINDS}
    # No schema: what lies there fitted none.
    dead: dict[str, Any] = {
        "contentType": "application/octet-stream",
        "summary": "The bytes as they came; headers __metalogue.errors.* say why they were refused.",
        "payload": {},
    }
    return {**dict(sorted((plain | events).items())), "dead-letter": dead}


def _message(schema: str, key: str) -> dict[str, Any]:
    return {
        "contentType": "application/json",
        "headers": {"$ref": "#/components/schemas/headers"},
        "payload": {"$ref": schema},
        "bindings": {
            "kafka": {"key": {"type": "string", "description": key}, "bindingVersion": BINDING}
        },
    }


def text() -> str:
    """The document as its file holds it."""
    return json.dumps(document(), indent=2, ensure_ascii=False) + "\n"


def write(file: Path = FILE) -> bool:
    """Write the document; whether that changed the file."""
    now = text()
    # Not written where nothing changed: its time would say otherwise.
    if file.is_file() and file.read_text(encoding="utf-8") == now:
        return False
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(now, encoding="utf-8")
    return True
