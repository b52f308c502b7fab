"""JSON Schema 2020-12 of everything that is said on a topic, generated from the models."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel

from schemas.answer import Answer
from schemas.events.union import KINDS
from schemas.problem import Feedback, Problem, ProblemRecord
from streams.bench.recipe import Recipe

FOLDER = Path("deploy/schemas")
DIALECT = "https://json-schema.org/draft/2020-12/schema"
MESSAGES: Mapping[str, type[BaseModel]] = {
    "problem-record.v1": ProblemRecord,
    "problem.v1": Problem,
    "feedback.v1": Feedback,
    "answer.v1": Answer,
    "recipe.v1": Recipe,
}
"""A line of a source, the messages of the topics, and recipes of the harness."""
NOTES = ("description", "title", "default")
"""Keywords that no validator reads."""


def schema_of(name: str, model: type[BaseModel]) -> dict[str, Any]:
    """The schema of a model as it stands in JSON."""
    return {"$schema": DIALECT, "$id": f"metalogue:{name}", **model.model_json_schema()}


def schemas() -> dict[str, dict[str, Any]]:
    """Every schema by its file's path below the folder."""
    events = {f"{kind}.v{version_of(model)}": model for kind, model in KINDS.items()}
    made = {f"{name}.json": schema_of(name, model) for name, model in MESSAGES.items()}
    return made | {f"events/{name}.json": schema_of(name, model) for name, model in events.items()}


def version_of(model: type[BaseModel]) -> int:
    """The version that a model's events carry."""
    return int(model.model_fields["version"].default)


def text_of(schema: dict[str, Any]) -> str:
    """A schema as its file holds it: keys in the models' order, two spaces."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def export(folder: Path = FOLDER) -> list[str]:
    """Write every schema that is missing or differs; the paths written."""
    written: list[str] = []
    for path, schema in sorted(schemas().items()):
        file, text = folder / path, text_of(schema)
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            written.append(path)
    return written


def compare(folder: Path = FOLDER) -> list[tuple[str, str, bool]]:
    """How a folder's files differ from the models: path, what, whether it breaks readers.

    A field that is new and optional breaks nobody; anything else needs a new major version.
    """
    now = schemas()
    before = {str(p.relative_to(folder)): p for p in sorted(folder.rglob("*.json"))}
    found = [(path, "is not there", False) for path in now.keys() - before.keys()]
    found += [(path, "is of no model of this build", True) for path in before.keys() - now.keys()]
    for path in now.keys() & before.keys():
        found += [(path, what, breaks) for what, breaks in _differences(before[path], now[path])]
    return sorted(found)


def _differences(file: Path, now: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    text = file.read_text(encoding="utf-8")
    if text == text_of(now):
        return
    try:
        before = json.loads(text)
    except json.JSONDecodeError as error:
        yield f"line {error.lineno}: not JSON: {error.msg}", True
        return
    changed = list(_walk(before, now, ""))
    yield from changed or [("is spelled differently", False)]


def _walk(one: Any, two: Any, at: str) -> Iterator[tuple[str, bool]]:
    if not (isinstance(one, dict) and isinstance(two, dict)):
        if one != two:
            yield f"{at.lstrip('.')} changed", at.rpartition(".")[2] not in NOTES
        return
    before, now = cast("dict[str, Any]", one), cast("dict[str, Any]", two)
    for name in {**before, **now}:
        here = f"{at}.{name}"
        if name not in now:
            yield f"{here.lstrip('.')} is gone", True
        elif name not in before:
            harmless = at.endswith((".properties", ".$defs")) or name in NOTES
            yield f"{here.lstrip('.')} is new", not harmless
        else:
            yield from _walk(before[name], now[name], here)
