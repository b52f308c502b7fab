"""The MCP server: an assistant puts problems, reads how they were solved, and searches what was learned.

``tools`` is what may be called, with its arguments and results as types; ``server`` speaks the protocol by the
official SDK, on standard streams or over HTTP. Both stand on ``streams.interfaces.door.service``, as the HTTP door
does: the same holders, limits and offers hold here, and no file, path or URL is taken from a call.
"""
