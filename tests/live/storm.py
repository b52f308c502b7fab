"""A server in a storm: it bears so many requests a second, refuses the rest, and fails in every way."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from time import monotonic

from schemas.identity import hash01
from tests.endpoint import Answer, Asked, drops, fails, key_of
from tests.live.thinking import think

MOODS = (
    ("fails", 0.05),
    ("resets", 0.03),
    ("breaks off", 0.03),
    ("malformed", 0.02),
    ("stalls", 0.01),
    ("slow", 0.05),
    ("says nothing of usage", 0.10),
)
LATENCY_S = 0.05
STALL_S = 60.0
"""Longer than anybody waits, however long that is made on a machine that others keep busy."""


def mood_of(asked: Asked) -> str:
    """What the storm does to this attempt: the same whenever it is made."""
    left = hash01(asked.body["seed"], "mood", asked.times)
    for mood, share in MOODS:
        left -= share
        if left < 0:
            return mood
    return "well"


def in_mood(asked: Asked) -> Answer:
    """An answer as the mood has it."""
    said = think(asked)
    match mood_of(asked):
        case "fails":
            return fails(500, message="the storm")
        case "resets":
            return drops("before")
        case "breaks off":
            return replace(said, drop="middle")
        case "malformed":
            return replace(said, raw=said.raw.replace(b'"choices"', b'"choices'))
        case "stalls":
            return said.paced(0.1, stalls_s=STALL_S)
        case "slow":
            return said.paced(0.5)
        case "says nothing of usage":
            return replace(said, raw=said.raw.replace(b'"usage"', b'"used"'))
        case _:
            return said


@dataclass
class Storm:
    """A bucket of ``burst`` requests that fills at ``rate`` a second, and what became of each request."""

    rate: float
    burst: float = 10.0
    latency_s: float = LATENCY_S
    refused: int = 0
    moods: Counter[str] = field(default_factory=Counter[str])
    delivered: Counter[str] = field(default_factory=Counter[str])
    """Good answers by question."""
    began_s: float = 0.0
    last_s: float = 0.0
    _level: float = -1.0

    def __call__(self, asked: Asked) -> Answer:
        now = monotonic()
        if self._level < 0:
            self.began_s, self._level = now, self.burst
        else:
            self._level = min(self.burst, self._level + (now - self.last_s) * self.rate)
        self.last_s = now
        if self._level < 1:
            self.refused += 1
            wait_s = (1 - self._level) / self.rate
            return fails(429, message="too fast", headers={"Retry-After": f"{wait_s:.3f}"})
        self._level -= 1
        return self._admitted(asked)

    def _admitted(self, asked: Asked) -> Answer:
        mood = mood_of(asked)
        self.moods[mood] += 1
        if mood in ("well", "slow", "says nothing of usage"):
            self.delivered[key_of(asked.body)] += 1
        return replace(in_mood(asked), latency_s=self.latency_s)

    @property
    def admitted(self) -> int:
        """Requests that it took."""
        return sum(self.moods.values())

    @property
    def used(self) -> float:
        """The share of what it allowed that was asked of it, from the first request to the last."""
        allowed = self.burst + (self.last_s - self.began_s) * self.rate
        return self.admitted / allowed

    def told(self) -> str:
        """The figures, for a report."""
        seconds = self.last_s - self.began_s
        said = {
            "seconds": round(seconds, 1),
            "allowed_per_s": self.rate,
            "admitted": self.admitted,
            "refused": self.refused,
            "used": round(self.used, 3),
            "moods": dict(sorted(self.moods.items())),
        }
        return json.dumps(said)
