"""What comes between two steps: report, features, new arms, the choice, and the advice of it.

Source: Meta-Reasoner, Algorithm 1 lines 5 to 9; § 3.3.3, App. D (dynamic strategies);
design/meta_reasoner.md D4, D5.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from handlers.learning.bandits import FOREVER, Arm, best, fate
from handlers.policies.meta_reasoner.episode import Episode, report
from handlers.policies.meta_reasoner.strategies import DIAGNOSIS, is_bound
from handlers.roles.meta_reasoner import GENERAL, META_REASONER, TOKENS, picker, strategy_lines
from handlers.roles.role import RoleReply
from schemas.asking import Steps
from schemas.events.strategy import How, StrategyChosen, StrategyProposed
from schemas.identity import hash01
from schemas.questions import Embed
from schemas.vectors import pack

# The order counts: the report is embedded before a proposal is asked for, and the proposal joins
# before the choice (line 7), so that a new arm may be chosen in the round that it was born in.
# ``reflect`` tells both vectors apart by this order.


@dataclass(frozen=True, slots=True)
class Note:
    """What the meta-reasoner said of this problem, and the arm that its strategy is, if it is one."""

    said: RoleReply
    arm: str | None = None
    new: bool = False

    def whole(self) -> str:
        """Everything that is about this problem."""
        return self._lines("Reflection", "Fact_check", "Thought", "Action")

    def checked(self) -> str:
        """What it saw in the report, without an advice of its own."""
        return self._lines("Reflection", "Fact_check")

    def _lines(self, *labels: str) -> str:
        return "\n".join(
            f"{label}: {self.said.get(label)}" for label in labels if self.said.get(label)
        )


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
    episode.strategy = advice_of(episode.bandit.arm(chosen.arm), note)
    return episode.strategy


def advice_of(arm: Arm, note: Note | None) -> str:
    """What the step is told: the whole note where its own arm was chosen, else the arm's strategy and what
    the note found in the report."""
    # Its own Thought and Action are about another strategy than the one that was chosen: told with
    # that they would give the step two pieces of advice at once.
    if note is None:
        return arm.text
    if note.arm == arm.id:
        return note.whole()
    return "\n\n".join(filter(None, (arm.text, note.checked())))


# ── New arms ─────────────────────────────────────────────────────────────────────────────────


def propose(episode: Episode, seen: str) -> Steps[Note]:
    """One call: its general strategy is the proposal, which joins the arms before the choice. Source: line 7."""
    said = yield from ask(episode, seen)
    strategy = said.get(GENERAL)
    refused = None
    if strategy is None:
        refused = "no general strategy that can be read"
    elif is_bound(strategy, episode.task.problem):
        refused = "it names numbers of this problem"
    if strategy is None or refused is not None:
        yield StrategyProposed(
            round=episode.round,
            result="refused",
            reason=refused,
            source=said.source,
            parse=said.parse,
        )
        return Note(said)
    # In the same question those of start arms that have none yet: a memory that
    # never proposes embeds none.
    bandit = episode.bandit
    bare = [at for at, arm in enumerate(bandit.arms) if arm.vector is None]
    own, *others = yield from Embed((strategy, *(bandit.arms[at].text for at in bare)))
    for at, other in zip(bare, others, strict=True):
        bandit.arms[at] = replace(bandit.arms[at], vector=pack(other))
    vector = pack(own)
    came = fate(vector, bandit.arms, bandit.constants)
    arm = came.arm
    if came.result == "added":
        arm = bandit.admit(came, said.get("When") or DIAGNOSIS, strategy, vector).id
    yield StrategyProposed(
        round=episode.round,
        result=came.result,
        arm=arm,
        parent=came.nearest if came.result == "added" else None,
        similarity=came.similarity,
        reason=came.reason,
        evicts=came.evicts,
        source=said.source,
        parse=said.parse,
    )
    return Note(said, arm, came.result == "added")


def ask(episode: Episode, seen: str) -> Steps[RoleReply]:
    """The meta-reasoner's note on problem and report."""
    return META_REASONER.put(
        {"problem": episode.task.posed, "report": seen, "judgement": episode.judgement},
        sampling=episode.settings.sampling(TOKENS),
    )


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
    # A new arm with probability ε, then a start arm that is still cold, else the best.
    # Rewards are positive and exploration is weak: without the warm-up one lucky pull would
    # starve all other arms (D4).
    arm_id = best(scores)
    how: How = "ucb"
    warmup = 0 if episode.bandit.frozen else episode.settings.warmup_pulls
    cold = (arm.id for arm in competing if arm.origin == FOREVER and arm.pulls < warmup)
    fresh = note.arm if note is not None and note.new else None
    if fresh is not None and explores(episode, fresh):
        arm_id, how = fresh, "explore"
    elif (first := next(cold, None)) is not None:
        arm_id, how = first, "warmup"
    return StrategyChosen(round=episode.round, arm=arm_id, how=how, scores=scores)


def epsilon(t: int, clock: str) -> float:
    """1/t: of the round, or of the choice, which is one behind. Source: App. D."""
    return 1.0 / (t if clock == "round" else t - 1)


def explores(episode: Episode, arm: str) -> bool:
    """Whether the arm that was added this round is chosen for being new."""
    # Chance and bandit are both claimed: chance decides for an arm that was born now and has no
    # statistics, the bandit for all others (D5).
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
    said = yield from picker(tuple(arm.id for arm in arms)).put(
        {
            "problem": episode.task.posed,
            "report": seen,
            "judgement": episode.judgement,
            "strategies": strategy_lines([(arm.id, arm.when, arm.text) for arm in arms]),
        },
        sampling=episode.settings.sampling(TOKENS),
    )
    # Where it cannot be read the first arm stands, which is to carry on: a slip must not
    # send the work back.
    named = said.get("Strategy")
    arm = next((arm for arm in arms if arm.id == named), arms[0])
    yield StrategyChosen(round=episode.round, arm=arm.id, how="direct", source=said.source)
    episode.arm, episode.strategy = arm.id, arm.text
    return arm.text
