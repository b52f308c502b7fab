"""The search: Algorithm 2 in its order, under a limit of calls.

Source: CoT2-Meta, Algorithm 2; design/cot2_meta.md D2, D3, D4, D7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from handlers.policies.base import Task
from handlers.policies.cot2_meta import controller
from handlers.policies.cot2_meta.grow import Lane, grow
from handlers.policies.cot2_meta.settings import Cot2Settings
from handlers.policies.cot2_meta.state import Node, meta_state, root
from handlers.roles.again import Meter
from schemas.asking import All, Steps, Stopped
from schemas.events.search import FrontierScored, Grown, NodeExpanded, NodePruned, NodeRepaired
from schemas.identity import address_order
from schemas.questions import Remain

# ``run`` is the algorithm's loop; ``Search`` is the state that it works on. Calls are counted
# before lanes open, each lane is granted what it needs at most, and nodes are hung in after the
# join, in lane order. What must never happen: a decision that hangs on which lane was quicker,
# a lane that opens without the calls for its scores, and an answer that is lost because a
# repair took its place.

UNBOUNDED = 16
"""C where neither the policy nor the episode limits anything."""


@dataclass(slots=True)
class Search:
    """The tree so far, the selections N, and what was spent."""

    task: Task
    settings: Cot2Settings
    nodes: list[Node] = field(default_factory=lambda: [root()])
    selections: int = 0
    spent: int = 0
    left: int = 0
    bounded: bool = True
    """Whether calls are limited at all; else tokens, cost or seconds are."""
    repairs: int = 0
    ailing: list[Node] = field(default_factory=list[Node])
    """Admitted nodes whose earliest low step is to be repaired."""
    relaxed: bool = False
    """Whether a shadow run has spared a node."""
    limit: str | None = None
    ended_by: str = "budget"

    @property
    def best(self) -> Node | None:
        """The best answered survivor."""
        return controller.best_answer(self.nodes)

    def known(self, parent: Node) -> dict[tuple[str, ...], str]:
        """The trajectories that hang under a node already."""
        return {node.steps: node.id for node in self.nodes if node.parent is parent}


def count_left(search: Search) -> Steps[int]:
    """Calls left to the primary: of C and of the episode, whichever is less."""
    remaining = yield from Remain()
    own = search.settings.primary_calls
    # With no limit of any kind the loop would only end when nothing is open.
    unlimited = remaining.calls is remaining.tokens is remaining.cost is remaining.seconds is None
    own = UNBOUNDED if own is None and unlimited else own
    bounds = [remaining.calls] if remaining.calls is not None else []
    own = None if own is None else own * (1 + search.relaxed) - search.spent
    bounds += [] if own is None else [own]
    search.bounded = bool(bounds)
    search.left = max(0, min(bounds)) if bounds else UNBOUNDED
    return search.left


def run(search: Search) -> Steps[None]:
    """Lines 2 to 12: expand, score, prune, repair, stop; while calls remain and F is not empty."""
    settings = search.settings
    while search.limit is None and (yield from count_left(search)) >= settings.need:
        open_nodes = controller.frontier(search.nodes, settings)
        if not open_nodes:
            search.ended_by = "frontier"
            return
        # Line 3: argmax Score. A shadow run first goes on with the node that it is about (D11).
        order = controller.ranked(open_nodes, search.selections, settings, search.task.seed)
        mine = (n for n in open_nodes if n.id == settings.shadow_from and not n.visits)
        chosen = next(mine, order[0][0])
        yield FrontierScored(
            round=search.selections,
            scores=tuple((node.id, score) for node, score in order),
            chosen=chosen.id,
            left=search.left if search.bounded else None,
        )
        yield from _expand(search, chosen)
        if controller.stops(search.best, settings):
            search.ended_by = "stopped"
            return


def _expand(search: Search, node: Node) -> Steps[None]:
    """Lines 4 to 11 for one node; then N and vis(n) count one more."""
    lanes = yield from _grow_children(search, node)
    node.visits += 1
    search.selections += 1
    # Closed for good it could not be visited twice, and the bonus for few visits
    # would be constant (D2).
    node.status = "open" if search.settings.reopen else "closed"
    yield NodeExpanded(
        round=search.selections - 1,
        node=node.id,
        children=tuple(grown for lane in lanes for grown in _grown(lane)),
    )
    for lane in lanes:
        if lane.node is not None:
            yield from _admit(search, lane.node, lane)
    yield from _repair(search)


def _grow_children(search: Search, node: Node) -> Steps[list[Lane]]:
    """Line 4: a child for each strategy, as many as the calls left cover (D7)."""
    known = search.known(node)
    wanted = controller.strategies(node, search.settings)
    lanes = [
        Lane(search.task, search.settings, search.selections, node, s, Meter(), node.visits, known)
        for s in wanted[: search.left // search.settings.need]
    ]
    lanes = yield from _fork(search, lanes)
    # Of siblings that say the same the first stands. Only after the join: lanes do
    # not see each other.
    first: dict[tuple[str, ...], Node] = {}
    for lane in lanes:
        if lane.node is not None:
            stands = first.setdefault(lane.node.steps, lane.node)
            if stands is not lane.node:
                lane.repeats, lane.node = (lane.node.id, stands.id), None
    return lanes


def _fork(search: Search, lanes: Sequence[Lane]) -> Steps[list[Lane]]:
    """Lanes beside each other, each with its need of calls; re-prompts of the surplus, in lane order.

    Without an answer calls are kept for it and for the confidence in it: of the surplus, else of what the last
    lane scores with.
    """
    need, most = search.settings.need, search.settings.reprompts
    surplus = search.left - need * len(lanes) if search.bounded else most * len(lanes)
    if search.bounded and search.best is None and lanes:
        reserved = min(search.settings.reserved_calls, need - 1)
        lanes[-1].keeps = max(0, reserved - surplus)
        surplus = max(0, surplus - reserved)
    for lane in lanes:
        lane.meter.spare = min(most, surplus)
        surplus -= lane.meter.spare
    allow = [need + lane.meter.spare for lane in lanes]
    results = yield from All([grow(lane) for lane in lanes], allow)
    grown = [lane for lane in results if not isinstance(lane, Stopped)]
    search.spent += sum(lane.meter.calls for lane in grown)
    limits = (lane.limit for lane in grown if lane.limit is not None)
    search.limit = next(limits, search.limit)
    return grown


def _grown(lane: Lane) -> list[Grown]:
    """What an expansion says of one child; nothing of a blank reply."""
    depth = lane.parent.depth + 1
    if lane.node is not None:
        value = float(lane.node.value)
        return [Grown(node=lane.node.id, strategy=lane.strategy, depth=depth, value=value)]
    if lane.repeats is None:
        return []
    node, first = lane.repeats
    return [Grown(node=node, strategy=lane.strategy, depth=depth, repeats=first)]


def _admit(search: Search, node: Node, lane: Lane) -> Steps[None]:
    """Lines 9 to 11: prune, or take into F, perhaps to be repaired. What a limit left unscored stays."""
    search.nodes.append(node)
    if lane.limit is not None or lane.short:
        return
    action = controller.decide(meta_state(node, search.settings), search.settings)
    if action == "repair":
        search.ailing.append(node)
    if action != "prune":
        return
    # A shadow run keeps what its episode pruned, from the node on that it is about. Before that it
    # must prune as the episode did, or it would be another tree (D11).
    first = search.settings.shadow_from
    if first is not None and address_order(node.id) >= address_order(first):
        search.relaxed = True
        return
    node.status = "pruned"
    yield NodePruned(round=search.selections - 1, node=node.id, value=float(node.value))


# ── Repair ───────────────────────────────────────────────────────────────────────────────────


def _repair(search: Search) -> Steps[None]:
    """Line 10: the suffix from i* anew, in lanes after the join; what no calls cover stays in F."""
    while search.ailing and search.limit is None:
        left = yield from count_left(search)
        chosen = search.ailing[: left // search.settings.need]
        search.ailing = []
        if not chosen:
            return
        # A repair may be ailing itself and join the next turn; ``max_repairs`` of a
        # lineage ends this.
        lanes = [_repair_lane(search, node, at) for at, node in enumerate(chosen)]
        search.repairs += len(chosen)
        for lane in (yield from _fork(search, lanes)):
            yield from _replace(search, lane)


def _repair_lane(search: Search, old: Node, at: int) -> Lane:
    """The new thought hangs under step i*-1 (D4)."""
    step = controller.repair_step(meta_state(old, search.settings), search.settings)
    assert step is not None
    assert old.parent is not None
    assert old.strategy is not None
    # The steps before the faulty one may belong to several nodes: the deepest that holds none but
    # good ones is the parent, so that a path from the root still reads as one trajectory.
    parent = old.parent
    while parent.parent is not None and len(parent.steps) >= step:
        parent = parent.parent
    lane = Lane(
        search.task,
        search.settings,
        search.selections - 1,
        parent,
        old.strategy,
        Meter(),
        search.repairs + at,
    )
    lane.old, lane.step = old, step
    return lane


def _replace(search: Search, lane: Lane) -> Steps[None]:
    """The old leaf becomes ``repaired``, unless that would lose an answer.

    With ``keep_better`` whichever scores higher stays; what a limit left unscored is kept only for an answer.
    """
    old, new = lane.old, lane.node
    if old is None or new is None:
        return
    if new.steps in search.known(lane.parent):  # another repair of this round said the same
        return
    unscored = lane.limit is not None or lane.short
    if unscored and (old.answer is not None or new.answer is None):
        return
    lost = old.answer is not None and new.answer is None
    is_worse = search.settings.keep_better and new.value < old.value
    keeps_old = lost or (is_worse and not unscored)
    yield NodeRepaired(
        round=lane.round,
        node=old.id,
        into=new.id,
        parent=lane.parent.id,
        step=lane.step,
        depth=new.depth,
        before=float(old.value),
        value=float(new.value),
        kept="old" if keeps_old else "new",
    )
    (new if keeps_old else old).status = "repaired"
    if keeps_old:
        search.nodes.append(new)
        old.repairs += 1
        return
    yield from _admit(search, new, lane)
