"""How a search ends: the closing call, stop, abstention, fallback, answer.

Source: CoT2-Meta, Algorithm 2 lines 12 to 14; design/cot2_meta.md D7 to D10.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from handlers.answers.alike import vote
from handlers.policies import last_call
from handlers.policies.base import Conclusion
from handlers.policies.baselines.chain import CHAIN
from handlers.policies.cot2_meta import controller
from handlers.policies.cot2_meta.grow import state_confidence
from handlers.policies.cot2_meta.search import Search, count_left
from handlers.policies.cot2_meta.state import Node, best
from handlers.roles.again import Meter
from handlers.roles.role import RoleReply
from handlers.roles.steps import with_answer
from handlers.roles.thinker import GENERATION
from schemas.asking import All, Steps, Stopped
from schemas.events.reasoning import Generated, Parse, Voted
from schemas.events.search import Ending, Grown, NodeExpanded, SearchDecided
from schemas.questions import Remain, Sampling

FALLBACK = replace(CHAIN, name="fallback")


def close(search: Search) -> Steps[None]:
    """One closing call where too few are left for a child and nothing has an answer (D7)."""
    left = yield from count_left(search)
    if search.best is not None or not 1 <= left < search.settings.need:
        return
    parent = best([node for node in search.nodes if node.status == "open"]) or search.nodes[0]
    said = yield from _closing_call(search, parent)
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


def _closing_call(search: Search, parent: Node) -> Steps[RoleReply]:
    """The request of ``greedy``, with the trajectory appended where there is one."""
    sampling = Sampling(temperature=0.0, max_tokens=search.settings.output_cap)
    at = search.selections
    return (yield from last_call.close(search.task, parent.steps, sampling, at))


def decide(search: Search) -> Steps[Conclusion]:
    """Lines 12 to 14: return the best survivor, or abstain and fall back."""
    node = search.best
    if search.limit is not None or search.ended_by == "stopped":
        return (yield from _answered(search, node))
    if not controller.abstains(node, search.settings):
        return (yield from _answered(search, node))
    hybrid = search.settings.abstain_threshold is not None and search.settings.fallback_samples
    yield _decided(search, "fallback" if hybrid else "abstain", node)
    if hybrid:
        return (yield from fall_back(search, node))
    return _concluded(search, node, None, "abstained")


def _answered(search: Search, node: Node | None) -> Steps[Conclusion]:
    stopped = search.ended_by == "stopped"
    yield _decided(search, "stop" if stopped else "return", node)
    answer = None if node is None else node.answer
    return _concluded(search, node, answer, "limit" if search.limit else search.ended_by)


def _decided(search: Search, action: Ending, node: Node | None) -> SearchDecided:
    value = None if node is None else float(node.value)
    return SearchDecided(
        action=action,
        node=None if node is None else node.id,
        value=value,
        confidence=None if node is None else _float(node.v_out),
        calls=search.spent,
    )


def _concluded(search: Search, node: Node | None, answer: str | None, ended_by: str) -> Conclusion:
    """The reported confidence is v_out (D10)."""
    confidence = None if node is None else _float(node.v_out)
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
    answer, votes = vote(answers, search.task.problem)
    if answers:
        blank = sum(each is None for each in answers)
        yield Voted(answer=answer, votes=votes, of=len(answers), unreadable=blank)
    if answer is None:
        primary = None if node is None else node.answer
        return _concluded(search, node, primary, "fallback")
    return Conclusion(
        answer=answer,
        ended_by="fallback",
        confidence=votes / len(answers),
        confidence_source="vote_share",
        limit=search.limit,
    )


def _sample(search: Search, draw: int) -> Steps[str | None]:
    question = FALLBACK.put({"problem": search.task.stated}, sampling=GENERATION, draw=draw)
    said = yield from question
    parse: Parse = "ok" if said.readable else "unreadable"
    yield Generated(
        round=draw, role="fallback", answer=said.answer, source=said.source, parse=parse
    )
    return said.answer


def _float(value: Fraction | None) -> float | None:
    return None if value is None else float(value)
