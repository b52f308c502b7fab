"""The effect of a prompt, a reader and a grammar on a model: `cot` beside the same problem put bare, greedily.

The bare chat call is the problem alone, with nothing of ours around it; its answer is what the reply marks, or else
mentions last. What it solves and `cot` does not was lost on the way, and each such problem is told with its cause.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import msgspec

from handlers.answers.extract import mentioned
from handlers.answers.grade import References, grade_reference
from schemas.events.episode import Completed
from schemas.usage import total_of
from streams.research.analysis.cases import RIGHT, Case
from streams.research.analysis.report import number, share, table
from streams.research.analysis.statistics import paired_interval

PROBLEMS, CAP = 40, 512
"""Problems of the data set, and tokens that a reply may take."""
MOST_COST = 1.05
"""How many times the tokens a grammar may take."""
PLAIN, COT, FREE = "plain chat", "cot", "cot, no grammar"
DATASET = "gsm8k"
Cause: TypeAlias = Literal["reading", "cutting", "grammar", "model"]


class ReadReply(msgspec.Struct, frozen=True, kw_only=True):
    """One reply to one problem, and whether what was read of it is right; unknown where no grader can tell."""

    id: str
    text: str
    finish: str
    answer: str | None
    right: bool | None
    completion_tokens: int | None = None
    prompt_tokens: int | None = None


Arm: TypeAlias = Mapping[str, ReadReply]
"""What was said, by problem."""


@dataclass(frozen=True, slots=True)
class Odd:
    """A problem that one way solved and the other did not."""

    id: str
    lost: bool
    """Whether the plain call had it, and `cot` did not."""
    cause: Cause
    reference: str
    plain: str | None
    cot: str | None


def is_right(answer: str | None, reference: References) -> bool | None:
    """Whether an answer is right by the data set's rule; unknown where that cannot tell. None at all is not."""
    if answer is None:
        return False
    return RIGHT.get(grade_reference(answer, reference, dataset=DATASET).outcome)


def plain_said(
    name: str, text: str, finish: str, reference: References, tokens: tuple[int | None, int | None]
) -> ReadReply:
    """A reply to the bare problem, read as leniently as can be; one that was cut solved nothing."""
    answer = mentioned(text) if finish == "stop" else None
    prompt, completion = tokens
    return ReadReply(
        id=name,
        text=text,
        finish=finish,
        answer=answer,
        right=is_right(answer, reference),
        prompt_tokens=prompt,
        completion_tokens=completion,
    )


def cot_said(case: Case) -> ReadReply:
    """What a chain of thought said, by its closed episode."""
    [reply] = [event for _, event in case.trace.events if isinstance(event, Completed)]
    return ReadReply(
        id=case.problem.id,
        text=reply.text,
        finish=reply.finish,
        answer=case.closed.answer,
        right=None if case.reference is None else is_right(case.closed.answer, case.reference),
        prompt_tokens=reply.prompt_tokens,
        completion_tokens=reply.completion_tokens,
    )


# ── Figures ──────────────────────────────────────────────────────────────────────────────────


def odd_ones(arms: Mapping[str, Arm], references: Mapping[str, str]) -> Iterator[Odd]:
    """Each problem on which the plain call and `cot` differ, with the cause."""
    plain, cot, free = (arms.get(name, {}) for name in (PLAIN, COT, FREE))
    for name in _pairs_of(plain, cot):
        one, other = plain[name], cot[name]
        # Both right or both wrong says nothing of prompt, reader or grammar.
        if one.right == other.right:
            continue
        reference = references[name]
        cause = cause_of(
            other if one.right else one, reference, free.get(name) if one.right else None
        )
        yield Odd(name, one.right is True, cause, reference, one.answer, other.answer)


def _pairs_of(plain: Arm, cot: Arm) -> list[str]:
    """The problems that both were asked and of which both replies could be graded."""
    return [
        name for name, one in plain.items()
        if name in cot and one.right is not None and cot[name].right is not None
    ]  # fmt: skip


def cause_of(failed: ReadReply, reference: str, free: ReadReply | None = None) -> Cause:
    """Why a reply is not right although another one is: where the right answer was lost."""
    if failed.finish == "length":
        return "cutting"
    # In this order: what was cut off has no end to read, and what a lenient reader finds was there.
    if not failed.right and is_right(mentioned(failed.text), reference):
        return "reading"
    return "grammar" if free is not None and free.right else "model"


