"""The `fork` and `diff` commands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from schemas.events.episode import EpisodeOpened
from schemas.identity import is_taken
from schemas.settings import BadSetting
from streams.core.backbone import BackboneError
from streams.core.normalise import TEXT_CAP
from streams.engine.learner import Learner
from streams.engine.policies import NoPolicy, find, find_recorded
from streams.interfaces.cli.draining import finished
from streams.interfaces.cli.errors import FAILED, OK, SPENT, usage
from streams.interfaces.cli.finding import find_episode
from streams.interfaces.cli.opening import open_log
from streams.interfaces.cli.options import pairs
from streams.interfaces.cli.output import out, out_json, say
from streams.interfaces.cli.prompting import set_for
from streams.interfaces.cli.setup import Models, as_cli, need_prices, policy_of, world_of
from streams.replay.change import Change
from streams.replay.differ import first_difference, in_words
from streams.replay.fork import CannotFork, Forked, forked_work, run_fork
from streams.replay.verify import before
from streams.runtime.embedded.records import learned

if TYPE_CHECKING:
    from schemas.events.base import Event
    from schemas.problem import Limits
    from streams.answering.world import World
    from streams.runtime.embedded.log import SqliteLog

FIELDS: Final = {"episode": "EPISODE", "at": "--at", "policy": "--policy"}
"""What is at fault with a fork, as the command line names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A fork as the command line asks for it."""

    episode: str
    at: str
    settings: list[str]
    limits: Limits
    policy: str | None = None
    prompts: str | None = None
    edit: str | None = None
    samples: int = 1

    def change(self) -> Change:
        """What is changed. Raises a usage error for an unknown policy or setting, or a missing file."""
        values = pairs(self.settings, "--set")
        if self.policy is not None:
            policy_of(self.policy, values=values)
        edit = self.edit
        if edit is not None and edit.startswith("@"):
            path = edit[1:]
            try:
                with open(path, encoding="utf-8") as file:
                    edit = file.read(TEXT_CAP + 1)
            except (OSError, UnicodeDecodeError) as error:
                what = getattr(error, "strerror", None) or "not UTF-8"
                raise usage(f"{path}: {what}", field="--edit") from error
            if len(edit) > TEXT_CAP:
                raise usage(f"{path}: longer than {TEXT_CAP:,} characters", field="--edit")
        return Change(
            at=self.at, settings=values, limits=self.limits, policy=self.policy, edit=edit
        )


def fork(url: str | None, wanted: Wanted, models: Models, *, json: bool) -> int:
    """Fork an episode at an address and run it to its end, once or several times."""
    log = open_log(url, writes=True)
    parent = find_episode(log, wanted.episode)
    world = world_of(models, patient=False)
    change = _for_parent(log, parent, wanted)
    # The number makes another episode of each; without it the first would be found again.
    changes = [replace(change, sample=number) for number in range(wanted.samples)]
    try:
        # One loop for all samples, so that a signal and a total end the command and not one
        # sample of it.
        done = finished(world, _forks(log, parent, changes, world))
    except CannotFork as error:
        raise usage(str(error), field=FIELDS[error.field]) from error
    except BadSetting as error:
        hint = "metalogue policies list shows the settings of each"
        raise usage(str(error), field="--set", error="policy.setting", hint=hint) from error
    except BackboneError as error:
        raise as_cli(error) from error
    for each in done:
        _tell(each, json)
    if wanted.samples > 1:
        _tell_all(log, parent, done, json)
    # One sample that came to an end is a result.
    return SPENT if all(each.closed.status == "exhausted" for each in done) else OK


def _for_parent(log: SqliteLog, parent: str, wanted: Wanted) -> Change:
    """The change as it is one of this episode, with the prompts of the policy that goes on in these words."""
    change = wanted.change()
    opened = log.find(parent, "opened")
    if not isinstance(opened, EpisodeOpened):
        return change
    if change.policy is not None:
        # A policy of one's own has to be given, so that it may run at all. If it is the very file
        # that the parent ran, it changes nothing: a change of policy would start the episode over.
        with suppress(NoPolicy):
            own = find_recorded(find, opened.policy, opened.policy_version)
            if own.origin and own.origin == find(change.policy).origin:
                change = replace(change, policy=None)
    if wanted.prompts is not None:
        with suppress(NoPolicy):
            own = (
                find(change.policy)
                if change.policy
                else find_recorded(find, opened.policy, opened.policy_version)
            )
            # What --set says goes last: it names one setting, where prompts come by the folder.
            return replace(change, settings={**set_for(own, wanted.prompts), **change.settings})
    return change


async def _forks(
    log: SqliteLog, parent: str, changes: Sequence[Change], world: World
) -> list[Forked]:
    """Each change's fork, one after another: a limit of the whole command is met in order."""
    # A limit of the whole command is met in order: side by side nobody could say which sample it
    # ended.
    learner = learned(log, find)
    return [await forked(log, parent, change, world, learner) for change in changes]


