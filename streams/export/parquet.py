"""Export: a folder of Parquet files that DuckDB, pandas or Polars read as they are.

Beside the files lie ``README.md`` (every column), ``views.sql`` and ``queries/*.sql`` (examples).
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from schemas.events.base import AnswerEvent, Event
from schemas.events.episode import EpisodeClosed, EpisodeOpened, Recalled
from schemas.events.learning import BatchClosed
from schemas.events.reasoning import KnowledgeReached
from schemas.identity import text_key
from state.folds.state import State
from state.tables.lance import arrow, arrow_type, chunks
from streams.export.tables import EXPORTED, Chosen, Exported
from streams.projector import LogSource
from streams.rebuild import fold
from streams.runtime.embedded.log import SqliteLog

# What nobody knows is counted apart: it is no zero in a mean, and makes a sum unknown.
QUERIES = {
    "accuracy_by_batch": """
select scope, batch, count(*) as members,
  sum(case when outcome = 'unknown' then 1 else 0 end) as unknown,
  avg(case when outcome = 'right' then 1.0 when outcome <> 'unknown' then 0.0 end) as accuracy
from batches group by scope, batch order by scope, batch
""",
    "restart_ratio": """
select count(*) as decisions,
  avg(case when body ->> '$.action' = 'restart' then 1.0 else 0.0 end) as restart_ratio
from events where kind = 'controller.acted'
""",
    "tokens_by_role": """
select topic, role, count(*) as calls,
  count(*) - count(prompt_tokens + completion_tokens) as without_usage,
  case when count(prompt_tokens) = count(*) then sum(prompt_tokens) end as prompt_tokens,
  case when count(completion_tokens) = count(*) then sum(completion_tokens) end
    as completion_tokens
from completions group by topic, role order by topic, role
""",
    "lesson_usage": """
select scope, id, role, polarity, uses, right_uses, wrong_uses,
  case when right_uses + wrong_uses > 0 then 1.0 * right_uses / (right_uses + wrong_uses) end
    as right_share
from lessons order by uses desc, scope, id
""",
}


def export(log: SqliteLog, folder: Path, episode: str | None = None) -> dict[str, int]:
    """Write the folder; rows by table."""
    source = LogSource(log, fold(log, State()))
    chosen = Chosen(source) if episode is None else choose(source, episode)
    folder.mkdir(parents=True, exist_ok=True)
    counts = {table.name: write(folder, table, chosen) for table in EXPORTED}
    (folder / "README.md").write_text(described(counts), encoding="utf-8")
    (folder / "views.sql").write_text(views(), encoding="utf-8")
    (folder / "queries").mkdir(exist_ok=True)
    for name, query in QUERIES.items():
        (folder / "queries" / f"{name}.sql").write_text(query.strip() + ";\n", encoding="utf-8")
    return counts


def write(folder: Path, table: Exported, chosen: Chosen) -> int:
    """One table as Parquet with zstd; how many rows."""
    pa, dimensions, count = arrow(), chosen.source.state.dimensions, 0
    fields = [
        pa.field(column.name, arrow_type(column, dimensions))
        for column in table.columns
        if column.kind != "vector" or dimensions
    ]
    schema = pa.schema(fields)
    parquet: Any = import_module("pyarrow.parquet")
    with parquet.ParquetWriter(
        folder / f"{table.name}.parquet", schema, compression="zstd"
    ) as writer:
        for rows in chunks(table.rows(chosen)):
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))
            count += len(rows)
    return count


def choose(source: LogSource, episode: str) -> Chosen:
    """One episode with the texts and memory items that it refers to."""
    journal = source.log.journal(episode)
    texts = [text_key(digest) for event in journal.values() for digest in digests(event)]
    items = {name for event in journal.values() for name in items_of(event)}
    admitted = journal.get("admitted")
    scope = getattr(admitted, "scope", None) or episode.removeprefix("b/").rpartition("/")[0]
    return Chosen(source, episode, tuple(dict.fromkeys(texts)), frozenset(items), scope)


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
    lines = ["# Export of a Metalogue log", ""]
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
