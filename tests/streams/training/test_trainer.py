"""From roll-outs to a better policy: a log of a tiny random model's episodes, exported, trained on by TRL, on the CPU.

The agent is a model of one layer whose words are whole moves: a search, the right answer, a wrong one. It is
asked by a worker like any model, and its answers are graded by labels.
"""

from __future__ import annotations

import asyncio
import json
import math
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from handlers.learning.grpo import grpo_loss
from handlers.policies.registry import find
from schemas.identity import hash01
from schemas.questions import ToolResult, UseTool
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.core.backbone import ModelReply, ModelRequest
from streams.research.training.grpo_trainer import PAPER, as_batch, trainer
from streams.research.training.tokens import rows_of
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.worker import Worker
from tests.streams.cli.calling import call

WHY = "needs the extra train (torch, transformers, trl): make test-train"
torch: Any = pytest.importorskip("torch", reason=WHY)
pytest.importorskip("trl", reason=WHY)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore"),  # of libraries that are not ours
]
SEARCH = '<tool_call>{"name": "search", "arguments": {"query": "bridges"}}</tool_call>'
RIGHT, WRONG = "<answer>7</answer>", "<answer>5</answer>"
MOVES = (SEARCH, RIGHT, WRONG)
WORDS = ("hm-hm", "well-well", "ah-ah")
FOUND = "There are not five."
CHAT = (
    "{% for m in messages %}<turn>{{ m['content'] }}<eos>{% endfor %}"
    "{% if add_generation_prompt %}<turn>{% endif %}"
)
PROBLEMS, PASSES, LONGEST = 4, 6, 3
ROLLOUTS = PROBLEMS * PASSES


class Tiny:
    """A backbone that draws from a model of one layer, and keeps each token's log-probability."""

    name, simulated = "tiny", False

    def __init__(self) -> None:
        self.tokenizer = tokenizer_of()
        transformers: Any = import_module("transformers")
        torch.manual_seed(7)
        config = transformers.LlamaConfig(
            vocab_size=len(self.tokenizer), hidden_size=16, intermediate_size=32,
            num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2,
            max_position_embeddings=2048, pad_token_id=0, eos_token_id=1, bos_token_id=1,
        )  # fmt: skip
        self.model = transformers.LlamaForCausalLM(config).float()

    def shares(self, messages: Any, said: tuple[int, ...] = ()) -> Any:
        """Log-probabilities of the next token."""
        told = [{"role": role, "content": text} for role, text in messages]
        text = self.tokenizer.apply_chat_template(told, tokenize=False, add_generation_prompt=True)
        ids = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        with torch.no_grad():
            logits = self.model.eval()(torch.tensor([[*ids, *said]])).logits[0, -1]
        return torch.log_softmax(logits, dim=-1)

    async def complete(self, request: ModelRequest) -> ModelReply:
        said: list[int] = []
        kept: list[tuple[str, float]] = []
        while len(said) < LONGEST:
            shares = self.shares(request.messages, tuple(said))
            drawn = drawn_by(shares.exp().tolist(), hash01(request.seed, len(said)))
            if drawn == self.tokenizer.eos_token_id:
                break
            said.append(drawn)
            kept.append((self.tokenizer.decode([drawn]), float(shares[drawn])))
            if kept[-1][0] in MOVES:
                break
        text = "".join(token for token, _ in kept)
        return ModelReply(text=text, finish="stop", model="tiny", token_logprobs=tuple(kept))

    async def close(self) -> None:
        pass


def tokenizer_of() -> Any:
    """A tokenizer whose moves are single tokens; it knows few other words."""
    tokenizers: Any = import_module("tokenizers")
    transformers: Any = import_module("transformers")
    names = ["<pad>", "<eos>", "<unk>", "<turn>", *WORDS]
    raw = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({name: at for at, name in enumerate(names)}, unk_token="<unk>")
    )
    raw.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    made = transformers.PreTrainedTokenizerFast(
        tokenizer_object=raw, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>",
        clean_up_tokenization_spaces=False,
    )  # fmt: skip
    made.add_tokens(["<turn>", *MOVES, *WORDS])  # read back however they stand together
    made.chat_template = CHAT
    return made


def drawn_by(shares: list[float], chance: float) -> int:
    reached = 0.0
    for at, share in enumerate(shares):
        reached += share
        if chance < reached:
            return at
    return len(shares) - 1


class Bridges:
    """A tool that says the same whatever it is asked."""

    async def call(self, question: UseTool) -> ToolResult:
        return ToolResult(FOUND, "found")

    async def close(self) -> None:
        pass


