"""The parts of pages that are made from the code: ``python -m tests.architecture.generated``.

With a file of ``metalogue bench speed --json`` as argument the table of speeds is filled from it too.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from handlers.policies.graph_memory.machine import MACHINE, NAMES, Machine
from handlers.policies.registry import POLICIES
from streams.core.topology import STAGES
from tests.architecture.api import PAGES, api
from tests.architecture.claims import claims
from tests.architecture.house import picture
from tests.architecture.pages import SETTINGS, pages
from tests.architecture.settings import TEACHERS, new_page, summary
from tests.handlers import declared
from tests.streams.bench import declared as measured

SPEEDS = (
    ("a durable step, 256 episodes at once", "step_us_256", "floor_us_256", "µs", "floor"),
    ("a durable step, one episode alone", "step_us_1", "floor_us_1", "µs", "floor"),
    (
        "1 000 episodes waiting 200 ms a call, share of the ideal",
        "efficiency_1000x200ms",
        "plain_efficiency_1000x200ms",
        "",
        "plain asyncio tasks",
    ),
)


def drawn(lines: Iterable[str]) -> str:
    """A diagram of nodes and arrows, from left to right."""
    return "\n".join(("```mermaid", "flowchart LR", *lines, "```\n"))


def diagram() -> str:
    """What flows where."""
    lines: list[str] = []
    for stage in STAGES:
        lines.append(f"  {stage.name}([{stage.name}])")
        lines.extend(f"  {topic}[/{topic}/] --> {stage.name}" for topic in stage.reads)
        lines.extend(f"  {stage.name} --> {topic}[/{topic}/]" for topic in stage.writes)
    return drawn(lines)


def policies() -> str:
    """Every policy of this build."""
    rows = (
        f"| [`{p.name}`](policies/{p.name}.md) | {p.about} | {TEACHERS[p.learns]} |\n"
        for p in POLICIES.values()
    )
    return "| policy | what it does | learns from |\n|---|---|---|\n" + "".join(rows)


def speeds(figures: Mapping[str, Any]) -> str:
    """The table of speeds."""
    rows = [
        f"| {what} (`{mine}`) | {figures[mine]} {unit} | {beside} {figures[theirs]} {unit} |".replace(
            "  |", " |"
        )
        for what, mine, theirs, unit, beside in SPEEDS
    ]
    kept: Mapping[str, float] = figures["kept_bytes_per_step"]
    steps, sizes = ", ".join(kept), ", ".join(f"{size:,.0f}" for size in kept.values())
    rows.append(f"| bytes kept a step, at {steps} steps (`kept_bytes_per_step`) | {sizes} | |")
    rate = f"{figures['replay_events_per_s']:,}"
    rows.append(f"| events replayed a second, one core (`replay_events_per_s`) | {rate} | |")
    return "\n".join(("| figure | measured | beside it |", "|---|---|---|", *rows)) + "\n"


def machine(known: Machine = MACHINE) -> str:
    """The paths of a problem that graph memory knows: what leads to a state, and which states may follow it."""
    actions = {state: [a for a, to in known.lands.items() if to == state] for state in NAMES}
    nodes = (
        f'  {state}(["{NAMES[state]}<br/>{", ".join(actions[state]) or "reason in KG, UR"}"])'
        for state in known.may_go
    )
    arrows = (f"  {state} --> {' & '.join(then)}" for state, then in known.may_go.items() if then)
    return drawn((*nodes, *arrows))


PARTS: Mapping[str, Callable[[], str]] = {
    "diagram": diagram,
    "policies": policies,
    "machine": machine,
    "claims": claims,
    "house": picture,
    **{f"api {page}": partial(api, page) for page in PAGES},
    **{f"settings of {name}": partial(summary, policy) for name, policy in POLICIES.items()},
}
"""The generated parts by name; each stands between two comments."""


@cache
def made(name: str) -> str:
    """A part as the code makes it."""
    return PARTS[name]()


def page_of(name: str) -> Path:
    """The one page that has a place for a part."""
    (page,) = (page for page in pages() if _begin(name) in page.read_text(encoding="utf-8"))
    return page


def put(text: str, name: str, part: str) -> str:
    """The page with one part renewed."""
    begin, end = _begin(name), f"<!-- {name}: end -->"
    return re.sub(
        f"{re.escape(begin)}.*?{re.escape(end)}",
        lambda _: f"{begin}{part}{end}",
        text,
        flags=re.DOTALL,
    )


def _begin(name: str) -> str:
    return f"<!-- {name}: generated -->\n"


def main(arguments: list[str]) -> None:
    """Renew the pages; a policy that has none gets one."""
    renewed = {part: made(part) for part in PARTS}
    for name, policy in POLICIES.items():
        page = SETTINGS / f"{name}.md"
        if not page.exists():
            page.write_text(new_page(policy), encoding="utf-8")
    if arguments:
        renewed["speed"] = speeds(json.loads(Path(arguments[0]).read_text(encoding="utf-8")))
    for name, part in renewed.items():
        page = page_of(name)
        page.write_text(put(page.read_text(encoding="utf-8"), name, part), encoding="utf-8")
    for told in (declared, measured):
        told.PAGE.write_text(told.page(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
