"""Commands of the review queue: list, show, answer."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from streams.interfaces.cli.app import Json, Log, group

# ruff: noqa: UP045 - typer reads these annotations at run time on every supported Python

# The queue is a view of the log: nobody is assigned anything, and what
# was judged has left it for all.
review_group = group("review", "Answers that a person should look at.")
Unsure = Annotated[
    float,
    typer.Option("--below", metavar="P", min=0, max=1, help="Of lower confidence: unsure."),
]
Disputed = Annotated[
    float,
    typer.Option("--votes", metavar="P", min=0, max=1, help="A winner of no more: disputed."),
]
Wanted = Annotated[
    str, typer.Argument(metavar="ID", help="Problem id, episode id or a unique prefix.")
]


@review_group.command("list")
def review_list(
    log: Log = None,
    below: Unsure = 0.5,
    votes: Disputed = 0.5,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, help="At most so many.")
    ] = 50,
    json: Json = False,
) -> None:
    """Answers that wait for a person, and why; the newest first.

    Missing, disputed by a vote, or unsure, until somebody judges them.
    """
    from handlers.reviewing import Thresholds
    from streams.interfaces.cli.reviewing import show_all

    show_all(log, Thresholds(confidence=below, votes=votes), most=limit, json=json)


@review_group.command("show")
def review_show(
    wanted: Annotated[
        Optional[str],
        typer.Argument(metavar="ID", help="Problem or episode; else the newest that waits."),
    ] = None,
    log: Log = None,
    json: Json = False,
) -> None:
    """One answer with its problem, and how to judge it."""
    # What waits is decided by the usual bounds here; other ones are for looking through a list.
    from handlers.reviewing import USUAL
    from streams.interfaces.cli.reviewing import show_one

    show_one(log, wanted, USUAL, json=json)


@review_group.command("answer")
def review_answer(
    wanted: Wanted,
    right: Annotated[bool, typer.Option("--right", help="The answer is right.")] = False,
    wrong: Annotated[bool, typer.Option("--wrong", help="The answer is wrong.")] = False,
    score: Annotated[
        Optional[float],
        typer.Option("--score", metavar="P", min=0, max=1, help="How right it is, from 0 to 1."),
    ] = None,
    reference: Annotated[
        Optional[str], typer.Option("--reference", metavar="TEXT", help="The right answer.")
    ] = None,
    passed: Annotated[
        bool, typer.Option("--pass", help="Nobody can tell: it only leaves the queue.")
    ] = False,
    by: Annotated[
        Optional[str], typer.Option("--by", metavar="WHO", help="Whose word it is; you.")
    ] = None,
    log: Log = None,
    json: Json = False,
) -> int:
    """Judge an answer. The word is feedback: it becomes a label."""
    from streams.interfaces.cli.errors import usage
    from streams.interfaces.cli.reviewing import answer

    # The other combinations are refused where feedback is read: there they
    # can come from a file as well.
    if right and wrong:
        raise usage("say one of --right, --wrong", field="--wrong")
    return answer(
        log,
        wanted,
        verdict=True if right else False if wrong else None,
        score=score,
        reference=reference,
        passed=passed,
        by=by,
        json=json,
    )
