"""The `schema` commands: write the generated schemas, or compare them with the files."""

from __future__ import annotations

from pathlib import Path

from streams.interfaces.cli.errors import FAILED, OK, usage
from streams.interfaces.cli.output import out, out_json, say
from streams.interfaces.cli.places import folder_of
from streams.research.export.schemas import FOLDER, compare, export, schemas


def write(folder: str | None, *, json: bool) -> None:
    """``schema export``."""
    target = folder_of(folder, "DIR") if folder is not None else FOLDER
    written = export(target)
    if folder is None:
        # Only beside our own schemas, because the page refers to them by their place in the
        # repository.
        from streams.research.export.asyncapi import write as write_asyncapi

        write_asyncapi()
    if json:
        out_json({"folder": str(target), "written": written, "schemas": len(schemas())})
        return
    for path in written:
        out(str(target / path))
    out(f"{len(schemas())} schemas, {len(written)} written")


def check(folder: str | None, *, json: bool) -> int:
    """``schema check``; the exit code."""
    target = Path(folder) if folder is not None else FOLDER
    # An empty folder would differ in everything, which hides that the name is wrong.
    if not target.is_dir():
        hint = f"Make it: metalogue schema export {target}"
        raise usage(f"no folder {target}", field="DIR", error="schema.missing", hint=hint)
    found = compare(target)
    for path, what, breaks in found:
        kind = "schema.breaks" if breaks else "schema.differs"
        if not json:
            say(f"{target / path}: {what} [{kind}]")
    if json:
        rows = [{"file": path, "what": what, "breaks": breaks} for path, what, breaks in found]
        out_json({"ok": not found, "schemas": len(schemas()), "differences": rows})
    else:
        out(f"{len(schemas())} schemas, {len(found)} differences")
        if found:
            say(
                "  Write them anew: metalogue schema export. What breaks readers needs a new major."
            )
    return FAILED if found else OK
