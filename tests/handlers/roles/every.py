"""Every role of ours, found by import; and what all of their prompts say, as one page."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from handlers.roles.composer import COACHES
from handlers.roles.consolidator import CONSOLIDATORS, SIX
from handlers.roles.distiller import BATCH_DISTILLERS, DISTILLERS
from handlers.roles.inducer import ANALYSES, inducer
from handlers.roles.role import Role

PAGE = Path(__file__).with_name("prompts.txt")


def roles() -> Iterator[Role]:
    """Every role that a module of roles or of policies holds, alone or in a table."""
    for package in map(importlib.import_module, ("handlers.roles", "handlers.policies")):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            for value in vars(importlib.import_module(found.name)).values():
                each: list[object] = [value]
                if isinstance(value, dict):
                    each = list(cast("dict[object, object]", value).values())
                yield from (one for one in each if isinstance(one, Role))
    for table in (COACHES, DISTILLERS, BATCH_DISTILLERS, CONSOLIDATORS, SIX):
        yield from (one.role for one in table.values())
    for analysis in ANALYSES:
        yield inducer(50, analysis)


def page() -> str:
    """Each prompt once, by its template's name: instructions, form, and sections."""
    known = {(role.template.name, role.template.text) for role in roles()}
    rule = "=" * 100
    return "\n".join(f"{rule}\n{name}\n{rule}\n{text}\n" for name, text in sorted(known))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
