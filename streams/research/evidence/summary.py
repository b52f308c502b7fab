"""The summary of an evidence page: which figures of which logs its first table repeats, as a file says.

A mark that names the file (`<!-- evidence: summary.yaml -->`) has the table written between it and the end mark from
what was derived of the page's other marks, so that the figures that most people read are none that somebody typed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, ValidationError

from schemas.faults import first_fault
from streams.research.analysis.report import number, table
from streams.research.evidence.segments import BadSegment
from streams.support.yamls import FILE_CHARS, Flaw, document

if TYPE_CHECKING:
    from streams.research.analysis.sampling import Sampled
    from streams.research.evidence.figures import Bank, Beside

ENDING = ".yaml"


class _Said(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Row(_Said):
    """One row: what it is called, and per column where its figures come from; none where nothing was run."""

    name: str
    figures: tuple[str | None, ...]
    """``FOLDER: RUN``, or ``FOLDER: RULE`` of a bank's chains."""


class Summary(_Said):
    """The columns' headings, and the rows, in their order."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def summary(file: Path) -> Summary:
    """Read the file. Raises ``BadSegment`` that names the field, also where a row has not a figure for each column."""
    try:
        with file.open(encoding="utf-8") as opened:
            found = Summary.model_validate(document(opened.read(FILE_CHARS + 1)))
    except ValidationError as error:
        field, what = first_fault(error)
        raise BadSegment(f"{file}: {field or 'summary'}: {what}") from error
    except (Flaw, OSError, UnicodeDecodeError) as error:
        raise BadSegment(f"{file}: {error}") from error
    for row in found.rows:
        if len(row.figures) != len(found.columns):
            raise BadSegment(f"{file}: {row.name}: {len(found.columns)} figures, some of them null")
    return found


def table_of(
    file: Path, banks: Mapping[str, Sequence[Bank]], beside: Mapping[str, Sequence[Beside]]
) -> str:
    """The table as Markdown, by folder names from what was derived of each. Raises ``BadSegment``."""
    asked = summary(file)
    rows: list[list[str]] = []
    for row in asked.rows:
        found = [
            None if each is None else _found(each, file, banks, beside) for each in row.figures
        ]
        gains = ["–" if each is None else _gain(each) for each in found]
        prices = [
            number(None if each.price is None else 100 * each.price, 0)
            for each in found
            if each is not None
        ]
        # One price for all, where it is one: a vote of ten takes as much everywhere.
        alike = prices[:1] if len(set(prices)) == 1 else prices
        known = any(each != "–" for each in alike)
        rows.append([row.name, *gains, f"{', '.join(alike)} %" if known else "–"])
    return "\n".join(table(("", *asked.columns, "tokens"), rows)) + "\n"


def _found(
    said: str,
    file: Path,
    banks: Mapping[str, Sequence[Bank]],
    beside: Mapping[str, Sequence[Beside]],
) -> Sampled:
    folder, _, name = said.partition(": ")
    # All problems come before those of each set.
    rules = [rule for bank in banks.get(folder, ()) for rule in bank.rules]
    rules += [run for held in beside.get(folder, ()) for run, _ in held.runs]
    for rule in rules:
        if rule.rule == name:
            return rule
    raise BadSegment(f"{file}: {said!r}: the page shows no such run or rule beside a vote of five")


def _gain(found: Sampled) -> str:
    if found.gain is None or found.gain_interval is None:
        return "–"
    low, high = (100 * end for end in found.gain_interval)
    return f"{100 * found.gain:+.1f} ({low:.1f} to {high:.1f})".replace("-", "−")
