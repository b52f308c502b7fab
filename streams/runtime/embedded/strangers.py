"""What the file of a log may not hold: whatever would run when it is written, or answer in place of its tables.

A log may come from anybody, and SQLite does what stands in its schema. A trigger would change what we write, and a
unique index drop it; a view that is called like a table may go on for ever once it is read. People may keep tables,
views and indices of their own beside ours.
"""

from __future__ import annotations

import re
import sqlite3
from typing import Final

from streams.runtime.embedded.tables import TABLES, VIEWS

SCHEMA: Final = "select name, cast(sql as text) from main.sqlite_master where sql <> ''"
"""Only an index that SQLite makes for a key of a table has no text."""
ONLY_TABLES: Final = ("keyed", "lain", "places")
"""Tables of logs that were begun with keys, and of copies of a log on Kafka."""
_MADE = re.compile(r"create (\w+(?: index)?) if not exists (?:main\.)?(\w+)(.*)", re.DOTALL)
_OURS: Final = {
    made[2]: f"CREATE {made[1].upper()} {made[2]}{made[3]}"
    for text in f"{TABLES}{VIEWS}".split(";")
    if (made := _MADE.fullmatch(" ".join(text.split()))) is not None
}
"""What SQLite keeps of each table, index and view that we make, by its name."""


def stranger(db: sqlite3.Connection) -> str | None:
    """What a log's file holds and no log has; nothing where there is none."""
    for name, sql in db.execute(SCHEMA):
        said, called = " ".join(sql.split()), str(name).lower()
        # SQLite goes by the text alone. The kind and the name that stand beside it may be a lie, so
        # the text has to have this name, too.
        pattern = rf"CREATE (TABLE|VIEW|INDEX|UNIQUE INDEX) ([\"'`\[]?){re.escape(str(name))}[\"'`\]]?[ (]"
        made = re.match(pattern, said)
        if made is None:
            return f"{name!r} in it is no plain table, view or index"
        ours, kind = _OURS.get(called), made[1]
        if ours is None:
            is_ours = kind == "TABLE" if called in ONLY_TABLES else kind != "UNIQUE INDEX"
        else:
            # Nothing of ours reads our views.
            is_ours = said == ours or kind == "VIEW" == ours.split()[1]
        if not is_ours:
            return f"{name!r} in it is not what a log has under this name"
    return None
