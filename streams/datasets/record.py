"""One problem of a data set, as ``produce`` takes it."""

from __future__ import annotations

from typing import NotRequired, TypedDict


class Record(TypedDict):
    """``answer`` is the label: it goes to the topic feedback and never into a prompt."""

    id: str
    problem: str
    answer: NotRequired[str]
    domain: str
    dataset: str


def record(dataset: str, id: str, problem: str, answer: str | None = None) -> Record:
    """A record whose domain is its data set's name."""
    found = Record(id=id, problem=problem, domain=dataset, dataset=dataset)
    if answer is not None:
        found["answer"] = answer
    return found
