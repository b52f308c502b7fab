from __future__ import annotations

from tests.surroundings import folder

__all__ = ["folder"]
