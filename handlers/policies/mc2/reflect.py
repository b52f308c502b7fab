"""The reflection of an episode: a pure summary of its trace, without its outcome; and its use.

Source: MC² eq. (8), (9), (14), § C.1; design/mc2.md D9.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from handlers.learning.echo import cut_echoes
from handlers.policies.base import Conclusion, Trace
from handlers.policies.mc2.settings import LETTERS, Mc2Settings, RoleName
from handlers.policies.mc2.trace import Turn, turns
from handlers.roles.excerpt import excerpt
from schemas.events.reasoning import Flag

# Pure, and made again at every verification: it reads the record and asks nobody. The models below
# are what reflections on logs hold, so a field that is added needs a default under which older ones
# stay as they were.

Grade: TypeAlias = Literal["A", "B", "C"]
Rating: TypeAlias = Literal["good", "ok", "poor"]
Flags: TypeAlias = tuple[Flag | None, ...]
Polarity: TypeAlias = Literal["do", "avoid", "both"]
"""What an episode teaches: to repeat, to avoid, or, where it was mended on the way, both."""

DONE = frozenset({"accepted", "corrected"})
LINE_CHARS = 300
"""A description or justification is kept up to here."""

_FROZEN = ConfigDict(frozen=True, extra="forbid")


class Ratings(BaseModel):
    """How each role did."""

    model_config = _FROZEN
    reasoner: Rating
    monitor: Rating
    controller: Rating

    @property
    def tags(self) -> tuple[str, ...]:
        """``R_good``, ``M_poor`` and so on."""
        return tuple(f"{LETTERS[role]}_{self.of(role)}" for role in LETTERS)

    def of(self, role: RoleName) -> Rating:
        """How this role did."""
        rated: dict[RoleName, Rating] = {
            "reasoner": self.reasoner,
            "monitor": self.monitor,
            "controller": self.controller,
        }
        return rated[role]


class Trajectories(BaseModel):
    """What each role did, round by round."""

    model_config = _FROZEN
    reasoner: tuple[str | None, ...] = ()
    monitor: tuple[tuple[Flag | None, str | None, str | None], ...] = ()
    controller: tuple[tuple[int, str | None], ...] = ()


class Excerpts(BaseModel):
    """Head and tail of the last round's texts, without echoes of the guidance given to them."""

    model_config = _FROZEN
    trajectory: str = ""
    report: str = ""
    decision: str = ""


class Mc2Reflection(BaseModel):
    """What an episode leaves to learn from. ``rounds`` is the paper's T."""

    model_config = _FROZEN
    ended_by: str
    rounds: int
    flags: tuple[Flag | None, ...]
    actions: tuple[int, ...]
    grade: Grade
    ratings: Ratings
    tags: tuple[str, ...]
    polarity: Polarity | None
    trajectories: Trajectories
    excerpts: Excerpts
    rejected: Excerpts | None = None
    """Of an episode that was put right by a restart: the last attempt that was sent back."""
    asked: tuple[bool, ...] = ()
    """Of each action whether the Controller was asked for it; left out where it always was."""

    @property
    def routed(self) -> int | None:
        """The last action that the Controller was asked for; none where a clean report decided all."""
        asked = self.asked or (True,) * len(self.actions)
        found = [action for action, own in zip(self.actions, asked, strict=True) if own]
        return found[-1] if found else None


def reflect(trace: Trace, conclusion: Conclusion, settings: Mc2Settings) -> dict[str, Any]:
    """The reflection as plain values."""
    return reflection(turns(trace), conclusion.ended_by, settings).model_dump(mode="json")


