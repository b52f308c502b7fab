"""How an answer turned out."""

from __future__ import annotations

from typing import Literal, TypeAlias

Outcome: TypeAlias = Literal["right", "wrong", "unknown", "withheld"]
