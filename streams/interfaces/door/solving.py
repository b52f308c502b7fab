"""One problem, solved now: ``solve`` and ``asolve``."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from schemas.answer import Answer
from schemas.faults import first_fault
from schemas.problem import Problem, Profile
from streams.answering.budgets import OutOfBudget
from streams.answering.world import World
from streams.core.backbone import BackboneError
from streams.interfaces.cli.config import load
from streams.interfaces.cli.draining import over_budget
from streams.interfaces.cli.opening import open_own
from streams.interfaces.cli.prompting import set_for
from streams.interfaces.cli.setup import as_cli, need_prices, world_of
from streams.interfaces.door.asking import DEFAULT_POLICY, Asked, Way, models_of, need_file
from streams.interfaces.door.errors import Error, as_error, in_our_words, no_loop
from streams.interfaces.door.messages import answer_of
from streams.producing.typed import BadType, with_known_type
from streams.runtime.embedded.solving import solve_on

if TYPE_CHECKING:
    from handlers.policies.base import Policy
    from schemas.answer_type import AnswerType


def solve(
    problem: str,
    *,
    policy: str = DEFAULT_POLICY,
    backbone: str | None = None,
    log: str | None = None,
    settings: Mapping[str, Any] | None = None,
    profile: Profile = "service",
    domain: str = "default",
    answer_type: str | Mapping[str, Any] | None = None,
    memory: str = "main",
    tenant: str | None = None,
    seed: int = 0,
    call_limit: int | None = None,
    token_limit: int | None = None,
    cost_limit: float | None = None,
    time_limit: float | None = None,
    roles: Mapping[str, str] | None = None,
    prices: Mapping[str, tuple[float, float]] | None = None,
) -> Answer:
    """Solve one problem and return its answer, with ``answer``, ``status``, ``confidence``, ``usage``, ``episode``.

    ``backbone`` names who is asked, such as ``openai:gpt-4o-mini`` or ``rehearsal`` (the simulator); none is the
    configured one. ``roles`` gives some of a policy's roles a model of their own. ``log`` is where the episode is
    recorded, such as ``sqlite:my.db``: asked again there, the recorded answer is returned and nothing is paid.
    Without a log it is recorded in a temporary file that is gone afterwards. Whoever gives a ``tenant`` shares
    neither answers nor memory with others; its configured budget of the day covers the calls. ``prices`` are per
    million tokens, of prompts and of completions.

    ``answer_type`` says what the answer is, such as ``"number"``, ``{"type": "number", "unit": "km"}``,
    ``{"type": "choice", "options": ["red", "green"]}`` or ``{"type": "json", "schema": {...}}``. An answer of
    another form is asked for once more, and what is returned is written one way (``1.5 h`` for 90 minutes).

    Raises ``Error`` where the policy, a setting, the log or the backbone is wrong or cannot be reached.
    """
    no_loop("solve", "await asolve() instead")
    work = asolve(
        problem,
        policy=policy,
        backbone=backbone,
        log=log,
        settings=settings,
        profile=profile,
        domain=domain,
        answer_type=answer_type,
        memory=memory,
        tenant=tenant,
        seed=seed,
        call_limit=call_limit,
        token_limit=token_limit,
        cost_limit=cost_limit,
        time_limit=time_limit,
        roles=roles,
        prices=prices,
    )
    return asyncio.run(work)


async def asolve(
    problem: str,
    *,
    policy: str = DEFAULT_POLICY,
    backbone: str | None = None,
    log: str | None = None,
    settings: Mapping[str, Any] | None = None,
    profile: Profile = "service",
    domain: str = "default",
    answer_type: str | Mapping[str, Any] | None = None,
    memory: str = "main",
    tenant: str | None = None,
    seed: int = 0,
    call_limit: int | None = None,
    token_limit: int | None = None,
    cost_limit: float | None = None,
    time_limit: float | None = None,
    roles: Mapping[str, str] | None = None,
    prices: Mapping[str, tuple[float, float]] | None = None,
) -> Answer:
    """Solve one problem in a running event loop; otherwise as ``solve``."""
    # All that can be wrong with the parameters is told before a log is opened or made.
    way = Way(
        policy=policy,
        profile=profile,
        settings=settings or {},
        domain=domain,
        answer_type=answer_type,
        memory=memory,
        tenant=tenant,
        seed=seed,
        call_limit=call_limit,
        token_limit=token_limit,
        cost_limit=cost_limit,
        time_limit=time_limit,
    )
    need_file(log)
    found, typed = way.found(), way.typed()
    put = _problem(Asked.of(problem, answer_type=typed), typed, way, found)
    with in_our_words(), ExitStack() as place:
        # A log all the same: an answer is made from its record, and nothing here works without one.
        if log is None:
            folder = place.enter_context(tempfile.TemporaryDirectory(prefix="metalogue-"))
            log = f"sqlite:{Path(folder) / 'log.db'}"
        models = models_of(backbone, roles, prices)
        world = world_of(models, patient=False, offering=(way.backbone,))
        try:
            # Before the first call: a limit of cost without a price would limit nothing.
            if cost_limit is not None:
                need_prices(world, "cost_limit", [way.backbone])
            with closing(open_own(log)) as opened:
                solved = await solve_on(opened, found, as_usual(put, found, world), world)
                answer = answer_of(opened, solved.episode)
        except (BackboneError, OutOfBudget) as error:
            told = as_cli(error) if isinstance(error, BackboneError) else over_budget(error)
            raise as_error(told) from error
        finally:
            await world.close()
    assert answer is not None
    return answer


def as_usual(put: Problem, policy: Policy[Any], world: World) -> Problem:
    """The problem with what is set where nobody set it, by the models that answer here."""
    usual = policy.usual(put.profile, world.around.under(put.settings))
    return put.model_copy(update={"settings": {**usual, **put.settings}})


def _problem(asked: Asked, typed: AnswerType | None, way: Way, policy: Policy[Any]) -> Problem:
    """The problem with all that its identity hangs on. Raises an ``Error`` that names the field."""
    # The same settings, from the same configuration, as on the command line: a problem that was
    # solved there is known here, and costs nothing. What is usual hangs on the models, which come later.
    with in_our_words():
        prompts = set_for(policy, None)
        statement = load().statements.get(way.domain)
    # The id hangs on the text, so that the same question is the same episode, and its answer
    # is not paid twice.
    try:
        id, memory = way.own(asked.id)
        problem = Problem(
            id=id,
            problem=asked.problem,
            statement=statement,
            answer_type=typed,
            domain=way.domain,
            policy=policy.name,
            profile=way.profile,
            settings={**prompts, **way.settings},
            limits=way.limits(),
            seed=way.seed,
            memory=memory,
            tenant=way.tenant,
        )
        return with_known_type(problem)
    except BadType as error:
        raise Error(error.what, code="input.answer_type", field=error.field) from error
    except ValidationError as error:
        place, what = first_fault(error)
        field = place.partition(".")[0] or "problem"
        raise Error(what, code="input.field", field=field) from error
