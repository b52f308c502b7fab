"""An attempt and how sure it may be: samples of one prompt, their answer, its confidence.

Confidence q is the first that can be had: calibrated token probability, agreement of samples, or one
question to the confidence role; then through the calibrator, where one is fitted. Null has q = 0. What
cannot be read after one more request is unknown (in profile ``paper`` 0): no goal is met or missed by it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from handlers.answers.alike import alike
from handlers.learning.elementary import exp
from handlers.policies.base import Conclusion
from handlers.policies.facts import voted
from handlers.policies.mgv.knowledge import Mind
from handlers.policies.mgv.signals import Felt, exclusive
from handlers.policies.unread import taken
from handlers.roles import confidence
from handlers.roles.again import Meter
from handlers.roles.attempter import ATTEMPTERS, Way
from handlers.roles.role import RoleReply
from schemas.asking import OutOfLimit, Steps
from schemas.events.monitoring import ExperienceFelt, Origin
from schemas.events.reasoning import Generated, Parse
from schemas.events.search import ConfidenceStated
from schemas.questions import Completion, Remain, Sampling

# ``execute`` makes an attempt, ``assure`` says how sure it is. They are apart because how sure an
# attempt is may cost a call, and a policy on whose decision nothing hangs spares it.

NONE = frozenset({"", "none", "null", "unknown", "no answer", "n/a"})
SOURCES: Mapping[str, str] = {
    "implicit": "logprob",
    "agreement": "vote_share",
    "verbal": "stated",
}
"""What a confidence is called outside by the source that it was made of."""


@dataclass(slots=True)
class Attempt:
    """CO: the answer or null, its text, what was declared and met, and how sure it is."""

    answer: str | None = None
    text: str = ""
    source: str = ""
    samples: list[RoleReply] = field(default_factory=list[RoleReply])
    agreement: float | None = None
    q: float | None = 0.0
    """Null has 0; unknown where an answer's confidence could not be read."""
    origin: Origin = "feel"
    """Whether q went through a calibrator."""
    told_by: str | None = None
    """What q was made of: token probabilities, agreement of samples, or what was stated."""
    limit: str | None = None
    calls: int = 0
    """Completions that it took, its confidence included."""

    @property
    def last(self) -> RoleReply:
        """The sample that stands for the attempt."""
        same = (said for said in self.samples if self.source == said.source)
        return next(same, self.samples[-1])

    @property
    def cut(self) -> bool:
        """Whether the reply was cut off."""
        return bool(self.samples) and self.last.completion.finish == "length"

    @property
    def goals(self) -> int:
        """Sub-goals that were declared."""
        return len(self.last.items("Sub_goals")) if self.samples else 0

    @property
    def results(self) -> int:
        """Sub-goals that have a result."""
        return len(self.last.items("Results")) if self.samples else 0


def end_of(made: Attempt | None, ended: str, limit: str | None) -> Conclusion:
    """The end with an attempt's answer, or with none."""
    if made is None:
        return Conclusion(answer=None, ended_by=ended, limit=limit)
    return Conclusion(
        answer=made.answer,
        ended_by=ended,
        confidence=made.q,
        confidence_source=None if made.q is None else made.told_by,
        limit=limit,
    )


def equal(one: str | None, other: str | None) -> bool:
    """Whether two answers are alike."""
    return alike(one, other)


def answer_of(said: RoleReply) -> str | None:
    """The answer, null if none can be read or it says so."""
    found = said.answer
    return None if found is None or found.strip().casefold() in NONE else found


@dataclass(frozen=True, slots=True)
class Context:
    """What an attempt begins from besides the problem: similar cases, and a checked attempt's outcome."""

    cases: str = ""
    answer: str = ""
    """The answer that did not pass."""
    finding: str = ""
    """What the check of it said."""


def execute(
    mind: Mind, way: Way, context: Context, *, round: int, draw: int = 0, samples: int = 1
) -> Steps[Attempt]:
    """One attempt of so many samples. A limit leaves what there is by then, and is named."""
    made = Attempt()
    own = {
        "problem": mind.task.stated,
        "similar_cases": context.cases,
        "earlier_answer": context.answer,
        "finding": context.finding,
    }
    logprobs = mind.settings.confidence == "implicit"
    sampling = Sampling(max_tokens=mind.settings.output_cap, logprobs=logprobs)
    try:
        for at in range(samples):
            said = yield from ATTEMPTERS[way].put(own, draw=draw + at, sampling=sampling)
            made.samples.append(said)
            made.calls += len(said.completions)
            answer = answer_of(said)
            parse: Parse = "ok" if said.readable else "unreadable"
            yield Generated(round=round, answer=answer, source=said.source, parse=parse)
    except OutOfLimit as limit:
        made.limit = limit.which
    if made.samples:
        yield from settle(mind, made)
    return made


