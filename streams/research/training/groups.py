"""Groups of roll-outs for policy optimisation, read off the log: prompts, replies, rewards, advantages.

A group is what was asked with the same first prompt: one problem, one policy, one q̃. Prompts are derived
again from the record, so the memory that was shown stands in them, and what a tool returned stands in a
prompt and never in a reply. Turns of one conversation are one sequence: what the model said in it is its own, with
token log-probabilities where the backbone kept them; what came between is masked.

Source: trainable graph memory, stage 3: eq. (5), (11), (12); settings (R: exact match as usual, or token F1).
"""

# `groups` reads the log once for what was learned and graded, so that each episode's memory is
# known, and then runs every closed episode again over its own record. Prompts are not kept on the
# log; what a model was really asked is had by no other way. An episode that this build cannot run
# again is left out, never guessed.

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Literal, TypeAlias

from handlers.answers.grade import grade_reference, references_of
from handlers.learning.reinforce import advantages
from handlers.limits import Ledger
from handlers.policies.around import through
from handlers.policies.graph_memory.runs import reward
from schemas.asking import ReplayError
from schemas.events.episode import Completed, EpisodeClosed, EpisodeOpened, ProblemAdmitted
from schemas.identity import digest
from schemas.prompt import Message
from schemas.questions import Complete
from schemas.settings import BadSetting
from streams.core.drive import drive, replayed
from streams.engine.episode import NOT_AN_OUTCOME, Work, prepare
from streams.engine.judgements import Judgements
from streams.engine.learner import Learner
from streams.engine.policies import NoPolicy, find, find_recorded
from streams.runtime.embedded.labels import judgements_of
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.queries import episodes
from streams.runtime.embedded.records import learned

Scored: TypeAlias = Literal["exact_match", "f1"]
"""By what a roll-out is rewarded: whether its answer is right, or how much of it is."""
REWARDS: tuple[Scored, ...] = ("exact_match", "f1")
"""``exact_match`` is what graded the episode: each domain's own checker, code and arithmetic too."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One reply with the prompt that led to it. ``logprob`` is the mean over its tokens, if kept.

    ``token_logprobs`` holds each of them, where the backbone was told to keep them.
    """

    at: str
    messages: tuple[Message, ...]
    completion: str
    logprob: float | None
    tokens: int | None
    token_logprobs: tuple[tuple[str, float], ...] | None = None

    def then(self, later: Turn) -> tuple[Message, ...] | None:
        """What came between this reply and a later turn that goes on from it; none if it does not."""
        # As roles and policies put a reply into their next prompt; in any other spelling no turn
        # would be found to go on from it.
        said = (*self.messages, ("assistant", self.completion.strip() or "(no reply)"))
        between = later.messages[len(said) :]
        return between if between and later.messages[: len(said)] == said else None


@dataclass(frozen=True, slots=True)
class Sequence:
    """Turns of one conversation, and the messages between them, which are nobody's to learn."""

    turns: list[int]
    between: list[tuple[Message, ...]]


def sequences(turns: tuple[Turn, ...]) -> list[Sequence]:
    """Turns in the conversations that they belong to: each goes on with the newest that it continues."""
    found: list[Sequence] = []
    for at, turn in enumerate(turns):
        # The newest first: where two conversations are
        # alike so far, it is the newer one that goes on.
        for each in reversed(found):
            between = turns[each.turns[-1]].then(turn)
            if between is not None:
                each.turns.append(at)
                each.between.append(between)
                break
        else:
            found.append(Sequence([at], []))
    return found


@dataclass(frozen=True, slots=True)
class Rollout:
    """One episode: its turns, and its reward; none where its outcome is unknown."""

    episode: str
    seed: int
    turns: tuple[Turn, ...]
    reward: float | None


@dataclass(slots=True)
class Group:
    """Roll-outs of one first prompt."""

    domain: str
    problem_id: str
    policy: str
    rollouts: list[Rollout] = field(default_factory=list[Rollout])

    def as_json(self, reference: Any) -> dict[str, Any]:
        """The group with its normalised advantages, and the problem's reference: a trainer's reward needs it."""
        known = [each for each in self.rollouts if each.reward is not None]
        gains = advantages([each.reward or 0.0 for each in known])
        return {
            "domain": self.domain,
            "problem_id": self.problem_id,
            "policy": self.policy,
            "reference": reference,
            "rollouts": [
                {
                    "episode": each.episode,
                    "seed": each.seed,
                    "reward": each.reward,
                    "advantage": gain,
                    "turns": [
                        {
                            "at": turn.at,
                            "prompt": _messages(turn.messages),
                            "completion": turn.completion,
                            "logprob": turn.logprob,
                            "token_logprobs": turn.token_logprobs,
                            "tokens": turn.tokens,
                        }
                        for turn in each.turns
                    ],
                    "sequences": [
                        {"turns": one.turns, "between": [_messages(came) for came in one.between]}
                        for one in sequences(each.turns)
                    ],
                }
                for each, gain in zip(known, gains, strict=True)
            ],
        }


