"""Multi-chain reasoning: several chains, then one call that reads all of them and answers.

Source: Yoran et al. 2023; design/baselines.md.
"""

from __future__ import annotations

from handlers.answers.alike import vote
from handlers.policies.base import Conclusion, Policy, Task
from handlers.policies.baselines.chain import think
from handlers.policies.baselines.consistency import VoteSettings
from handlers.policies.facts import generated
from handlers.roles.role import Role, RoleReply, answer
from schemas.asking import All, OutOfLimit, Steps, Stopped
from schemas.questions import Remain, Sampling

READER = Role.of(
    "reasoner",
    """\
Below are a problem and several chains of reasoning about it, written apart from each other; any \
of them may err. Read all of them, take from each what holds, decide between them where they \
disagree, and answer the problem. Do not just count the answers: reason.""",
    sections=("Problem", "Chains"),
    reply=[answer()],
    template="mcr.reader",
    mends=False,
)


def solve(task: Task, settings: VoteSettings) -> Steps[Conclusion]:
    """n + 1 calls; without room for the last one, the vote of the chains."""
    sampling = Sampling(max_tokens=settings.output_cap)
    # Under a limit rather a chain fewer than no reader: without it this would be self-consistency.
    remaining = yield from Remain()
    count = settings.samples
    if remaining.calls is not None:
        count = max(1, min(count, remaining.calls - 1))
    lanes = yield from All((think(task.stated, sampling, d) for d in range(count)), [1] * count)
    chains = [lane for lane in lanes if isinstance(lane, RoleReply)]
    limit = next((lane.which for lane in lanes if isinstance(lane, Stopped)), None)
    voted, _ = vote([chain.answer for chain in chains], task.problem)
    # Where a limit cut a chain short the reader would miss it, and may be refused
    # himself: the vote stands.
    if limit is not None:
        return Conclusion(answer=voted, ended_by="limit", limit=limit)
    try:
        said = yield from READER.put(
            {"problem": task.stated, "chains": shown(chains)}, sampling=sampling
        )
    except OutOfLimit as reached:
        return Conclusion(answer=voted, ended_by="limit", limit=reached.which)
    yield generated(said, count)
    return Conclusion(answer=said.answer or voted, ended_by="answered" if said.answer else "voted")


def shown(chains: list[RoleReply]) -> str:
    """All chains, whole, in the order of their draws."""
    return "\n\n".join(f"[Chain {at}]\n{chain.text.strip()}" for at, chain in enumerate(chains, 1))


MCR = Policy(
    name="mcr",
    version="2",
    about="five chains of thought, then one call that reads them all and answers",
    settings=VoteSettings,
    roles=("reasoner",),
    solve=solve,
    most_calls=lambda settings: settings.samples + 1,
)