def reflection(found: Sequence[Turn], ended_by: str, settings: Mc2Settings) -> Mc2Reflection:
    """The reflection of these rounds. Asks nobody and knows no outcome. Source: MC² eq. (8)."""
    flags: Flags = tuple(turn.report.flag for turn in found if turn.report is not None)
    actions = tuple(turn.action for turn in found if turn.action is not None)
    alone = settings.roles == "R"
    grade = (
        grade_alone(found[-1].answer if found else None)
        if alone
        else grade_of(len(found), ended_by, patch=settings.patch_grade)
    )
    rated = ratings(len(found), flags, actions, ended_by)
    fallback = bool(found) and found[-1].fallback
    chosen = selection(len(found), actions, ended_by, fallback=fallback)
    # What is decided in the last round sends nothing back: no attempt came after it.
    sent_back = [turn for turn in found[:-1] if turn.action in (2, 3) and not turn.fallback]
    if settings.teaching == "all" and chosen is None and is_mended(ended_by, sent_back):
        chosen = "both"
    asked = tuple(turn.routed for turn in found if turn.action is not None)
    if alone:
        chosen = "do" if grade == "A" else None
    reports = [turn.report for turn in found if turn.report is not None]
    decided = [(turn.action, turn.decision) for turn in found]
    return Mc2Reflection(
        ended_by=ended_by,
        rounds=len(found),
        flags=flags,
        actions=actions,
        grade=grade,
        ratings=rated,
        tags=rated.tags,
        polarity=chosen,
        trajectories=Trajectories(
            reasoner=tuple(_short(turn.answer) for turn in found),
            monitor=tuple((r.flag, _short(r.step), _short(r.description)) for r in reports),
            controller=tuple(
                (code, _short(decision.justification))
                for code, decision in decided
                if code is not None and decision is not None
            ),
        ),
        excerpts=_excerpts(found[-1], settings.excerpt_chars) if found else Excerpts(),
        rejected=_excerpts(sent_back[-1], settings.excerpt_chars)
        if chosen == "both" and sent_back
        else None,
        asked=() if all(asked) else asked,
    )


def grade_of(rounds: int, ended_by: str, *, patch: Grade = "A") -> Grade:
    """A: done in one round (by a ``patch``, this); B: done later; C: not done. Source: MC² § C.1."""
    if ended_by not in DONE:
        return "C"
    return "B" if rounds > 1 else patch if ended_by == "corrected" else "A"


def grade_alone(answer: str | None) -> Grade:
    """D9: a Reasoner by itself gives no verdicts; an answer that can be read counts as A."""
    return "C" if answer is None else "A"


def ratings(
    rounds: int, flags: Sequence[Flag | None], actions: Sequence[int], ended_by: str
) -> Ratings:
    """How each role did, from T, the flags and actions, and what ended it. Source: MC² eq. (14)."""
    done, spent = ended_by in DONE, ended_by == "max_rounds"
    flagged, restarts = sum(flag == "YES" for flag in flags), sum(action == 3 for action in actions)
    last = flags[-1] if flags else None
    # A Monitor that still objects to an answer that was accepted was overruled: poor. Whether it
    # was right nobody knows here.
    verdict: dict[Flag | None, Rating] = {"NO": "good", "YES": "poor", None: "ok"}
    return Ratings(
        reasoner=_rating(done and rounds <= 2, spent and flagged > rounds / 2),
        monitor=verdict[last] if done else "ok",
        controller=_rating(done and rounds <= 3, spent and restarts > rounds / 2),
    )


def _rating(good: bool, poor: bool) -> Rating:
    return "good" if good else "poor" if poor else "ok"


def selection(
    rounds: int, actions: Sequence[int], ended_by: str, *, fallback: bool = False
) -> Polarity | None:
    """S⁺ (accepted at once) teaches what to do, S⁻ (restarted to the end) what to avoid.

    A restart that only stands for an unreadable decision (``fallback``) teaches nothing; nor does
    what another limit ended. Source: MC² eq. (9).
    """
    if rounds == 1 and ended_by == "accepted":
        return "do"
    if ended_by == "max_rounds" and actions and actions[-1] == 3 and not fallback:
        return "avoid"
    return None


def is_mended(ended_by: str, sent_back: Sequence[Turn]) -> bool:
    """Whether an answer stands that is not the first one: a patch, or an accept after a restart.

    A restart that only stands for an unreadable decision has sent nothing back. The paper leaves these
    out, and so learns from flawless and hopeless episodes alone.
    """
    return ended_by == "corrected" or (ended_by == "accepted" and bool(sent_back))


def _excerpts(turn: Turn, chars: int) -> Excerpts:
    # Echoes are cut before the text is shortened, so that what guidance said takes
    # none of the room.
    def cut(text: str) -> str:
        return excerpt(cut_echoes(text, turn.guidance), chars)

    return Excerpts(
        trajectory=cut(turn.trajectory),
        report=cut(turn.report_text),
        decision=cut(turn.decision_text),
    )


def _short(text: str | None) -> str | None:
    return None if text is None else excerpt(text, LINE_CHARS)