def worked(tiny: Tiny, folder: Path) -> list[dict[str, Any]]:
    """A few questions, each asked several times; the exported groups."""
    folder.mkdir()
    log, file = folder / "a.db", folder / "a.jsonl"
    lines = [
        {"id": f"q{at}", "problem": f"How many bridges has town {at}?", "answer": "7"}
        for at in range(PROBLEMS)
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for walk in range(1, PASSES + 1):
        produced = call("produce", file, "--domain", "towns", "--policy", "tool_reasoning",
                        "--set", "tool_calls=2", "--pass", walk, "--log", log)  # fmt: skip
        assert produced.code == 0, produced.err

    async def work(opened: SqliteLog) -> None:
        world = World({"*": tiny}, HashedEmbedder())
        world.tools = Bridges()
        await Worker(opened, world, find).run(until_idle=True, settle=True)

    with closing(SqliteLog(log)) as opened:
        asyncio.run(work(opened))
    told = call("export", "grpo", folder / "groups.jsonl", "--log", log)
    assert told.code == 0, told.err
    return [json.loads(line) for line in (folder / "groups.jsonl").read_text().splitlines()]


def earned(groups: list[dict[str, Any]]) -> float:
    rewards = [each["reward"] for group in groups for each in group["rollouts"]]
    assert len(rewards) == ROLLOUTS
    return math.fsum(rewards) / len(rewards)


def trained(tiny: Tiny, groups: list[dict[str, Any]], out: Path) -> Any:
    run = trainer(
        tiny.model, tiny.tokenizer, groups, out, max_steps=8, per_device_train_batch_size=ROLLOUTS,
        use_cpu=True, bf16=False, learning_rate=0.02, save_strategy="no", logging_steps=1,
        lr_scheduler_type="constant", disable_tqdm=True,
    )  # fmt: skip
    for name, value in PAPER.items():
        assert getattr(run.args, name) == value
    run.train()
    assert len([each for each in run.state.log_history if "loss" in each]) == 8
    return run


def answers_right(tiny: Tiny, groups: list[dict[str, Any]]) -> float:
    """How probable the right answer is as the first word."""
    prompt = groups[0]["rollouts"][0]["turns"][0]["prompt"]
    shares = tiny.shares([(each["role"], each["content"]) for each in prompt])
    return float(shares.exp()[tiny.tokenizer.convert_tokens_to_ids(RIGHT)])


@pytest.fixture(scope="module")
def groups(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return worked(Tiny(), tmp_path_factory.mktemp("before") / "log")


def test_training_on_the_log_raises_what_new_episodes_earn(
    groups: list[dict[str, Any]], tmp_path: Path
) -> None:
    tiny, before = Tiny(), earned(groups)
    assert 0.05 < before < 0.75
    trained(tiny, groups, tmp_path / "out")
    assert earned(worked(tiny, tmp_path / "after")) > before + 0.2


def test_with_the_sign_of_the_advantages_turned_it_falls(
    groups: list[dict[str, Any]], tmp_path: Path
) -> None:
    tiny = Tiny()
    before = answers_right(tiny, groups)
    turned = json.loads(json.dumps(groups))
    for each in (each for group in turned for each in group["rollouts"]):
        each["advantage"] *= -1
    trained(tiny, turned, tmp_path / "out")
    assert answers_right(tiny, groups) < before / 2


def test_only_what_the_model_said_is_its_own(groups: list[dict[str, Any]]) -> None:
    """Of each conversation: the tool's text and the marks of turns are masked, each kept token is aligned."""
    tiny = Tiny()
    rows = list(rows_of(groups, tiny.tokenizer))
    several = 0
    for row in rows:
        own = [at for at, mine in enumerate(row["own"]) if mine]
        said = {tiny.tokenizer.decode([row["completion_ids"][at]]) for at in own}
        assert said <= {*MOVES, *WORDS, "<unk>", "<turn>", "<pad>"}
        assert all(math.isfinite(each) for each in row["logprobs"])
        assert all(row["logprobs"][at] < 0 for at in own)
        several += len(own) < len(row["own"])
    assert several > 3


def test_the_loss_is_the_reference_rules_and_foreign_tokens_have_no_slope(
    groups: list[dict[str, Any]], tmp_path: Path
) -> None:
    """TRL's loss on our batch is `grpo_loss` of the same numbers, away from π_old too."""
    tiny = Tiny()
    run = trainer(
        tiny.model, tiny.tokenizer, groups, tmp_path, per_device_train_batch_size=ROLLOUTS,
        use_cpu=True, bf16=False, save_strategy="no",
    )  # fmt: skip
    rows = list(rows_of(groups, tiny.tokenizer))
    batch = as_batch(run, rows)
    now = batch["old_per_token_logps"].clone()
    # The model is the one that ran: what the log kept is what it says now.
    unknown: Any = [{**row, "logprobs": [math.nan] * len(row["own"])} for row in rows]
    own = (batch["completion_mask"] * batch["tool_mask"]).bool()
    said = as_batch(run, unknown)["old_per_token_logps"]
    assert torch.allclose(said[own], now[own], atol=1e-4)
    batch["old_per_token_logps"] = now - 0.3
    run.current_gradient_accumulation_steps = 1
    loss = run._compute_loss(run.model.train(), batch)
    reference = grpo_loss(
        said.tolist(), (now - 0.3).tolist(), batch["advantages"].tolist(), own.long().tolist()
    )
    assert float(loss) == pytest.approx(reference, abs=1e-4)
    batch["old_per_token_logps"] = torch.where(own, now - 0.3, now + 5.0)
    assert float(run._compute_loss(run.model, batch)) == pytest.approx(reference, abs=1e-4)


def test_nothing_that_differs_is_nothing_to_learn_from(
    groups: list[dict[str, Any]], tmp_path: Path
) -> None:
    level = json.loads(json.dumps(groups))
    for each in (each for group in level for each in group["rollouts"]):
        each["advantage"] = 0.0
    with pytest.raises(ValueError, match="label the problems"):
        trainer(None, Tiny().tokenizer, level, tmp_path)
    with pytest.raises(ValueError, match="KL"):
        trainer(None, None, groups, tmp_path, beta=0.04)
