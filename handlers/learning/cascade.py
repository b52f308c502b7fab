"""What a scope learns of sampling and asking: who is right how often, and what asking more is worth.

``leads`` counts how often the leading answer was right, by its votes among so many chains; ``opinions`` how
often each arm's own answer was; ``arms`` are the regressions of a contextual bandit on what each arm gained,
less its price; ``cases`` are past problems, by which the difficulty of the next one is felt. All of it is
plain JSON, folded from graded candidates.

Source: Meta-Reasoner § 3.3.2 (LinUCB); MGV eq. (2) (learned rates); priors of rates and prices are ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, TypeAlias

from handlers.learning.bandits import Arm, arms_of, pulled, written
from handlers.learning.measured import Measured
from handlers.learning.texts import features
from handlers.learning.votes import chance, to_turn
from schemas.events.base import Event
from schemas.events.cascade import CandidatesGraded
from schemas.vectors import pack

# An episode states each weighing (``AnswerWeighed``) and leaves them in its summary. The learner
# asks which candidates were right and states that (``CandidatesGraded``). ``after`` puts both
# together when the batch closes; the next episodes weigh with the rates and choose with the arms.
# Outcomes therefore arrive by the learner's facts alone, and a member without such a fact still
# becomes a case, of unknown ease.

State = Mapping[str, Any]
KNOWN: Final = {"right": True, "wrong": False}
EXPECTED_BY: Final = "expected_by"
"""Names what arms are expected to bring by, in constants and in what was learned beside it; none before version 4.
Regressions learn what differs from that, so those of another one say nothing."""
Rate: TypeAlias = Sequence[int]
"""Right ones, and all."""


def lead_key(votes: int, runner_up: int, of: int) -> str:
    """The name of a state of the vote: ``3:1:5`` is three votes against one among five chains."""
    return f"{votes}:{runner_up}:{of}"


def shrunk(rate: Rate, prior: float, weight: float) -> float:
    """A share of right ones, drawn towards a prior that counts like ``weight`` observations."""
    right, seen = rate
    return (right + weight * prior) / (seen + weight)


def chance_of_lead(
    state: State, votes: int, runner_up: int, of: int, ease: float, weight: float
) -> float:
    """The chance that the leading answer is right; 0 where no chain has an answer.

    Where nothing was learned of such a vote it is what the felt ease lets expect of chains that say this.
    """
    if not votes:
        return 0.0
    prior = chance(votes, runner_up, of, ease)
    return shrunk(_rates(state, "leads").get(lead_key(votes, runner_up, of), (0, 0)), prior, weight)


def reliability(state: State, arm: str, prior: float, weight: float) -> float:
    """How often an arm's own answer is right where it is asked."""
    return shrunk(_rates(state, "opinions").get(arm, (0, 0)), prior, weight)


def joined(lead: float, opinion: float, *, agrees: bool) -> tuple[float, float]:
    """The chances of the leading answer and of an independent opinion, once both are known.

    Two wrong answers are the same one with the chance ``COLLIDES``. Where they agree both chances are one.
    """
    both_wrong = (1 - lead) * (1 - opinion)
    if agrees:
        right = lead * opinion
        whole = right + both_wrong * COLLIDES
        both = right / whole if whole else 0.0
        return both, both
    ours, theirs = lead * (1 - opinion), (1 - lead) * opinion
    whole = ours + theirs + both_wrong * (1 - COLLIDES)
    return (ours / whole, theirs / whole) if whole else (0.0, 0.0)


COLLIDES: Final = 0.25
"""How often two wrong answers are the same."""


def _rates(state: State, name: str) -> Mapping[str, Rate]:
    found: Mapping[str, Rate] = state.get(name, {})
    return found


# ── The learning rule ────────────────────────────────────────────────────────────────────────


