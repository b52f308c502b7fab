"""The `corpus` command: passages become what the tool `search` looks in."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from streams.interfaces.cli.errors import OK, usage
from streams.interfaces.cli.output import out, out_json

if TYPE_CHECKING:
    from state.tables.corpus import Passage


def corpus(
    source: str, folder: str, *, embedder: str, query: str = "", passage: str = "", json: bool
) -> int:
    """Index a file of passages, with what stands before queries and passages; the exit code."""
    from state.tables.corpus import Prefixes
    from streams.answering.tools.corpus import index
    from streams.interfaces.cli.setup import Models, backbone_config, embedder_of

    path, maker = Path(source), embedder_of(embedder, backbone_config(Models()))
    try:
        count = asyncio.run(index(Path(folder), passages(path), maker, Prefixes(query, passage)))
    except (OSError, ValueError) as error:
        raise usage(str(error), field="FILE") from error
    if json:
        out_json({"folder": folder, "passages": count, "embedder": maker.name})
    else:
        out(f"{count:,} passages in {folder}, vectors by {maker.name}")
        # Vectors of two embedders cannot be compared: who searches must name the one that
        # indexed.
        role = "" if embedder == "hashed" else f" --role embedder={embedder}"
        out(f"search them: --tools corpus:{folder}{role}")
    return OK


def passages(path: Path) -> Iterator[Passage]:
    """Lines of ``title`` (may be missing) and ``text``, or the paragraphs of HotpotQA items."""
    from state.tables.corpus import Passage
    from streams.support.datasets import hotpotqa
    from streams.support.datasets.lines import json_lines, text_of

    first = next(iter(json_lines(path)), None)
    if first is None:
        raise ValueError(f"{path}: holds no passage")
    # Told by the first line: a file holds one form throughout.
    if "context" in first[1]:
        for title, text in hotpotqa.passages(path):
            yield Passage(title, text)
        return
    for place, item in json_lines(path):
        yield Passage(str(item.get("title") or ""), text_of(place, item, "text"))
