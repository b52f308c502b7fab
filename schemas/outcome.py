"""How an answer, and how a call of a tool turned out."""

from __future__ import annotations

from typing import Literal, TypeAlias

Outcome: TypeAlias = Literal["right", "wrong", "unknown", "withheld"]
Found: TypeAlias = Literal["found", "empty", "refused", "error"]
