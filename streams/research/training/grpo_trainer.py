"""A run of TRL's GRPOTrainer on exported roll-outs (extra ``train``): their replies, rewards and advantages.

``python -m streams.research.training.grpo_trainer GROUPS.jsonl --model MODEL --out DIR``. Nothing is generated: a
sequence is a whole conversation of the log, in which only what the model said has a gradient. π_old is
what the log kept of each token; where it kept nothing, or another tokenizer's tokens, the model as it is
now. KL, ε and the type of loss are said explicitly: they are the paper's, not TRL's defaults.

Source: trainable graph memory, stage 3, eq. (12).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from streams.research.training.tokens import Row, rows_of

PAPER: Mapping[str, Any] = {
    "beta": 0.0,
    "epsilon": 0.2,
    "scale_rewards": "group",
    "loss_type": "grpo",
    "importance_sampling_level": "token",
    "temperature": 1.0,
}
"""No KL term, ε .2, Â over a group's deviation, mean over a sequence's own tokens and then over sequences."""


def trainer(
    model: Any,
    tokenizer: Any,
    groups: Sequence[Mapping[str, Any]],
    out: Path,
    **options: Any,
) -> Any:
    """A trainer over these groups, ready to ``train()``. Raises ``ValueError`` for none to learn from.

    A batch is as large as ``per_device_train_batch_size``, at most all sequences; of an epoch those that fill no
    batch are left out.
    """
    if options.get("beta"):
        raise ValueError("no KL term: the export holds no log-probabilities of a reference model")
    # Where all earned the same, nothing was better than anything: such a row has no gradient, and
    # would only take up a place in a batch.
    rows = [row for row in rows_of(groups, tokenizer) if row["advantage"]]
    if len(rows) < LEAST:
        raise ValueError(
            "no group whose roll-outs earned differently: label the problems, or run them more often"
        )
    trl: Any = import_module("trl")
    datasets: Any = import_module("datasets")
    said = {"output_dir": str(out), "report_to": "none", **PAPER, **options}
    batch = min(said.get("per_device_train_batch_size", 8), len(rows))
    said |= {"per_device_train_batch_size": batch, "num_generations": batch}
    # Untyped where the extra is not installed, so the class is made by hand.
    logged: Any = type("LoggedTrainer", (trl.GRPOTrainer,), {GENERATES: as_batch})
    run = logged(
        model=model,
        reward_funcs=_unused,
        args=trl.GRPOConfig(**said),
        train_dataset=datasets.Dataset.from_list(rows),
        processing_class=tokenizer,
    )
    run.num_generations = 1  # every sequence stands once in the data: none is drawn anew
    return run


LEAST = 2
"""Sequences without which nothing can be told apart."""
GENERATES = "_generate_and_score_completions"
"""The step of TRL's trainer that makes a batch: theirs generates and rewards it, ours reads it."""


def _unused(completions: Sequence[Any], **columns: Any) -> list[float]:
    """TRL wants a reward; the log's are in the advantages already."""
    return [0.0] * len(completions)


def as_batch(run: Any, rows: Sequence[Row]) -> dict[str, Any]:
    """The tensors of some sequences: tokens, which of them are the model's own, π_old, and Â."""
    torch: Any = import_module("torch")
    device, blank = run.accelerator.device, run.processing_class.pad_token_id

    def padded(lists: list[list[Any]], value: Any, *, left: bool = False) -> Any:
        most = max(map(len, lists))
        filled = [
            [value] * (most - len(each)) + each if left else each + [value] * (most - len(each))
            for each in lists
        ]
        return torch.tensor(filled, device=device)

    prompts, replies = [row["prompt_ids"] for row in rows], [row["completion_ids"] for row in rows]
    batch = {
        "prompt_ids": padded(prompts, blank, left=True),
        "prompt_mask": padded([[1] * len(each) for each in prompts], 0, left=True),
        "completion_ids": padded(replies, blank),
        "completion_mask": padded([[1] * len(each) for each in replies], 0),
        "tool_mask": padded([row["own"] for row in rows], 0),
        "advantages": torch.tensor([row["advantage"] for row in rows], device=device),
    }
    batch["num_items_in_batch"] = (batch["completion_mask"] * batch["tool_mask"]).sum()
    # Where nobody kept what a token's probability was, that of the model as it is now stands in:
    # the ratio begins at 1 there, as in a step on roll-outs that were drawn just before.
    kept = padded([row["logprobs"] for row in rows], 0.0)
    ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], dim=1)
    seen = torch.cat([batch["prompt_mask"], batch["completion_mask"]], dim=1)
    with torch.no_grad():
        size = run.args.per_device_train_batch_size
        told = run._get_per_token_logps_and_entropies(
            run.model, ids, seen, batch["completion_ids"].size(1), batch_size=size
        )
    batch["old_per_token_logps"] = kept.where(~kept.isnan(), told[0].float())
    return batch


def main(arguments: Sequence[str] | None = None) -> int:
    """Train as the command line says; the exit code."""
    parser = argparse.ArgumentParser(
        prog="grpo_trainer", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("groups", type=Path, help="what `metalogue export grpo` wrote")
    parser.add_argument("--model", required=True, help="a model's folder or name")
    parser.add_argument("--out", type=Path, required=True, help="where the trained model goes")
    parser.add_argument("--steps", type=int, default=-1, help="at most so many optimiser steps")
    parser.add_argument("--batch", type=int, default=64, help="sequences a device and micro-step")
    said = parser.parse_args(arguments)
    transformers: Any = import_module("transformers")
    lines = said.groups.read_text(encoding="utf-8").splitlines()
    run = trainer(
        said.model,
        transformers.AutoTokenizer.from_pretrained(said.model),
        [json.loads(line) for line in lines if line.strip()],
        said.out,
        max_steps=said.steps,
        per_device_train_batch_size=said.batch,
    )
    run.train()
    run.save_model(str(said.out))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
