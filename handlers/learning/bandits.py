"""Arms of a scope: strategies with statistics, how a batch changes them, and who may be chosen.

The learned state is plain JSON: arms by birth, each with its pulls while these take less room than
the matrix that they add up to. Heavy numerics are loaded only where a score is needed.

Source: Meta-Reasoner § 3.3.2, § 3.3.3, App. D; design/meta_reasoner.md#bandit.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from handlers.learning.cosine import cosine, rounded
from schemas.vectors import unpack, width

if TYPE_CHECKING:
    from handlers.learning.linucb import Dual, DualUcb, LinUcb, Ridge
    from handlers.learning.measured import Measured
    from schemas.events.base import Event
    from schemas.events.strategy import Proposed

# How it works. A policy holds a ``Bandit`` for one episode: it scores with the arms of the pinned
# memory version and folds the episode's own rewards on top. The same pulls leave the episode in its
# summary, and the fold applies ``linucb`` to them when the batch closes. A version's hash covers
# the arms, and a replay has to choose as the episode did; therefore everything here is pure, adds
# in one fixed order, and rounds before it compares.

State = Mapping[str, Any]
Word: TypeAlias = Literal["retired", "restored"]
FOREVER = "start"
BLOCK = 32
"""Pulls after which a regression is kept for those who need it with some more."""
MOST_NUMBERS = 1 << 25
"""Numbers of regressions in their dual form that are kept: 256 MB."""


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
    word: Word | None = None
    """What a person said of it, which goes before what was measured."""
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
    arms: list[Arm] = []
    for arm in known:
        # JSON knows no tuples, and ``dual`` finds a regression again by its rows:
        # they must be hashable.
        values: dict[str, Any] = dict(arm)
        values["rows"] = tuple((str(x), float(reward)) for x, reward in arm.get("rows", ()))
        arms.append(Arm(**values))
    return arms


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


def is_dual(dims: int, constants: State) -> bool:
    """Whether arms are kept by their pulls for good: in so many dimensions a matrix takes longer."""
    least = constants.get("dual_from")
    return least is not None and dims >= least


class KeptDuals:
    """Regressions in their dual form by their pulls, the least used of them dropped; nobody may change one.

    Of n pulls one takes n² numbers, so that they are bounded by their size and not by how many they are.
    """

    def __init__(self, most: int = MOST_NUMBERS) -> None:
        self.most, self.size = most, 0
        self.found: OrderedDict[tuple[Any, ...], Dual] = OrderedDict()

    def get(self, key: tuple[Any, ...]) -> Dual | None:
        """The one that was kept, if it is still there."""
        found = self.found.get(key)
        if found is not None:
            self.found.move_to_end(key)
        return found

    def put(self, key: tuple[Any, ...], made: Dual) -> Dual:
        """Keep one, and drop those that nobody asked for longest."""
        if key not in self.found:
            self.size += made.count * made.count
        self.found[key] = made
        while self.size > self.most and len(self.found) > 1:
            _, gone = self.found.popitem(last=False)
            self.size -= gone.count * gone.count
        return made

    def clear(self) -> None:
        """Drop all of them."""
        self.found.clear()
        self.size = 0


KEPT = KeptDuals()


def dual(
    rows: tuple[tuple[str, float], ...], dims: int, ridge: float, feature_dims: int | None
) -> Dual:
    """The regression of these pulls in its dual form, kept: nobody may change it.

    One that was kept with fewer of them is gone on from, so a memory version costs what is new in it.
    """
    from handlers.learning.features import features
    from handlers.learning.linucb import Dual

    how = dims, ridge, feature_dims
    found = KEPT.get((rows, how))
    if found is not None:
        return found
    # Whole blocks alone are kept beside what is asked for: the versions of a memory end anywhere.
    whole = max(len(rows) - 1, 0) // BLOCK * BLOCK
    made, known = Dual(dims, ridge), 0
    for begun in range(whole, 0, -BLOCK):
        before = KEPT.get((rows[:begun], how))
        if before is not None:
            made, known = before.copy(), begun
            break
    for at, (embedding, reward) in enumerate(rows[known:], known):
        if at == whole > known:
            KEPT.put((rows[:at], how), made.copy())
        made.add(features(embedding, feature_dims), reward)
    return KEPT.put((rows, how), made)


def pulled(arm: Arm, embedding: str, reward: float, rated: float, constants: State) -> Arm:
    """The arm after one more pull."""
    arm = replace(arm, pulls=arm.pulls + 1, rated=arm.rated + rated)
    return regressed(arm, embedding, reward, constants)


def regressed(arm: Arm, embedding: str, reward: float, constants: State) -> Arm:
    """The arm with one more context and its reward in its regression."""
    dims = constants["feature_dims"] or width(embedding)
    # The rows are kept while they take less room than half of the symmetric matrix that they add up
    # to; in the dual form they are kept for good, for there the matrix is what would be slow.
    if arm.inverse is None and (is_dual(dims, constants) or len(arm.rows) + 1 <= dims // 2):
        return replace(arm, rows=(*arm.rows, (embedding, reward)))
    from handlers.learning.features import features
    from handlers.learning.linucb import kept

    made = regression(arm, dims, constants)
    made.add(features(embedding, constants["feature_dims"]), reward)
    inverse, b = kept(made)
    return replace(arm, rows=(), inverse=inverse, b=b)


def retires(arm: Arm, constants: State) -> bool:
    """Whether an arm leaves: proposed, pulled often enough, and its mean below the bar (App. D)."""
    # Start arms never leave: were all arms retired, nobody could be chosen.
    enough = arm.origin != FOREVER and arm.pulls >= constants["retire_after"]
    return enough and rounded(arm.mean) < constants["retire_below"]


def settled(arm: Arm, constants: State) -> Arm:
    """The arm, retired if its rewards stay low and nobody said that it is to stay."""
    if arm.retired or arm.word is not None or not retires(arm, constants):
        return arm
    return replace(arm, retired=True)


def mark_of(arm_id: str) -> str:
    """By what name a person's word on an arm is kept."""
    return f"arm~{arm_id}"


