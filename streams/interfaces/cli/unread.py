"""The `log unread` command."""

from __future__ import annotations

from collections import Counter

from streams.interfaces.cli.errors import OK
from streams.interfaces.cli.logs import need_anything
from streams.interfaces.cli.opening import open_log
from streams.interfaces.cli.output import as_json, out
from streams.views.words import one_line


def unread(url: str | None, *, json: bool) -> int:
    """Print the replies that were not read at once; with ``json`` whole, a line each, as cases for tests."""
    from streams.replay.unread import unread as found_in

    log = open_log(url)
    need_anything(log)
    found = list(found_in(log))
    if json:
        for each in found:
            out(as_json(each._asdict()))
        return OK
    for each in found:
        out(f"{each.episode} at {each.at}  {each.role}  {each.how}: {one_line(each.reason)}")
        out(f"  {one_line(each.text)[:100] or '(empty)'}")
    counts = Counter((each.role, each.how) for each in found)
    # Counts come last, where a reader looks: which role is read badly is what they are for.
    for (role, how), count in sorted(counts.items()):
        out(f"{count:>6,}  {role} {how}")
    if not found:
        out("every reply was read at once")
    return OK
