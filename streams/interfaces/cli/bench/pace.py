"""The `bench local` command without a data set: what runs a model in this process, side by side."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from streams.core.backbone import Backbone
from streams.interfaces.cli.errors import FAILED, OK, usage
from streams.interfaces.cli.output import out, out_json, say
from streams.interfaces.cli.setup import Models, backbone_config
from streams.research.bench import pace

KINDS = ("llamacpp", "openvino")
MODEL = "qwen2.5-coder-1.5b"


def backbones(model: str) -> list[str]:
    """Both ways to run a model, each with as many slots as sequences and all cores that we may use.

    llama.cpp would else leave a core alone that was busy until a moment ago, with the measurement before.
    """
    cores = len(os.sched_getaffinity(0))
    options = {"llamacpp": f"&threads={cores}", "openvino": ""}
    slots = f"?slots={pace.SEQUENCES}&context=512"
    return [f"{kind}:{model}{slots}{options[kind]}" for kind in KINDS]


def run(given: Sequence[str], *, model: str, beside: int, json: bool) -> int:
    """Measure each, and print the table; one that was not measured makes the exit code 1."""
    rows: list[pace.Measured] = []
    for spelling in given or backbones(model):
        say(f"{spelling}: {pace.SEQUENCES} replies of {pace.REPLY_TOKENS} tokens at once")
        # One after the other: two models in this process would take the cores from each other.
        build = partial(_built, spelling)
        rows.append(asyncio.run(pace.measure(spelling.partition("?")[0], build, beside)))
    if json:
        told: list[dict[str, Any]] = []
        for row in rows:
            figures = asdict(row)
            for name, each in (("round", row.round), ("beside", row.beside)):
                if each is not None:  # a property, which the fields of a data class do not tell
                    figures[name]["tokens_per_second"] = each.pace
            ratio = pace.ratio(row, rows[0])
            told.append({**figures, "ratio": ratio, "share_of_idle": row.kept})
        out_json({"busy_loops": beside, "rows": told})
    else:
        out(pace.markdown(rows))
    return FAILED if any(row.round is None for row in rows) else OK


def _built(spelling: str) -> Backbone:
    from streams.answering.backbones.spelling import build

    try:
        return build(spelling, backbone_config(Models()))
    except ValueError as error:
        raise usage(str(error), field="--backbone") from error
