"""Problems put another way: options shuffled, formulas respelt, recognised text degraded.

A perturbed problem is a problem of its own, ``ID~S5``, and says by which seed and map it was made; the
reference follows its option. References never enter an episode, perturbed or not.

Source: CoT2-Meta table 10 (S5), table 11 (S6); design/cot2_meta.md D12.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from handlers.answers.forms_choice import listed
from handlers.policies.cot2_meta.perturb import degraded, shuffled
from schemas.problem import Perturbed, ProblemRecord

Perturbation: TypeAlias = Literal["S5", "S6"]
MARK = "~"


def perturb(record: ProblemRecord, by: Perturbation, seed: int) -> tuple[ProblemRecord, Perturbed]:
    """The problem as it is put, its reference beside it, and what was done."""
    named: dict[str, Any] = {"id": f"{record.id}{MARK}{by}"}
    typed = record.answer_type
    options = listed(record.problem)
    if typed is not None and typed.type == "choice" and (typed.options or options) == options:
        # Shuffled options are read off the problem as it is put then; degraded ones are told
        # apart as they were.
        kept = options if by == "S6" and options else None
        named["answer_type"] = typed.model_copy(update={"options": kept})
    if by == "S6":
        text = degraded(record.problem, seed)
        return record.model_copy(update={**named, "problem": text}), Perturbed(by=by, seed=seed)
    # The reference names an option by its letter, so it has to go with the option.
    put = shuffled(record.problem, seed)
    aliases = record.answer if isinstance(record.answer, list) else [record.answer]
    moved = [put.gold(each) if isinstance(each, str) else each for each in aliases]
    gold = moved if isinstance(record.answer, list) else moved[0]
    said = {**named, "problem": put.problem, "answer": gold}
    return record.model_copy(update=said), Perturbed(by=by, seed=seed, letters=dict(put.letters))


def unperturbed(problem_id: str) -> str:
    """The id of the problem that was perturbed."""
    name, mark, by = problem_id.rpartition(MARK)
    return name if mark and by in ("S5", "S6") else problem_id
