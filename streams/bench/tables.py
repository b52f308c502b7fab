"""A report's tables as rows of text: the paper's figure, ours with its interval, and how far they are apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from streams.analysis.report import number, with_judge
from streams.bench.printed import read_printed

HEAD = ("data", "run", "n", "right %", "95 %", "graded %", "wrong", "withheld", "undecided", "not graded",
        "calls", "tokens", "learning", "ECE", "AURC", "F1")  # fmt: skip
UNKNOWN = "–"


@dataclass(frozen=True, slots=True)
class Shown:
    """A table to print. ``groups`` are its columns with the parts that each has; the first is of names."""

    title: str
    groups: tuple[tuple[str, tuple[str, ...]], ...]
    rows: list[list[str]]
    under: str = ""

    @property
    def head(self) -> list[str]:
        """One line of heads: ``MATH: paper``, ``ours``, ``difference``."""
        heads = [""]
        for name, parts in self.groups:
            first, *more = parts or ("",)
            heads += [f"{name}: {first}" if first else name, *more]
        return heads


def shown(each: Mapping[str, Any]) -> Shown:
    """A table of the paper, or of ours alone, and the calls of its runs under it.

    A column in which the paper prints no number has no place for a difference.
    """
    model = f" ({each['model']})" if each["model"] else ""
    compared = [
        any(read_printed(row["cells"][at]["paper"]) is not None for row in each["rows"])
        for at in range(len(each["columns"]))
    ]
    parts = [("paper", "ours", *(("difference",) if one else ())) for one in compared]
    rows = [
        [row["name"], *(part for cell, one in zip(row["cells"], compared, strict=True)
                        for part in _cell(cell, compared=one))]
        for row in each["rows"]
    ]  # fmt: skip
    title = f"{each['title']}{model}{': ' + each['note'] if each['note'] else ''}"
    groups = tuple(zip(each["columns"], parts, strict=True))
    return Shown(title, groups, rows, " ".join(filter(None, _notes(each))))


def paper_tables(made: Mapping[str, Any]) -> Iterator[Shown]:
    """Each of the paper's tables in its order, then those of our own figures."""
    return (shown(each) for each in (*made["tables"], *made["ours"]))


def _notes(each: Mapping[str, Any]) -> Iterator[str]:
    """What stands under a table."""
    yield _used(each.get("used", {}))
    yield from (f"{run}: {about}." for run, about in each.get("simplified", {}).items())


def _used(each: Mapping[str, Any]) -> str:
    """Calls that runs used of those that they were granted."""
    told = (f"{run} {one['calls']:,.1f} of {one['granted']:,}" for run, one in each.items())
    return f"Calls used in the mean: {'; '.join(told)}." if each else ""


def _cell(cell: Mapping[str, Any], *, compared: bool) -> list[str]:
    paper = UNKNOWN if cell["paper"] is None else str(cell["paper"])
    return [paper, ours(cell), *([apart(cell)] if compared else [])]


def ours(cell: Mapping[str, Any]) -> str:
    """Our figure as papers print theirs, with the half width over seeds; or ``not measured``."""
    found = cell["ours"]
    if found is None:
        return "not measured"
    half = "" if found["half_width"] is None else f" ± {found['half_width']:,.{found['places']}f}"
    return f"{found['value']:,.{found['places']}f}{half}{_spread(found)}{rests_on(found)}"


def apart(cell: Mapping[str, Any]) -> str:
    """How far our figure is above the paper's, with the interval of that."""
    found = cell.get("difference")
    if found is None:
        return UNKNOWN
    return f"{found['value']:+,.{found['places']}f}{_spread(found)}"


def _spread(found: Mapping[str, Any]) -> str:
    """The interval over problems."""
    if found["interval"] is None:
        return ""
    low, high = (f"{bound:,.{found['places']}f}" for bound in found["interval"])
    return f" [{low}, {high}]"


def rests_on(found: Mapping[str, Any]) -> str:
    """Of how many it is, where of some nobody knows."""
    said = f", {found['known']:,} of {found['known'] + found['unknown']:,}"
    seeds = f", {found['seeds_unknown']} seeds without" if found["seeds_unknown"] else ""
    return (said if found["unknown"] else "") + seeds


# ── What was measured ────────────────────────────────────────────────────────────────────────


def measured_table(made: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """What was measured, a row for each data set and run, with the judge's columns where one was asked."""
    rows = [_measured(each) for each in made["measured"]]
    return with_judge(HEAD, rows, [each.get("judge") for each in made["measured"]])


def _measured(each: Mapping[str, Any]) -> list[str]:
    found, said = each["metrics"], each["outcomes"]
    low_high = each["accuracy_interval"]
    return [
        each["data"], each["run"], str(each["episodes"]), _value(found["accuracy"], 1),
        UNKNOWN if low_high is None else f"{low_high[0]:.1f}–{low_high[1]:.1f}",
        _value(found["coverage"], 1), str(said["commission"]), str(said["omission"]),
        str(said["undecided"]), str(said["not_graded"]),
        _value(found["calls"], 1), _resting(found["tokens"], 0), _learning(each["learning"]),
        *(_resting(found[name], 3) for name in ("ece", "aurc", "f1")),
    ]  # fmt: skip


def _learning(found: Mapping[str, Any]) -> str:
    """What learning cost, and in how many consolidations a fallback kept the rules."""
    came: Mapping[str, int] = found["consolidations"]
    kept = came.get("fallback", 0)
    spent = f"{found['calls']:,} calls"
    return (
        f"{spent}, {kept:,} of {sum(came.values()):,} consolidations by fallback" if kept else spent
    )


def _resting(found: Mapping[str, Any] | None, places: int) -> str:
    """A figure, and of how many it is where not all are known."""
    return _value(found, places) + (
        "" if found is None or not found["unknown"] else rests_on(found)
    )


def _value(found: Mapping[str, Any] | None, places: int) -> str:
    return number(None if found is None else found["value"], places)
