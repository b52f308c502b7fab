"""The `fork` and `diff` commands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from schemas.events.episode import EpisodeOpened
from schemas.settings import BadSetting
from streams.core.backbone import BackboneError
from streams.core.normalise import TEXT_CAP
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

if TYPE_CHECKING:
    from schemas.events.base import Event
    from schemas.problem import Limits
    from streams.answering.world import World
    from streams.runtime.embedded.log import SqliteLog


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
        edit = None if self.edit is None else _text(self.edit)
        return Change(
            at=self.at, settings=values, limits=self.limits, policy=self.policy, edit=edit
        )


def _text(said: str) -> str:
    """A text, or with ``@`` before it the file that holds it."""
    if not said.startswith("@"):
        return said
    try:
        with open(said[1:], encoding="utf-8") as file:
            text = file.read(TEXT_CAP + 1)
    except (OSError, UnicodeDecodeError) as error:
        what = getattr(error, "strerror", None) or "not UTF-8"
        raise usage(f"{said[1:]}: {what}", field="--edit") from error
    if len(text) > TEXT_CAP:
        raise usage(f"{said[1:]}: longer than {TEXT_CAP:,} characters", field="--edit")
    return text


def fork(url: str | None, wanted: Wanted, models: Models, *, json: bool) -> int:
    """Fork an episode at an address and run it to its end, once or several times."""
    log = open_log(url, writes=True)
    parent = find_episode(log, wanted.episode)
    world = world_of(models, patient=False)
    if wanted.limits.cost is not None:
        need_prices(world, "--cost-limit")
    change = _in_words(log, parent, _from(log, parent, wanted.change()), wanted.prompts)
    changes = [replace(change, sample=number) for number in range(wanted.samples)]
    try:
        done = finished(world, _forks(log, parent, changes, world))
    except CannotFork as error:
        raise usage(str(error), field="EPISODE") from error
    except BadSetting as error:
        hint = "metalogue policies list shows the settings of each"
        raise usage(str(error), field="--set", error="policy.setting", hint=hint) from error
    except BackboneError as error:
        raise as_cli(error) from error
    for each in done:
        _tell(each, json)
    if wanted.samples > 1:
        _tell_all(log, parent, done, json)
    return SPENT if all(each.closed.status == "exhausted" for each in done) else OK


def _from(log: SqliteLog, parent: str, change: Change) -> Change:
    """The change, without the policy where that is the parent's own file: to give it changes nothing."""
    opened = log.find(parent, "opened")
    if change.policy is None or not isinstance(opened, EpisodeOpened):
        return change
    with suppress(NoPolicy):
        own = find_recorded(find, opened.policy, opened.policy_version)
        if own.origin and own.origin == find(change.policy).origin:
            return replace(change, policy=None)
    return change


def _in_words(log: SqliteLog, parent: str, change: Change, path: str | None) -> Change:
    """The change, with the prompts of the policy that goes on in these words."""
    opened = log.find(parent, "opened")
    if path is None or not isinstance(opened, EpisodeOpened):
        return change
    with suppress(NoPolicy):
        named = change.policy
        own = find(named) if named else find_recorded(find, opened.policy, opened.policy_version)
        return replace(change, settings={**set_for(own, path), **change.settings})
    return change


async def _forks(
    log: SqliteLog, parent: str, changes: Sequence[Change], world: World
) -> list[Forked]:
    """Each change's fork, one after another: a limit of the whole command is met in order."""
    return [await forked(log, parent, change, world) for change in changes]


async def forked(log: SqliteLog, parent: str, change: Change, world: World) -> Forked:
    """One fork, run to its end or found on the log."""
    work, record = forked_work(log, find, parent, change, world.description, world.grant)
    return await run_fork(log, work, change, record, world, say)


def _tell(done: Forked, json: bool) -> None:
    closed = done.closed
    if json:
        body = closed.told()
        out_json(
            {
                "episode": done.episode,
                "kept_calls": done.kept,
                "reused_calls": done.reused,
                "made_calls": done.made,
                **body,
            }
        )
        return
    out(done.episode)
    out(f"{closed.status} {closed.answer or 'no answer'}   ended by {closed.ended_by}")
    out(f"kept {done.kept} calls, reused {done.reused}, made {done.made}")


def _rightly(right: Sequence[bool], spread: tuple[float, float] | None) -> str:
    """How many of those that somebody can judge were right."""
    if spread is None:
        return "nobody can judge them"
    low, high = (100 * bound for bound in spread)
    return f"{sum(right)} of {len(right)} right ({low:.0f} to {high:.0f} %)"


def _tell_all(log: SqliteLog, parent: str, done: Sequence[Forked], json: bool) -> None:
    """What came of all samples together: their answers, how many were right, what they cost."""
    from streams.research.analysis.cases import RIGHT, read
    from streams.research.analysis.intervals import of_outcomes

    case = next(case for case in read(log).cases() if case.episode == parent)
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
    out(f"{len(done)} samples: {_rightly(right, spread)}, {told['made_calls']} calls")
    out("answers: " + ", ".join(f"{answer} ×{count}" for answer, count in answers.most_common()))


def whole(log: SqliteLog, episode: str) -> dict[str, Event]:
    """An episode's record; for a fork, with its parent's before it."""
    journal = log.journal(episode)
    opened = journal.get("opened")
    if isinstance(opened, EpisodeOpened) and opened.parent and opened.at:
        return before(whole(log, opened.parent), opened.at) | journal
    return journal


def diff(url: str | None, left: str, right: str, *, json: bool) -> int:
    """Say where two episodes part and what that cost or saved; exit code 1 when they do."""
    log = open_log(url)
    a, b = find_episode(log, left), find_episode(log, right)
    found = first_difference(whole(log, a), whole(log, b))
    if found is not None:
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
