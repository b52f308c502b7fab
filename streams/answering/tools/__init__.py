"""Tools that policies may call: a port, and what answers where none is set up."""

# What a tool returns is recorded like a reply of a model, its failures too. A tool is set up by the
# command line alone: no record or setting can name one that is then run.

from streams.answering.tools.port import NO_TOOLS, Tools, called

__all__ = ["NO_TOOLS", "Tools", "called"]
