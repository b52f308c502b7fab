"""TRL's GRPOTrainer with our prompts and reward, on a tiny model of random weights, on the CPU."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from streams.training.grpo_trainer import PAPER, trainer

WHY = "needs the extra train (torch, transformers, trl), which no lock holds"
torch: Any = pytest.importorskip("torch", reason=WHY)
pytest.importorskip("trl", reason=WHY)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("ignore"),  # of libraries that are not ours
]
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,?<>/\\{}_:\n"
CHAT = "{% for m in messages %}{{ m['content'] }}\n{% endfor %}"


def tiny() -> tuple[Any, Any]:
    """A model of one layer and a tokenizer of letters, both made here."""
    tokenizers: Any = import_module("tokenizers")
    transformers: Any = import_module("transformers")
    names = ["<pad>", "<eos>", "<unk>", *LETTERS]
    words = tokenizers.models.WordLevel(
        {name: at for at, name in enumerate(names)}, unk_token="<unk>"
    )
    raw = tokenizers.Tokenizer(words)
    raw.pre_tokenizer = tokenizers.pre_tokenizers.Split("", "isolated")
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=raw, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
    )
    tokenizer.chat_template = CHAT
    torch.manual_seed(7)
    config = transformers.LlamaConfig(
        vocab_size=len(names), hidden_size=16, intermediate_size=32, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=512,
        pad_token_id=0, eos_token_id=1, bos_token_id=1,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config), tokenizer


def groups() -> list[dict[str, Any]]:
    """Exported groups, as short as they can be."""
    return [
        {
            "domain": "qa", "problem_id": str(at), "policy": "p@1", "reference": "Aare",
            "rollouts": [{"turns": [{"prompt": [
                {"role": "system", "content": "Answer."},
                {"role": "user", "content": f"Guidance: look twice. Question {at}?"},
            ]}]}],
        }
        for at in range(4)
    ]  # fmt: skip


def vowels(completions: list[Any], **columns: Any) -> list[float]:
    """A reward that a random model meets now and then."""
    texts = [each if isinstance(each, str) else each[-1]["content"] for each in completions]
    assert set(columns) >= {"reference", "problem"}
    return [sum(letter in "aeiou" for letter in text) / (len(text) + 1) for text in texts]


def test_training_moves_the_weights_of_a_tiny_model(tmp_path: Path) -> None:
    model, tokenizer = tiny()
    before = {name: each.detach().clone() for name, each in model.named_parameters()}
    run = trainer(
        model, tokenizer, groups(), tmp_path, vowels,
        num_generations=4, per_device_train_batch_size=4, max_completion_length=8, max_steps=2,
        use_cpu=True, bf16=False, learning_rate=0.05, save_strategy="no", logging_steps=1,
        disable_tqdm=True,
    )  # fmt: skip
    for name, value in PAPER.items():
        assert getattr(run.args, name) == value
    run.train()
    told = [each for each in run.state.log_history if "loss" in each]
    assert len(told) == 2
    assert all(abs(each["loss"]) < 100 for each in told)
    moved = [
        name
        for name, each in run.model.named_parameters()
        if not torch.equal(each.cpu(), before[name])
    ]
    assert moved


def test_nothing_labelled_is_nothing_to_learn_from(tmp_path: Path) -> None:
    unlabelled = [{**json.loads(json.dumps(group)), "reference": None} for group in groups()]
    with pytest.raises(ValueError, match="label the problems"):
        trainer(None, None, unlabelled, tmp_path)
