"""By what a roll-out is rewarded: whether its answer is right, or how much of it is.

Source: trainable graph memory, settings (R: exact match, usual normalisation, or token F1).
"""

from __future__ import annotations

from typing import Literal, TypeAlias

Scored: TypeAlias = Literal["exact_match", "f1"]
REWARDS: tuple[Scored, ...] = ("exact_match", "f1")
"""``exact_match`` is what graded the episode: each domain's own checker, code and arithmetic too."""
