"""One problem of a data set, as ``produce`` takes it."""

from __future__ import annotations

from typing import NotRequired, TypedDict


class Record(TypedDict):
    """``answer`` is the label: it goes to the topic feedback and never into a prompt.

    ``traits`` (level, subject) are for reports only: they are never produced.
    """

    id: str
    problem: str
    answer: NotRequired[str]
    domain: str
    dataset: str
    traits: NotRequired[dict[str, str]]


def record(
    dataset: str, id: str, problem: str, answer: str | None = None, **traits: object
) -> Record:
    """A record whose domain is its data set's name; traits that are not there are left out."""
    found = Record(id=id, problem=problem, domain=dataset, dataset=dataset)
    if answer is not None:
        found["answer"] = answer
    if said := {name: str(value) for name, value in traits.items() if value is not None}:
        found["traits"] = said
    return found
