"""How a search ends: the closing call, stop, abstention, fallback, answer.

Source: CoT2-Meta, Algorithm 2 lines 12 to 14; design/cot2_meta.md D7 to D10.
"""

from __future__ import annotations

from dataclasses import replace

from handlers.policies import last_call
from handlers.policies.base import Conclusion
from handlers.policies.baselines.chain import CHAIN
from handlers.policies.cot2_meta import controller
from handlers.policies.cot2_meta.grow import state_confidence
from handlers.policies.cot2_meta.scores import stated
from handlers.policies.cot2_meta.search import Search, count_left
from handlers.policies.cot2_meta.state import Node, best
from handlers.policies.facts import by_vote, generated, voted
from handlers.roles.again import Meter
from handlers.roles.steps import with_answer
from handlers.roles.thinker import GENERATION
from schemas.asking import All, Steps, Stopped
from schemas.events.search import Ending, Grown, NodeExpanded, SearchDecided
from schemas.questions import Remain, Sampling

FALLBACK = replace(CHAIN, name="fallback")


def close(search: Search) -> Steps[None]:
    """One closing call where too few are left for a child and nothing has an answer (D7)."""
    left = yield from count_left(search)
    if search.best is not None or not 1 <= left < search.settings.need:
        return
    parent = best([node for node in search.nodes if node.status == "open"]) or search.nodes[0]
    # The request of ``greedy``, to which a limit of one call thus comes down, with the trajectory
    # appended where there is one.
    sampling = Sampling(temperature=0.0, max_tokens=search.settings.output_cap)
    said = yield from last_call.close(search.task, parent.steps, sampling, search.selections)
    search.spent += 1
    search.ended_by = "closed"
    if said.answer is None:
        return
    steps = (*parent.steps, with_answer(said.text.strip(), said.answer))
    node = Node(said.source, parent, "direct", steps, said.answer)
    search.nodes.append(node)
    child = Grown(node=node.id, strategy="closing", depth=parent.depth + 1)
    yield NodeExpanded(round=search.selections, node=parent.id, children=(child,))
    if left >= 2:
        meter = Meter(spare=min(1, left - 2))
        yield from state_confidence(search.task, node, search.settings, meter)
        node.weigh(search.settings)
        search.spent += meter.calls


def decide(search: Search) -> Steps[Conclusion]:
    """Lines 12 to 14: return the best survivor, or abstain and fall back."""
    settings, node = search.settings, search.best
    # What was good enough to stop for is not doubted again, and at a limit nothing
    # else can be asked.
    final = search.limit is not None or search.ended_by == "stopped"
    withheld = not final and controller.abstains(node, settings)
    hybrid = settings.abstain_threshold is not None and settings.fallback_samples > 0
    action: Ending = "stop" if search.ended_by == "stopped" else "return"
    if withheld:
        action = "fallback" if hybrid else "abstain"
    yield SearchDecided(
        action=action,
        node=None if node is None else node.id,
        value=None if node is None else float(node.value),
        confidence=None if node is None else stated(node.v_out),
        calls=search.spent,
    )
    if action == "fallback":
        return (yield from fall_back(search, node))
    if action == "abstain":
        return _concluded(search, node, None, "abstained")
    answer = None if node is None else node.answer
    return _concluded(search, node, answer, "limit" if search.limit else search.ended_by)


def _concluded(search: Search, node: Node | None, answer: str | None, ended_by: str) -> Conclusion:
    """The reported confidence is v_out (D10)."""
    confidence = None if node is None else stated(node.v_out)
    return Conclusion(
        answer=answer,
        ended_by=ended_by,
        confidence=confidence,
        confidence_source=None if confidence is None else "stated",
        limit=search.limit,
    )


def fall_back(search: Search, node: Node | None) -> Steps[Conclusion]:
    """Best-of-16 vote over plain chains; the primary does not vote (D9)."""
    remaining = yield from Remain()
    wanted = search.settings.fallback_samples
    samples = wanted if remaining.calls is None else min(wanted, remaining.calls)
    lanes = yield from All([_sample(search, draw) for draw in range(samples)], [1] * samples)
    answers = [None if isinstance(lane, Stopped) else lane for lane in lanes]
    limits = (lane.which for lane in lanes if isinstance(lane, Stopped))
    search.limit = next(limits, None)
    found = voted(answers, search.task.problem) if answers else None
    if found is not None:
        yield found
    if found is None or found.answer is None:
        # An answer that is trusted too little is still more than a vote in which
        # nothing could be read.
        primary = None if node is None else node.answer
        return _concluded(search, node, primary, "fallback")
    return replace(by_vote(found, search.limit), ended_by="fallback")


def _sample(search: Search, draw: int) -> Steps[str | None]:
    question = FALLBACK.put({"problem": search.task.stated}, sampling=GENERATION, draw=draw)
    said = yield from question
    yield generated(said, draw, "fallback")
    return said.answer
