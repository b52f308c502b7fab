"""Lanes of the search: a child or a repair, generated and scored with an allowance of its own.

Source: CoT2-Meta, Algorithm 2 lines 4 to 8 and 10; design/cot2_meta.md D4, D5, D7.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

from msgspec import structs

from handlers.policies.around import through
from handlers.policies.base import Task
from handlers.policies.cot2_meta.perturb import halved
from handlers.policies.cot2_meta.scores import earliest_low, stated
from handlers.policies.cot2_meta.settings import Cot2Settings
from handlers.policies.cot2_meta.state import Node
from handlers.policies.facts import generated
from handlers.roles import confidence, oracle
from handlers.roles.again import Meter
from handlers.roles.excerpt import excerpt
from handlers.roles.oracle import NAMES, Scores
from handlers.roles.repairer import REPAIRER
from handlers.roles.steps import shown
from handlers.roles.thinker import THINKERS, Strategy, Thought, think
from schemas.asking import All, Ask, OutOfLimit, Steps, Stopped
from schemas.events.search import ConfidenceStated, OracleScored
from schemas.questions import Complete

# A lane never touches the tree: it works on what it was given and leaves its node, which ``search``
# hangs in after the join, in lane order. So the tree is the same whichever lane ends first.

ASSESSMENT_CHARS = 2_000
"""So much of what the oracle thought is shown where a step is repaired."""
_MARK = re.compile(r"^(?=[ \t]{0,4}(?:\*\*)?step[ \t]{0,2}\d{1,3}\b)", re.IGNORECASE | re.MULTILINE)


@dataclass(slots=True)
class Lane:
    """One branch of an expansion: what it starts from, and what came of it."""

    task: Task
    settings: Cot2Settings
    round: int
    parent: Node
    strategy: Strategy
    meter: Meter
    draw: int
    known: Mapping[tuple[str, ...], str] = field(default_factory=dict[tuple[str, ...], str])
    """Trajectories that are in the tree already, with their nodes."""
    old: Node | None = None
    """For a repair: the leaf that is rewritten, at which step."""
    step: int = 0
    node: Node | None = None
    repeats: tuple[str, str] | None = None
    """The reply that said what a node says already, and that node."""
    limit: str | None = None
    keeps: int = 0
    """How many calls must be left over while its thought has no answer."""
    short: bool = False
    """Whether it was scored no further for that."""

    @property
    def prefix(self) -> tuple[str, ...]:
        """The steps that stay."""
        return self.parent.steps if self.old is None else self.old.steps[: self.step - 1]


def grow(lane: Lane) -> Steps[Lane]:
    """Lines 4 to 8. Where a limit strikes, what came before it stands."""
    try:
        thought = yield from _generate(lane)
        if lane.node is not None:
            keeps = lane.keeps if lane.node.answer is None else 0
            beside = lane.settings.judging == "beside" and not keeps
            scoring = score(lane, lane.node, thought, beside=beside)
            yield from through(scoring, partial(leaving, keeps)) if keeps else scoring
    except OutOfLimit as limit:
        lane.short = lane.keeps > 0 and limit.which == "calls"
        lane.limit = None if lane.short else limit.which
    return lane


def leaving(calls: int, question: Ask[Any]) -> Ask[Any]:
    """The same question, asked only where so many calls are left over after it."""
    return structs.replace(question, keeps=calls) if isinstance(question, Complete) else question


def _generate(lane: Lane) -> Steps[Thought]:
    """One thought, and the node that it makes unless it is blank or repeats another."""
    role = THINKERS[lane.strategy] if lane.old is None else REPAIRER
    question = role.question(_variables(lane), draw=lane.draw)
    thought = yield from think(question, role, lane.meter)
    yield generated(thought, lane.round, role.name)
    steps = (*lane.prefix, *segments(thought.text, lane.settings))
    if len(steps) == len(lane.prefix):
        return thought
    # Scored again the same thought would cost two calls and stand twice in the frontier (D2).
    if steps in lane.known:
        lane.repeats = (thought.source, lane.known[steps])
        return thought
    answer = thought.answer
    # A check that cannot be read leaves its trajectory's answer standing. One that can be
    # read and has no answer says that the problem is still open: it refutes the answer that
    # it is about (D3).
    if answer is None and lane.strategy == "verify" and not thought.readable:
        answer = lane.parent.answer
    lane.node = Node(
        id=thought.source,
        parent=lane.parent,
        strategy=lane.strategy,
        steps=steps,
        answer=answer,
        repairs=lane.parent.repairs if lane.old is None else lane.old.repairs + 1,
    )
    return thought


def segments(text: str, settings: Cot2Settings) -> tuple[str, ...]:
    """The steps that a reply adds: one, or with ``marked`` one for each step mark (D1)."""
    parts = _MARK.split(text) if settings.segment == "marked" else [text]
    return tuple(part.strip() for part in parts if part.strip())


def _variables(lane: Lane) -> dict[str, str]:
    seen = halved(lane.prefix) if lane.settings.scratchpad == "half" else lane.prefix
    said = {"problem": lane.task.stated, "trajectory": shown(seen)}
    # Generators do not see their scores: whoever knows what is rated writes for the rating (D4).
    if lane.old is None:
        exposed = lane.settings.expose_meta and bool(lane.parent.scores)
        return said | {"scores": score_lines(lane.parent) if exposed else ""}
    said["fault"] = score_line(lane.step, lane.old.scores[lane.step - 1])
    if lane.settings.show_rejected:
        said["rejected_steps"] = shown(lane.old.steps[lane.step - 1 :], lane.step)
        said["assessment"] = excerpt(lane.old.reasons, ASSESSMENT_CHARS)
    return said


def score_line(step: int, scores: Scores) -> str:
    """``Step 2: Semantic=0.50, Logical=0.40, Fix=0.00``; a dash for what is unknown."""
    said = (
        f"{name}={'-' if value is None else format(float(value), '.2f')}"
        for name, value in zip(NAMES, scores, strict=True)
    )
    return f"Step {step}: {', '.join(said)}"


def score_lines(node: Node) -> str:
    """The scores of a whole trajectory."""
    return "\n".join(score_line(at, scores) for at, scores in enumerate(node.scores, 1))


# ── Scoring ──────────────────────────────────────────────────────────────────────────────────


def score(lane: Lane, node: Node, thought: Thought, *, beside: bool) -> Steps[None]:
    """Lines 5 to 8: oracle, v_proc, v_out, v.

    Neither hangs on what the other says, so that both are asked at once (``beside``) wherever each has its
    re-prompt or neither has one; a single spare call goes to whichever needs it first.
    """
    task, settings, meter = lane.task, lane.settings, lane.meter
    own = settings.own_confidence and is_share(thought.trust)
    try:
        if beside and settings.evaluator and not own and meter.spare != 1:
            yield from _score_beside(lane, node)
            return
        if settings.evaluator:
            yield from _ask_oracle(task, node, settings, meter)
        yield from state_confidence(task, node, settings, meter, thought)
    finally:
        # Also where a limit strikes between both queries: the node is admitted with what
        # is known of it.
        node.weigh(settings)


def _score_beside(lane: Lane, node: Node) -> Steps[None]:
    """Both at once, each with an allowance of its own. Raises ``OutOfLimit`` where one was not asked."""
    each = min(1, lane.meter.spare)
    meters = (Meter(spare=each), Meter(spare=each))
    asked = (
        _ask_oracle(lane.task, node, lane.settings, meters[0]),
        state_confidence(lane.task, node, lane.settings, meters[1]),
    )
    results = yield from All(asked, [1 + each, 1 + each])
    # The lane's own meter is settled before a limit is raised, for its calls were
    # spent all the same.
    lane.meter.calls += sum(meter.calls for meter in meters)
    lane.meter.spare -= sum(each - meter.spare for meter in meters)
    for result in results:
        if isinstance(result, Stopped):
            raise OutOfLimit(result.which)


def _ask_oracle(task: Task, node: Node, settings: Cot2Settings, meter: Meter) -> Steps[None]:
    """Line 5: one call for all steps, or for the newest, whose predecessors keep theirs (D5)."""
    before = node.parent.scores if node.parent and settings.oracle_scope == "newest" else ()
    before = before[: len(node.steps) - 1]
    heard = yield from oracle.score(task.posed, node.steps, meter, len(before) + 1)
    node.scores, node.parse = (*before, *heard.value.steps), heard.parse
    node.reasons = heard.value.reasons
    node.weigh(settings)
    yield OracleScored(
        node=node.id,
        steps=tuple((stated(s), stated(v), stated(f)) for s, v, f in node.scores),
        rewards=tuple(map(stated, node.rewards)),
        value=stated(node.v_proc),
        low=earliest_low(node.rewards, settings),
        source=heard.source,
        parse=heard.parse,
    )


def state_confidence(
    task: Task, node: Node, settings: Cot2Settings, meter: Meter, thought: Thought | None = None
) -> Steps[None]:
    """Line 7: v_out by the confidence query, or with a switch by a verify thought itself."""
    # Only a check states a confidence of its own. By it the query could be saved, but then thoughts
    # would be compared by two measures: a switch, and off (D5).
    own = None if thought is None else thought.trust
    if settings.own_confidence and own is not None and is_share(own):
        node.v_out = Fraction(str(own))
        yield ConfidenceStated(node=node.id, value=own, source=node.id, wording="own")
        return
    wording = settings.confidence_wording
    heard = yield from confidence.trust(task.posed, node.steps, meter, wording)
    node.v_out = heard.value
    yield ConfidenceStated(
        node=node.id,
        value=stated(heard.value),
        source=heard.source,
        wording=wording,
        parse=heard.parse,
    )


def is_share(value: float | None) -> bool:
    """Whether this is a known number from 0 to 1."""
    return value is not None and 0 <= value <= 1
