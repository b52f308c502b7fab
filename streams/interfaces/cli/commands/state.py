"""Commands over what was learned: projector, rebuild, export, forget."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from streams.interfaces.cli.app import Json, Log, app
from streams.interfaces.cli.options import By, ModelOptions, Otlp, OtlpText, Own, Reason, grouped

# ruff: noqa: UP045 - typer reads these annotations at run time on every supported Python

Tables = Annotated[
    list[str],
    typer.Option("--tables", metavar="NAMES", help="Only these, by commas; none for none."),
]
Scope = Annotated[Optional[str], typer.Option("--scope", metavar="NAME", help="Whose memory.")]


# Tables and snapshots are made of the log, and can be thrown away and
# made again: nothing is decided by them.
@app.command()
def projector(
    log: Log = None,
    attached: Annotated[
        bool, typer.Option("--attached", hidden=True, help="End when standard input closes.")
    ] = False,
    otlp: Otlp = None,
    otlp_text: OtlpText = False,
) -> int:
    """Keep the tables of a log up with it, until stopped."""
    from streams.interfaces.cli.projecting import project

    return project(log, attached=attached, otlp=otlp, texts=otlp_text)


@app.command()
def rebuild(
    log: Log = None,
    to: Annotated[
        Optional[int], typer.Option("--to", min=0, metavar="VERSION", help="A memory version.")
    ] = None,
    scope: Scope = None,
    tables: Tables = [],  # noqa: B006 - typer copies it
    snapshot: Annotated[
        bool, typer.Option("--snapshot", help="Begin at the snapshot instead of at nothing.")
    ] = False,
    json: Json = False,
) -> int:
    """Fold the whole log, write tables anew, print the hash."""
    from streams.interfaces.cli.projecting import rebuild as run

    return run(log, to=to, scope=scope, tables=tables, snapshot=snapshot, json=json)


TAKEN_BY = {
    "FILE": ("grpo", "evidence", "replies"),
    "--episode": ("evidence", "folder"),
    "--reward": ("grpo",),
    "--out": ("evidence",),
    "--sign": ("evidence",),
    "--of": ("replies",),
    "--seed": ("replies",),
    "--backbone": ("replies",),
}
"""Which kinds of export take an argument."""
OneEpisode = Annotated[
    Optional[str],
    typer.Option("--episode", metavar="ID", help="One episode, with all that it refers to."),
]
Reward = Annotated[
    str, typer.Option("--reward", help="With grpo: exact_match, or f1 for questions.")
]
To = Annotated[
    Optional[str],
    typer.Option("--out", metavar="FILE", help="With evidence: where it goes; - to print it."),
]
Sign = Annotated[
    Optional[str],
    typer.Option("--sign", metavar="PEM", help="With evidence: an Ed25519 key to sign with."),
]
OfPolicy = Annotated[
    Optional[str], typer.Option("--of", metavar="POLICY", help="With replies: of its episodes.")
]
OfSeed = Annotated[
    Optional[int], typer.Option("--seed", metavar="N", help="With replies: of problems of it.")
]
ByBackbone = Annotated[
    Optional[str],
    typer.Option("--backbone", metavar="NAME", help="With replies: of episodes that it answered."),
]


@app.command()
def export(
    folder: Annotated[
        str,
        typer.Argument(
            metavar="FOLDER|grpo|evidence|replies",
            help="Where the files go; grpo: for training; evidence: one episode; replies: a recording.",
        ),
    ],
    file: Annotated[
        Optional[str],
        typer.Argument(
            metavar="FILE|EPISODE",
            help="With grpo, replies: where they go. With evidence: of what.",
        ),
    ] = None,
    log: Log = None,
    episode: OneEpisode = None,
    reward: Reward = "exact_match",
    to: To = None,
    sign: Sign = None,
    of: OfPolicy = None,
    seed: OfSeed = None,
    backbone: ByBackbone = None,
    own: Own = [],  # noqa: B006
    json: Json = False,
) -> int:
    """Write Parquet files for offline analysis.

    Beside them: what every column is, and queries to begin with.
    """
    # Kinds of files by one verb, told by a word in the place of a folder. A folder of that
    # name is still reached as ./grpo. What belongs to another kind is refused: an export that was
    # to be signed, or of one episode alone, must not look as if it were.
    kind = folder if folder in ("grpo", "evidence", "replies") else "folder"
    scored = reward if reward != "exact_match" else None
    said = (file, episode, scored, to, sign, of, seed, backbone)
    for name, given in zip(TAKEN_BY, said, strict=True):
        if given is not None and kind not in TAKEN_BY[name]:
            from streams.interfaces.cli.errors import usage

            hint = f"It goes with: export {' or '.join(TAKEN_BY[name])}"
            raise usage(f"export {folder} takes none", field=name, hint=hint)
    if folder == "grpo":
        from streams.interfaces.cli.export_grpo import export as groups

        return groups(log, file or "-", reward=reward, json=json)
    if folder == "replies":
        from streams.interfaces.cli.export_replies import export as replies
        from streams.research.training.recording import Only

        only = Only(policy=of, seed=seed, backbone=backbone)
        return replies(log, file or "-", only, json=json)
    if folder == "evidence":
        from streams.interfaces.cli.packing import export as pack
        from streams.interfaces.cli.packing import need_file

        return pack(log, file or episode, need_file(to), sign=sign, json=json)
    from streams.interfaces.cli.exporting import export as run

    return run(log, folder, episode=episode, json=json)


@app.command()
@grouped
def forget(
    *,
    problem: Annotated[
        Optional[str], typer.Option("--problem", metavar="ID", help="The problem's id.")
    ] = None,
    subject: Annotated[
        Optional[str],
        typer.Option("--subject", metavar="NAME", help="With --erase: whom to erase."),
    ] = None,
    erase: Annotated[
        bool, typer.Option("--erase", help="Destroy a subject's key: nobody reads it again.")
    ] = False,
    domain: Annotated[
        Optional[str],
        typer.Option("--domain", metavar="NAME", help="Its domain, where several have the id."),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do it; without, only say what it would do.")
    ] = False,
    reason: Reason = None,
    by: By = None,
    answering: ModelOptions,
    own: Own = [],  # noqa: B006
    call_limit: Annotated[
        Optional[int],
        typer.Option("--call-limit", metavar="N", min=1, help="Model calls a version."),
    ] = None,
    log: Log = None,
    json: Json = False,
) -> int:
    """Withdraw what was learned from a problem.

    Later memory versions are closed again without it. The log keeps its text, unless a subject is erased on one
    that was begun with keys.
    """
    from streams.interfaces.cli.forgetting import forget as run
    from streams.interfaces.cli.forgetting import need_one
    from streams.interfaces.cli.setup import limits_of

    # To forget and to erase are two things: one closes memory versions again and
    # can be looked into afterwards, the other destroys a key for good. Neither
    # may be done by a slip in the other's options.
    problem = need_one(problem, subject, erase=erase)
    if problem is None:
        from streams.interfaces.cli.erasing import erase as run_erase

        return run_erase(log, subject or "", by=by, reason=reason, yes=yes, json=json)
    # Closing versions again asks models, as the batches without the problem teach something else.
    # So models and a limit are named here, and without --yes it only says which versions that are.
    return run(
        log,
        problem,
        domain=domain,
        models=answering.models(),
        limits=limits_of(call_limit, None, None, None),
        by=by,
        reason=reason,
        yes=yes,
        json=json,
    )
