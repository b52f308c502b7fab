"""One episode's working state, and the questions that every round asks.

Source: Meta-Reasoner, Algorithm 1; design/meta_reasoner.md D3.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from handlers.answers.extract import extract
from handlers.learning.bandits import Bandit
from handlers.policies.base import Conclusion, Task
from handlers.policies.meta_reasoner.settings import MetaReasonerSettings
from handlers.roles import progress_judge as judging
from handlers.roles import reporter
from handlers.roles.step import STEP, TOKENS, Made, made_of
from handlers.roles.steps import shown, with_answer
from schemas.asking import Steps
from schemas.events.reasoning import Generated, Parse
from schemas.events.strategy import ProgressReported, RewardJudged
from schemas.questions import Remain

# A round's questions in the order of ``solve``: the step, then its judgement; a report belongs to
# the round after. The trajectory only grows: going back is advice in words, so that the record
# shows what was thought and given up.

NO_ADVICE = ""
"""G_0: the default strategy, shown as no advice at all (App. F)."""
LAST = "This is the last step."


@dataclass
class Episode:
    """C, the arms, the last choice with its features, and the last progress S_p."""

    task: Task
    settings: MetaReasonerSettings
    bandit: Bandit
    t: int = 0
    """The round, from 1."""
    trajectory: list[str] = field(default_factory=list[str])
    answer: str | None = None
    progress: float | None = None
    arm: str | None = None
    """a_{t-1}: whom the next reward is credited to."""
    strategy: str = NO_ADVICE
    """What that arm, or the free advice, told."""
    features: str | None = None
    """The packed embedding that x_{t-1} is made of."""
    judgement: str = ""
    """What the judge said of the work so far, for whoever advises."""
    reports: dict[int, str] = field(default_factory=dict[int, str])
    """Reports by how many steps they cover."""

    @property
    def round(self) -> int:
        """The round as the log counts it, from 0."""
        return self.t - 1

    @property
    def best(self) -> str | None:
        """The answer, else what the trajectory C marks as one."""
        if self.answer is not None:
            return self.answer
        return extract("\n\n".join(self.trajectory))

    def concluded(self, ended_by: str, limit: str | None = None) -> Conclusion:
        """The answer of C with the last S_p as confidence."""
        progress = None if self.progress is None else min(1.0, max(0.0, self.progress))
        return Conclusion(
            answer=self.best,
            ended_by=ended_by,
            confidence=progress,
            confidence_source=None if progress is None else "value",
            limit=limit,
        )


def step(episode: Episode, advice: str) -> Steps[Made]:
    """s_t from C_{t-1} and G_t; C_t = C_{t-1} + s_t. Source: lines 13 and 14."""
    settings = episode.settings
    whole = settings.context == "trajectory"
    seen = shown(episode.trajectory) if whole else "".join(episode.trajectory[-1:])
    left = yield from steps_left(episode)
    said = yield from STEP.put(
        {
            "problem": episode.task.stated,
            "trajectory": seen,
            "advice": advice,
            "steps_left": left,
        },
        sampling=settings.sampling(TOKENS),
    )
    made = made_of(said)
    episode.trajectory.append(with_answer(made.text, made.answer))
    episode.answer = made.answer
    yield Generated(
        round=episode.round, role="step", answer=made.answer, source=made.source, parse=made.parse
    )
    return made


def steps_left(episode: Episode) -> Steps[str]:
    """What a step hears of the end: nothing, unless neither rounds nor calls leave another one after it."""
    settings = episode.settings
    if not settings.tell_last:
        return ""
    remaining = yield from Remain()
    calls = remaining.calls
    if episode.t < settings.max_rounds and (calls is None or calls >= calls_to_another(episode)):
        return ""
    return LAST


def calls_to_another(episode: Episode) -> int:
    """Calls of this step, of what comes between it and the next, and of the next; none asked again.

    The last call is kept for an answer, so one is left over.
    """
    # Told too early a step would hurry, told too late the work would stop in the middle: counted
    # without requests to mend a reply, which are rare, it errs towards going on.
    settings = episode.settings
    between = settings.report + settings.advised
    return 1 + serves_more(episode) + between + 1 + 1


def report(episode: Episode) -> Steps[str]:
    """P of the trajectory so far; without reports the trajectory itself. Source: line 5."""
    # Judge and adviser may both want the report of the same steps: it is asked for once.
    covered = len(episode.trajectory)
    if not episode.settings.report:
        return shown(episode.trajectory)
    if covered in episode.reports:
        return episode.reports[covered]
    window = episode.settings.report_window or covered
    said = yield from reporter.REPORTER.put(
        {"problem": episode.task.posed, "trajectory": shown(episode.trajectory[-window:])},
        sampling=episode.settings.sampling(reporter.TOKENS),
    )
    yield ProgressReported(round=covered - 1, source=said.source, parse=said.parse)
    episode.reports[covered] = said.text
    return said.text


def weights_of(settings: MetaReasonerSettings) -> judging.Weights:
    """The weights of the reward."""
    return judging.Weights(
        settings.correctness_weight,
        settings.adherence_weight,
        settings.step_cost,
        settings.progress_share,
        settings.reward_range == "clip",
    )


def judge(episode: Episode, made: Made) -> Steps[judging.Reward | None]:
    """r_t of C_t in every round; unknown if the judge cannot be read. Source: line 15."""
    settings, weights = episode.settings, weights_of(episode.settings)
    # The trajectory and not the report, which is the word of the one who is judged (D3).
    work = shown(episode.trajectory)
    if settings.judge_sees == "report":
        work = yield from report(episode)
    said = yield from judging.JUDGES[settings.reward].put(
        {
            "problem": episode.task.posed,
            "trajectory": work,
            "strategy": episode.strategy if settings.reward == "B" else "",
            "steps_made": str(episode.t),
            "weights": weights.shown() if settings.reward == "A" else "",
        },
        sampling=settings.sampling(settings.judge_tokens),
    )
    # The judge gives ratings, and the reward is computed of them: models err in the weighing, and
    # where one says another reward than its ratings come to, the fact notes that it differs.
    ratings = {name: value for name, value in said.values.items() if isinstance(value, float)}
    lowest = settings.judge_failure == "lowest"
    if not said.readable and lowest:
        ratings = {f.label: 0.0 for f in judging.REPLIES[settings.reward] if f.required}
    known = said.readable or lowest
    reward = judging.reward_of(settings.reward, ratings, episode.t, weights) if known else None
    parse: Parse = said.parse
    yield RewardJudged(
        round=episode.round,
        arm=episode.arm,
        parts=tuple(ratings.items()) if known else (),
        progress=None if reward is None else reward.progress,
        reward=None if reward is None else reward.reward,
        differs=judging.differing(said.values, reward) if reward and said.readable else (),
        self_judged=said.completion.model == made.model,
        steps=episode.t,
        source=said.source,
        parse=parse,
    )
    # The last known progress stays the confidence: a judge's slip says nothing of the work.
    episode.progress = reward.progress if reward is not None else episode.progress
    if settings.first_judgement == "used":
        episode.judgement = said.get("Brief_rationale") or ""
    return reward


def is_judged(episode: Episode) -> bool:
    """Whether the judge is asked about this round: where its answer is rated, or the work goes on with it."""
    ends = episode.answer is not None or episode.t == episode.settings.max_rounds
    return ends or serves_more(episode)


def serves_more(episode: Episode) -> bool:
    """Whether a judgement of this round serves a later one: it moves an arm, or guides the adviser.

    In the paper every round is judged; r_1 moves no arm.
    """
    return episode.settings.serves_after(episode.t)
