"""The Inducer: one principle from canonical paths that succeeded and failed, or none.

A reply may be the paper's JSON object (``decision``, ``meta_cognition`` …) or the labelled fields of
the format block; both are held to the same bounds.

Source: trainable graph memory, Algorithm 1 lines 19 to 34, App. (prompts of the induction).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

import orjson

from handlers.learning.graph import LEAST, MOST
from handlers.roles.form import Unreadable, Values
from handlers.roles.objects import objects_in
from handlers.roles.role import Check, Role, RoleReply, choice
from schemas.reply import Field

Analysis: TypeAlias = Literal["contrast", "speculative", "positive"]
WORDS = ("high", "medium", "low")
HIGH_FROM, LOW_UNDER = 70.0, 50.0
USUAL: Mapping[str, float] = {"high": 75.0, "medium": 60.0, "low": 40.0}
"""The strength that a word stands for where no number was said."""

PROMPT = """\
You keep a small set of principles for an agent that works on problems. A principle tells it what to do, or \
what to look out for, in problems that it has not met yet. {analysis} A path is the row of states that a run \
went through; section "Transitions" says what each state means.

A principle
- is an instruction that can be followed at once: in which situation, what to do;
- is general: it names no person, thing or number of a problem, for the next problem is another one;
- comes of what made the difference: a good decision, an error that could be avoided, a check that was left \
out. Ask yourself whether it is only a familiar kind of problem, and be stricter where it may mislead;
- is simple rather than brittle, and as modest as the paths are few.

{decide}

Confidence is high, medium or low, with a number from 30 to 85."""
FIRST = """\
Create a principle if you can say what made the difference in words that hold for other problems. Skip if \
the runs do not show it."""
AGAIN = """\
Create a principle only if it is distinct from all that are there; it is kept beside them. Update one if it \
says the same already, weak ones first; your words replace its own, so keep what still holds. Above {limit} \
principles update one of low or medium confidence instead of creating; create only what is exceptional, and \
say in your reasoning that there are so many. Skip if the runs do not show what made the difference, or show \
nothing new."""
"""What there is to decide where there are no principles yet, and where there are some."""

WORK = """\
The work is shown in excerpts. Use it to see what made the difference, and name no detail of it."""
# A small model put a solution of the problem behind Reasoning, until it was cut.
CLOSING = """\
Do not solve the problem: it is over. Fill in every line: Decision with one word, Reasoning with {found}, and, if \
there is a principle in it, Summary and Strategy_principles with what to do in other problems."""
FOUND: Mapping[Analysis, str] = {
    "contrast": "what made the difference between the runs",
    "speculative": "what might have helped",
    "positive": "which decisions served it",
}
"""What an analysis is to come to."""
ANALYSES: Mapping[Analysis, tuple[str, tuple[str, ...]]] = {
    "contrast": (
        "Two runs at one problem are shown: one came to the right answer, the other to a wrong one. Find \
the first decision in which they part, and what it was that led to the one rather than the other.",
        ("Path that succeeded", "Work that succeeded?", "Path that failed", "Work that failed?"),
    ),
    "speculative": (
        "No run of this problem was right. The path of a wrong one is shown, and the path by which a \
similar problem, not this one, was solved. Say what might have helped here; it was not tried, so be \
modest in confidence and say that it is a guess.",
        ("Path that failed", "Work that failed?", "Path that succeeded on a similar problem"),
    ),
    "positive": (
        "Every run of this problem was right; the path of one is shown, and there is no failure to hold \
it against. Say which decisions on it may serve similar problems; ask yourself whether the problem was \
merely easy, and skip if you cannot tell.",
        ("Path that succeeded", "Work that succeeded?"),
    ),
}
"""What each analysis asks for and shows. Source: App. B.2 (three scenarios, each with its prompt)."""

_RATING = re.compile(r"\(\s*+(\w*+)\s*+,?+\s*+([-+\w.]*+)\s*+\)")
_WORD = re.compile(r"\w")
# A word and a number that another sign parts, or a number in percent.
_SPELT = re.compile(
    r"(?:\(\s{0,3}|(?:[,;–—-]\s{0,3})?\bconfidence\s{0,3}[:=]\s{0,3})(high|medium|low)\s{0,3}(?:[,;:/–—-]\s{0,3}|(\()\s{0,3})"
    r"(\d{1,3}(?:\.\d{1,4})?)\s{0,2}(?:%|/\s?100)?\s{0,3}\)(?(2)\s{0,3}\)?)",
    re.IGNORECASE,
)
# Emphasis around a bracket, which would stay behind without it.
_MARKED = re.compile(r"[*_]{1,3}(?=\()|(?<=\))[*_]{1,3}")
_NAMED = re.compile(
    r"\(\s{0,5}(?:overall )?(?:confidence|strength)\s{0,5}[:=]?\s{0,5}", re.IGNORECASE
)
HUNDRED = 100.0


class Inducing(Role):
    """A role whose reply may also be the paper's JSON object."""

    __slots__ = ()

    def read(self, text: str, check: Check | None = None) -> Values | Unreadable:
        """The values of a reply, or what is wrong with it."""
        # The check is not handed on to ``Role.read``, because it must see the id as it was cleaned
        # below.
        values = Role.read(self, as_fields(text))
        if isinstance(values, Unreadable):
            return values
        target = values.get("Target_meta_id")
        if isinstance(target, str):  # as the list of the present ones shows it: [M1.1]
            values = {**values, "Target_meta_id": target.strip(" []`'\".")}
        return values if check is None else check(values, text) or values


