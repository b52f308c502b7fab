"""Settings of the Meta-Reasoner, each with the options that the paper leaves open.

Source: Meta-Reasoner App. B, C, D; design/meta_reasoner.md#decisions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from handlers.policies.meta_reasoner.strategies import start_arms
from schemas.questions import Sampling
from schemas.settings import PolicySettings

Share = Annotated[float, Field(ge=0.0, le=1.0)]

JUDGE_TOKENS = 256
SCALAR_TOKENS = 4
DUAL_FROM = 128
"""Dimensions from which an arm is kept by its pulls: in fewer a matrix is updated sooner."""


class MetaReasonerSettings(PolicySettings):
    """Settings of the Meta-Reasoner."""

    caps: ClassVar[frozenset[str]] = frozenset(
        {"step", "reporter", "judge", "meta_reasoner", "reasoner"}
    )
    paper: ClassVar[Mapping[str, Any]] = {
        "max_rounds": 30,
        "feature_dims": None,
        "warmup_pulls": 0,
        "retire_on": "reward",
        "training_temperature": 0.0,
        "first_judgement": "always",
        "tell_last": False,
        "merge_above": 0.9,
    }
    learning: ClassVar[frozenset[str]]

    max_rounds: PositiveInt = 10
    """T: 30 for Game of 24 and SciBench, 100 for TheoremQA in the paper."""
    window: PositiveInt = 10
    """Problems of a batch: so often what they earned joins the scope's arms."""
    tell_last: bool = True
    """Whether a step hears that no round or call is left after it."""
    choice: Literal["linucb", "random", "direct", "cot"] = "linucb"
    """Who chooses: the bandit, a draw, the model itself; or nobody, one chain of thought."""
    direct: Literal["pick", "free"] = "pick"
    """What the model chooses itself: a listed arm, or its own Action as it is."""
    strategies: Literal["dynamic", "fixed"] = "dynamic"
    """Whether new strategies may join the arms."""
    start_arms: Literal[3, 5] = 3
    """K of the start set."""
    report: bool = True
    """Whether a report stands between the trajectory and whoever advises."""
    report_window: PositiveInt | None = None
    """So many last steps are reported on; none: all."""
    context: Literal["trajectory", "last_step"] = "trajectory"
    """What a step sees of the work so far."""
    judge_sees: Literal["trajectory", "report"] = "trajectory"
    """What the judge rates."""
    first_judgement: Literal["always", "used"] = "used"
    """Whether a judgement that moves no arm, guides no adviser and rates no answer is asked for all the same."""
    reward: Literal["A", "B", "scalar"] = "A"
    """Weighted progress less the cost of steps; four weighted ratings; or one number."""
    correctness_weight: Share = 0.5
    """w1."""
    adherence_weight: Share = 0.5
    """w2."""
    step_cost: NonNegativeFloat = 0.1
    """alpha."""
    progress_share: Share = 0.8
    """beta."""
    reward_range: Literal["raw", "clip"] = "raw"
    """Whether rewards are cut to [0, 1]."""
    judge_failure: Literal["skip", "lowest"] = "skip"
    """What a judge that cannot be read comes to: unknown and no update, or the lowest ratings."""
    exploration: NonNegativeFloat = 0.2
    """c."""
    ridge: PositiveFloat = 1.0
    """lambda."""
    feature_dims: PositiveInt | None = 64
    """d; none: the whole embedding."""
    warmup_pulls: NonNegativeInt = 1
    """Each start arm is chosen so often first, once per scope."""
    epsilon_clock: Literal["round", "choice"] = "round"
    """Whether the first chance of exploring is 1/2 or 1."""
    retire_below: float = 0.3
    """The mean under which a proposed arm retires."""
    retire_after: PositiveInt = 3
    """Pulls before an arm may retire."""
    retire_on: Literal["progress", "reward"] = "progress"
    """What retirement looks at: S_p, or R (form B and scalar: always R)."""
    merge_above: Share = 0.98
    """Cosine from which a proposal is an arm that exists: to an embedder a strategy and its opposite are much alike."""
    arm_limit: PositiveInt = 32
    """So many arms a scope keeps: beyond them the worst that was proposed makes room for a new one."""
    arms: Literal["scope", "episode"] = "scope"
    """Whether arms are kept over episodes, or each episode begins with fresh ones."""
    updates: Literal["on", "frozen"] = "on"
    """Frozen: arms are used as they are, and nothing is learned."""
    training: bool = False
    """A training pass samples at ``training_temperature``."""
    temperature: NonNegativeFloat | None = 0.7
    """None: the endpoint's own."""
    training_temperature: NonNegativeFloat | None = 0.7
    """The temperature of a training pass."""
    top_p: Annotated[float, Field(gt=0.0, le=1.0)] | None = 1.0
    """The share of likely tokens that is drawn from; none: the endpoint's own."""

    def sampling(self, max_tokens: int) -> Sampling:
        """How every role draws (App. B)."""
        temperature = self.training_temperature if self.training else self.temperature
        return Sampling(temperature=temperature, top_p=self.top_p, max_tokens=max_tokens)

    @property
    def judge_tokens(self) -> int:
        """The judge's cap: four tokens hold a number, no JSON."""
        return SCALAR_TOKENS if self.reward == "scalar" else JUDGE_TOKENS

    @property
    def learns(self) -> bool:
        """Whether rewards move arms."""
        return self.choice == "linucb" and self.updates == "on"

    @property
    def guided(self) -> bool:
        """Whether an adviser reads what the judge says."""
        return self.advised and self.reward == "A" and self.first_judgement == "used"

    def serves_after(self, t: int) -> bool:
        """Whether a judgement of round t serves a later one, should there be one."""
        moves = self.learns and t > 1
        return self.first_judgement == "always" or moves or self.guided

    @property
    def advised(self) -> bool:
        """Whether the meta-reasoner is called each round: for a proposal, or to choose itself."""
        return self.choice == "direct" or self.strategies == "dynamic"


# The arms of a scope are comparable as long as reports, rewards and strategies are made alike. How
# many rounds there are, how warm replies are drawn, and whether anything is learned keeps them so.
APART = {
    *("max_rounds", "updates", "training", "temperature", "training_temperature"),
    *("top_p", "parameters", "tell_last", "first_judgement"),
}
MetaReasonerSettings.learning = frozenset(MetaReasonerSettings.model_fields) - APART

# A batch pins these with its rule, so that a version is folded again under the
# numbers that made it.
_CONSTANTS = (
    *("exploration", "ridge", "feature_dims", "retire_below", "retire_after"),
    *("merge_above", "arm_limit", "arms"),
)


def constants(settings: MetaReasonerSettings) -> dict[str, Any]:
    """What the learning rule hangs on, the start arms' words included."""
    chosen = {name: getattr(settings, name) for name in _CONSTANTS}
    ours = {"evicts": True, "dual_from": DUAL_FROM}
    return chosen | ours | {"start": start_arms(settings.start_arms)}
