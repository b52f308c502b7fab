"""Heavy libraries that few tests ask: imported by the first of them, not by every worker that collects."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Late:
    """A module that is imported once something of it is asked for."""

    module: str

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self.module), name)