def inducer(limit: int, analysis: Analysis = "contrast", *, first: bool = False) -> Inducing:
    """The Inducer of one analysis that keeps to so many principles; ``first``: there are none yet."""
    asked, paths = ANALYSES[analysis]
    # Where there is nothing to update, a small model that is offered it makes up an id.
    present = () if first else ("Principles so far?", "How many there are")
    decisions = ("create", "skip") if first else ("create", "update", "skip")
    made = ("Decision", decisions[:-1])
    target = Field("Target_meta_id", "text", "the id to update", when=("Decision", ("update",)))
    return Inducing.of(
        "inducer",
        PROMPT.format(analysis=asked, decide=FIRST if first else AGAIN.format(limit=limit)),
        sections=("Transitions", *paths, *present),
        notes={"Work that succeeded": WORK, "Work that failed": WORK},
        template=f"inducer.{analysis}{'.first' if first else ''}",
        reply=(
            choice("Decision", decisions, f"one of the words {', '.join(decisions)}"),
            *(() if first else (target,)),
            Field(
                "Reasoning",
                "text",
                f"{FOUND[analysis]}, in a sentence or two",
                required=False,
            ),
            Field(
                "Summary",
                "text",
                "the principle for other problems, in one or two sentences",
                when=made,
            ),
            Field(
                "Strategy_principles",
                "list",
                "single steps to follow, each with its confidence, such as (high, 75)",
                least=0,
                most=6,
                when=made,
            ),
            # What leaves its confidence open is held for middling, and a summary can stand alone.
            Field(
                "Overall_confidence", "choice", "of all", choices=WORDS, required=False, when=made
            ),
            Field("Evidence_paths", "number", "paths that bear it out", required=False),
            Field("Uncertainty_note", "text", "what is uncertain", required=False),
        ),
        closing=CLOSING.format(found=FOUND[analysis]),
    )


@dataclass(frozen=True, slots=True)
class Made:
    """A principle as it was induced: what it says, and how strong it is said to be, from 30 to 85."""

    summary: str
    strategies: tuple[tuple[str, str, float], ...]
    confidence: str
    score: float
    uncertainty: str
    claimed: float | None

    @property
    def text(self) -> str:
        """The principle as guidance shows it."""
        return shown(self.summary, [principle for principle, _, _ in self.strategies])


def shown(summary: str, principles: Sequence[str]) -> str:
    """Summary and principles, a line each."""
    return "\n".join((summary, *(f"- {principle}" for principle in principles)))


def strength(score: float) -> str:
    """The word for a strength: from 70 high, under 50 low."""
    return "high" if score >= HIGH_FROM else "low" if score < LOW_UNDER else "medium"


