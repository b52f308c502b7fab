"""How an answer, a call of a tool and an episode turned out."""

from __future__ import annotations

from typing import Literal, TypeAlias

Outcome: TypeAlias = Literal["right", "wrong", "unknown", "withheld"]
Found: TypeAlias = Literal["found", "empty", "refused", "error"]
Status: TypeAlias = Literal["answered", "abstained", "exhausted", "failed"]
"""How an episode ended."""
