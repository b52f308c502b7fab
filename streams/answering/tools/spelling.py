"""How tools are written on the command line: ``corpus:FOLDER[?mode=hybrid]``, ``mcp:COMMAND``, ``mcp:URL``."""

from __future__ import annotations

from pathlib import Path

from streams.answering.embedders.port import Embedder
from streams.answering.tools.port import Tools


def build(text: str, embedder: Embedder) -> Tools:
    """The tools. Raises ``ValueError`` naming what is wrong with the spelling."""
    kind, _, what = text.strip().partition(":")
    if kind == "mcp" and what:
        from streams.answering.tools.mcp import McpTools

        return McpTools.of(what)
    if kind == "corpus" and what:
        from state.tables.corpus import MODES
        from streams.answering.tools.corpus import CorpusTools

        folder, _, option = what.partition("?")
        name, _, mode = option.partition("=")
        if option and (name != "mode" or mode not in MODES):
            raise ValueError(f"{option!r} is no mode={'|'.join(MODES)}")
        tools = CorpusTools(Path(folder), embedder, mode if mode in MODES else "hybrid")
        tools.opened()  # a folder that is no corpus is said here, and not at a policy's first search
        return tools
    raise ValueError(f"{text!r} is neither corpus:FOLDER nor mcp:COMMAND or mcp:URL")
