"""What a record on `problems` asks for: a problem of ours, or a line of a foreign client. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from handlers.policies.base import Policy
from schemas.problem import Feedback, Limits, Problem, ProblemRecord
from schemas.settings import BadSetting
from streams.episodes import settings_of
from streams.policies import NoPolicy
from streams.producing.sources import BadLine, parse
from streams.runtime.embedded.intake import episode_of, scope_of
from streams.runtime.faults import told
from streams.runtime.kafka.envelope import NotOurs, data_of

Headers = list[tuple[str, bytes]]


class Refused(ValueError):
    """A record that cannot be admitted; ``code`` is stable."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Asked:
    """A problem with its episode and scope, and the label that came with it."""

    episode: str
    scope: str
    problem: Problem
    label: Feedback | None = None


def asked(
    headers: Headers,
    value: bytes | None,
    find: Callable[[str], Policy[Any]],
    default_policy: str,
) -> Asked:
    """What a record asks for. Raises ``Refused``."""
    problem: Problem | None = None
    try:
        body, ours = data_of(headers, value)
        problem, label = _ours(body) if ours else foreign(body)
        policy = find(problem.policy or default_policy)
        settings_of(policy, problem)
    except ValidationError as error:
        raise Refused("input.field", told(error)) from error
    except BadLine as error:
        raise Refused(error.code, str(error)) from error
    except NoPolicy as error:
        raise Refused("input.policy", str(error)) from error
    except TypeError as error:
        raise Refused("input.value", told(error, problem)) from error
    except (BadSetting, NotOurs, ValueError) as error:
        raise Refused("input.value", str(error)) from error
    return Asked(episode_of(problem, default_policy), scope_of(policy, problem), problem, label)


def _ours(body: bytes) -> tuple[Problem, Feedback | None]:
    """A problem in our envelope; a foreign client's CloudEvent may hold a plain line all the same."""
    try:
        return Problem.model_validate_json(body), None
    except ValidationError:
        try:
            return foreign(body)
        except BadLine:
            pass
        raise


def foreign(body: bytes) -> tuple[Problem, Feedback | None]:
    """The problem and label on a plain line. Raises ``BadLine``."""
    record: ProblemRecord = parse(body)
    problem = Problem(
        id=record.id,
        problem=record.problem,
        domain=record.domain or record.dataset or "default",
        dataset=record.dataset,
        policy=record.policy,
        settings=record.settings or {},
        limits=record.limits or Limits(),
        seed=record.seed or 0,
        labelled=record.answer is not None,
    )
    if record.answer is None:
        return problem, None
    label = Feedback(
        domain=problem.domain, problem_id=problem.id, reference=record.answer, by="source"
    )
    return problem, label
