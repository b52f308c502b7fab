"""Data sets from a hub, through the optional ``datasets`` extra: fetched once, then a file like any other.

``hub:OWNER/NAME[#CONFIG][/SPLIT]``, such as ``hub:openai/gsm8k#main/test``. The rows are kept as
JSONL, so that a report's hash says which rows they were, whatever the hub holds later.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from streams.support.extras import install

_NAME = re.compile(
    r"hub:(?P<name>[\w.-]+/[\w.-]+)(?:#(?P<config>[\w.-]+))?(?:/(?P<split>[\w.-]+))?"
)


class NoHub(ValueError):
    """A hub's data set cannot be had; the message says why."""


def is_hub(spelling: str) -> bool:
    """Whether this names a hub's data set rather than a file."""
    return spelling.startswith("hub:")


def fetch(spelling: str, folder: Path) -> Path:
    """The file of a hub's data set, downloaded if it is not in the folder yet. Raises ``NoHub``."""
    found = _NAME.fullmatch(spelling)
    if found is None:
        raise NoHub(f"{spelling!r} is not hub:OWNER/NAME[#CONFIG][/SPLIT]")
    path = folder / (re.sub(r"[^\w.-]+", "-", spelling.removeprefix("hub:")) + ".jsonl")
    # Fetched once: what a report was made of must not change because somebody
    # uploaded another version.
    if not path.is_file():
        name, config, split = found["name"], found["config"], found["split"] or "test"
        try:
            library: Any = import_module("datasets")
        except ImportError as error:
            why = f"a hub needs the extra: {install('datasets')} ({error})"
            raise NoHub(f"{name}: {why}") from error
        # The library raises whatever its transport does.
        try:
            rows: Iterable[Mapping[str, Any]] = library.load_dataset(name, config, split=split)
        except Exception as error:
            raise NoHub(f"{name}: {type(error).__name__}: {error}") from error
        folder.mkdir(parents=True, exist_ok=True)
        # Under its name only once it is whole: half a data set would be taken for one from then on.
        part = path.with_suffix(".part")
        lines = (json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows)
        part.write_text("".join(lines), encoding="utf-8")
        part.rename(path)
    return path
