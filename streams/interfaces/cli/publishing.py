"""The `log heads` command, and reading what it printed."""

from __future__ import annotations

from pathlib import Path

from streams.interfaces.cli.errors import OK, usage
from streams.interfaces.cli.logs import need_anything
from streams.interfaces.cli.opening import open_log
from streams.interfaces.cli.output import out, out_json
from streams.interfaces.cli.places import refused
from streams.replay.chain import heads_of as heads_at
from streams.replay.chain import links_of
from streams.replay.heads import BadHeads, Heads, heads_in


def heads(url: str | None, *, records: bool, json: bool) -> int:
    """Print the heads of a log's chains, on request with the digest of each record before them."""
    log = open_log(url)
    need_anything(log)
    # One reading for all chains: a worker that writes meanwhile would give heads of different
    # moments, which no log ever had.
    with log.reading():
        links = list(links_of(log))
    for link in links if records else ():
        out_json(link.json)
    for head in heads_at(links):
        out_json(head.json) if json or records else out(head.line)
    return OK


def heads_of(path: str) -> Heads:
    """The heads in a file. Raises a usage error that names the line."""
    try:
        return heads_in(Path(path).read_text(encoding="utf-8"))
    except BadHeads as error:
        hint = "It should be what metalogue log heads printed"
        raise usage(f"{path}:{error}", field="--heads", error="log.heads", hint=hint) from error
    # Told apart from a wrong line, which has a number; this file is something else altogether.
    except UnicodeDecodeError as error:
        raise usage(f"{path}: not UTF-8", field="--heads", error="log.heads") from error
    except OSError as error:
        raise refused(error, "--heads") from error
