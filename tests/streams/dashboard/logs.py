"""Logs to look at: one with many copies of an episode, and one whose texts would attack a page."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.streams.cli.calling import call, copied, work

SCRIPT = "<script>window.hacked = 1</script>"
IMAGE = '<img src="x" onerror="window.hacked = 2">'


GUIDED = """
select episode from records where episode in (select episode from records where kind = 'episode.opened'
  and json_extract(body, '$.memory_version') > 0) group by episode order by count(*) limit 1
"""
NUMBERS = (
    "with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < :count)"
)
RECORDS = f"""
insert into records(topic, partition, epoch, episode, address, kind, at_ms, body)
{NUMBERS} select topic, partition, epoch, replace(episode, :name, 'm' || n), address, kind, at_ms + n,
  replace(body, :name, 'm' || n) from numbers, records where episode = :episode order by n, offset
"""
MESSAGES = f"""
insert into messages(topic, key, at_ms, headers, value)
{NUMBERS} select topic, replace(key, :name, 'm' || n), at_ms + n, headers,
  cast(replace(cast(value as text), :name, 'm' || n) as blob) from numbers, messages where key = :episode
"""


def many(worked: Path, path: Path, count: int) -> Path:
    """The log with ``count`` more episodes, each a copy of one that was guided by lessons."""
    copied(worked, path)
    with closing(sqlite3.connect(path)) as db:
        (episode,) = db.execute(GUIDED).fetchone()
        values = {"episode": episode, "name": episode.split("/")[2], "count": count}
        for insert in (RECORDS, MESSAGES):
            db.execute(insert, values)
        db.commit()
    return path


def hostile(folder: Path) -> Path:
    """A log of a problem whose text, id and reply are scripts."""
    path, source = folder / "hostile.db", folder / "hostile.jsonl"
    problem = {"id": f"x{SCRIPT}", "problem": f"{SCRIPT} {IMAGE} What is 6 * 7?"}
    source.write_text(json.dumps(problem) + "\n" + f'{{"id": "{SCRIPT}"\n', encoding="utf-8")
    assert call("produce", source, "--policy", "cot", "--log", path).code == 1
    work(path)
    with closing(sqlite3.connect(path)) as db:
        said = 'replace(body, \'"text":"\', \'"text":"\' || ?)'
        db.execute(f"update records set body = {said} where kind = 'completed'", (SCRIPT,))
        db.commit()
    return path
