"""A run of TRL's GRPOTrainer on exported groups (extra ``train``): our prompts, our reward.

``python -m streams.training.grpo_trainer GROUPS.jsonl --model MODEL --out DIR``. KL, ε, the deviation that
rewards are divided by, and the type of loss are said explicitly: they are the paper's, not TRL's defaults.

Source: trainable graph memory, stage 3, eq. (12); settings (n = 8, temperature 1.0).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from streams.training.rewards import REWARDS, prompts, reward

PAPER: Mapping[str, Any] = {
    "beta": 0.0,
    "epsilon": 0.2,
    "scale_rewards": "group",
    "loss_type": "grpo",
    "importance_sampling_level": "token",
    "temperature": 1.0,
}
"""No KL term, ε .2, Â over a group's deviation, mean over a roll-out's tokens and then over roll-outs."""


def trainer(
    model: Any,
    tokenizer: Any,
    groups: Sequence[Mapping[str, Any]],
    out: Path,
    rewards: Callable[..., list[float]] = reward,
    **options: Any,
) -> Any:
    """A trainer over these groups, ready to ``train()``. Raises ``ValueError`` for none to learn from."""
    rows = list(prompts(groups))
    if not rows:
        raise ValueError("no group with a reference: label the problems, and export them again")
    trl: Any = import_module("trl")
    datasets: Any = import_module("datasets")
    said = {"output_dir": str(out), "report_to": "none", **PAPER, **options}
    return trl.GRPOTrainer(
        model=model,
        reward_funcs=rewards,
        args=trl.GRPOConfig(**said),
        train_dataset=datasets.Dataset.from_list(rows),
        processing_class=tokenizer,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Train as the command line says; the exit code."""
    parser = argparse.ArgumentParser(
        prog="grpo_trainer", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("groups", type=Path, help="what `metalogue export grpo` wrote")
    parser.add_argument("--model", required=True, help="a model's folder or name")
    parser.add_argument("--out", type=Path, required=True, help="where the trained model goes")
    parser.add_argument("--rollouts", type=int, default=8, help="completions a prompt (n)")
    parser.add_argument("--steps", type=int, default=-1, help="at most so many optimiser steps")
    parser.add_argument("--batch", type=int, default=64, help="completions a device and micro-step")
    parser.add_argument("--tokens", type=int, default=512, help="tokens of a completion")
    parser.add_argument("--reward", choices=sorted(REWARDS), default="exact_match")
    said = parser.parse_args(arguments)
    transformers: Any = import_module("transformers")
    lines = said.groups.read_text(encoding="utf-8").splitlines()
    run = trainer(
        said.model,
        transformers.AutoTokenizer.from_pretrained(said.model),
        [json.loads(line) for line in lines if line.strip()],
        said.out,
        REWARDS[said.reward],
        num_generations=said.rollouts,
        max_steps=said.steps,
        per_device_train_batch_size=said.batch,
        max_completion_length=said.tokens,
    )
    run.train()
    run.save_model(str(said.out))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
