"""The AsyncAPI document follows from topology and models, and every reference in it leads somewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from streams.research.export.asyncapi import FILE, document
from streams.research.export.schemas import schemas

ROOT = Path(__file__).resolve().parents[4]


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in cast("dict[str, Any]", value).items():
            if name == "$ref":
                yield str(inner)
            yield from references(inner)
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from references(inner)


def test_the_file_is_what_the_models_say() -> None:
    """Mend it: metalogue schema export."""
    assert json.loads((ROOT / FILE).read_text(encoding="utf-8")) == document()


def test_every_reference_leads_somewhere() -> None:
    made, files = document(), schemas()
    for reference in references(made):
        if reference.startswith("#/"):
            found: Any = made
            for part in reference[2:].split("/"):
                found = found[part]
        else:
            assert reference.removeprefix("./schemas/") in files
