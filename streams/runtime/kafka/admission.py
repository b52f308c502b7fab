"""Admission of a record on `problems`, which is a problem of ours or a line of a foreign client. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from schemas.carried import Carried, TooMuch, carried
from schemas.problem import Feedback, Limits, Problem, ProblemRecord, of_tenant
from schemas.settings import BadSetting
from schemas.written import Twice, problem_of
from streams.engine.policies import Find, NoPolicy
from streams.producing.sources import BadLine, parse
from streams.producing.typed import BadType, with_known_type
from streams.runtime.embedded.intake import (
    SCOPE,
    Usual,
    as_usual,
    episode_of,
    need_offered,
    nothing_usual,
    placed,
)
from streams.runtime.faults import told
from streams.runtime.kafka.envelope import NotOurs, data_of, named


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
    headers: Carried | None = None
    """What its answer is to carry."""


def asked(
    headers: Sequence[tuple[str, bytes | None]],
    value: bytes | None,
    find: Find,
    default_policy: str,
    usual: Usual = nothing_usual,
    offered: Collection[str] = (),
) -> Asked:
    """Return what a record asks for. Raises ``Refused``."""
    problem: Problem | None = None
    try:
        body, ours = data_of(headers, value)
        # An envelope says that it is meant as a problem of ours; its errors are then told in those terms.
        problem, label = problem_on(body) if ours else foreign(body)
        problem = with_known_type(problem, None if label is None else label.reference)
        problem = as_usual(problem, usual)
        scope_told = named(headers).get(f"ce_{SCOPE}", b"").decode("utf-8", "replace")
        scope, policy = placed(find, problem, default_policy, scope_told)
        need_offered(policy, problem, offered)
        kept = carried(headers)
        episode = episode_of(problem, default_policy)
    except ValidationError as error:
        raise Refused("input.field", told(error)) from error
    except TooMuch as error:
        raise Refused("input.headers", str(error)) from error
    except BadType as error:
        raise Refused("input.answer_type", str(error)) from error
    except BadLine as error:
        raise Refused(error.code, str(error)) from error
    except Twice as error:
        raise Refused("input.field", str(error)) from error
    except NoPolicy as error:
        raise Refused("input.policy", f"policy: {error}") from error
    except TypeError as error:
        raise Refused("input.value", told(error, problem)) from error
    except (BadSetting, NotOurs, ValueError) as error:
        raise Refused("input.value", str(error)) from error
    return Asked(episode, scope, problem, label, kept)


def problem_on(body: bytes) -> tuple[Problem, Feedback | None]:
    """A problem of ours, or a plain line, which a foreign client's CloudEvent may hold too.

    Raises ``BadLine`` or ``ValidationError``.
    """
    try:
        return problem_of(body), None
    except ValidationError:
        try:
            return foreign(body)
        except BadLine:
            pass
        raise  # the first error: it names the field that is wrong in what was meant


def foreign(body: bytes) -> tuple[Problem, Feedback | None]:
    """The problem and label on a plain line. Raises ``BadLine``."""
    record: ProblemRecord = parse(body)
    if record.subject is not None:
        raise BadLine(1, "subject", "no keys are kept on Kafka", "input.subject")
    id, memory = of_tenant(record.tenant, record.id, record.memory or "main")
    problem = Problem(
        id=id,
        problem=record.problem,
        statement=record.statement,
        answer_type=record.answer_type,
        domain=record.domain or record.dataset or "default",
        dataset=record.dataset,
        policy=record.policy,
        settings=record.settings or {},
        limits=record.limits or Limits(),
        seed=record.seed or 0,
        memory=memory,
        tenant=record.tenant,
        priority=record.priority,
        labelled=record.answer is not None,
    )
    if record.answer is None:
        return problem, None
    label = Feedback(
        domain=problem.domain, problem_id=problem.id, reference=record.answer, by="source"
    )
    return problem, label
