"""The `verify` command."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import orjson

from handlers.roles.wording import texts_of
from schemas.asking import Diverged
from schemas.events.episode import EpisodeOpened, ProblemAdmitted
from schemas.settings import PROMPTS, PromptWords
from streams.answering.grading.grader import Grading
from streams.engine.policies import find
from streams.interfaces.cli.errors import DIVERGED, OK, CliError, usage
from streams.interfaces.cli.finding import find_episode, need_episodes
from streams.interfaces.cli.opening import open_log
from streams.interfaces.cli.output import complain, out, out_json
from streams.interfaces.cli.own_graders import grader_of
from streams.interfaces.cli.publishing import heads_of
from streams.replay.held import Unlike, hold
from streams.replay.verify import Verified, Verifier
from streams.replay.words import word_diff

if TYPE_CHECKING:
    from collections.abc import Mapping

from streams.runtime.embedded.erasing import ERASED
from streams.runtime.embedded.log import SqliteLog

SHOWN = 3


def verify(
    url: str | None, wanted: str | None, *, heads: str | None, json: bool, grader: str | None = None
) -> int:
    """Verify a log or one episode; exit code 3 when anything diverges."""
    published = None if heads is None else heads_of(heads)
    try:
        log = open_log(url)
        only = None if wanted is None else find_episode(log, wanted)
    except CliError as error:
        # The one argument may be an episode or a file: whoever names a file that is no evidence
        # would be told of a missing log.
        if url is None and wanted is not None and os.path.isfile(wanted):
            hint = "A log as JSON Lines: --log jsonl:" + wanted
            raise usage(f"{wanted} is a file, and no evidence", field="FILE", hint=hint) from error
        raise
    # A log from which everybody was erased holds no episode that could be read, and is sound all
    # the same.
    if only is not None or next(iter(log.records(kinds=(ERASED,))), None) is None:
        need_episodes(log, only)
    with Grading(own=grader_of(grader)) as grading:
        done = Verifier(log, find, grading.own).run(only)
    if published is not None:
        hold(log, published, done)
    return told_all(log, done, json=json)


def told_all(log: SqliteLog, done: Verified, *, json: bool) -> int:
    """Print what a verification found; the exit code."""
    if json:
        out_json(as_json(done))
        return DIVERGED if done.diverged else OK
    # One cause makes all episodes behind it diverge; the first few say what it is.
    for error in done.diverged[:SHOWN]:
        complain(told(log, error).text())
    if done.left_out:
        out(f"left out: {'; '.join(each.text for each in done.left_out)}")
    if done.covered is not None:
        out(f"published heads speak of {done.covered:,} records and messages; {done.since:,} since")
    if done.diverged:
        out(f"{done.episodes} episodes verified, {len(done.diverged)} diverge, 0 model calls")
        return DIVERGED
    out(f"verified {done.episodes} episodes, {done.facts} facts, 0 model calls")
    if done.erased:
        out(f"{done.erased} erased with their subjects: nothing of them can be read")
    if done.unverifiable:
        out(f"{len(done.unverifiable)} not verifiable by this build")
    return OK


def as_json(done: Verified) -> dict[str, Any]:
    """The figures of a verification."""
    diverged = [
        {
            "episode": e.episode,
            "address": e.address,
            "part": e.part,
            "recorded": e.recorded,
            "now": e.now,
        }
        for e in done.diverged
    ]
    return {
        "episodes": done.episodes,
        "facts": done.facts,
        "model_calls": 0,
        "diverged": diverged,
        "unverifiable": done.unverifiable,
        "left_out": [
            {"what": each.what, "count": each.count, "why": each.why} for each in done.left_out
        ],
        "erased": done.erased,
        "covered": done.covered,
        "since": done.since,
    }


def told(log: SqliteLog, error: Diverged) -> CliError:
    """A divergence with both of its sides."""
    recorded, now = error.recorded, error.now
    part = error.part
    if isinstance(error, Unlike):
        return CliError(
            f"{error.says} {error.chain}: {part}",
            error=error.code,
            exit=DIVERGED,
            where=f"{error.episode} at {error.address}",
            hint=f"published: {recorded}  now: {now}",
        )
    template = getattr(error.question, "template", None)
    if part == "template" and template is not None:
        # Digests differ and say nothing: the texts are compared, if the log has kept the earlier
        # one.
        recorded, now = word_diff(log.text(recorded) or recorded, template.text)
        part = f"template {template.name}"
    if part == PROMPTS:
        recorded, now = word_diff(*_prompts(log, error.episode))
    role = getattr(error.question, "role", None)
    who = f" ({role})" if role else ""
    return CliError(
        f"replay diverged, {part} changed",
        error="replay.diverged",
        exit=DIVERGED,
        where=f"{error.episode} at {error.address}{who}",
        hint=f'recorded: "{recorded[:200]}"  now: "{now[:200]}"',
    )


def _prompts(log: SqliteLog, episode: str) -> tuple[str, str]:
    """What prompts say otherwise: by the settings that an episode was opened with, and by its problem."""
    opened, admitted = log.find(episode, "opened"), log.find(episode, "admitted")
    then: Mapping[str, PromptWords] = {}
    now: Mapping[str, PromptWords] = {}
    if isinstance(opened, EpisodeOpened):
        then = orjson.loads(log.text(opened.settings) or "{}").get(PROMPTS, {})
    if isinstance(admitted, ProblemAdmitted):
        now = admitted.problem.settings.get(PROMPTS, {})
    said, says = (
        "\n".join(
            f"{name}.{where}: {text}"
            for name, words in sorted(prompts.items())
            for where, text in texts_of(words)
        )
        for prompts in (then, now)
    )
    return said, says
