"""Facts that policies state alike: what was answered, what a judge said of it, and how samples voted."""

from __future__ import annotations

import pytest

from handlers.policies.base import Conclusion
from handlers.policies.facts import by_vote, generated, judged, voted
from handlers.policies.mc2.settings import Mc2Settings
from handlers.roles.role import Role, RoleReply, answer, choice
from schemas.asking import Steps
from schemas.events.reasoning import Flag, Generated, MonitorReported, Parse, Voted
from schemas.settings import BadSetting
from tests.scripted import run

ASKED = Role.of(
    "reasoner", "Solve it.", sections=("Problem",), reply=[answer()], template="asked", mends=False
)
JUDGE = Role.of(
    "judge", "Judge it.", sections=("Problem",), reply=[choice("Right", ("YES", "NO"), "which")]
)


def heard(role: Role, *said: str) -> RoleReply:
    def asking() -> Steps[RoleReply]:
        return (yield from role.ask(problem="p"))

    return run(asking(), said).result


def test_an_answer_is_stated_by_its_role_and_whether_it_could_be_read() -> None:
    read, unread = heard(ASKED, "Final_answer: \\boxed{31}"), heard(ASKED, "Hm.")
    assert generated(read) == Generated(role="reasoner", answer="31", source="0", parse="ok")
    assert generated(unread, 2, "expert") == Generated(
        round=2, role="expert", answer=None, source="0", parse="unreadable"
    )


@pytest.mark.parametrize(
    ("said", "flag", "parse", "source"),
    [
        (["Right: YES"], "NO", "ok", "0"),
        (["Right: NO"], "YES", "ok", "0"),
        (["Hm.", "Right: NO"], "YES", "reparsed", "2"),
        (["Hm.", "Hm."], None, "fallback", "2"),
    ],
)
def test_an_approval_raises_no_flag_and_what_cannot_be_read_none_at_all(
    said: list[str], flag: Flag | None, parse: Parse, source: str
) -> None:
    fact = judged(heard(JUDGE, *said), "Right", 3)
    assert fact == MonitorReported(round=3, flag=flag, source=source, parse=parse)


def test_samples_without_an_answer_count_among_all() -> None:
    fact = voted(["31", None, "31.0", "36"], "How many?")
    assert fact == Voted(answer="31", votes=2, of=4, unreadable=1)
    assert by_vote(fact, None) == Conclusion(
        answer="31", ended_by="voted", confidence=0.5, confidence_source="vote_share"
    )
    assert by_vote(fact, "calls") == Conclusion(
        answer="31", ended_by="limit", confidence=0.5, confidence_source="vote_share",
        limit="calls",
    )  # fmt: skip


def test_what_is_no_list_of_sources_is_refused_by_name() -> None:
    with pytest.raises(BadSetting, match="guidance"):
        Mc2Settings.resolve("service", {"guidance": 3})
    assert Mc2Settings.resolve("service", {"guidance": "none"}).guidance == ()
    assert Mc2Settings.resolve("service", {"guidance": ["lessons", "rules", "rules"]}).guidance == (
        *("rules", "lessons"),
    )