def settle(mind: Mind, made: Attempt) -> Steps[None]:
    """The answer of an attempt: that of its sample, or the one that most samples share."""
    found = voted([answer_of(said) for said in made.samples], mind.task.problem)
    made.answer = found.answer
    if found.of > 1:  # one sample agrees with itself, which says nothing
        made.agreement = found.votes / found.of
        yield found
    # The first of those that agree stands for the attempt: its text is what is
    # checked and looked at.
    chosen = next(
        (said for said in made.samples if equal(answer_of(said), made.answer)), made.samples[-1]
    )
    made.text, made.source = chosen.text, chosen.source


def assure(mind: Mind, made: Attempt, round: int) -> Steps[None]:
    """q of an attempt, stated with what it was made of. Raises ``OutOfLimit`` as asking does."""
    if made.answer is None:
        yield _felt(mind, Felt(0.0, "feel"), (), round)
        return
    signals = dict(raw_signals(made))
    # Token probabilities and agreement come with the replies; only where neither can be had
    # is a call spent.
    chosen = first_had(mind, signals)
    if chosen is None:
        value = yield from _verbal(mind, made)
        if value is not None:
            signals["verbal"] = value
        chosen = "verbal"
    raw = taken(signals.get(chosen), mind.settings.unread)
    if raw is None:
        made.q = None
        yield _felt(mind, None, (), round)
        return
    calibrator = mind.knowledge.calibrator(chosen)
    informed = calibrator is not None
    assess = raw if calibrator is None else min(1.0, max(0.0, calibrator(raw)))
    felt = exclusive(raw, assess, informed, mind.settings.signal)
    made.q, made.origin, made.told_by = felt.value, felt.source, SOURCES[chosen]
    yield _felt(mind, felt, tuple(sorted(signals.items())), round)


def surest(made: Sequence[Attempt]) -> Attempt | None:
    """The answer of highest confidence, the first of equals; what is unknown comes behind what is known."""
    answered = [each for each in made if each.answer is not None]
    return max(answered, key=lambda each: -1.0 if each.q is None else each.q, default=None)


def known(made: Sequence[Attempt]) -> list[float]:
    """How sure attempts are, as far as that could be read."""
    return [each.q for each in made if each.q is not None]


def raw_signals(made: Attempt) -> Mapping[str, float]:
    """What an attempt itself tells of how sure it is."""
    found: dict[str, float] = {}
    completion: Completion = made.last.completion
    known = completion.logprob if completion.answer_logprob is None else completion.answer_logprob
    if known is not None:  # of the answer's tokens alone, where they can be told
        found["implicit"] = min(1.0, exp(known))
    if made.agreement is not None:
        found["agreement"] = made.agreement
    return found


def first_had(mind: Mind, signals: Mapping[str, float]) -> str | None:
    """The first source of confidence that can be had without asking for it."""
    wanted = mind.settings.confidence
    # A raw token probability is no chance of being right: it lies near 1 for
    # anything that reads fluently.
    if wanted == "implicit" and "implicit" in signals and mind.knowledge.calibrator("implicit"):
        return "implicit"
    return "agreement" if wanted != "verbal" and "agreement" in signals else None


def _verbal(mind: Mind, made: Attempt) -> Steps[float | None]:
    remaining = yield from Remain()
    meter = Meter(spare=int(remaining.calls is None or remaining.calls > 1))
    try:
        heard = yield from confidence.trust(mind.task.posed, made.text, meter)
    except OutOfLimit:
        # The limit struck the request to mend a reply: a call was spent, and the
        # record says on what.
        made.calls += meter.calls
        if meter.calls:
            yield ConfidenceStated(node=made.source, source=made.source, parse="defaulted")
        raise
    made.calls += meter.calls
    value = None if heard.value is None else float(heard.value)
    yield ConfidenceStated(node=made.source, value=value, source=heard.source, parse=heard.parse)
    return value


def _felt(
    mind: Mind, felt: Felt | None, inputs: Sequence[tuple[str, float]], round: int
) -> ExperienceFelt:
    return ExperienceFelt(
        experience="confidence",
        source="feel" if felt is None else felt.source,
        value=None if felt is None else felt.value,
        inputs=tuple(inputs),
        round=round,
        subject=mind.task.subject,
    )
