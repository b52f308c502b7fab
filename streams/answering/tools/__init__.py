"""Tools that policies may call: a port, and what answers where none is set up."""

from streams.answering.tools.port import NO_TOOLS, Tools, called

__all__ = ["NO_TOOLS", "Tools", "called"]
