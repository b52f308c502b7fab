"""The `review` commands: which answers wait for a person, one of them in full, and what he says of it."""

from __future__ import annotations

import getpass
from contextlib import closing
from itertools import islice
from typing import Any

from handlers.reviewing import Thresholds
from streams.interfaces.cli.dead_letters import option
from streams.interfaces.cli.errors import OK, usage
from streams.interfaces.cli.finding import find_episode
from streams.interfaces.cli.opening import open_log
from streams.interfaces.cli.output import flush, out, out_json, say
from streams.interfaces.cli.places import text_of
from streams.interfaces.cli.reviews import item_of, judgement, put, queue
from streams.views.words import cut, one_line, pad, plural

ROOM = 40
TEXT_ROOM = 60


def show_all(log: str | None, thresholds: Thresholds, *, most: int, json: bool) -> None:
    """``review list``: the newest first."""
    with closing(open_log(log)) as opened:
        # One more than is shown: that there are more is all that has to be known, for the queue
        # may be long.
        found = list(islice(queue(opened, thresholds), most + 1))
    for item in found[:most]:
        if json:
            out_json(item.record())
        else:
            answer = "–" if item.answer is None else item.answer
            name = pad(one_line(item.problem_id), 12)
            out(f"{name}  {pad(one_line(answer), 16)}  {item.why()}")
            out(f"{'':12}  {cut(one_line(item.problem), TEXT_ROOM)}")
    flush()
    if json:
        return
    if not found:
        out("nobody is waited for")
    elif len(found) > most:
        say(f"More than {most:,} wait; --limit shows more.")
    if found:
        say(f"One in full: metalogue review show {found[0].problem_id}{option(log)}")


def show_one(log: str | None, wanted: str | None, thresholds: Thresholds, *, json: bool) -> None:
    """``review show ID``; without an id the one that was asked for last."""
    with closing(open_log(log)) as opened:
        # Not read where an id is given: to find the newest means to go through the queue.
        item = next(queue(opened, thresholds), None) if wanted is None else None
        if wanted is not None:
            item = item_of(opened, find_episode(opened, wanted), thresholds)
        if item is None:
            raise usage("nobody is waited for", field="ID", error="review.none")
    if json:
        out_json(item.record())
        return
    out(f"{one_line(item.problem_id)} of {item.domain}, worked on by {item.policy or 'nobody yet'}")
    out(f"why     {item.why()}")
    if item.asked is not None:
        out(f"asks    {one_line(item.asked.question)}")
    out(f"answer  {'none' if item.answer is None else one_line(item.answer)}")
    out()
    out(item.problem)
    out()
    name, where = item.episode, option(log)
    out(f"how it came to be   metalogue show {name}{where}")
    if item.answer is not None:
        out(f"it is right         metalogue review answer {name} --right{where}")
        out(f"it is wrong         metalogue review answer {name} --wrong{where}")
    out(f"the right answer    metalogue review answer {name} --reference TEXT{where}")
    out(f"nobody can tell     metalogue review answer {name} --pass{where}")


def answer(
    log: str | None,
    wanted: str,
    *,
    verdict: bool | None,
    score: float | None,
    reference: str | None,
    passed: bool,
    by: str | None,
    json: bool,
) -> int:
    """``review answer ID``: put a person's word on the log as feedback; the exit code."""
    word: dict[str, Any] = {"verdict": verdict, "score": score, "reference": reference}
    word["passed"] = True if passed else None
    # One word at a time: two of them could contradict each other, and both would count.
    if sum(value is not None for value in word.values()) != 1:
        raise usage("say one of --right, --wrong, --score, --reference, --pass", field="review")
    if reference is not None and not reference.strip():
        raise usage("is blank", field="--reference", hint="Where nobody can tell: --pass")
    who = text_of(by, "--by") or person()
    with closing(open_log(log, writes=True)) as opened:
        item = item_of(opened, find_episode(opened, wanted))
        said = judgement(item, who, **word)
        new = put(opened, said)
        # Counted after the word, so that it no longer counts the answer that was just judged.
        left = sum(1 for _ in queue(opened))
    if json:
        out_json({"episode": item.episode, "by": who, "new": new, "left": left})
    else:
        told = "recorded" if new else "known already"
        out(
            f"{one_line(item.problem_id)}: {told}, by {one_line(who)}; {plural(left, 'answer')} left"
        )
    return OK


def person() -> str:
    """Who sits here, as the machine knows him."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may know no names
        return "unknown"
