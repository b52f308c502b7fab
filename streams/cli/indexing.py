"""The `corpus` command: passages become what the tool `search` looks in."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from streams.cli.common import out, out_json
from streams.cli.errors import OK, usage

if TYPE_CHECKING:
    from state.tables.corpus import Passage


def corpus(source: str, folder: str, *, json: bool) -> int:
    """Index a file of passages; the exit code."""
    from streams.embedders.hashed import HashedEmbedder
    from streams.tools.corpus import index

    path, embedder = Path(source), HashedEmbedder()
    try:
        count = asyncio.run(index(Path(folder), passages(path), embedder))
    except (OSError, ValueError) as error:
        raise usage(str(error), field="FILE") from error
    if json:
        out_json({"folder": folder, "passages": count, "embedder": embedder.name})
    else:
        out(f"{count:,} passages in {folder}, vectors by {embedder.name}")
        out(f"search them: --tools corpus:{folder}")
    return OK


def passages(path: Path) -> Iterator[Passage]:
    """Lines of ``title`` (may be missing) and ``text``, or the paragraphs of HotpotQA items."""
    from state.tables.corpus import Passage
    from streams.datasets import hotpotqa
    from streams.datasets.lines import json_lines, text_of

    first = next(iter(json_lines(path)), None)
    if first is None:
        raise ValueError(f"{path}: holds no passage")
    if "context" in first[1]:
        for title, text in hotpotqa.passages(path):
            yield Passage(title, text)
        return
    for place, item in json_lines(path):
        yield Passage(str(item.get("title") or ""), text_of(place, item, "text"))
