"""The doctor's try of an endpoint: each role asks it once, twice where a reply cannot be read.

What it will cost is said before the first call. Nothing is recorded: no log is touched.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from msgspec import structs

from handlers.limits import prompt_estimate
from schemas.asking import Steps
from schemas.events.episode import Completed
from schemas.events.reasoning import ReplyReparsed
from schemas.identity import call_seed
from schemas.memory import Memory
from schemas.price import Price
from schemas.questions import Complete, Sampling
from schemas.usage import add, total
from streams.answering.backbones.prices import price_for
from streams.answering.world import World, capped
from streams.core.backbone import Backbone, BackboneError, ModelRequest
from streams.core.normalise import completed
from streams.core.replies import reply_to
from streams.interfaces.cli.doctor.specimens import CAP, How, Read, Specimen, specimens
from streams.interfaces.cli.errors import FAILED, OK, usage
from streams.interfaces.cli.output import out, out_json, say
from streams.interfaces.cli.setup import Models, as_cli, policy_of, price_hint, world_of
from streams.views.words import amount, one_line, plural, spent

EPISODE = "doctor"
SHOWN = 100
"""Characters of a reply that nobody could read."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected cost of a try: calls, prompt tokens if each is asked once, reply tokens, and cost."""

    calls: int
    most_calls: int
    prompt_tokens: int
    most_completion_tokens: int
    most_cost: float | None
    unpriced: tuple[str, ...]

    def told(self) -> str:
        """In a sentence."""
        if self.most_cost is None:
            cost = f"cost unknown: {price_hint(self.unpriced[0]).partition('. ')[0]}"
        else:
            cost = f"cost at most {amount(self.most_cost)}"
        return (
            f"{plural(self.calls, 'role')}: {self.calls} to {self.most_calls} calls, prompts of about "
            f"{self.prompt_tokens:,} tokens if each is asked once, replies of at most "
            f"{self.most_completion_tokens:,} tokens; {cost}"
        )


@dataclass(slots=True)
class Tried:
    """One role's exchange with its backbone."""

    specimen: Specimen
    backbone: Backbone
    offer: str | None = None
    """The name under which the backbone is offered, where it is not that of the role."""
    read: Read = field(default_factory=lambda: Read("not read"))
    asked: set[str] = field(default_factory=set[str])
    """Parameters that its calls were meant to have."""
    replies: list[Completed] = field(default_factory=list[Completed])
    reasons: list[str] = field(default_factory=list[str])
    """Why it was asked again."""

    @property
    def reason(self) -> str:
        """What was wrong with the reply that could not be read."""
        return self.read.reason or next(iter(self.reasons), "")

    def record(self) -> dict[str, Any]:
        """The same for scripts, with each reply whole."""
        return {
            "role": self.specimen.role,
            "template": self.specimen.template,
            "backbone": self.backbone.name,
            "offer": self.offer,
            "read": self.read.how,
            "reason": self.reason,
            "values": dict(self.read.values),
            "replies": [
                {name: value for name, value in structs.asdict(each).items() if name in TOLD}
                for each in self.replies
            ],
        }

    def line(self) -> str:
        """For people: how it was read, and what came of it."""
        state = {"read": "ok", "asked again": "warn", "not read": "fail"}[self.read.how]
        # A role may have prompts for several occasions: which one was tried stands behind its name.
        name = self.specimen.role
        if self.specimen.template != name:
            name += f" ({self.specimen.template})"
        if self.offer is not None:
            name += f" by {self.offer}"
        values = ", ".join(f"{label}={value}" for label, value in self.read.values.items())
        said = "; ".join(part for part in (self.read.how, self.reason) if part)
        # A value is shown short: it is there to be recognised, and --json has all of it.
        first = f"{state:<4}  {name}: {said}"
        if values:
            first += f": {one_line(values)[:SHOWN]}"
        if self.read.how == "read" or not self.replies:
            return first
        # What a person has to see is what was said before it was asked again:
        # that was not in the form.
        return f"{first}\n      it said: {one_line(self.replies[0].text)[:SHOWN] or '(nothing)'}"


TOLD = frozenset(
    """text finish model attempts prompt_tokens completion_tokens reasoning_tokens cached_tokens cost seconds
    logprob thought dropped""".split()  # noqa: SIM905 - a table of words
)
"""What is told of a reply."""


def attempt(models: Models, policies: Sequence[str], *, ask: bool, json: bool) -> int:
    """Say what a try of these backbones would take and, with ``ask``, make it; the exit code."""
    # Who tries an endpoint wants to see it refuse: a patient world would wait for it to recover.
    world = world_of(models, patient=False)
    wanted = {role for name in policies for role in policy_of(name).roles}
    # A policy of one's own may have roles that no specimen plays: it is tried
    # by those that have one.
    chosen = [each for each in specimens() if not policies or each.role in wanted]
    if not chosen:
        raise usage(f"no role of {', '.join(policies)} is known here", field="--for")
    tries = [Tried(each, _backbone(world, each.role)) for each in chosen]
    # One question shows whether it can be asked at all: what is offered may be many.
    tries += [Tried(chosen[0], each, name) for name, each in world.offered.items()]
    expected = expectation(world, tries)
    if not json:
        say(f"{world.description}: {expected.told()}" if ask else "nothing is asked without --try")
    try:
        tried = asyncio.run(world.during(_exchanges(world, tries if ask else [])))
    except BackboneError as error:
        raise as_cli(error) from error
    _tell(world, expected, tried, json=json)
    # A reply that was read at the second asking is no failure: that is what policies do as well.
    return FAILED if any(each.read.how == "not read" for each in tried) else OK


