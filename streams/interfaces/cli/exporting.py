"""The `export` command."""

from __future__ import annotations

from streams.interfaces.cli.errors import OK, usage
from streams.interfaces.cli.finding import find_episode, need_records
from streams.interfaces.cli.opening import open_log
from streams.interfaces.cli.output import out, out_json
from streams.interfaces.cli.places import folder_of


def export(log: str | None, folder: str, *, episode: str | None, json: bool) -> int:
    """Write the folder and say what is in it; the exit code."""
    from streams.research.export.parquet import NotOurs
    from streams.research.export.parquet import export as run

    opened = open_log(log)
    try:
        need_records(opened)
        name = None if episode is None else find_episode(opened, episode)
        # Made after the log was found: a mistyped log leaves no empty folder behind.
        where = folder_of(folder, "FOLDER")
        counts = run(opened, where, name)
    except NotOurs as error:
        hint = "Name a new folder, an empty one, or that of an earlier export"
        raise usage(str(error), field="FOLDER", error="export.folder", hint=hint) from error
    finally:
        opened.close()
    if json:
        out_json({"folder": folder, "rows": counts})
        return OK
    width = max(map(len, counts))
    for table, rows in counts.items():
        out(f"{table:<{width}}{rows:>10,} rows")
    out(f"columns: {folder}/README.md   queries: {folder}/queries   duckdb -init views.sql")
    return OK
