"""Export: a folder of Parquet files that DuckDB, pandas or Polars read as they are.

Beside the files lie ``README.md`` (every column), ``views.sql`` and ``queries/*.sql`` (examples).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from schemas.events.base import AnswerEvent, Event
from schemas.events.episode import EpisodeClosed, EpisodeOpened, Recalled
from schemas.events.learning import BatchClosed
from schemas.events.reasoning import KnowledgeReached
from schemas.identity import text_key
from schemas.memory import Memory
from state.folds.lives import name_of
from state.folds.state import State
from state.folds.versions import Versions
from state.tables.lance import arrow, arrow_type, chunks
from streams.research.export.tables import EXPORTED, Chosen, Exported
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.projector import LogSource
from streams.runtime.embedded.rebuild import fold

TITLE = "# Export of a Metalogue log"
# What nobody knows is counted apart: it is no zero in a mean, and makes a sum unknown. Cases of
# other tools, which a batch may have learned from as well, are no answers of ours.
QUERIES = {
    "accuracy_by_batch": """
select scope, batch, count(*) as members,
  sum(case when graded = 'undecided' then 1 else 0 end) as undecided,
  sum(case when graded = 'not graded' then 1 else 0 end) as not_graded,
  avg(case when graded = 'right' then 1.0 when graded in ('wrong', 'withheld') then 0.0 end)
    as accuracy
from batches where episode not like 'p/%/%/taken-%' group by scope, batch order by scope, batch
""",
    "restart_ratio": """
select count(*) as decisions,
  avg(case when (body ->> '$.action') = 'restart' then 1.0 else 0.0 end) as restart_ratio
from events where kind = 'controller.acted' and episode not like 'q/%'
""",
    "tokens_by_role": """
select topic, role, count(*) as calls,
  count(*) - count(prompt_tokens + completion_tokens) as without_usage,
  case when count(prompt_tokens) = count(*) then sum(prompt_tokens) end as prompt_tokens,
  case when count(completion_tokens) = count(*) then sum(completion_tokens) end
    as completion_tokens
from completions where not reused group by topic, role order by topic, role
""",
    "lesson_usage": """
select scope, id, role, polarity, uses, right_uses, wrong_uses,
  case when right_uses + wrong_uses > 0 then 1.0 * right_uses / (right_uses + wrong_uses) end
    as right_share
