"""The `export grpo` command: groups of roll-outs for policy optimisation, a line each."""

from __future__ import annotations

from pathlib import Path

from streams.interfaces.cli.errors import OK, usage
from streams.interfaces.cli.finding import need_records
from streams.interfaces.cli.opening import open_log
from streams.interfaces.cli.output import out_bytes, out_json, say


def export(log: str | None, file: str, *, reward: str, json: bool) -> int:
    """Write the groups to a file, or with - to standard output; the exit code."""
    from schemas.identity import canonical
    from streams.research.training.groups import REWARDS, Scored, groups

    # Looked up rather than cast, so that types and the names on the command line stay one list.
    scored: Scored | None = next((each for each in REWARDS if each == reward), None)
    if scored is None:
        raise usage(f"{reward!r} is none of {', '.join(REWARDS)}", field="--reward")
    opened = open_log(log)
    try:
        need_records(opened)
        found = list(groups(opened, scored=scored))
    finally:
        opened.close()
    # Made whole before a byte is written: a group that cannot be scored leaves no half of a file.
    lines = b"".join(canonical(group) + b"\n" for group in found)
    rollouts = sum(len(group["rollouts"]) for group in found)
    if file == "-":
        out_bytes(lines)
        return OK
    try:
        Path(file).write_bytes(lines)
    except OSError as error:
        raise usage(f"{file}: {error.strerror}", field="FILE") from error
    if json:
        out_json({"file": file, "groups": len(found), "rollouts": rollouts})
    else:
        say(f"{len(found)} groups of {rollouts} roll-outs in {file}")
    return OK
