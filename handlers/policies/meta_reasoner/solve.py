"""The loop: advise, step, judge, credit, stop.

Source: Meta-Reasoner, Algorithm 1.
"""

from __future__ import annotations

from typing import Any

from handlers.learning.bandits import Bandit, arms_of
from handlers.policies.base import Conclusion, Task
from handlers.policies.baselines.chain import think
from handlers.policies.meta_reasoner.advise import advise
from handlers.policies.meta_reasoner.episode import NO_ADVICE, Episode, is_judged, judge, step
from handlers.policies.meta_reasoner.settings import MetaReasonerSettings, constants
from handlers.roles.progress_judge import Reward
from handlers.roles.step import TOKENS
from schemas.asking import OutOfLimit, Steps
from schemas.questions import Recall


def solve(task: Task, settings: MetaReasonerSettings) -> Steps[Conclusion]:
    """An answer, however far rounds and limits let it come."""
    if settings.choice == "cot":
        said = yield from think(task.stated, settings.sampling(TOKENS))
        return Conclusion(answer=said.answer, ended_by="answered")
    episode = Episode(task, settings, (yield from recollect(task, settings)))
    try:
        return (yield from rounds(episode))
    except OutOfLimit as limit:
        return episode.concluded("limit", limit.which)


def most_calls(settings: MetaReasonerSettings) -> int:
    """Each role of each round, asked again where it cannot be read; nobody advises the first step."""
    if settings.choice == "cot":
        return 1
    rounds = settings.max_rounds
    advised = rounds - 1
    reports = 0 if not settings.report else rounds if settings.judge_sees == "report" else advised
    judged = sum(t == rounds or settings.serves_after(t) for t in range(1, rounds + 1))
    return 2 * (rounds + reports + advised * settings.advised + judged)


def recollect(task: Task, settings: MetaReasonerSettings) -> Steps[Bandit]:
    """The arms of the pinned memory version, or the start arms. Source: line 1."""
    # Recalled without a role, no item and no vector is asked for: only the learned state.
    learned: Any = {}
    if task.memory_version > 0 and settings.arms == "scope":
        learned = (yield from Recall(task.problem, (), 0, kinds=())).learned
    pinned = constants(settings)
    return Bandit(arms_of(learned, pinned), pinned, frozen=settings.updates == "frozen")


def rounds(episode: Episode) -> Steps[Conclusion]:
    """At most T rounds: the reward comes first, then the stop test. Source: lines 3 to 22."""
    # The reward comes before the stop test (lines 15 to 20): else the step that solved a problem
    # would earn its arm nothing, and arms would learn from failures alone.
    for t in range(1, episode.settings.max_rounds + 1):
        episode.t = t
        advice = NO_ADVICE if t == 1 else (yield from advise(episode))
        made = yield from step(episode, advice)
        if is_judged(episode):
            credit(episode, (yield from judge(episode, made)))
        if made.answer is not None:
            return episode.concluded("solved")
    return episode.concluded("max_rounds")


def credit(episode: Episode, reward: Reward | None) -> None:
    """Update (x_{t-1}, a_{t-1}, r_t); r_1 moves no arm. Source: lines 16 to 18."""
    settings = episode.settings
    if reward is None or episode.arm is None or episode.features is None:
        return
    on_progress = settings.retire_on == "progress" and settings.reward == "A"
    rated = reward.progress if on_progress else reward.reward
    episode.bandit.credit(episode.arm, episode.features, reward.reward, rated)
