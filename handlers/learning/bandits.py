"""Arms of a scope: strategies with statistics, how a batch changes them, and who may be chosen.

The learned state is plain JSON: arms by birth, each with its pulls while these take less room than
the matrix that they add up to. Heavy numerics are loaded only where a score is needed.

Source: Meta-Reasoner § 3.3.2, § 3.3.3, App. D; our page (Arms, Bandit, Learning).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from handlers.learning.cosine import cosine, rounded
from schemas.vectors import unpack

if TYPE_CHECKING:
    from handlers.learning.linucb import LinUcb, Ridge
    from handlers.learning.measured import Measured
    from schemas.events.strategy import Proposed

State = Mapping[str, Any]
FOREVER = "start"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """A strategy with its statistics, its origin, parent and birth.

    ``rows`` are its pulls (packed embedding and reward) until ``inverse`` and ``b`` take their place.
    """

    id: str
    birth: int
    when: str
    text: str
    name: str = ""
    origin: str = FOREVER
    parent: str | None = None
    vector: str | None = None
    pulls: int = 0
    rated: float = 0.0
    """Sum of what retirement looks at: S_p, or R."""
    retired: bool = False
    rows: tuple[tuple[str, float], ...] = ()
    inverse: str | None = None
    b: str | None = None

    @property
    def mean(self) -> float:
        """Mean of what retirement looks at; 0 without a pull."""
        return self.rated / self.pulls if self.pulls else 0.0


def start(strategies: Iterable[Mapping[str, Any]]) -> list[Arm]:
    """The start arms A_1; ids number the births."""
    return [
        Arm(id=f"a{birth}", birth=birth, **strategy) for birth, strategy in enumerate(strategies, 1)
    ]


def arms_of(state: State, constants: State) -> list[Arm]:
    """The arms of a learned state, by birth; an empty state has the start arms."""
    known = cast("Sequence[Mapping[str, Any]]", state.get("arms", ()))
    if not known:
        return start(constants["start"])
    return [_read(arm) for arm in known]


def _read(arm: Mapping[str, Any]) -> Arm:
    known: dict[str, Any] = dict(arm)
    known["rows"] = tuple((str(x), float(r)) for x, r in arm.get("rows", ()))
    return Arm(**known)


def written(arm: Arm) -> dict[str, Any]:
    """An arm as JSON, without what it does not have."""
    values = {name: getattr(arm, name) for name in Arm.__slots__}
    values["rows"] = [list(row) for row in arm.rows]
    return {name: value for name, value in values.items() if value not in (None, [], "")}


# ── Statistics ───────────────────────────────────────────────────────────────────────────────


def regression(arm: Arm, dims: int, constants: State) -> Ridge:
    """A⁻¹ and b of an arm; the same bits however they are kept."""
    from handlers.learning.features import features
    from handlers.learning.linucb import Ridge, restored

    if arm.inverse is not None and arm.b is not None:
        return restored(arm.inverse, arm.b)
    made = Ridge(dims, constants["ridge"])
    for embedding, reward in arm.rows:
        made.add(features(embedding, constants["feature_dims"]), reward)
    return made


def pulled(arm: Arm, embedding: str, reward: float, rated: float, constants: State) -> Arm:
    """The arm after one more pull."""
    arm = replace(arm, pulls=arm.pulls + 1, rated=arm.rated + rated)
    return regressed(arm, embedding, reward, constants)


def regressed(arm: Arm, embedding: str, reward: float, constants: State) -> Arm:
    """The arm with one more context and its reward in its regression."""
    dims = constants["feature_dims"] or len(unpack(embedding))
    if arm.inverse is None and len(arm.rows) + 1 <= dims // 2:
        return replace(arm, rows=(*arm.rows, (embedding, reward)))
    from handlers.learning.features import features
    from handlers.learning.linucb import kept

    made = regression(arm, dims, constants)
    made.add(features(embedding, constants["feature_dims"]), reward)
    inverse, b = kept(made)
    return replace(arm, rows=(), inverse=inverse, b=b)


def retires(arm: Arm, constants: State) -> bool:
    """Whether an arm leaves: proposed, pulled often enough, and its mean below the bar (App. D)."""
    enough = arm.origin != FOREVER and arm.pulls >= constants["retire_after"]
    return enough and rounded(arm.mean) < constants["retire_below"]


def settled(arm: Arm, constants: State) -> Arm:
    """The arm, retired if its rewards stay low."""
    return arm if arm.retired or not retires(arm, constants) else replace(arm, retired=True)


# ── New arms ─────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of a proposal: ``added``, ``merged`` or ``refused``, and the nearest arm."""

    result: Proposed
    arm: str | None = None
    nearest: str | None = None
    similarity: float | None = None
    reason: str | None = None


