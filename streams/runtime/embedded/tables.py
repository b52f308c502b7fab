"""The tables of an embedded log, and the views that datasette and DuckDB users read.

`records` are the events and learning topics; `messages` the problems, answers, feedback and dead-letter
topics; `claims` the latest claim of each partition; `consumers` committed positions. Bodies are JSON.
"""

from __future__ import annotations

from typing import get_args

from schemas.outcome import Status

SCHEMA_VERSION = 1

MESSAGES_IN_ORDER = "create index if not exists main.messages_in_order on messages(topic)"
"""A topic's messages by offset, which every index ends with: reading on costs the same however many wait."""

# The identity of a record is unique by index, so whatever is stated twice is there once, whoever states it. Messages
# have their identity too: an answer that is sent again after a crash is the same answer.
TABLES = f"""
create table if not exists records(
  offset integer primary key, topic text not null, partition integer not null, epoch integer not null,
  episode text not null, address text not null, kind text not null, at_ms integer not null,
  body text not null);
create unique index if not exists records_identity on records(episode, address);
create index if not exists records_admitted on records(offset) where address = 'admitted';
create table if not exists messages(
  offset integer primary key, topic text not null, key text not null, at_ms integer not null,
  headers text not null, value blob not null);
create unique index if not exists messages_identity on messages(topic, key);
{MESSAGES_IN_ORDER};
create table if not exists claims(
  topic text not null, partition integer not null, epoch integer not null, worker text not null,
  primary key(topic, partition)) without rowid;
create table if not exists consumers(
  name text not null, topic text not null, offset integer not null, primary key(name, topic)) without rowid;
create table if not exists counters(name text primary key, value integer not null) without rowid;
"""

# The newest grade counts, but a person's verdict stands before all and a domain's checker behind
# all.
OUTCOMES = """
create view if not exists outcomes as
  select episode, outcome, who from (
    select episode, json_extract(body, '$.outcome') outcome,
      case when json_extract(body, '$.by') = 'feedback'
        and json_extract(body, '$.grader') like 'verdict@%'
        then coalesce(json_extract(body, '$.source'), 'unknown')
        else json_extract(body, '$.grader') end who,
      row_number() over (partition by episode order by
        case when json_extract(body, '$.by') = 'checker' then 2
          when json_extract(body, '$.grader') = 'verdict@2' then 0 else 1 end, offset desc) place
    from records where kind = 'graded') where place = 1
"""
"""What is known of each answer, by the rule of ``state.folds.grades``."""

# Anybody may put anything on the topic of answers: what is none must not fail the others. Its text is
# looked at in the same place where it is read, for SQLite chooses in which order it looks at conditions.
VIEWS = f"""
create view if not exists answers as
  select offset, json_extract(said, '$.problem_id') problem_id, key episode,
    json_extract(said, '$.domain') domain, json_extract(said, '$.policy') policy,
    json_extract(said, '$.status') status, json_extract(said, '$.answer') answer,
    json_extract(said, '$.confidence') confidence,
    json_extract(said, '$.usage.calls') calls
  from (select offset, key, case when json_valid(cast(value as text)) then cast(value as text) end said
    from messages where topic = 'answers')
  where json_extract(said, '$.status') in ({", ".join(map(repr, get_args(Status)))});
create view if not exists episodes as
  select o.episode, json_extract(o.body, '$.policy') policy, json_extract(o.body, '$.parent') parent,
    json_extract(o.body, '$.memory_version') memory_version, json_extract(c.body, '$.status') status,
    json_extract(c.body, '$.ended_by') ended_by, json_extract(c.body, '$.answer') answer,
    json_extract(c.body, '$.usage.calls') calls, o.at_ms opened_ms, c.at_ms closed_ms
  from records o left join records c on c.episode = o.episode and c.kind = 'episode.closed'
  where o.kind = 'episode.opened';
create view if not exists calls as
  select offset, topic, episode, address, at_ms, substr(json_extract(body, '$.asked'), 10,
      instr(substr(json_extract(body, '$.asked'), 10), ' ') - 1) role,
    json_extract(body, '$.model') model, json_extract(body, '$.finish') finish,
    json_extract(body, '$.prompt_tokens') prompt_tokens,
    json_extract(body, '$.completion_tokens') completion_tokens,
    json_extract(body, '$.cost') cost, json_extract(body, '$.seconds') seconds,
    json_extract(body, '$.text') text
  from records where kind = 'completed';
{OUTCOMES};
create view if not exists lessons as
  select offset, episode learned_in, json_extract(body, '$.id') id, json_extract(body, '$.role') role,
    json_extract(body, '$.polarity') polarity, json_extract(body, '$.text') text,
    json_extract(body, '$.subject') subject
  from records where kind = 'lesson.distilled';
"""

# A commit is on the disk when it returns: what follows from it, an answer or the next question, cannot be taken back.
# Whoever wants commits sooner, and may lose the last ones to a power failure, asks for it (``SqliteLog.sync_less``).
PRAGMAS = """
pragma journal_mode=wal;
pragma synchronous=full;
pragma busy_timeout=30000;
pragma temp_store=memory;
"""