# A rating that cannot be used is refused here, while the model can still be asked to mend it.
def checked(present: frozenset[str]) -> Check:
    """What fields alone cannot say: an update names a principle that is there, ratings keep bounds."""

    def wrong(values: Values, reply: str) -> Unreadable | None:
        target = values.get("Target_meta_id")
        if target is not None and target not in present:
            return Unreadable("Target_meta_id", "names none of the present principles")
        for item in cast("Sequence[str]", values.get("Strategy_principles", ())):
            try:
                rated(item, "medium")
            except ValueError as error:
                return Unreadable("Strategy_principles", str(error))
        return None

    return wrong


def rated(item: str, overall: str) -> tuple[str, str, float]:
    """A principle with its confidence; without one it has that of all. Raises ``ValueError``.

    A share such as 0.8 is 80, and no principle is held to be surer than 85. What stands in brackets and is
    no confidence, such as (when unsure), is the principle's own.
    """
    tidy = _SPELT.sub(r"(\1, \3)", _NAMED.sub("(", _MARKED.sub("", item)))
    found = rating(tidy)
    if found is None:
        return item, overall, USUAL[overall]
    # A bracket holds a confidence if it has one of the words, a number, or a word and a number
    # with a comma. Any other is the principle's own.
    is_number = found[2][:1].isdecimal() or found[2][:1] in ("-", "+", ".")
    has_score = bool(found[2]) and is_number and (not found[1] or "," in found[0])
    if found[1].lower() not in WORDS and not has_score:
        return item, overall, USUAL[overall]
    word, said = found[1].lower() or overall, found[2]

    if word not in WORDS:
        raise ValueError(f"confidence must be one of {', '.join(WORDS)}")
    try:
        score = float(said) if said else USUAL[word]
    except ValueError:
        raise ValueError("a confidence score must be a number") from None
    score = score * 100 if 0 < score <= 1 else score
    if not LEAST <= score <= HUNDRED:
        raise ValueError(f"a confidence score must lie from {LEAST:g} to {MOST:g}")
    # No principle is held to be surer than the most, however many runs it was drawn from: beliefs
    # are for the weights to learn.
    return tidy[: found.start()].rstrip(), word, min(round(score, 6), MOST)


def rating(item: str) -> re.Match[str] | None:
    """The bracket behind which no word follows, the first there is: it holds the last word, or follows it."""
    # The end of the last word is looked for by hand. A pattern for "a bracket and nothing behind
    # it" would try each bracket of an item up to its end.
    end = len(item)
    while end and not _WORD.match(item, end - 1):
        end -= 1
    around = item.rfind("(", 0, end)
    found = _RATING.match(item, around) if around >= 0 else None
    return found if found and found.end() > end else _RATING.search(item, end)


def made_of(said: RoleReply) -> Made:
    """The principle of a readable reply that creates or updates."""
    overall = said.get("Overall_confidence") or "medium"
    items = [rated(item, overall) for item in said.items("Strategy_principles")]
    # The score of the whole is reckoned here from its parts, since a model's own mean need not
    # agree with them.
    scores = [each[2] for each in items] or [USUAL[overall]]
    score = sum(scores) / len(scores)
    return Made(
        said.get("Summary") or "",
        # A small model writes a rating where a step was asked for: it counts, and there is nothing to show.
        tuple(each for each in items if each[0]),
        overall,
        round(score, 6),
        said.get("Uncertainty_note") or "",
        said.number("Evidence_paths"),
    )


def as_fields(reply: str) -> str:
    """The paper's JSON object as one of our own labels; any other reply as it is."""
    said = next((each for each in objects_in(reply) if "decision" in each), None)
    if said is None:
        return reply
    inner = said.pop("meta_cognition", None)
    meta = cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}
    note = meta.pop("uncertainty-note", None)
    meta.setdefault("uncertainty_note", note)
    paths = meta.get("evidence_paths")
    # Some models list the paths where their number is asked for.
    if isinstance(paths, list):
        meta["evidence_paths"] = len(cast("list[object]", paths))
    listed = meta.get("strategy_principles")
    if isinstance(listed, list):
        meta["strategy_principles"] = [_item(each) for each in cast("list[object]", listed)]
    return orjson.dumps({**said, **meta}).decode()


def _item(each: object) -> object:
    if not isinstance(each, dict):
        return each
    said = cast("dict[str, Any]", each)
    principle, word = said.get("principle"), said.get("confidence")
    return f"{principle} ({word or ''}, {said.get('confidence_score', '')})"
