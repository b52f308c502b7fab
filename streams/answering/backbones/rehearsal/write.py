"""The faculty of writing: short prose for a field, its content taken from the prompt.

A field's words say which writer fills it (the tables at the end, the first fit counts, so narrower
stems stand before wider ones). No writer knows a policy: one that asks for a lesson in new words is
served as long as it uses words that people use for lessons.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from streams.answering.backbones.rehearsal import advance, carry, learn, score
from streams.answering.backbones.rehearsal.assess import FAULTLESS, finding, reported
from streams.answering.backbones.rehearsal.hints import Hint
from streams.answering.backbones.rehearsal.prompts import Asked
from streams.answering.backbones.rehearsal.puzzles import PUZZLES
from streams.answering.backbones.rehearsal.solve import attempt, patch, told
from streams.answering.backbones.rehearsal.turn import Turn, false_step

_BULLETS = 4
_QUERY_WORDS = 8
_SNIPPET = 6
_SHOWN = 2
"""Recommendations that guidance passes on."""
_VAGUE = "Look again at what the last lines claim before you settle."
_CAREFUL = (
    "Read every line against the one before it.",
    "Write each value on a line of its own.",
    "Keep the answer in the form that is asked for.",
    "Begin with what is least certain.",
)
_CLAIMED = "A last value that was claimed and not computed."
_SPEAKS = "IF the report {says} THEN Action {option} BECAUSE {why}"


def prose(turn: Turn, asked: Asked) -> str:
    """A text field."""
    match asked.one_of(_TEXTS):
        case "fault":
            return finding(turn).says
        case "step":
            return finding(turn).step
        case "situation":
            return learn.sentence(turn.situation)
        case "solution":
            return told(turn, *(patch(turn) if turn.prompt.trajectory else attempt(turn)))
        case "instruction":  # what somebody else is to do: solve the problem
            return f'"""Solve this and say how: {turn.latent.problem}"""'
        case "query":  # what to ask a tool: the words of the question that say something
            words = re.findall(r"\w{4,}", turn.prompt.problem or turn.latent.problem)
            return " ".join(words[-_QUERY_WORDS:]) or turn.latent.problem
        case "rule":  # each field for a rule takes another one
            wanted = [field.label for field in turn.prompt.asked if field.speaks_of("rule")]
            return learn.rules(turn)[wanted.index(asked.label) % learn.RULES]
        case "wording":  # one text of several: a sentence of each, and one of its own
            parts = [re.split(r"(?<=[.;])\s+", text) for text in turn.prompt.told]
            taken = [str(turn.dice.pick(f"part {at}", part)) for at, part in enumerate(parts)]
            return " ".join(dict.fromkeys((*taken, str(turn.dice.pick("careful", _CAREFUL)))))
        case None | "reason":
            return _because(turn)
        case write:
            return write(turn, asked)


def listed(turn: Turn, asked: Asked) -> list[str]:
    """A list field: as many items as it must and may hold."""
    match asked.one_of(_LISTS):
        case "fragments":
            lines = (turn.prompt.trajectory or "").splitlines()
            blamed = [finding(turn).says] if finding(turn).fault else []
            items = [line for line in lines if line.startswith("Step")][:_SNIPPET] + blamed
        case "pitfalls":
            hint = taught(turn)
            items = [_CLAIMED if hint is None or hint.good else _taught(turn)]
        case "signals":
            says = "blames a line" if finding(turn).fault else "finds nothing to blame"
            items = [_taught(turn), f"The report {says}."]
        case None | "recipe" if turn.topic == "checking":
            items = learn.checks(turn)
        case None | "recipe":
            items = [_taught(turn), _CAREFUL[1], learn.checks(turn)[0], _CAREFUL[2]]
        case write:
            items = write(turn)
    items = items[: asked.most]
    return items + list(_CAREFUL[: max(0, asked.least - len(items))])


def explanation(turn: Turn) -> str:
    """What comes before the fields: the work or a part of it, or what was found in the work of others."""
    if turn.prompt.may_stay_open:
        return advance.step(turn) if turn.prompt.in_steps else carry.thought(turn)
    return told(turn, *attempt(turn)) if turn.prompt.trajectory is None else _because(turn)


# ── What a case teaches ──────────────────────────────────────────────────────────────────────


def taught(turn: Turn) -> Hint | None:
    """The approach that the solution in the prompt names, recommended or not by how it ended."""
    if turn.tried is None:
        return None
    # What the prompt says of the outcome comes before what the simulator finds: a lesson is about
    # the case as it was judged.
    told = (turn.prompt.section(("polarity", "outcome")) or "").lstrip().casefold()
    bad = told.startswith("avoid") or (not told and finding(turn).fault)
    return Hint(turn.tried, turn.latent.situation, not bad)


def _taught(turn: Turn) -> str:
    hint = taught(turn)
    return _CAREFUL[0] if hint is None else hint.says(turn.latent.ground, turn.topic)


def _bullets(turn: Turn) -> list[str]:
    """Guidance for this problem from rules and lessons: nothing that they do not say."""
    hints = learn.holding(turn)
    good = [hint for hint in hints if hint.good][:_SHOWN]
    bad = [hint for hint in hints if not hint.good][:_SHOWN]
    said = [hint.says(turn.latent.ground, turn.topic) for hint in (*good, *bad)]
    # The last bullet speaks of this very case, and is the only one that no rule or lesson says.
    fault, false = reported(turn), false_step(turn.prompt.trajectory or "")
    if fault is not None and turn.topic == "deciding":
        says = "blames a line" if fault else "blames nothing"
        clue = f"The report {says}, {'and one is' if false else 'though none looks'} false."
    else:
        clue = f"Look at step {false[0]} first." if false else turn.dice.pick("careful", _CAREFUL)
    return [*[*learn.checks_named(turn), *said][:_BULLETS], clue]


# ── What to say of a solution ────────────────────────────────────────────────────────────────


def _advice(turn: Turn, asked: Asked) -> str:
    """Another approach, if guidance names one or insight strikes; else nothing that helps."""
    ground, dice = turn.latent.ground, turn.dice
    others = [a for a in range(len(ground.approaches)) if a != turn.tried]
    known = [hint.approach for hint in learn.holding(turn) if hint.good and hint.approach in others]
    # Advice passes guidance on; by itself it seldom knows better than whoever is advised.
    if known and dice.below("passes on", turn.options.heed):
        idea = known[0]
    elif dice.below("insight", turn.options.insight):
        idea = dice.pick("idea", others)
    else:
        return _VAGUE
    return f"Start afresh: {Hint(idea, turn.latent.situation, True).says(ground, 'solving')}"


def _because(turn: Turn) -> str:
    found = finding(turn)
    return f"{found.says} The rest hangs on it." if found.fault else FAULTLESS


def _supposed(turn: Turn, asked: Asked) -> str:
    """A principle drawn from bare paths, of puzzles since no problem is shown: it may help, or harm."""
    # It may be wrong: the weights of a memory are to find out which principles help.
    ground, dice = PUZZLES, turn.dice
    approach = dice.pick("supposed way", range(len(ground.approaches)))
    situation = dice.pick("supposed case", range(len(ground.situations)))
    return Hint(approach, situation, True).says(ground, "solving")


def _rule_used(turn: Turn, asked: Asked) -> str:
    """``IF … THEN Action n BECAUSE …``, of the course that the prompt says was taken."""
    fault = finding(turn).fault
    taken = re.search(r"\b[Aa]ction\W{1,4}(\d)", "\n".join(turn.prompt.told))
    option = taken[1] if taken else "3" if fault else "1"
    says = "blames a line" if fault else "finds nothing to blame"
    return _SPEAKS.format(says=says, option=option, why=_taught(turn))


_Text = (
    Callable[[Turn, Asked], str]
    | Literal["fault", "step", "situation", "solution"]
    | Literal["instruction", "query", "rule", "wording", "reason"]
)
_List = Callable[[Turn], list[str]] | Literal["fragments", "pitfalls", "signals", "recipe"]

_TEXTS: tuple[tuple[tuple[str, ...], _Text], ...] = (
    (("wording",), "wording"),
    (("analysis",), "reason"),
    (("instruction",), "instruction"),
    (("next step",), lambda turn, asked: advance.step(turn)),
    (("thought",), lambda turn, asked: carry.thought(turn)),
    (("because", "rule used"), _rule_used),
    (("advice", "suggest", "guidance"), _advice),
    (("description", "mistake", "fault"), "fault"),
    (("justif", "explan", "why"), "reason"),
    (("corrected", "mended", "solution"), "solution"),
    (("reasoning",), "reason"),
    (("descriptor", "applicable", "condition"), "situation"),
    (("step",), "step"),
    (("rule",), "rule"),
    (("query", "search", "tool"), "query"),
    (("principle",), _supposed),
)
_LISTS: tuple[tuple[tuple[str, ...], _List], ...] = (
    (("semantic", "logical"), score.scores),
    (("bullet",), _bullets),
    (("recipe", "procedure"), "recipe"),
    (("snippet", "fragment"), "fragments"),
    (("failure", "pitfall"), "pitfalls"),
    (("flag", "signal"), "signals"),
    (("check", "where"), learn.checks),
    (("rule", "principle", "insight"), learn.rules),
)
