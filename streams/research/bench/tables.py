"""A report's tables as rows of text: the paper's figure, ours with its interval, and how far they are apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from streams.research.analysis.report import number, with_judge
from streams.research.bench.printed import read_printed

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
    first: str = ""
    """The head of the column of names."""

    @property
    def head(self) -> list[str]:
        """One line of heads: ``MATH: paper``, ``ours``, ``difference``."""
        heads = [self.first]
        for name, parts in self.groups:
            first, *more = parts or ("",)
            heads += [f"{name}: {first}" if first else name, *more]
        return heads


def shown(each: Mapping[str, Any]) -> Shown:
    """A table of the paper, or of ours alone, and the calls of its runs under it.

    A column in which the paper prints no number has no place for a difference, and one in which it prints
    nothing none for the paper.
    """
    model = f" ({each['model']})" if each["model"] else ""
    columns = range(len(each["columns"]))
    papers = [[row["cells"][at]["paper"] for row in each["rows"]] for at in columns]
    alone = all(paper is None for column in papers for paper in column)
    parts: list[tuple[str, ...]] = []
    for column in papers:
        if alone:
            parts.append(())
        elif all(paper is None for paper in column):
            parts.append(("ours",))
        elif all(read_printed(paper) is None for paper in column):
            parts.append(("paper", "ours"))
        else:
            parts.append(("paper", "ours", "difference"))
    rows: list[list[str]] = []
    for row in each["rows"]:
        texts = [row["name"]]
        for cell, part in zip(row["cells"], parts, strict=True):
            said = {
                "paper": UNKNOWN if cell["paper"] is None else str(cell["paper"]),
                "ours": ours(cell),
                "difference": apart(cell.get("difference")),
            }
            texts += [said[name] for name in part or ("ours",)]
        rows.append(texts)
    title = f"{each['title']}{model}{': ' + each['note'] if each['note'] else ''}"
    groups = tuple(zip(each["columns"], parts, strict=True))
    # Not every method takes the calls that it was
    # granted, which a table of equal limits would hide.
    told = (
        f"{r} {one['calls']:,.1f} of {one['granted']:,}" for r, one in each.get("used", {}).items()
    )
    used = "; ".join(told)
    under = [f"Calls used in the mean: {used}."] if used else []
    under += (f"{run}: {about}." for run, about in each.get("simplified", {}).items())
    return Shown(title, groups, rows, " ".join(under))


def paper_tables(made: Mapping[str, Any]) -> Iterator[Shown]:
    """Each of the paper's tables in its order, then those of our own figures."""
    return (shown(each) for each in (*made["tables"], *made["ours"]))


def ours(cell: Mapping[str, Any]) -> str:
    """Our figure as papers print theirs, with the half width over seeds; or ``not measured``."""
    found = cell["ours"]
    if found is None:
        return "not measured"
    # Two spreads of two kinds: ± over seeds, as papers print it, and in brackets the interval over
    # problems, which says how far the figure can be trusted.
    half = "" if found["half_width"] is None else f" ± {found['half_width']:,.{found['places']}f}"
    return f"{found['value']:,.{found['places']}f}{half}{_spread(found)}{rests_on(found)}"


def apart(found: Mapping[str, Any] | None) -> str:
    """How far our figure is above another, with the interval of that."""
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


def measured_table(made: Mapping[str, Any]) -> Shown:
    """What was measured, a row for each data set and run, with the judge's columns where one was asked."""
    rows: list[list[str]] = []
    for each in made["measured"]:
        found, said, learning = each["metrics"], each["outcomes"], each["learning"]
        low_high = each["accuracy_interval"]
        came: Mapping[str, int] = learning["consolidations"]
        spent = f"{learning['calls']:,} calls"
        # A fallback keeps the old rules: calls were paid for, and nothing was learned by them.
        if kept := came.get("fallback", 0):
            spent += f", {kept:,} of {sum(came.values()):,} consolidations by fallback"
        rows.append([
            each["data"], each["run"], str(each["episodes"]), _value(found["accuracy"], 1),
            UNKNOWN if low_high is None else f"{low_high[0]:.1f}–{low_high[1]:.1f}",
            _value(found["coverage"], 1), str(said["commission"]), str(said["omission"]),
            str(said["undecided"]), str(said["not_graded"]),
            _value(found["calls"], 1), _resting(found["tokens"], 0), spent,
            *(_resting(found[name], 3) for name in ("ece", "aurc", "f1")),
        ])  # fmt: skip
    head, rows = with_judge(HEAD, rows, [each.get("judge") for each in made["measured"]])
    return filled("Measured", head, rows)


PAIRS = ("data", "run", "over", "right % more", "only run", "only over", "McNemar's p", "not graded in both",
         "calls more", "tokens more")  # fmt: skip

ABOUT_PAIRS = "More: what run has over the other, problem by problem. A p is of its pair alone."


def pairs_table(made: Mapping[str, Any]) -> Shown | None:
    """Each two runs on a data set, problem by problem; nothing where no run is beside another."""
    rows = [
        [data, each["run"], each["over"], _gained(each["accuracy"]), f"{each['only_run']:,}",
         f"{each['only_over']:,}", f"{each['p']:.3g}", f"{each['left_out']:,}",
         *(_gained(each[name]) for name in ("calls", "tokens"))]
        for data, found in made["comparisons"].items()
        for each in found["pairs"]
    ]  # fmt: skip
    if not rows:
        return None
    found = filled("Pairs", PAIRS, rows)
    return replace(found, under=f"{ABOUT_PAIRS} {found.under}".strip())


def filled(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> Shown:
    """A table without the columns in which nothing is known; what those were stands under it."""
    # A column of nothing but dashes makes a wide table
    # wider; that nothing of it is known is still said.
    known = [any(row[at] != UNKNOWN for row in rows) for at in range(len(head))]
    left = ", ".join(name for name, one in zip(head, known, strict=True) if not one)
    groups = [(name, ()) for name, one in zip(head, known, strict=True) if one]
    kept = [[cell for cell, one in zip(row, known, strict=True) if one] for row in rows]
    under = f"Not known of any: {left}." if left and rows else ""
    return Shown(title, tuple(groups[1:]), kept, under, first=head[0])


def _gained(found: Mapping[str, Any] | None) -> str:
    """How much more it is with its interval, and of how many problems where not of all."""
    return apart(found) + ("" if found is None else rests_on(found))


def _resting(found: Mapping[str, Any] | None, places: int) -> str:
    """A figure, and of how many it is where not all are known."""
    return _value(found, places) + (
        "" if found is None or not found["unknown"] else rests_on(found)
    )


def _value(found: Mapping[str, Any] | None, places: int) -> str:
    return number(None if found is None else found["value"], places)