async def forked(
    log: SqliteLog, parent: str, change: Change, world: World, learner: Learner | None = None
) -> Forked:
    """One fork, run to its end or found on the log. Raises a usage error where nobody can keep its limit of cost."""
    work, record = forked_work(log, find, parent, change, world, learner)
    # Its own or its parent's, and by the prices of whoever answers it: without them the limit would never be met,
    # and would look as if it held.
    if work.opened.limits.cost is not None:
        need_prices(world, "--cost-limit", [work.settings.backbone])
    return await run_fork(log, work, change, record, world, say)


def _tell(done: Forked, json: bool) -> None:
    closed = done.closed
    if json:
        calls = {"kept_calls": done.kept, "reused_calls": done.reused, "made_calls": done.made}
        out_json({"episode": done.episode, **calls, **closed.told()})
        return
    out(done.episode)
    out(f"{closed.status} {closed.answer or 'no answer'}   ended by {closed.ended_by}")
    out(f"kept {done.kept} calls, reused {done.reused}, made {done.made}")


def _tell_all(log: SqliteLog, parent: str, done: Sequence[Forked], json: bool) -> None:
    """What came of all samples together: their answers, how many were right, what they cost."""
    from streams.research.analysis.cases import RIGHT, read
    from streams.research.analysis.intervals import of_outcomes

    case = next(case for case in read(log).cases() if case.episode == parent)
    # By the grader of the parent's case, so that samples and parent are measured alike.
    judged = [case.judged(each.closed.answer) for each in done]
    right = [each for each in judged if each is not None]
    answers = Counter(each.closed.answer or "no answer" for each in done)
    spread = of_outcomes(right)
    told: dict[str, Any] = {
        "parent": parent,
        "samples": len(done),
        "judged": len(right),
        "right": sum(right) if right else None,
        "parent_right": RIGHT.get(case.outcome),
        "interval": None if spread is None else [round(bound, 6) for bound in spread],
        "answers": dict(answers.most_common()),
        "made_calls": sum(each.made for each in done),
    }
    if json:
        out_json(told)
        return
    rightly = "nobody can judge them"
    if spread is not None:
        low, high = (100 * bound for bound in spread)
        rightly = f"{sum(right)} of {len(right)} right ({low:.0f} to {high:.0f} %)"
    out(f"{len(done)} samples: {rightly}, {told['made_calls']} calls")
    out("answers: " + ", ".join(f"{answer} ×{count}" for answer, count in answers.most_common()))


def whole(log: SqliteLog, episode: str) -> dict[str, Event]:
    """An episode's record; for a fork, with its parent's before it."""
    journal = log.journal(episode)
    opened = journal.get("opened")
    if isinstance(opened, EpisodeOpened) and opened.parent and opened.at:
        # A fork records only what is its own: what lies before stays with its parent, which may
        # be a fork too.
        return before(whole(log, opened.parent), opened.at) | journal
    return journal


def diff(url: str | None, left: str, right: str, *, json: bool) -> int:
    """Say where two episodes part and what that cost or saved; exit code 1 when they do."""
    log = open_log(url)
    a, b = find_episode(log, left), find_episode(log, right)
    for each in (a, b):
        # It has no records of questions and answers, and by those alone would be equal to anything.
        if is_taken(each):
            raise usage(f"{each} is a case of another tool, and no episode", field="EPISODE")
    found = first_difference(whole(log, a), whole(log, b))
    if found is not None:
        # Records hold digests of texts. Nobody can read a difference between two digests.
        found = in_words(found, log.text)
    if json:
        told = (
            None
            if found is None
            else {**asdict(found), "calls": found.calls, "tokens": found.tokens}
        )
        out_json({"left": a, "right": b, "difference": told})
    elif found is None:
        out("no difference")
    else:
        out(f"first difference at {found.address}: {found.part}")
        out(f"  {a}: {found.left[:200]}  ({found.left_calls} calls from there)")
        out(f"  {b}: {found.right[:200]}  ({found.right_calls} calls from there)")
        out(f"the second takes {found.said}")
    return OK if found is None else FAILED