def _messages(messages: tuple[Message, ...]) -> list[dict[str, str]]:
    return [{"role": role, "content": text} for role, text in messages]


def groups(
    log: SqliteLog, least: int = 2, scored: Scored = "exact_match"
) -> Iterator[dict[str, Any]]:
    """Every group with so many roll-outs of known reward, in order of their first episode."""
    said, learner = judgements_of(log), learned(log, find)
    found: dict[str, Group] = {}
    for episode in episodes.closed(log):
        work = work_of(log, learner, episode)
        turns = tuple(turns_of(work)) if work is not None else ()
        if work is None or not turns:
            continue
        problem = work.admitted.problem
        policy = f"{work.opened.policy}@{work.opened.policy_version}"
        # The first prompt holds the memory that was shown: roll-outs that knew something else are
        # of another group, for an advantage over them would be that of what they knew. So are those of
        # another model, or of a policy with other settings.
        who = work.opened.settings, work.opened.backbones
        name = digest([problem.domain, problem.id, policy, *who, turns[0].messages])
        group = found.setdefault(name, Group(problem.domain, problem.id, policy))
        gain = _f1(work, log, said) if scored == "f1" else reward(learner.grades.outcome(episode))
        group.rollouts.append(Rollout(episode, work.opened.seed, turns, gain))
    for group in found.values():
        if sum(each.reward is not None for each in group.rollouts) >= least:
            yield group.as_json(said.reference(group.domain, group.problem_id))


def _f1(work: Work, log: SqliteLog, said: Judgements) -> float | None:
    """How much of an episode's answer is right; unknown without a reference."""
    problem, closed = work.admitted.problem, log.find(work.episode, "closed")
    assert isinstance(closed, EpisodeClosed)
    # The newest counts, whether it was said of the problem or of this very answer.
    about = (*said.about((problem.domain, problem.id)), *said.about((work.episode,)))
    known = [(at, e.reference) for at, e in about if e.reference is not None and not e.review]
    if not known:
        return None
    reference = max(known, key=itemgetter(0))[1]
    dataset, text = problem.dataset or problem.domain, problem.problem
    grade = grade_reference(closed.answer, references_of(reference), dataset=dataset, problem=text)
    return grade.credit


def work_of(log: SqliteLog, learner: Learner, episode: str) -> Work | None:
    """The episode as it was worked on; none for one that this build cannot run again."""
    journal = log.journal(episode)
    admitted, opened = journal["admitted"], journal["opened"]
    assert isinstance(admitted, ProblemAdmitted)
    assert isinstance(opened, EpisodeOpened)
    # A set's record is of several problems at once: no single reward is of any of its replies.
    if opened.members is not None or opened.within is not None:
        return None
    memories = learner.memory(admitted.scope).versions
    try:
        policy = find_recorded(find, opened.policy, opened.policy_version)
        return prepare(episode, admitted, journal, policy, memories)
    except (ReplayError, NoPolicy, BadSetting):
        return None


@dataclass(slots=True)
class Asked:
    """The model calls of a run by address, in the order in which they were answered."""

    questions: list[tuple[str, Complete]] = field(default_factory=list[tuple[str, Complete]])

    def see(self, address: str, request: object, reply: object) -> None:
        """Keep a question."""
        if isinstance(request, Complete):
            self.questions.append((address, request))


def calls_of(work: Work) -> Iterator[tuple[str, Complete, Completed]]:
    """Every model call of an episode by its address, what was asked derived again from the record."""
    asked, run = Asked(), work.run(None, None)
    steps = through(work.policy.solve(work.task, work.settings), watch=asked)
    # An episode that a limit or a defect of its policy ended has replies too, and a reward: it was not enough.
    try:
        replayed(drive(steps, run, Ledger.of(work.opened.limits, work.opened.prices)))
    except NOT_AN_OUTCOME:
        raise
    except Exception:
        pass
    for at, question in asked.questions:
        said = run.journal[at]
        assert isinstance(said, Completed)
        yield at, question, said


def turns_of(work: Work) -> Iterator[Turn]:
    """Every reply of an episode with its prompt."""
    for at, question, said in calls_of(work):
        yield Turn(
            at,
            question.messages(),
            said.text,
            said.logprob,
            said.completion_tokens,
            said.token_logprobs,
        )