def heeded(state: State, words: Mapping[str, str]) -> State:
    """The learned state with a person's words, by mark, on its arms."""
    said = {arm["id"]: words.get(mark_of(arm["id"])) for arm in state.get("arms", ())}
    if not any(said.values()):
        return state
    arms = [
        {**arm, "word": said[arm["id"]], "retired": said[arm["id"]] == "retired"}
        if said[arm["id"]]
        else arm
        for arm in state["arms"]
    ]
    return {**state, "arms": arms}


# ── New arms ─────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of a proposal: ``added``, ``merged`` or ``refused``, and the nearest arm."""

    result: Proposed
    arm: str | None = None
    nearest: str | None = None
    similarity: float | None = None
    reason: str | None = None
    evicts: str | None = None
    """The arm that makes room for it."""


def fate(vector: str, arms: Sequence[Arm], constants: State) -> Fate:
    """Merged into the arm that it is like, refused where there is no room for it, else added.

    Where ``evicts`` is among the constants, the worst of the others makes room.
    """
    query = unpack(vector)
    likes = [(rounded(cosine(query, unpack(arm.vector))), arm) for arm in arms if arm.vector]
    similarity, nearest = max(
        likes, key=lambda like: (like[0], -like[1].birth), default=(None, None)
    )
    near = None if nearest is None else nearest.id
    if nearest is not None and similarity is not None and similarity >= constants["merge_above"]:
        # Merged into a retired arm its pulls would be lost, and as an arm of its own what was
        # retired would come back under another name.
        if nearest.retired:
            return Fate("refused", None, near, similarity, "like an arm that was retired")
        return Fate("merged", near, near, similarity)
    if len(arms) < constants["arm_limit"]:
        return Fate("added", None, near, similarity)
    out = worst(arms) if constants.get("evicts") else None
    if out is None:
        return Fate("refused", None, near, similarity, "as many arms as there may be")
    return Fate("added", None, near, similarity, evicts=out.id)


def worst(arms: Sequence[Arm]) -> Arm | None:
    """Who makes room: a retired arm, else one with the lowest mean, the oldest of equals.

    Start arms stay, and so does whatever a person spoke of. An arm that was never pulled has Q = 0 (§ 3.3.3).
    """
    others = [arm for arm in arms if arm.origin != FOREVER and arm.word is None]
    return min(
        others, key=lambda arm: (not arm.retired, rounded(arm.mean), arm.birth), default=None
    )


def admit(
    arms: list[Arm], came: Fate, when: str, text: str, parent: str | None, vector: str
) -> Arm:
    """Have a proposal join the arms, in the place of one that it evicts. The new arm."""
    new = born(arms, when, text, parent, vector)
    arms[:] = [arm for arm in arms if arm.id != came.evicts]
    arms.append(new)
    return new


def born(arms: Sequence[Arm], when: str, text: str, parent: str | None, vector: str) -> Arm:
    """A new arm: the next birth, no pull, so Q = 0 (§ 3.3.3)."""
    # Not the number of arms: after one was evicted that would give a living arm's id a second time.
    birth = max((arm.birth for arm in arms), default=0) + 1
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


def linucb(
    before: State, members: Sequence[Measured], constants: State, said: Sequence[Event] = ()
) -> dict[str, Any]:
    """``linucb@1``: the batch's proposals join the arms and its rewards their statistics, in order.

    It takes from members alone: nothing is ``said`` while this is learned.
    """
    if constants["arms"] == "episode":
        return dict(before)
    arms = arms_of(before, constants)
    for member in members:
        folded(arms, member.summary, constants)
    # Who retires is settled when the batch closes: its members all chose among the same arms, so
    # none of these may leave between two of them.
    return {"arms": [written(settled(arm, constants)) for arm in arms]}