def after(
    before: State, members: Sequence[Measured], constants: State, said: Sequence[Event] = ()
) -> dict[str, Any]:
    """``cascade@1``: each member's case, and what its graded candidates say of votes, opinions and arms."""
    arms = {arm.id: arm for arm in known_arms(before, constants)}
    by = constants.get(EXPECTED_BY)
    cases = list(before.get("cases", ()))
    leads, opinions = dict(_rates(before, "leads")), dict(_rates(before, "opinions"))
    graded = {fact.episode: fact for fact in said if isinstance(fact, CandidatesGraded)}
    known = {case["id"] for case in cases}
    for member in members:
        if not member.summary or member.episode in known:
            continue
        fact = graded.get(member.episode)
        outcomes = () if fact is None else tuple(KNOWN.get(each) for each in fact.outcomes)
        stages = [_Stage(stage, outcomes) for stage in member.summary["stages"]]
        case = {
            "id": member.episode,
            "problem": member.problem,
            "vector": member.summary.get("vector"),
            "features": list(features(member.problem)),
            # How the first chains did is felt as difficulty, not how the episode ended: the cascade
            # spends more on hard problems, so its last answers say too little of what was easy.
            "easy": stages[0].leads if stages else None,
        }
        cases.append(case)
        for stage in stages:
            if stage.said is not None:
                # What more chains say is a vote; every other arm has an opinion of its own.
                rates = leads if stage.votes else opinions
                right, seen = rates.get(stage.key, (0, 0))
                rates[stage.key] = [right + stage.said, seen + 1]
        for was, now in pairwise(stages):
            _credit(arms, was, now, constants)
    return {
        **({} if by is None else {EXPECTED_BY: by}),
        "arms": [written(arm) for arm in arms.values()],
        "cases": cases[-constants["cases_kept"] :],
        "leads": leads,
        "opinions": opinions,
    }


class _Stage:
    """One weighing of an episode, and what is known by now of its answers."""

    def __init__(self, stage: State, outcomes: Sequence[bool | None]) -> None:
        self.arm: str | None = stage["arm"]
        self.context: Sequence[float] = stage["context"]
        self.margin: int = stage["margin"]
        self.raises: float | None = stage.get("raises")
        """What more chains were expected to raise its chance by; unknown of episodes before ``cascade@4``."""
        self.spent: float = stage["spent"]
        self.votes: bool = stage["votes"]
        """Whether chains brought it, so that it says how votes turn out."""
        self.key: str = stage["key"]
        self.said = _outcome(stage["said"], outcomes)
        """Whether what the vote or the arm said is right."""
        self.leads = (
            False if stage["leads"] is None and outcomes else _outcome(stage["leads"], outcomes)
        )
        """Whether the leading answer is right; none that can be read is not."""


def _outcome(at: int | None, outcomes: Sequence[bool | None]) -> bool | None:
    return None if at is None or not outcomes else outcomes[at]


def _credit(arms: dict[str, Arm], was: _Stage, now: _Stage, constants: State) -> None:
    """What an arm gained less its price, as far as that is known, added to its regression."""
    # The regression learns only by how much the expectation is off. Thus an arm that nobody pulled
    # is as good as expected, and not worth nothing.
    # From an episode of before ``cascade@4`` it learns nothing: what was expected there is not known.
    is_told = was.raises is not None or EXPECTED_BY not in constants
    if now.arm in arms and was.leads is not None and now.leads is not None and is_told:
        reward = now.leads - was.leads - now.spent / constants["worth"]
        residual = reward - expected_reward(now.arm, was.context, was.margin, constants, was.raises)
        context = pack(tuple(was.context))
        arms[now.arm] = pulled(arms[now.arm], context, residual, reward, constants)


def known_arms(state: State, constants: State) -> list[Arm]:
    """The arms of a learned state; those of the settings, by their names, in an empty one or of other expectations."""
    if state.get("arms") and state.get(EXPECTED_BY) == constants.get(EXPECTED_BY):
        return arms_of(state, constants)
    return [
        Arm(id=each["name"], birth=birth, **each)
        for birth, each in enumerate(constants["start"], 1)
    ]


def expected_reward(
    arm: str,
    context: Sequence[float],
    margin: int,
    constants: State,
    raises: float | None = None,
) -> float:
    """What a pull of an arm should bring before anything was learned: its regression learns what differs.

    A context begins with 1 and the chance that the leading answer is wrong; its last number is the price of a call.
    ``margin`` is by how many votes the leading answer leads: fewer chains more than that change nothing.
    ``raises`` is what as many chains as can change who leads should add to its chance; none before ``cascade@4``.
    """
    wrong, price = context[1], context[-1]
    calls, rescues, hurts, *as_chains = constants["expected"][arm]
    # The constants decide, and not the episode: another build may close a batch that has both kinds.
    raises = raises if EXPECTED_BY in constants else None
    # Further chains come in one draw, as many as could turn the vote, and are paid for together.
    if calls is None:
        calls = max(1, margin) if raises is None else to_turn(margin, 0)
    gain: float = wrong * rescues - (1 - wrong) * hurts - calls * price / constants["worth"]
    if raises is not None:
        # The votes know nothing of what was learned: what is as good as sure cannot rise as they would have it.
        gain += as_chains[0] * min(raises, wrong)
    return gain