def figures(arms: Mapping[str, Arm], references: Mapping[str, str]) -> dict[str, Any]:
    """All that is told: each way's sums, the pairs, and what the grammar cost."""
    odd = list(odd_ones(arms, references))
    lost, won = (sum(each.lost is which for each in odd) for which in (True, False))
    plain, cot, free = (arms.get(name, {}) for name in (PLAIN, COT, FREE))
    asked, both = [name for name in plain if name in cot], _pairs_of(plain, cot)
    interval = paired_interval(won, lost, len(both))
    return {
        "ways": {
            name: {
                "problems": len(arm),
                "right": sum(each.right is True for each in arm.values()),
                "undecided": sum(each.right is None for each in arm.values()),
                "no_answer": sum(each.answer is None for each in arm.values()),
                "cut": sum(each.finish == "length" for each in arm.values()),
                "prompt_tokens": total_of([each.prompt_tokens for each in arm.values()]),
                "completion_tokens": total_of([each.completion_tokens for each in arm.values()]),
            }
            for name, arm in arms.items()
        },
        "pairs": len(both),
        "left_out": len(asked) - len(both),
        "lost": lost,
        "won": won,
        "difference": (won - lost) / len(both) if both else None,
        "interval": None if interval is None else list(interval),
        "odd": [
            {
                "id": each.id,
                "only": PLAIN if each.lost else COT,
                "cause": each.cause,
                "reference": each.reference,
                "plain": each.plain,
                "cot": each.cot,
            }
            for each in odd
        ],
        "grammar": _grammar(cot, free),
    }


def _grammar(cot: Arm, free: Arm) -> dict[str, Any] | None:
    """Tokens of the same replies with and without it; nothing where there is none to compare."""
    both = [name for name in cot if name in free]
    if not both:
        return None
    held = total_of([cot[name].completion_tokens for name in both])
    loose = total_of([free[name].completion_tokens for name in both])
    times = held / loose if held is not None and loose else None
    return {"problems": len(both), "with": held, "without": loose, "times": times}


# ── The page ─────────────────────────────────────────────────────────────────────────────────

HEAD = ("way", "n", "right", "undecided", "no answer", "cut", "prompt tokens", "completion tokens")


def markdown(found: Mapping[str, Any]) -> str:
    """The table, the pairs, what the grammar cost, and each problem that only one way solved."""
    rows = [
        [
            name,
            *(str(sums[each]) for each in ("problems", "right", "undecided", "no_answer", "cut")),
            *(number(sums[each], 0) for each in ("prompt_tokens", "completion_tokens")),
        ]
        for name, sums in found["ways"].items()
    ]
    low, high = found["interval"] or (None, None)
    left = f" ({found['left_out']} more are undecided)" if found["left_out"] else ""
    lines = [
        *table(HEAD, rows),
        "",
        f"Of {found['pairs']} pairs{left} {found['lost']} were right by {PLAIN} only, {found['won']} by cot only: "
        f"cot - plain {share(found['difference'])}, 95 % {share(low)} to {share(high)}.",
    ]
    if (cost := found["grammar"]) is not None:
        # Unknown tokens are not within anything: who reads NOT looks at the figures before it.
        fine = cost["times"] is not None and cost["times"] <= MOST_COST
        lines.append(
            f"The grammar: {number(cost['with'], 0)} completion tokens with it, {number(cost['without'], 0)} without, "
            f"{number(cost['times'], 3)} times ({'within' if fine else 'NOT within'} {MOST_COST})."
        )
    if found["odd"]:
        head = ("problem", "only", "cause", "reference", PLAIN, COT)
        keys = ("id", "only", "cause", "reference", "plain", "cot")
        told: list[list[str]] = []
        for each in found["odd"]:
            # A bar would end the cell, and a whole reply the table.
            words = [" ".join((each[key] or "none").split()).replace("|", "/") for key in keys]
            told.append([word if len(word) <= 40 else f"{word[:39]}…" for word in words])
        lines += ["", *table(head, told)]
    return "\n".join(lines)
