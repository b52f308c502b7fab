"""The contract of a policy, rule by rule: each check raises ``Broken`` naming case and address."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

from handlers.policies.base import Conclusion, Policy
from schemas.events.base import Event
from schemas.events.codec import BadEvent, decode, plain
from schemas.events.episode import Completed, LimitReached
from schemas.events.union import ANSWER_KINDS, FACT_KINDS
from schemas.identity import address_order, canonical, digest
from streams.core.compare import difference, same
from streams.research.trials.trial import Broken, Case, Trial, closed

Digests = Mapping[str, str]


def concluded(trial: Trial) -> None:
    """The result is a ``Conclusion`` whose parts can be recorded."""
    made: Any = trial.conclusion
    if not isinstance(made, Conclusion):
        raise Broken(trial.case, f"returns {type(made).__name__}, not a Conclusion")
    # A policy may be anybody's code: its types are what it gives, and not what it declares.
    answer: Any = made.answer
    ended_by: Any = made.ended_by
    sure: Any = made.confidence
    wrong: str | None = None
    if not (answer is None or isinstance(answer, str)):
        wrong = f"an answer of type {type(answer).__name__}; it is text or None"
    elif not (ended_by and isinstance(ended_by, str)):
        wrong = "no ended_by; it always says what ended it"
    elif sure is not None and not (
        isinstance(sure, int | float) and math.isfinite(sure) and 0 <= sure <= 1
    ):
        wrong = f"confidence {sure!r}; it is in [0, 1] or None"
    else:
        try:
            canonical([answer, ended_by, made.limit, made.confidence_source])
        except TypeError as error:
            wrong = f"a part that no JSON can hold: {error}"
    if wrong is not None:
        raise Broken(trial.case, f"its Conclusion has {wrong}")


def states_known_facts(case: Case, journal: Mapping[str, Event]) -> int:
    """Facts are of known kinds and read back as they were written; how many there are."""
    facts = [(at, event) for at, event in journal.items() if event.kind not in ANSWER_KINDS]
    for address, event in facts:
        if event.kind not in FACT_KINDS:
            known = ", ".join(sorted(FACT_KINDS))
            raise Broken(case, f"states {event.kind!r}, no fact of this build ({known})", address)
        try:
            back = decode(event.kind, event.to_json())
        except (BadEvent, ValueError) as error:
            raise Broken(case, f"states what cannot be written down: {error}", address) from error
        if back != event:
            name, before, after = difference(event, back)
            raise Broken(case, f"{name} reads back as {after}, stated was {before}", address)
    return len(facts)


def asks_as_declared(policy: Policy[Any], trial: Trial) -> set[str]:
    """Every role that was asked stands in the policy's ``roles``; which those are."""
    asked: set[str] = set()
    for address in trial.addresses:
        event = trial.journal[address]
        if isinstance(event, Completed):
            role = event.asked.split(" ")[1]
            if role not in policy.roles:
                declared = ", ".join(policy.roles) or "none"
                detail = f"asks the role {role!r}; Policy(roles=...) declares {declared}"
                raise Broken(trial.case, detail, address)
            asked.add(role)
    return asked


def alike(trial: Trial, again: Trial, when: str) -> None:
    """Two runs left the same record and came to the same conclusion."""
    for address in sorted({*trial.journal, *again.journal}, key=address_order):
        one, two = trial.journal.get(address), again.journal.get(address)
        if one is None or two is None:
            side = "in the first run only" if two is None else f"only {when}"
            kind = next(event.kind for event in (one, two) if event is not None)
            raise Broken(trial.case, f"{kind} is recorded {side}", address)
        if not same(one, two):
            name, before, after = difference(one, two)
            detail = f"{name} was {before[:80]}, {when} it is {after[:80]}"
            raise Broken(trial.case, detail, address)
    if again.conclusion != trial.conclusion:
        detail = f"concluded {trial.conclusion.answer!r}, {when} {again.conclusion.answer!r}"
        raise Broken(trial.case, detail)


def digests(trial: Trial) -> dict[str, str]:
    """A trial's records as digests by address, and its conclusion's under ``end``."""
    made = trial.conclusion
    end = digest([made.answer, made.ended_by, made.confidence, made.limit])
    return {at: digest(plain(event)) for at, event in trial.journal.items()} | {"end": end}


def alike_elsewhere(trial: Trial, theirs: Digests, where: str) -> None:
    """Another process left the same record."""
    ours = digests(trial)
    for address in sorted({*ours, *theirs}, key=address_order):
        if ours.get(address) != theirs.get(address):
            detail = f"differs {where}: perhaps the order of a set, or the time or place of a run"
            raise Broken(trial.case, detail, address)


def kept_limit(trial: Trial) -> None:
    """No more calls than allowed; after the limit none is asked for; the conclusion names it."""
    calls = sum(isinstance(event, Completed) for event in trial.journal.values())
    if trial.case.calls is not None and calls > trial.case.calls:
        raise Broken(trial.case, f"made {calls} calls")
    reached = [at for at in trial.addresses if isinstance(trial.journal[at], LimitReached)]
    # By lane, because each lane of a fork meets the limit by itself, and only once.
    lanes = Counter(at.rpartition(".")[0] for at in reached)
    for address in reached:
        times = lanes[address.rpartition(".")[0]]
        if times > 1:
            detail = (
                f"swallows the limit: went on asking {times - 1} more times after it was reached"
            )
            raise Broken(trial.case, detail, address)
    # Within a fork a lane may end while the policy goes
    # on with the others; outside of one it has ended.
    ended = next((at for at in reached if "." not in at), None)
    if ended is not None and trial.conclusion.limit is None:
        detail = "swallows the limit: a call was not made, but the Conclusion has no limit="
        raise Broken(trial.case, detail, ended)


def verified(policy: Policy[Any], trial: Trial) -> None:
    """Over the record alone: the same conclusion, every record met, nothing asked."""
    conclusion, met = closed(policy, trial)
    missed = sorted(trial.journal.keys() - met, key=address_order)
    if missed:
        raise Broken(trial.case, "recorded, but not met again on replay", missed[0])
    if conclusion != trial.conclusion:
        detail = f"concluded {trial.conclusion.answer!r}, on replay {conclusion.answer!r}"
        raise Broken(trial.case, detail)