def expectation(world: World, tries: Iterable[Tried]) -> Expected:
    """What the calls take at most, and the first ones as a rule."""
    # The bound must hold: every reply at its cap, and every role asked twice. A second prompt holds
    # the first one and the reply that could not be read, hence twice the prompt and the cap once.
    prompts = replies = calls = 0
    cost: float | None = 0.0
    unpriced: list[str] = []
    for each in tries:
        backbone = each.backbone
        question = next(each.specimen.ask())
        assert isinstance(question, Complete)
        messages = question.messages()
        prompt = prompt_estimate(sum(len(text) for _, text in messages), len(messages))
        cap = _sampling(question).max_tokens or CAP
        price: Price | None = price_for(world.caller.prices, backbone.name)
        if price is None:
            unpriced.append(backbone.name)
        twice = None if price is None else price.of(2 * prompt + cap, 2 * cap)
        calls, prompts, replies, cost = calls + 1, prompts + prompt, replies + cap, add(cost, twice)
    return Expected(calls, 2 * calls, prompts, 2 * replies, cost, tuple(unpriced))


def _backbone(world: World, role: str) -> Backbone:
    return world.backbones.get(role) or world.backbones["*"]


def _sampling(question: Complete) -> Sampling:
    return capped(question.sampling, question.sampling.max_tokens or CAP)


async def _exchanges(world: World, tried: Sequence[Tried]) -> Sequence[Tried]:
    """The first alone, so that a wrong key or a refused parameter is met once; the others beside each other."""
    for each in tried[:1]:
        await _exchange(world, each)
    await asyncio.gather(*(_exchange(world, each) for each in tried[1:]))
    return tried


async def _exchange(world: World, tried: Tried) -> None:
    """Put the role's question, and again what its reader asks again."""
    steps: Steps[Read] = tried.specimen.ask()
    said: Any = None
    try:
        while True:
            asked = steps.send(said)
            said = None
            if isinstance(asked, Complete):
                at = str(len(tried.replies))
                seed = call_seed(0, f"{tried.specimen.template}.{at}")
                sampling, template = _sampling(asked), asked.template
                form = template.form(asked.variables)
                request = ModelRequest(asked.messages(), sampling, seed, 0, template.schema, form)
                tried.asked |= {name for name in PARAMETERS if getattr(sampling, name)} | {"seed"}
                heard = await world.caller.call(tried.backbone, request, EPISODE)
                event = completed(asked.fingerprint(), heard)
                tried.replies.append(event)
                # The reader gets what it gets in an episode; there is a memory to pass,
                # but nothing in it.
                said = reply_to(asked, event, at, Memory(EPISODE, 0))
            elif isinstance(asked, ReplyReparsed):
                tried.reasons.append(asked.reason)
    except StopIteration as end:
        tried.read = end.value


def _tell(world: World, expected: Expected, tried: Sequence[Tried], *, json: bool) -> None:
    """What the endpoint took and refused, how each reply was read, and what it took in the end."""
    # A parameter that one reply was refused was refused to all: the endpoint takes it or does not.
    replies = [reply for each in tried for reply in each.replies]
    dropped = {name for reply in replies for name in reply.dropped or ()}
    took = sorted({name for each in tried for name in each.asked} - dropped)
    tells = sorted(
        what
        for name, what in TELLING.items()
        if any(getattr(reply, name, None) is not None for reply in replies)
    )
    took_all = total(replies)
    if json:
        counts = {how: sum(each.read.how == how for each in tried) for how in HOWS}
        out_json(
            {
                "backbones": world.description,
                "expected": asdict(expected),
                "asked": bool(tried),
                "took": took,
                "dropped": sorted(dropped),
                "tells": tells,
                **{how.replace(" ", "_"): number for how, number in counts.items()},
                "roles": [each.record() for each in tried],
                "usage": took_all.told(),
            }
        )
        return
    if not tried:
        out(expected.told())
        return
    out(f"took      {', '.join(took) or 'no parameter'}")
    out(f"dropped   {', '.join(sorted(dropped)) or 'nothing'}")
    out(f"tells     {', '.join(tells) or 'nothing beside the text'}")
    for each in tried:
        out(each.line())
    out("   ".join(spent(took_all)))


HOWS: tuple[How, ...] = ("read", "asked again", "not read")
PARAMETERS = ("temperature", "top_p", "max_tokens", "logprobs")
TELLING = {
    "prompt_tokens": "tokens",
    "reasoning_tokens": "reasoning tokens",
    "cached_tokens": "cached tokens",
    "logprob": "log-probabilities",
    "thought": "thoughts apart from the reply",
}
"""What an endpoint says beside its reply."""
