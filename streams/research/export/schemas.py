"""JSON Schema 2020-12 of everything that is said on a topic, generated from the models."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from inspect import cleandoc
from pathlib import Path
from typing import Any, TypeAlias, cast, get_args

import orjson
from msgspec import NODEFAULT, structs
from msgspec import json as msgspec_json
from pydantic import BaseModel

from schemas.answer import Answer
from schemas.events.base import Event
from schemas.events.union import KINDS
from schemas.problem import Feedback, Problem, ProblemRecord
from schemas.struct import Struct, to_json
from streams.research.bench.recipe import Recipe

Said: TypeAlias = type[BaseModel] | type[Struct]

FOLDER = Path("deploy/schemas")
REF = "#/$defs/{name}"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
MESSAGES: Mapping[str, Said] = {
    "problem-record.v1": ProblemRecord,
    "problem.v1": Problem,
    "feedback.v1": Feedback,
    "answer.v1": Answer,
    "recipe.v1": Recipe,
}
"""A line of a source, the messages of the topics, and recipes of the harness."""
NOTES = ("description", "title", "default")
"""Keywords that no validator reads."""


def schema_of(name: str, model: Said) -> dict[str, Any]:
    """The schema of a model or struct as it stands in JSON."""
    named = {"$schema": DIALECT, "$id": f"metalogue:{name}"}
    if issubclass(model, BaseModel):
        return named | model.model_json_schema()
    return named | _struct_schema(model)


def _struct_schema(model: type[Struct]) -> dict[str, Any]:
    """A struct's schema, with those of the structs and models inside it."""
    models: dict[str, Any] = {}

    def refer(inner: type) -> dict[str, Any]:
        assert issubclass(inner, BaseModel)
        said = inner.model_json_schema()
        models.update(said.pop("$defs", {}), **{inner.__name__: said})
        return {"$ref": f"#/$defs/{inner.__name__}"}

    _, said = msgspec_json.schema_components([model], schema_hook=refer, ref_template=REF)
    for struct in (model, *_structs(Struct)):
        if struct.__name__ in said:
            # Those defaults too that stand in every record;
            # msgspec says none that a function makes.
            for each in structs.fields(struct):
                if each.default_factory is not NODEFAULT:
                    value = orjson.loads(to_json(each.default_factory()))
                    properties = said[struct.__name__]["properties"]
                    properties[each.encode_name].setdefault("default", value)
            # Python keeps the indentation of docstrings up to 3.12.
            said[struct.__name__]["description"] = cleandoc(struct.__doc__ or "")
    own = said.pop(model.__name__)
    inside = dict(sorted({**said, **models}.items()))
    return {"$defs": inside, **own} if inside else own


def _structs(base: type[Struct]) -> Iterator[type[Struct]]:
    for struct in base.__subclasses__():
        yield struct
        yield from _structs(struct)


def schemas() -> dict[str, dict[str, Any]]:
    """Every schema by its file's path below the folder."""
    events = {f"{kind}.v{version_of(model)}": model for kind, model in KINDS.items()}
    made = {f"{name}.json": schema_of(name, model) for name, model in MESSAGES.items()}
    return made | {f"events/{name}.json": schema_of(name, model) for name, model in events.items()}


def version_of(model: type[Event]) -> int:
    """The version that a kind's events carry."""
    (version,) = (each for each in structs.fields(model) if each.name == "version")
    return int(get_args(version.type)[0])


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
        text = before[path].read_text(encoding="utf-8")
        if text == text_of(now[path]):
            continue
        try:
            changed = list(_walk(json.loads(text), now[path], ""))
        except json.JSONDecodeError as error:
            changed = [(f"line {error.lineno}: not JSON: {error.msg}", True)]
        # Spaces or an order of keys: no validator sees
        # it, and the file is still not what is written.
        changed = changed or [("is spelled differently", False)]
        found += [(path, what, breaks) for what, breaks in changed]
    return sorted(found)


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
            # A new property is optional, or `required` has changed too, which is told by itself.
            harmless = at.endswith((".properties", ".$defs")) or name in NOTES
            yield f"{here.lstrip('.')} is new", not harmless
        else:
            yield from _walk(before[name], now[name], here)
