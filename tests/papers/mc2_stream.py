"""A small stream: episodes pin a version, each batch makes the next, with the real fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from handlers.policies.base import Batch, Conclusion, Member, Task
from handlers.policies.mc2 import MC2
from handlers.policies.mc2.settings import Mc2Settings
from schemas.memory import Memory
from state.folds.memory import Learned, next_memory
from tests.papers.mc2_says import PAPER, answering, episode, learn, member, reflected
from tests.scripted import Ran, Replier


def problem(name: str) -> Task:
    return Task(name, f"Problem {name}: combine the numbers of {name}.", "game24", seed=7)


@dataclass
class Stream:
    """Batches of problems through MC², barrier timing, one scope."""

    model: Replier = answering
    settings: Mc2Settings = PAPER
    versions: list[Memory] = field(default_factory=lambda: [Memory("s", 0)])
    episodes: dict[str, Ran[Conclusion]] = field(default_factory=dict[str, Ran[Conclusion]])
    learning: list[Ran[None]] = field(default_factory=list[Ran[None]])

    def batch(self, names: Sequence[str]) -> Memory:
        """Solve these problems with the present version, learn from them, make the next version."""
        memory = self.versions[-1]
        members: list[Member] = []
        for name in names:
            ran = episode(self.model, self.settings, memory=memory, task=problem(name))
            self.episodes[name] = ran
            members.append(member(name, reflected(ran, self.settings)))
        number = len(self.versions)
        learned = learn(Batch("s", number, tuple(members), memory, 7), self.model, self.settings)
        self.learning.append(learned)
        folded = Learned()
        for address, event in learned.events:
            folded.feed(address, event)
        live_from = number - (MC2.live_batches(self.settings) or number) + 1
        self.versions.append(next_memory(memory, folded, number, max(1, live_from)))
        return self.versions[-1]
