"""The `regrade` command: the answers of a log graded anew, with no reasoning call."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from handlers.answers.grade import CHECKERS, Grade
from streams.answering.grading.grader import Grading
from streams.answering.grading.own import Failed, given_of
from streams.engine.policies import find
from streams.interfaces.cli.errors import FAILED, OK, CliError, usage
from streams.interfaces.cli.kafka_log import is_kafka
from streams.interfaces.cli.opening import log_url, open_log
from streams.interfaces.cli.output import out, out_json, say
from streams.interfaces.cli.own_graders import grader_of
from streams.interfaces.cli.working import only_worker
from streams.replay.grades import SAID_IN
from streams.research.analysis.cases import chosen, read
from streams.runtime.embedded.regrading import Put, Regrading
from streams.views.words import plural

if TYPE_CHECKING:
    from streams.answering.world import Totals
    from streams.runtime.embedded.log import SqliteLog

SHOWN = 5
GIVEN_UP = 10
"""After so many failures on end a grader is asked no more: each may take the whole time limit."""
OURS = "ours"
LEFT = "out of prompts, since its outcome was turned around:"
BACK = "back in prompts, since its outcome is again what it was:"


@dataclass(slots=True)
class Told:
    """What a command comes to, besides what changed."""

    grader: str
    failed: list[str] = field(default_factory=list[str])
    unput: int = 0
    """Answers that have no reference to be held against."""
    judge_calls: int = 0
    proposed: int = 0
    """New grades that those have to record who may append to the log: it lies on Kafka."""
    closed_again: list[str] = field(default_factory=list[str])
    waiting: list[str] = field(default_factory=list[str])
    stays: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """By scope, what was said while learning under an outcome that changed, and is in memory still."""
    aside: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """By scope, what was said under an outcome that is the opposite now, and left memory."""
    back: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """By scope, what is back in memory with the outcome that it was said under."""

    def text(self, done: Regrading) -> Iterator[str]:
        """For people."""
        it = done.done
        said = ", ".join(f"{name} {it.said[name]}" for name in sorted(it.said))
        graded = plural(it.given + it.known, "answer")
        yield f"graded {graded} by {self.grader}{f': {said}' if said else ''}"
        new = "new, for the workers to record" if self.proposed else "new on the log"
        yield (
            f"{it.given} {new}, {it.known} known; {plural(len(it.changed), 'outcome')} changed; "
            f"{self.judge_calls} judge calls, 0 reasoning calls"
        )
        for episode, before, now in it.changed[:SHOWN]:
            yield f"  {episode}: {before} -> {now}"
        if len(it.changed) > SHOWN:
            # The log holds them all; a screen full of names would hide the figures above.
            yield f"  and {len(it.changed) - SHOWN} more"
        if self.closed_again:
            yield f"closed again: {' '.join(self.closed_again)}"
        for words, found in ((LEFT, self.aside), (BACK, self.back)):
            for scope, names in found.items():
                yield f"{words} {scope}: {_some(names)}"

    def record(self, done: Regrading) -> dict[str, Any]:
        """As plain values."""
        it = done.done
        changed = [{"episode": e, "before": before, "now": now} for e, before, now in it.changed]
        return {
            "grader": self.grader,
            "graded": it.given + it.known,
            "outcomes": it.said,
            "new": it.given,
            "known": it.known,
            "proposed": self.proposed,
            "changed": changed,
            "by_person": it.by_person,
            "unput": self.unput,
            "failed": self.failed,
            "closed_again": self.closed_again,
            "waiting": self.waiting,
            "overturned": self.aside,
            "back": self.back,
            "stays": self.stays,
            "judge_calls": self.judge_calls,
            "reasoning_calls": 0,
        }


def regrade(
    log: str | None,
    *,
    run: str | None,
    grader: str | None,
    judge: str | None,
    totals: Totals | None,
    json: bool,
) -> int:
    """Grade anew by a grader, by those of this build where none is named, or by a judge. The exit code."""
    if judge is not None and is_kafka(log_url(log)):
        raise usage(
            "no judge grades answers on Kafka: what it was shown and said would lie on this machine alone",
            field="--judge",
            error="regrade.judge",
            hint="Leave it out, or name a grader: --grader FILE.py:NAME",
        )
    # With a judge alone no grader is asked: ours have had their turn when the answer came.
    own = None if judge is not None and grader is None else grader_of(grader)
    with closing(open_log(log, writes=True)) as opened, Grading(own=own) as grading:
        told = Told(OURS if own is None else own.reference)
        done = None
        if judge is None or grader is not None:
            done = graded_anew(opened, grading, told, run)
        if judge is not None:
            done = judged_anew(opened, judge, told, run, totals)
        assert done is not None
    if json:
        out_json(told.record(done))
    else:
        out("\n".join(told.text(done)))
        _say_the_rest(done, told)
    return FAILED if told.failed else OK


def _some(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{' '.join(names[:SHOWN])}{more}"


def _say_the_rest(done: Regrading, told: Told) -> None:
    for each in told.failed[:SHOWN]:
        say(f"{each} [grader.failed]")
    if len(told.failed) > SHOWN:
        say(f"and {len(told.failed) - SHOWN} more failed; what is on record of them stays")
    if told.unput:
        say(f"{plural(told.unput, 'answer')} without a reference: nothing was held against it")
    if done.done.by_person:
        say(f"{plural(done.done.by_person, 'answer')} judged by a person, whose verdict stands")
    for scope, names in told.stays.items():
        say(f"{scope}: said under another outcome, and stays: {_some(names)}")
        say("  What you do not want any more: metalogue lessons retire ID")
    for scope in told.waiting:
        say(f"{scope}: the next worker closes its versions again")


def graded_anew(log: SqliteLog, grading: Grading, told: Told, run: str | None = None) -> Regrading:
    """Have a grader grade every answer that it can, and what was learned follow. Raises a ``CliError``."""
    # On Kafka nothing is written here: the owner of each scope states its grades, whoever is at work.
    with nullcontext() if log.is_owned_elsewhere else only_worker(str(log.path)):
        done = _begun(log)
        among = None
        if run is not None:
            among = {case.episode for case in chosen(read(log).cases(), run)}
            if not among:
                raise usage(f"no closed episode of {run!r}", field="--run", error="run.unknown")
        # Failures on end are counted, not all: a grader that stumbles over a few answers has
        # judged the rest.
        on_end, own = 0, grading.own
        for put in done.answers():
            if among is not None and put.episode not in among:
                continue
            able = own.unlabelled if own is not None else put.judged.domain in CHECKERS
            if put.held.references is None and not able:
                told.unput += 1
                continue
            try:
                done.grade(put, _graded(grading, put))
                on_end = 0
            except Failed as error:
                told.failed.append(f"{put.episode}: {error}")
                on_end += 1
            if on_end == GIVEN_UP:
                what = f"{told.grader} failed {GIVEN_UP} times on end"
                told.failed.append(f"{what}: the rest was not put")
                break
        _record(done, told)
        return done


def _begun(log: SqliteLog) -> Regrading:
    """The log as it is. Raises a ``CliError`` where a policy is missing by which its memory could follow."""
    done = Regrading(log, find)
    # Before anything is graded. Grades without the memory that follows from them would leave the
    # log half changed.
    for scope, why in done.lost().items():
        hint = "Give it on the command line: --policy FILE.py:NAME"
        raise CliError(f"{scope}: {why}", error="policy.unknown", exit=2, hint=hint)
    return done


def _graded(grading: Grading, put: Put) -> Grade:
    """The grade of an answer. Raises ``Failed``."""
    judged, held = put.judged, put.held
    if grading.own is not None:
        assert judged.answer is not None
        return grading.own.decide(
            given_of(judged.answer, held.references, dataset=held.dataset, problem=judged.problem)
        )
    # A problem that can be checked needs no reference, whatever its label says.
    checker = CHECKERS.get(judged.domain)
    if checker is not None:
        return checker(judged.problem, judged.answer)
    assert held.references is not None
    return grading.grade_now(
        judged.answer,
        held.references,
        dataset=held.dataset,
        problem=judged.problem,
        typed=held.typed,
    )


def judged_anew(
    log: SqliteLog, judge: str, told: Told, run: str | None = None, totals: Totals | None = None
) -> Regrading:
    """Ask a judge about what no grader could decide, and let its verdicts count. Raises a ``CliError``."""
    from streams.interfaces.cli.judging import judge_on
    from streams.interfaces.cli.setup import Models
    from streams.interfaces.cli.spending import Spending

    spending = Spending(totals)
    # Asked before the lock is taken: models are slow, and a worker may go on meanwhile.
    judge_on(log, Models(), judge, run, spending)
    told.judge_calls = sum(world.calls_begun for world in spending.worlds)
    with only_worker(str(log.path)):
        done = _begun(log)
        # What a grader could decide is no judge's business, and an unclear verdict is none.
        verdicts = {
            case.episode: case.verdict
            for case in chosen(read(log).cases(), run)
            if case.standing == "undecided" and case.verdict and case.verdict.said != "unclear"
        }
        told.grader = f"a judge, {judge}"
        for put in done.answers():
            verdict = verdicts.get(put.episode)
            if verdict is None or verdict.said == "unclear":
                continue
            told.grader = verdict.by
            # The side run is named, so that everybody can read what the judge was shown and said.
            detail = f"{SAID_IN}{verdict.run}"
            grade = Grade(outcome=verdict.said, grader=verdict.grader, detail=detail)
            done.grade(put, grade, source=verdict.model, evidence={"run": verdict.run})
        _record(done, told)
        return done


def _record(done: Regrading, told: Told) -> None:
    # The process stands in the name: writers of a log are told apart by it, and an earlier one is
    # fenced off.
    name = f"regrade:{os.getpid()}"

    # Read before memory follows: afterwards nobody could tell what was said under the earlier
    # outcome.
    told.stays = done.stays()
    if done.log.is_owned_elsewhere:
        told.proposed = len(done.new)
        if done.new:
            done.propose()
        return

    async def both() -> None:
        await done.write(name)
        told.closed_again, told.waiting = await done.close_again(name)

    asyncio.run(both())
    told.aside, told.back = done.turned(told.closed_again)
    for scope, names in told.stays.items():
        followed = {*told.aside.get(scope, ()), *told.back.get(scope, ())}
        told.stays[scope] = [name for name in names if name not in followed]
    told.stays = {scope: names for scope, names in told.stays.items() if names}
