"""Commands that show: an episode, lessons, knowledge, the demo."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from streams.interfaces.cli.app import Json, Log, app, group
from streams.interfaces.cli.options import By, Own, Reason

# ruff: noqa: UP045 - typer reads these annotations at run time on every supported Python

# Lessons, rules and arms are read by scope. A scope is a domain, a policy
# and its settings: what was learned under others has no standing in it,
# which is why most commands here ask which one is meant.
lessons_group = group("lessons", "What was learned from single problems, and which strategies.")
knowledge_group = group("knowledge", "The rules that were made of lessons.")
graph_group = group("graph", "The graph memory: cases, paths, principles, weights.")
Scope = Annotated[
    Optional[str],
    typer.Option(
        "--scope", metavar="NAME", help="A scope or part of its name, where there are several."
    ),
]
Version = Annotated[
    Optional[int], typer.Option("--at", metavar="VERSION", min=0, help="As of this memory version.")
]


@app.command()
def show(
    id: Annotated[
        Optional[str],
        typer.Argument(
            metavar="ID",
            help="Problem id, episode id or a unique prefix; else the latest answer.",
        ),
    ] = None,
    at: Annotated[
        Optional[str],
        typer.Option("--at", metavar="ADDRESS", help="One step in full, its prompt derived again."),
    ] = None,
    tree: Annotated[
        Optional[str],
        typer.Option("--tree", metavar="FILE", help="Write its tree as .svg or .html."),
    ] = None,
    own: Own = [],  # noqa: B006 - typer copies it
    log: Log = None,
    json: Json = False,
) -> int:
    """An episode step by step: asked, answered, decided, spent."""
    from streams.interfaces.cli.show.command import show as run

    return run(id, at=at, log=log, json=json, tree=tree)


@lessons_group.command("list")
def lessons_list(
    scope: Scope = None,
    role: Annotated[
        Optional[str], typer.Option("--role", metavar="ROLE", help="Only this role's.")
    ] = None,
    at: Version = None,
    log: Log = None,
    json: Json = False,
) -> int:
    """Live lessons with their uses, and arms with what they brought."""
    from streams.interfaces.cli.show.lessons import listed

    return listed(log, scope=scope, role=role, at=at, json=json)


@lessons_group.command("show")
def lessons_show(
    id: Annotated[
        str,
        typer.Argument(
            metavar="ID", help="A lesson's id, such as L4.R2, a rule's, such as R3, or an arm's."
        ),
    ],
    scope: Scope = None,
    log: Log = None,
    json: Json = False,
) -> int:
    """One lesson in full: its origin, its uses, their outcomes."""
    from streams.interfaces.cli.show.lessons import single

    return single(log, id, scope=scope, json=json)


@lessons_group.command("diff")
def lessons_diff(
    old: Annotated[int, typer.Argument(min=0, metavar="V1", help="A memory version.")],
    new: Annotated[int, typer.Argument(min=0, metavar="V2", help="A later one.")],
    scope: Scope = None,
    log: Log = None,
    json: Json = False,
) -> int:
    """What two memory versions do not share."""
    # A version changes only where something in it is forgotten, so two numbers say what episodes
    # knew that pinned them.
    from streams.interfaces.cli.show.lessons import difference

    return difference(log, old, new, scope=scope, json=json)


Item = Annotated[
    str,
    typer.Argument(
        metavar="ID",
        help="A lesson's id, a rule's, an arm's, or a principle's or case's of graph memory.",
    ),
]


@lessons_group.command("retire")
def lessons_retire(
    id: Item,
    scope: Scope = None,
    reason: Reason = None,
    by: By = None,
    log: Log = None,
    json: Json = False,
) -> int:
    """Take a lesson, a rule or an arm out of later episodes."""
    # A person's word is a record and goes before what any rule decides. Nothing is taken out of the
    # log: episodes that had the item stay explained, and it can be put back.
    from streams.interfaces.cli.retiring import revise

    return revise(log, id, "retired", scope=scope, reason=reason, by=by, json=json)


@lessons_group.command("restore")
def lessons_restore(
    id: Item,
    scope: Scope = None,
    reason: Reason = None,
    by: By = None,
    log: Log = None,
    json: Json = False,
) -> int:
    """Put a retired lesson, rule or arm back."""
    from streams.interfaces.cli.retiring import revise

    return revise(log, id, "restored", scope=scope, reason=reason, by=by, json=json)


@lessons_group.command("embed")
def lessons_embed(
    embedder: Annotated[
        str, typer.Argument(metavar="EMBEDDER", help="hashed, minilm or openai:MODEL.")
    ],
    scope: Scope = None,
    reason: Reason = None,
    by: By = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Even if open episodes are parked by it.")
    ] = False,
    log: Log = None,
    json: Json = False,
) -> int:
    """Have lessons found by another embedder.

    The next worker makes their vectors anew.
    """
    # Vectors of two embedders cannot be compared, so a memory has one: it is
    # changed for all lessons at once. An open episode pinned the old vectors, hence
    # the question whether it may be parked.
    from streams.interfaces.cli.embedding import change

    return change(log, embedder, scope=scope, reason=reason, by=by, yes=yes, json=json)


@knowledge_group.command("show")
def knowledge_show(
    scope: Scope = None, at: Version = None, log: Log = None, json: Json = False
) -> int:
    """The rules, role by role, and since when each stands."""
    from streams.interfaces.cli.show.knowledge import knowledge

    return knowledge(log, scope=scope, at=at, json=json)


@graph_group.command("show")
def graph_show(
    scope: Scope = None,
    at: Version = None,
    file: Annotated[
        Optional[str],
        typer.Option("--file", metavar="FILE", help="Write it as .html or .graphml."),
    ] = None,
    problem: Annotated[
        Optional[str],
        typer.Option("--problem", metavar="TEXT", help="What this problem activates."),
    ] = None,
    log: Log = None,
    json: Json = False,
) -> int:
    """Queries, paths, principles, weights and their evidence."""
    from streams.interfaces.cli.show.graph import graph

    return graph(log, scope=scope, at=at, file=file, problem=problem, json=json)


# Hidden: `make demo` is how a person meets it, and a listing should hold what is used every day.
@app.command(hidden=True)
def demo(
    backbone: Annotated[
        Optional[str],
        typer.Option("--backbone", metavar="B", help="A model of your own, such as openai:MODEL."),
    ] = None,
) -> int:
    """100 problems of Game of 24 from produce to answers, as `make demo` runs it."""
    from streams.interfaces.cli.demo.run import demo as run

    return run(backbone)
