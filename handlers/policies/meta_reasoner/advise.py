"""What comes between two steps: report, features, new arms, the choice, and the advice of it.

Source: Meta-Reasoner, Algorithm 1 lines 5 to 9; § 3.3.3, App. D (dynamic strategies).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from handlers.learning.bandits import FOREVER, Arm, Bandit, best, born, fate
from handlers.policies.meta_reasoner.episode import Episode, report
from handlers.roles.meta_reasoner import META_REASONER, TOKENS, picker, strategy_lines
from handlers.roles.role import Said
from schemas.asking import Steps
from schemas.events.strategy import How, StrategyChosen, StrategyProposed
from schemas.identity import hash01
from schemas.questions import Embed
from schemas.vectors import pack

DIAGNOSIS = "The report read like the one that it was proposed for."


@dataclass(frozen=True, slots=True)
class Note:
    """What the meta-reasoner said: the whole note, and the arm that its Action is."""

    text: str
    action: str | None
    source: str
    arm: str | None = None
    new: bool = False


def advise(episode: Episode) -> Steps[str]:
    """G_t: the advice for the next step."""
    seen = yield from report(episode)
    settings = episode.settings
    if settings.choice == "direct":
        return (yield from choose_directly(episode, seen))
    if settings.choice == "linucb":
        (vector,) = yield from Embed((seen,))
        episode.features = pack(vector)
    note = None
    if settings.strategies == "dynamic":
        note = yield from propose(episode, seen)
    chosen = choose(episode, note)
    yield chosen
    if chosen.arm is None:
        raise AssertionError("somebody is always chosen")
    episode.arm = chosen.arm
    arm = episode.bandit.arm(chosen.arm)
    mine = note is not None and note.arm == arm.id
    episode.strategy = note.text if mine and note is not None else arm.text
    return episode.strategy


# ── New arms ─────────────────────────────────────────────────────────────────────────────────


def propose(episode: Episode, seen: str) -> Steps[Note]:
    """One call: its Action is the proposal, which joins the arms before the choice. Source: line 7."""
    said = yield from ask(episode, seen)
    note = Note(said.text, said.get("Action"), said.source)
    if note.action is None:
        yield StrategyProposed(
            round=episode.round,
            result="refused",
            reason="no Action that can be read",
            source=said.source,
            parse=said.parse,
        )
        return note
    vector = yield from _placed(episode.bandit, note.action)
    bandit = episode.bandit
    came = fate(vector, bandit.arms, bandit.constants)
    arm = came.arm
    if came.result == "added":
        new = born(bandit.arms, DIAGNOSIS, note.action, came.nearest, vector)
        bandit.arms.append(new)
        arm = new.id
    yield StrategyProposed(
        round=episode.round,
        result=came.result,
        arm=arm,
        parent=came.nearest if came.result == "added" else None,
        similarity=came.similarity,
        reason=came.reason,
        source=said.source,
        parse=said.parse,
    )
    return replace(note, arm=arm, new=came.result == "added")


def ask(episode: Episode, seen: str) -> Steps[Said]:
    """The meta-reasoner's note on problem and report."""
    return META_REASONER.put(
        {"problem": episode.task.posed, "report": seen},
        sampling=episode.settings.sampling(TOKENS),
    )


def _placed(bandit: Bandit, action: str) -> Steps[str]:
    """The proposal's vector; in the same question those of start arms that have none yet."""
    bare = [at for at, arm in enumerate(bandit.arms) if arm.vector is None]
    texts = (action, *(bandit.arms[at].text for at in bare))
    vectors = yield from Embed(texts)
    for at, vector in zip(bare, vectors[1:], strict=True):
        bandit.arms[at] = replace(bandit.arms[at], vector=pack(vector))
    return pack(vectors[0])


# ── The choice ───────────────────────────────────────────────────────────────────────────────


def choose(episode: Episode, note: Note | None) -> StrategyChosen:
    """By the bandit or by a draw, among the arms that are not retired. Source: line 8; App. D."""
    competing = episode.bandit.competing
    if episode.settings.choice == "random":
        draw = hash01(episode.task.seed, episode.t, "random arm")
        arm = competing[int(draw * len(competing))]
        return StrategyChosen(round=episode.round, arm=arm.id, how="random")
    if episode.features is None:
        raise AssertionError("a bandit needs features")
    scores = tuple(episode.bandit.scores(episode.features))
    arm_id, how = _chosen(episode, note, scores)
    return StrategyChosen(round=episode.round, arm=arm_id, how=how, scores=scores)


def _chosen(
    episode: Episode, note: Note | None, scores: Sequence[tuple[str, float]]
) -> tuple[str, How]:
    """A new arm with probability ε, then a start arm that is still cold, else the best."""
    fresh = note.arm if note is not None and note.new else None
    if fresh is not None and explores(episode, fresh):
        return fresh, "explore"
    warmup = 0 if episode.bandit.frozen else episode.settings.warmup_pulls
    cold = next((arm for arm in episode.bandit.competing if _cold(arm, warmup)), None)
    return (best(scores), "ucb") if cold is None else (cold.id, "warmup")


def _cold(arm: Arm, warmup_pulls: int) -> bool:
    """Whether a start arm has not been chosen often enough to be compared."""
    return arm.origin == FOREVER and arm.pulls < warmup_pulls


def epsilon(t: int, clock: str) -> float:
    """1/t: of the round, or of the choice, which is one behind. Source: App. D."""
    return 1.0 / (t if clock == "round" else t - 1)


def explores(episode: Episode, arm: str) -> bool:
    """Whether the arm that was added this round is chosen for being new."""
    draw = hash01(episode.task.seed, episode.t, arm)
    return draw < epsilon(episode.t, episode.settings.epsilon_clock)


# ── The model chooses itself ─────────────────────────────────────────────────────────────────


def choose_directly(episode: Episode, seen: str) -> Steps[str]:
    """A listed arm, or the note's Action as it is; no score and no update. Source: § 4.2."""
    if episode.settings.direct == "free":
        said = yield from ask(episode, seen)
        episode.strategy = said.get("Action") or said.text
        yield StrategyChosen(round=episode.round, how="direct", source=said.source)
        return episode.strategy
    arms = episode.bandit.competing
    arm, source = yield from _pick(episode, seen, arms)
    yield StrategyChosen(round=episode.round, arm=arm.id, how="direct", source=source)
    episode.arm, episode.strategy = arm.id, arm.text
    return arm.text


def _pick(episode: Episode, seen: str, arms: Sequence[Arm]) -> Steps[tuple[Arm, str]]:
    """The arm that the model names; the first one if it cannot be read."""
    said = yield from picker(tuple(arm.id for arm in arms)).put(
        {
            "problem": episode.task.posed,
            "report": seen,
            "strategies": strategy_lines([(arm.id, arm.when, arm.text) for arm in arms]),
        },
        sampling=episode.settings.sampling(TOKENS),
    )
    named = said.get("Strategy")
    return next((arm for arm in arms if arm.id == named), arms[0]), said.source