def fate(vector: str, arms: Sequence[Arm], constants: State) -> Fate:
    """Merged into the arm that it is like, refused where there is no room, else added."""
    query = unpack(vector)
    likes = [(rounded(cosine(query, unpack(arm.vector))), arm) for arm in arms if arm.vector]
    similarity, nearest = max(
        likes, key=lambda like: (like[0], -like[1].birth), default=(None, None)
    )
    near = None if nearest is None else nearest.id
    if nearest is not None and similarity is not None and similarity >= constants["merge_above"]:
        if nearest.retired:
            return Fate("refused", None, near, similarity, "like an arm that was retired")
        return Fate("merged", near, near, similarity)
    if len(arms) >= constants["arm_limit"]:
        return Fate("refused", None, near, similarity, "as many arms as there may be")
    return Fate("added", None, near, similarity)


def born(arms: Sequence[Arm], when: str, text: str, parent: str | None, vector: str) -> Arm:
    """A new arm: the next birth, no pull, so Q = 0 (§ 3.3.3)."""
    birth = len(arms) + 1
    return Arm(
        id=f"a{birth}",
        birth=birth,
        when=when,
        text=text,
        origin="proposed",
        parent=parent,
        vector=vector,
    )


# ── The learning rule ────────────────────────────────────────────────────────────────────────


def linucb(before: State, members: Sequence[Measured], constants: State) -> dict[str, Any]:
    """``linucb@1``: the batch's proposals join the arms and its rewards their statistics, in order."""
    if constants["arms"] == "episode":
        return dict(before)
    arms = arms_of(before, constants)
    for member in members:
        folded(arms, member.summary, constants)
    return {"arms": [written(settled(arm, constants)) for arm in arms]}


def folded(arms: list[Arm], summary: State, constants: State) -> dict[str, int]:
    """One episode: its proposals, then its rewards; the places of its arms among the scope's."""
    places = join(arms, summary, constants)
    for arm_id, embedding, reward, rated in summary.get("pulls", ()):
        place = places.get(arm_id)
        if place is not None:
            arms[place] = pulled(arms[place], embedding, reward, rated, constants)
    return places


def join(arms: list[Arm], summary: State, constants: State) -> dict[str, int]:
    """An episode's proposals join the arms; places of its arms, which may be another's in the scope."""
    places = {arm.id: at for at, arm in enumerate(arms)}
    for proposal in summary.get("proposals", ()):
        came = fate(proposal["vector"], arms, constants)
        if came.result == "added":
            parent = proposal["parent"]
            place = None if parent is None else places.get(parent)
            known = None if place is None else arms[place].id
            arm = born(arms, proposal["when"], proposal["text"], known, proposal["vector"])
            arms.append(arm)
            places[proposal["id"]] = len(arms) - 1
        elif came.arm is not None:
            places[proposal["id"]] = next(at for at, arm in enumerate(arms) if arm.id == came.arm)
        else:
            places.pop(proposal["id"], None)
    return places


# ── Choosing ─────────────────────────────────────────────────────────────────────────────────


@dataclass
class Bandit:
    """The arms that one episode chooses among; its own rewards are folded on top."""

    arms: list[Arm]
    constants: State
    frozen: bool = False
    scorer: LinUcb | None = field(default=None, init=False)

    @property
    def competing(self) -> list[Arm]:
        """The arms that may be chosen."""
        return [arm for arm in self.arms if not arm.retired]

    def arm(self, arm_id: str) -> Arm:
        """The arm of this id."""
        return next(arm for arm in self.arms if arm.id == arm_id)

    def scores(self, embedding: str) -> list[tuple[str, float]]:
        """Every competing arm's score, by birth."""
        from handlers.learning.features import features

        scorer = self._scorer(len(unpack(embedding)))
        scored = scorer.scores(features(embedding, self.constants["feature_dims"]))
        both = zip(self.arms, scored, strict=True)
        return [(arm.id, score) for arm, score in both if not arm.retired]

    def credit(self, arm_id: str, embedding: str, reward: float, rated: float) -> None:
        """Fold one reward, unless the evaluation is frozen."""
        if self.frozen:
            return
        from handlers.learning.features import features

        place = next(at for at, arm in enumerate(self.arms) if arm.id == arm_id)
        arm = replace(
            self.arms[place],
            pulls=self.arms[place].pulls + 1,
            rated=self.arms[place].rated + rated,
        )
        scorer = self._scorer(len(unpack(embedding)))
        scorer.add(place, features(embedding, self.constants["feature_dims"]), reward)
        self.arms[place] = settled(arm, self.constants)

    def _scorer(self, width: int) -> LinUcb:
        from handlers.learning.linucb import LinUcb

        if self.scorer is None:
            dims = self.constants["feature_dims"] or width
            exploration = self.constants["exploration"]
            self.scorer = LinUcb(dims, self.constants["ridge"], exploration)
        for arm in self.arms[len(self.scorer.arms) :]:
            self.scorer.grow(regression(arm, self.scorer.dims, self.constants))
        return self.scorer


def best(scores: Sequence[tuple[str, float]]) -> str:
    """The arm with the highest score, ties by birth."""
    return max(scores, key=lambda score: score[1])[0]
