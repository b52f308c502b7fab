"""Facts that many policies state alike: what was answered, what a judge said of it, and how samples voted.

One place for each keeps methods comparable: an unreadable reply, an approval and a share of votes are the
same thing on every record, whichever policy left it.
"""

from __future__ import annotations

from collections.abc import Sequence

from handlers.answers.alike import vote
from handlers.policies.base import Conclusion
from handlers.roles.role import RoleReply
from handlers.roles.thinker import Thought
from schemas.events.reasoning import Flag, Generated, MonitorReported, Voted


def generated(said: RoleReply | Thought, round: int = 0, role: str = "reasoner") -> Generated:
    """What was answered by whoever is asked once: no reply of his is mended, it can be read or not."""
    return Generated(
        round=round,
        role=role,
        answer=said.answer,
        source=said.source,
        parse="ok" if said.readable else "unreadable",
    )


def judged(heard: RoleReply, label: str, round: int) -> MonitorReported:
    """What a judge said of the work, by the field in which YES approves of it."""
    # A monitor's flag says that something is wrong, so an approval is a NO. A verdict that cannot
    # be read is neither, and nobody may take it for an objection.
    verdict = heard.get(label)
    flag: Flag | None = None if verdict is None else "NO" if verdict == "YES" else "YES"
    return MonitorReported(round=round, flag=flag, source=heard.source, parse=heard.parse)


def voted(answers: Sequence[str | None], problem: str) -> Voted:
    """How samples voted on a problem, one of them at least; those without an answer count among all."""
    answer, votes = vote(answers, problem)
    blank = sum(each is None for each in answers)
    return Voted(answer=answer, votes=votes, of=len(answers), unreadable=blank)


def by_vote(found: Voted, limit: str | None) -> Conclusion:
    """The end that a vote leads to, with the winner's share of all samples as its confidence."""
    # Blank samples lower the share: an answer that half of them never came to is no sure one.
    return Conclusion(
        answer=found.answer,
        ended_by="voted" if limit is None else "limit",
        confidence=found.votes / found.of,
        confidence_source="vote_share",
        limit=limit,
    )