def folded(arms: list[Arm], summary: State, constants: State) -> dict[str, str]:
    """One episode: its proposals, then its rewards; the scope's arm for each of its own."""
    # Proposals come first, for an episode may have pulled an arm that it proposed itself.
    names = join(arms, summary, constants)
    for arm_id, embedding, reward, rated in summary.get("pulls", ()):
        place = _place(arms, names.get(arm_id))
        if place is not None:
            arms[place] = pulled(arms[place], embedding, reward, rated, constants)
    return names


def _place(arms: Sequence[Arm], arm_id: str | None) -> int | None:
    return next((at for at, arm in enumerate(arms) if arm.id == arm_id), None)


def join(arms: list[Arm], summary: State, constants: State) -> dict[str, str]:
    """An episode's proposals join the arms; the scope's arm for each arm of the episode."""
    # Episodes of one batch number their proposals from the same arms, so one id stands for
    # several strategies: each proposal is judged anew here, against what the members
    # before it brought along.
    names = {arm.id: arm.id for arm in arms}
    for proposal in summary.get("proposals", ()):
        came = fate(proposal["vector"], arms, constants)
        if came.result == "added":
            parent = names.get(proposal["parent"])
            new = admit(arms, came, proposal["when"], proposal["text"], parent, proposal["vector"])
            names = {own: arm for own, arm in names.items() if arm != came.evicts}
            names[proposal["id"]] = new.id
        elif came.arm is not None:
            names[proposal["id"]] = came.arm
        else:
            names.pop(proposal["id"], None)
    return names


# ── Choosing ─────────────────────────────────────────────────────────────────────────────────


@dataclass
class Bandit:
    """The arms that one episode chooses among; its own rewards are folded on top."""

    arms: list[Arm]
    constants: State
    frozen: bool = False
    scorer: LinUcb | DualUcb | None = field(default=None, init=False)

    @property
    def competing(self) -> list[Arm]:
        """The arms that may be chosen: those in service, and where there are none the start arms."""
        live = [arm for arm in self.arms if not arm.retired]
        return live or [arm for arm in self.arms if arm.origin == FOREVER]

    def arm(self, arm_id: str) -> Arm:
        """The arm of this id."""
        return next(arm for arm in self.arms if arm.id == arm_id)

    def scores(self, embedding: str) -> list[tuple[str, float]]:
        """Every competing arm's score, by birth."""
        from handlers.learning.features import features

        scorer = self._scorer(width(embedding))
        scored = scorer.scores(features(embedding, self.constants["feature_dims"]))
        both = zip(self.arms, scored, strict=True)
        competing = {arm.id for arm in self.competing}
        return [(arm.id, score) for arm, score in both if arm.id in competing]

    def admit(self, came: Fate, when: str, text: str, vector: str) -> Arm:
        """Have a proposal join, in the place of one that it evicts. The new arm."""
        # The scorer's arms stand at the places of these arms. It grows when it is next
        # asked, so an arm that it never saw has no place there yet; whatever it did see must
        # leave both lists together.
        place = None if came.evicts is None else _place(self.arms, came.evicts)
        if place is not None and self.scorer is not None and place < len(self.scorer.arms):
            self.scorer.drop(place)
        return admit(self.arms, came, when, text, came.nearest, vector)

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
        scorer = self._scorer(width(embedding))
        scorer.add(place, features(embedding, self.constants["feature_dims"]), reward)
        self.arms[place] = settled(arm, self.constants)

    def _scorer(self, embedded: int) -> LinUcb | DualUcb:
        """The arms' regressions: in their dual form where there are many dimensions."""
        from handlers.learning.linucb import DualUcb, LinUcb

        dims, known = self.constants["feature_dims"] or embedded, self.constants
        # A matrix cannot be turned back into pulls: one arm that holds one decides
        # the form for all.
        if self.scorer is None:
            by_pulls = is_dual(dims, known) and not any(arm.inverse for arm in self.arms)
            form = DualUcb if by_pulls else LinUcb
            self.scorer = form(dims, known["ridge"], known["exploration"])
        scorer = self.scorer
        for arm in self.arms[len(scorer.arms) :]:
            if isinstance(scorer, DualUcb):
                scorer.grow(dual(arm.rows, dims, known["ridge"], known["feature_dims"]))
            else:
                scorer.grow(regression(arm, dims, known))
        return scorer


def best(scores: Sequence[tuple[str, float]]) -> str:
    """The arm with the highest score, ties by birth."""
    return max(scores, key=lambda score: score[1])[0]
