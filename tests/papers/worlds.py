"""Of how many worlds a truth is asked, and in how many it must hold."""

from __future__ import annotations

ENOUGH = 0.95
MANY = 200
LEAST = ENOUGH * MANY
