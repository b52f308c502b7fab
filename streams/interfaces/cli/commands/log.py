"""Commands over a log: stats, digest, cat, path, state hash, verify, fork, diff."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from streams.interfaces.cli.app import Json, Log, NewLog, app, group
from streams.interfaces.cli.options import (
    GraderOption,
    LimitOptions,
    ModelOptions,
    Own,
    Policy,
    Prompts,
    Set,
    grouped,
)

# ruff: noqa: UP045 - typer reads these annotations at run time on every supported Python

# What is read here is the log itself and not what was made of it: records, digests, and what
# follows from both when policies run over them again. Nothing of it asks a model, except for what
# `fork` and `effect` do from the address on where they part.
log_group = group("log", "What a log holds.")
state_group = group("state", "What was learned.")
effect_group = group("effect", "What something learned is worth.")
Episode = Annotated[
    str, typer.Argument(metavar="EPISODE", help="Problem id, episode id or a unique prefix.")
]


@log_group.command()
def stats(log: Log = None, json: Json = False) -> int:
    """Counts of problems, episodes, completions, dead letters.

    Forks and sets are among what is opened and closed. What a fork took over is among completions, and counted by
    itself as reused_completions: nobody was asked for it again.
    """
    from streams.interfaces.cli.logs import stats as run

    return run(log, json=json)


@log_group.command()
def digest(log: Log = None, json: Json = False) -> int:
    """One SHA-256 over what the log means.

    Times, places and transport are left out: two runs that mean the same print the same.
    """
    from streams.interfaces.cli.logs import digest as run

    return run(log, json=json)


@log_group.command()
def cat(
    log: Log = None,
    json: Json = False,
    topic: Annotated[
        Optional[str], typer.Option("--topic", metavar="NAME", help="Only this topic.")
    ] = None,
    episode: Annotated[
        Optional[str],
        typer.Option(
            "--episode",
            metavar="ID",
            help="Only this and what belongs to it: problem id, episode id or a unique prefix.",
        ),
    ] = None,
    learned: Annotated[
        bool, typer.Option("--learned", help="With what the episode's memory was made of.")
    ] = False,
) -> int:
    """Every record and message as JSON Lines.

    What it writes can be read again as jsonl:PATH. So one episode can be shown and verified alone.
    """
    from streams.interfaces.cli.logs import cat as run

    # --json is taken and changes nothing: it is JSON Lines already, and scripts add it everywhere.
    return run(log, topic=topic, episode=episode, learned=learned)


@log_group.command()
def heads(
    log: Log = None,
    records: Annotated[
        bool,
        typer.Option("--records", help="With the digest of each record: these name what changed."),
    ] = False,
    json: Json = False,
) -> int:
    """Digests to publish: one for each partition's chain.

    Against them verify --heads finds any later change. The last line stands for all of them.
    """
    # A chain alone proves nothing to others, as whoever holds the log can compute it anew. A head
    # that was published before is out of his reach.
    from streams.interfaces.cli.publishing import heads as run

    return run(log, records=records, json=json)


@log_group.command()
def pack(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="Where its segments lie.")],
    log: Log = None,
) -> int:
    """Keep a log as compressed segments, which never change.

    Each call adds one with what is new since the last, also while a worker goes on.
    """
    from streams.interfaces.cli.logs import pack as run

    return run(log, folder)


@log_group.command()
def unpack(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="Where its segments lie.")],
    log: NewLog = None,
) -> int:
    """Make a log of its segments. A worker goes on with it, unless it is a copy of a log on Kafka."""
    from streams.interfaces.cli.logs import unpack as run

    return run(log, folder)


@log_group.command()
def unread(log: Log = None, json: Json = False) -> int:
    """Replies that were not read at once, and why.

    With --json each is a whole case for a test: who was asked, what it replied, why it could not be read.
    """
    from streams.interfaces.cli.unread import unread as run

    return run(log, json=json)


@log_group.command()
def path(log: NewLog = None) -> int:
    """The file that the log lives in."""
    # The log need not exist yet: scripts ask where it will be, to copy it
    # away or to mount a volume there.
    from streams.interfaces.cli.logs import path as run

    return run(log)


@state_group.command("hash")
def state_hash(log: Log = None, json: Json = False) -> int:
    """One SHA-256 over everything learned, from the folds."""
    from streams.interfaces.cli.projecting import state_hash as run

    return run(log, json=json)


@app.command()
def verify(
    episode: Annotated[
        Optional[str],
        typer.Argument(
            metavar="EPISODE|FILE",
            help="Only this: problem id, episode id or a unique prefix. Or a file of evidence.",
        ),
    ] = None,
    heads: Annotated[
        Optional[str],
        typer.Option("--heads", metavar="FILE", help="What log heads printed before."),
    ] = None,
    key: Annotated[
        Optional[str],
        typer.Option("--key", metavar="PEM", help="Of evidence: whose signature it must bear."),
    ] = None,
    own: Own = [],  # noqa: B006 - typer copies it
    grader: GraderOption = None,
    log: Log = None,
    json: Json = False,
) -> int:
    """Run every policy again over its record, with no model.

    Evidence that export evidence wrote is verified without a log.
    """
    from streams.interfaces.cli.places import is_evidence

    # A file of evidence is told by its first bytes, and only where no log is named: an episode may
    # have the name of a file that happens to lie here.
    if episode is not None and (key is not None or (log is None and is_evidence(episode))):
        from streams.interfaces.cli.packing import verify as alone

        return alone(episode, heads=heads, key=key, json=json)
    from streams.interfaces.cli.verifying import verify as run

    return run(log, episode, heads=heads, json=json, grader=grader)


@app.command()
@grouped
def fork(
    *,
    episode: Episode,
    at: Annotated[
        str,
        typer.Option("--at", metavar="ADDRESS", help="The address from which to go another way."),
    ],
    log: Log = None,
    answering: ModelOptions,
    settings: Set = [],  # noqa: B006
    policy: Policy = None,
    prompts: Prompts = None,
    edit: Annotated[
        Optional[str],
        typer.Option("--edit", metavar="TEXT|@FILE", help="The reply at ADDRESS, in other words."),
    ] = None,
    samples: Annotated[
        int,
        typer.Option(
            "--samples", metavar="N", min=1, max=1000, help="So many draws of what follows."
        ),
    ] = 1,
    limits: LimitOptions,
    json: Json = False,
) -> int:
    """What if another model, policy, reply or limit had gone on?

    The record up to the address is taken over at no cost.
    """
    from streams.interfaces.cli.forking import Wanted
    from streams.interfaces.cli.forking import fork as run

    # A fork is an episode of its own: the one that it leaves stays as it was,
    # with its answer and its cost.
    wanted = Wanted(
        episode=episode,
        at=at,
        settings=settings,
        limits=limits.limits(),
        policy=policy,
        prompts=prompts,
        edit=edit,
        samples=samples,
    )
    return run(log, wanted, answering.models(), json=json)


@effect_group.command("lesson")
@grouped
def effect_lesson(
    *,
    id: Annotated[
        str, typer.Argument(metavar="ID", help="A lesson's id, such as L4.R2, or a rule's.")
    ],
    log: Log = None,
    scope: Annotated[
        Optional[str], typer.Option("--scope", metavar="NAME", help="Whose lesson.")
    ] = None,
    limit: Annotated[
        Optional[int], typer.Option("--limit", metavar="N", min=1, help="At most so many episodes.")
    ] = None,
    answering: ModelOptions,
    own: Own = [],  # noqa: B006
    json: Json = False,
) -> int:
    """Each episode that used a lesson, again without it.

    At the same limit, so that the difference is the lesson's.
    """
    # Only running the same episodes again shows what a lesson did: that right
    # episodes had it does not.
    from streams.interfaces.cli.effects import lesson

    return lesson(log, id, answering.models(), scope=scope, limit=limit, json=json)


@app.command()
def diff(left: Episode, right: Episode, log: Log = None, json: Json = False) -> int:
    """Where two episodes part, and what each cost from there."""
    from streams.interfaces.cli.forking import diff as run

    return run(log, left, right, json=json)