from lessons where not withdrawn order by uses desc, scope, id
""",
}


class NotOurs(Exception):
    """The folder holds something else than an export."""


def export(log: SqliteLog, folder: Path, episode: str | None = None) -> dict[str, int]:
    """Write the folder; rows by table."""
    source = LogSource(log, fold(log, State()))
    chosen = Chosen(source) if episode is None else choose(source, episode)
    # After everything has been read, so that a log
    # that cannot be read leaves no half export behind.
    begin(folder)
    # The README is written again at the end: until then it says that the export was not finished.
    counts = {table.name: write(folder, table, chosen) for table in EXPORTED}
    (folder / "README.md").write_text(described(counts), encoding="utf-8")
    (folder / "views.sql").write_text(views(), encoding="utf-8")
    (folder / "queries").mkdir(exist_ok=True)
    for name, query in QUERIES.items():
        (folder / "queries" / f"{name}.sql").write_text(query.strip() + ";\n", encoding="utf-8")
    return counts


def begin(folder: Path) -> None:
    """Make the folder and mark it as an export, also of one that is broken off.

    Raises ``NotOurs`` where it holds something else: nobody's own files are written over.
    """
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / "README.md"
    if any(folder.iterdir()):
        first = ""
        if page.is_file():
            # Somebody's own README may be in any encoding, and may be long.
            with page.open(encoding="utf-8", errors="replace") as lines:
                first = lines.readline().rstrip("\n")
        if first != TITLE:
            raise NotOurs(f"{folder} holds files that are no export")
    page.write_text(f"{TITLE}\n\nIt was not finished.\n", encoding="utf-8")


def write(folder: Path, table: Exported, chosen: Chosen) -> int:
    """One table as Parquet with zstd; how many rows."""
    schema, count = _schema(table, chosen), 0
    parquet: Any = import_module("pyarrow.parquet")
    # Opened here: Arrow takes `day:1/` for the address of a file elsewhere, and `~` for a home.
    with (
        (folder / f"{table.name}.parquet").open("wb") as file,
        parquet.ParquetWriter(file, schema, compression="zstd") as writer,
    ):
        for rows in chunks(table.rows(chosen)):
            writer.write_table(arrow().Table.from_pylist(rows, schema=schema))
            count += len(rows)
    return count


def as_arrow(log: SqliteLog, table: Exported) -> Any:
    """One table of a whole log, in memory."""
    chosen = Chosen(LogSource(log, fold(log, State())))
    schema = _schema(table, chosen)
    made = [arrow().Table.from_pylist(rows, schema=schema) for rows in chunks(table.rows(chosen))]
    return arrow().concat_tables(made) if made else schema.empty_table()


def _schema(table: Exported, chosen: Chosen) -> Any:
    pa, dimensions = arrow(), chosen.source.state.dimensions
    fields = [
        pa.field(column.name, arrow_type(column, dimensions))
        for column in table.columns
        # A log without an embedder has no vectors, and Parquet knows no list of unknown length.
        if column.kind != "vector" or dimensions
    ]
    return pa.schema(fields)


def choose(source: LogSource, episode: str) -> Chosen:
    """One episode with the texts and memory items that it refers to."""
    journal = source.log.journal(episode)
    texts = [text_key(digest) for event in journal.values() for digest in digests(event)]
    ids = {name for event in journal.values() for name in items_of(event)}
    admitted = journal.get("admitted")
    # An episode that learns has no problem; its scope stands in its name.
    scope = getattr(admitted, "scope", None) or episode.removeprefix("b/").rpartition("/")[0]
    memory = pinned_by(source, scope, journal)
    items = {f"{scope}/{name_of(item)}" for item in memory.whole() if item.id in ids}
    return Chosen(source, episode, tuple(dict.fromkeys(texts)), frozenset(items), scope)


def pinned_by(source: LogSource, scope: str, journal: Mapping[str, Event]) -> Memory:
    """The memory that an episode could know of: rules of other versions may have the same ids."""
    memories, opened = source.state.memories, journal.get("opened") or journal.get("batch")
    versions = memories[scope].versions if scope in memories else Versions()
    match opened:
        case EpisodeOpened(memory_version=int(number), memory_revision=revision):
            return versions.pinned(number, revision) if number in versions else Memory(scope, 0)
        case BatchClosed(previous=number) if number in versions:
            return versions[number]
        case _:
            return Memory(scope, 0)


def digests(event: Event) -> Iterable[str]:
    """Digests of kept texts that an event refers to: settings, and templates of prompts."""
    if isinstance(event, EpisodeOpened | BatchClosed):
        return (event.settings,)
    if isinstance(event, AnswerEvent) and event.asked.startswith("Complete "):
        return (event.asked.split(" ")[2],)
    return ()


def items_of(event: Event) -> Iterable[str]:
    """Ids of memory items that an event names."""
    match event:
        case Recalled():
            return (name for name, _, _ in event.items)
        case KnowledgeReached() | EpisodeClosed():
            return event.items
        case _:
            return ()


def described(counts: dict[str, int]) -> str:
    """The folder's README: every table and column."""
    lines = [TITLE, ""]
    lines += ["`duckdb -init views.sql` opens it; examples are in `queries/`.", ""]
    for table in EXPORTED:
        lines += [f"## {table.name} ({counts[table.name]} rows)", "", f"{table.about}.", ""]
        lines += ["| column | type | holds |", "|---|---|---|"]
        lines += [f"| {c.name} | {c.kind} | {c.about} |" for c in table.columns]
        lines.append("")
    return "\n".join(lines)


def views() -> str:
    """DuckDB views over the files."""
    made = (
        f"create or replace view {t.name} as select * from '{t.name}.parquet';" for t in EXPORTED
    )
    return "\n".join(made) + "\n"
