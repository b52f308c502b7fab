"""Tables of what a log says of learning, as Markdown: rules and lessons, walks, and a cascade's arms."""

# The heads say exactly what a column counts, for the page is read by people who have not read this code.

from __future__ import annotations

from collections.abc import Iterator

from streams.research.analysis.report import between, number, share, table
from streams.research.evidence.learned import Arm, Learned, Measured, Walk

_MEASURED_HEAD = (
    "Rules and lessons in the newest version of each memory, those that are retired too, and what was measured of "
    "them while the runs went on, without `effect lesson`. An effect is how much more often episodes that had an item "
    "were right than those of the same batch that a draw had kept it from (held out by chance); than those that did "
    "not come upon it, which no draw decided (others of its batch); or than a run of the same problem without it "
    "(pairs of runs). Measured is what has episodes on both sides; in brackets, where a draw decided, those beyond "
    "1.96 standard errors, which are one in twenty where no item changes anything. Junk is the share of the measured "
    "whose effect is not above 0, with Wilson's interval as if items were independent; it is a half or more where "
    "none changes anything. Episodes are summed over items:"
)
_MEASURED = (
    "memory of",
    "domain",
    "kind",
    "measured against",
    "items",
    "retired",
    "measured",
    "above 0",
    "below 0",
    "junk",
    "95 %",
    "episodes with",
    "without",
)
_WALKS_HEAD = (
    "Runs that went over the same problems more than once, walk by walk; beside later walks the problems that they "
    "alone solved, those that the first alone did, and McNemar's exact test:"
)
_WALKS = (
    "run",
    "walk",
    "closed",
    "right",
    "graded",
    "accuracy",
    "95 %",
    "paired",
    "solved now alone",
    "the first alone",
    "p",
)
_ARMS_HEAD = (
    "What the arms of a cascade did after its first chains. Another answer: another one led after the pull than before "
    "it. Put right: that before was wrong, or there was none, and that after is right; spoilt: the reverse. Undecided: "
    "one of the two could not be judged, or a limit ended the pull. Tokens: all of a pull's replies, in the mean, each "
    "of a larger model's counted as one:"
)
_ARMS = (
    "run",
    "arm",
    "pulls",
    "another answer",
    "put right",
    "spoilt",
    "undecided",
    "tokens a pull",
)


def learned_tables(found: Learned) -> Iterator[list[str]]:
    """A table of each of the three that the log has anything of."""
    for head, columns, rows in (
        (_MEASURED_HEAD, _MEASURED, [*map(measured_row, found.measured)]),
        (_WALKS_HEAD, _WALKS, [*map(walk_row, found.walks)]),
        (_ARMS_HEAD, _ARMS, [*map(arm_row, found.arms)]),
    ):
        if rows:
            yield [head, "", *table(columns, rows)]


def measured_row(each: Measured) -> list[str]:
    """The cells of one memory's items of one kind."""
    drawn = each.against == "held out by chance"
    above = f"{each.above}" + (f" ({each.sure_above})" if drawn else "")
    below = f"{each.below}" + (f" ({each.sure_below})" if drawn else "")
    return [
        "; ".join(f"`{run}`" for run in each.runs) or "–",
        each.domain,
        f"{each.kind}s",
        each.against,
        f"{each.items}",
        f"{each.retired}",
        f"{each.known}",
        above,
        below,
        share(each.junk),
        between(each.interval, lambda end: f"{100 * end:.1f}"),
        number(each.uses, 0),
        number(each.without, 0),
    ]


def walk_row(each: Walk) -> list[str]:
    """The cells of one walk."""
    later = each.walk > 1
    return [
        f"`{each.run}`",
        f"{each.walk}",
        f"{each.closed}",
        f"{each.right}",
        f"{each.graded}",
        share(each.right / each.graded if each.graded else None),
        between(each.interval, lambda end: f"{100 * end:.1f}"),
        *(f"{count}" if later else "–" for count in (each.both, each.only_now, each.only_first)),
        number(each.p, 3),
    ]


def arm_row(each: Arm) -> list[str]:
    """The cells of one arm."""
    counts = (each.pulls, each.changed, each.put_right, each.spoilt, each.undecided)
    return [f"`{each.run}`", f"`{each.name}`", *map(str, counts), number(each.tokens, 0)]
