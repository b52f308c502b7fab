"""Models in this process: which there are, how they come here, and what they do when measured."""

from __future__ import annotations

from typing import Annotated

import typer

from streams.cli.app import Json
from streams.cli.commands_bench import bench_group

Data = Annotated[
    str, typer.Option("--data", help="A GSM8K file: JSON lines; its first ten are taken.")
]
Who = Annotated[str, typer.Option("--backbone", metavar="B", help="Who answers.")]
SHORT = "llamacpp?max_tokens=48"


@bench_group.command("local")
def local(
    data: Data,
    folder: Annotated[str, typer.Option("--out", metavar="DIR", help="For the logs.")] = "local",
    backbone: Who = SHORT,
    minutes: Annotated[float, typer.Option("--minutes", help="So long at most.")] = 55.0,
    only: Annotated[list[str], typer.Option("--policy", help="Only this one.")] = [],  # noqa: B006
    json: Json = False,
) -> int:
    """Policies on the real model: 40 problems, 16 calls each, replies of 48 tokens at most."""
    from streams.cli.local_bench import run

    return run(data, folder=folder, backbone=backbone, minutes=minutes, only=only, json=json)
