"""The page that shows evidence: prose by people, and between marks the tables that are derived from the logs.

A mark names the folder of a log's segments, from the page's own place; `FOLDER with BANK` holds its runs against
another log's chains, `FOLDER with BANK or LARGER` also against fixed rules of when to ask a larger model, whose chains
lie there, `FOLDER paired` holds them against each other, and `FOLDER paired to POLICY` against the runs of that one.
A mark that names a `.yaml` file stands for a summary of the others. What stands between it and the end mark is written
by `metalogue evidence --write`, and by nobody else; `metalogue evidence` derives it again and compares.
"""

# Prose and tables share a page, because figures without their circumstances mislead. Only what
# stands between marks is ever written over: a table that somebody corrected by hand comes back as
# it was derived, and a sentence outside is never touched.

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from streams.answering.models import ggufs
from streams.research.analysis.equal_price import Priced
from streams.research.analysis.plots import Plot
from streams.research.analysis.report import number, share, table
from streams.research.analysis.routing import Routed
from streams.research.analysis.sampling import ORDERS, Sampled
from streams.research.evidence.drafts import table_of as drafts_table
from streams.research.evidence.figures import Bank, Figures, Grader, Interval, Pair
from streams.research.evidence.learned_page import learned_tables
from streams.research.evidence.segments import Segments
from streams.views.words import plural

_MARK = re.compile(
    r"<!-- evidence: (\S{1,1000})(?: with (\S{1,1000})(?: or (\S{1,1000}))?)?"
    r"( paired(?: to (\S{1,1000}))?)? -->\n?"
)
END = "end"
"""What a mark names that ends a part."""


@dataclass(frozen=True, slots=True)
class Block:
    """A part of the page: the folder of a log's segments, and the tables that stand there."""

    folder: Path
    tables: str
    bank: Path | None = None
    """Where the chains lie that its runs are held against, if they are another log's."""
    larger: Path | None = None
    """Where chains of the model lie that its runs may ask besides, if fixed rules are to be held against them."""
    paired: bool = False
    """Whether its runs are also held against each other."""
    to: str | None = None
    """The policy whose runs the others are paired with; none: each with each."""


class NoEnd(ValueError):
    """A part of a page has no end: what is written there would take the place of the parts behind it."""


def blocks(page: Path) -> Iterator[Block]:
    """The parts of a page that are derived. Raises ``NoEnd``."""
    for mark, text in _parts(page.read_text(encoding="utf-8")):
        if mark is not None:
            bank, larger = (
                None if said is None else page.parent / said for said in mark.group(2, 3)
            )
            yield Block(page.parent / mark[1], text, bank, larger, mark[4] is not None, mark[5])


def renewed(page: Path, tables: Mapping[Path, str]) -> str:
    """The page with these tables in place of those of the same folders."""
    return "".join(
        text if mark is None else tables.get(page.parent / mark[1], text)
        for mark, text in _parts(page.read_text(encoding="utf-8"))
    )


def _parts(text: str) -> Iterator[tuple[re.Match[str] | None, str]]:
    """A page cut at its marks: each part with the mark that names what it is derived from, or with none."""
    begun: re.Match[str] | None = None
    at = 0
    for mark in _MARK.finditer(text):
        if begun is None and mark[1] == END:
            continue  # an end where nothing was begun
        if begun is not None and mark[1] != END:
            raise NoEnd(f"{begun[1]} has no end before {mark[1]} begins")
        cut = mark.end() if begun is None else mark.start()
        yield begun, text[at:cut]
        begun, at = (mark if begun is None else None), cut
    if begun is not None:
        raise NoEnd(f"{begun[1]} has no end")
    yield None, text[at:]


# ── Tables ───────────────────────────────────────────────────────────────────────────────────


def tables_of(found: Figures, segments: Segments, block: Block) -> str:
    """Everything that is told of one log, as Markdown, and what its part of the page asks for besides."""
    roles: list[list[str]] = []
    for role in found.roles:
        read = share(role.read / role.first if role.first else None)
        counts = (role.again, role.again_read, role.refused, role.cut)
        roles.append([role.name, f"{role.first}", f"{role.read}", read, *map(str, counts)])
    beside: list[list[str]] = []
    for bank in found.beside:
        of = f", {bank.dataset}" if bank.dataset else ""
        head = (
            f"Runs on the problems of `{bank.name}`{of}, each paired with the vote of five chains "
            "(p: McNemar's exact test against the first chains as they were drawn):"
        )
        # A run has ended some of the problems only: so each row says of how many it is.
        rows = [
            [
                f"`{run.rule}`",
                f"{problems}",
                *_rule(run)[1:-1],
                number(run.p, 3),
                _rule(run)[-1],
                "–" if run.equal_gain is None else f"{100 * run.equal_gain:+.1f} ({run.equal})",
                _spread(run.equal_interval, sign="+"),
                number(run.equal_p, 3),
            ]
            for run, problems in bank.runs
        ]
        beside.append([head, "", *table(_BESIDE, rows)])
        beside += [priced_of(bank.name, bank.priced)] if bank.priced else []
    turned = (pair.against(block.to) for pair in found.pairs)
    pairs = [pair for pair in turned if pair is not None]
    parts = [
        _about(found),
        runs_of(found),
        *([confidence_of(found)] if found.sure else []),
        *([table(_ROLES, roles)] if roles else []),
        *(_bank(each) for each in found.banks),
        *beside,
        *map(_routed, found.routed),
        *([_pairs(pairs)] if block.paired and pairs else []),
        *learned_tables(found.learned),
        *([drafts_table(found.drafts)] if found.drafts else []),
        files_of(segments),
    ]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def files_of(segments: Segments) -> list[str]:
    """A table of the files that a log is kept in, and of its recipe where one of its name lies beside the folder."""
    hashes, packers = segments.hashes(), segments.packers()
    recipe = segments.folder.with_name(f"{segments.folder.name}.yaml")
    rows = [
        [f"`{name}`", f"{size:,}", f"`{hashes[name]}`", packers[name]]
        for name, size in segments.sizes().items()
    ]
    if recipe.exists():
        said = recipe.read_bytes()
        rows.append([f"`{recipe.name}`", f"{len(said):,}", f"`{sha256(said).hexdigest()}`", "–"])
    return table(("file", "bytes", "SHA-256", "packed by"), rows)


def runs_of(found: Figures) -> list[str]:
    """A table of the runs of a log: how far each came, how often it was right, and what that took."""
    runs = [
        [
            f"`{row.name}`",
            f"{row.closed}",
            f"{row.right}",
            f"{row.graded}",
            share(row.right / row.graded if row.graded else None),
            _spread(row.interval),
            number(row.calls, 1),
            number(row.tokens, 0)
            + (f" ({row.tokens_unknown} unknown)" if row.tokens_unknown else ""),
            share(row.answered),
            number(row.seconds, 0),
            f"{row.unfinished}",
        ]
        for row in found.rows
    ]
    return table(_RUNS, runs)


def confidence_of(found: Figures) -> list[str]:
    """A table of how well each run's confidence tells right answers from wrong ones."""
    sure = [
        [
            f"`{each.run}`",
            each.source,
            f"{each.answers}",
            number(each.ece, 3),
            _spread(each.ece_interval, scale=1, places=3),
            number(each.aurc, 3),
            *(number(100 * right, 1) for right in each.selective),
        ]
        for each in found.sure
    ]
    return table(_SURE, sure)


def _about(found: Figures) -> Sequence[str]:
    spent = "unknown" if found.tokens is None else f"{found.tokens:,}"
    hours = f"{found.hours:.2f} hours from the first record to the last"
    # A name says little: files of one name differ by how
    # they were quantised. So the hash, where it is known.
    files = {each.filename: f", of the file with SHA-256 `{each.sha256}`" for each in ggufs()}
    return [
        f"- Replies: {sum(found.models.values()):,}, of {spent} tokens, in {hours}",
        *(f"- Model: `{name}`, {count:,} replies{files.get(f'{name}.gguf', '')}"
          for name, count in found.models.items()),
        f"- Policies: {', '.join(f'`{each}`' for each in found.policies)}",
        f"- Backbones: {', '.join(f'`{each}`' for each in found.backbones)}; "
        f"seeds {', '.join(map(str, found.seeds))}",
        f"- Graders: {'; '.join(map(_grader, found.graders)) or 'none'}",
        f"- Verified: {found.verified:,} episodes, {found.facts:,} facts, 0 model calls; "
        f"{found.other_builds} not verifiable by this build, {len(found.diverged)} diverge",
    ]  # fmt: skip


def _grader(each: Grader) -> str:
    said = f"`{each.name}`, {plural(each.answers, 'answer')}"
    if each.now is None:
        return said
    others = each.answers - each.same
    again = f"of which `{each.now}` of this build says the same of {each.same:,}"
    return f"{said}, {again}, and of {others:,} another thing"


_RUNS = (
    "run",
    "closed",
    "right",
    "graded",
    "accuracy",
    "95 %",
    "calls",
    "tokens",
    "answered",
    "seconds",
    "open",
)


_SURE = (
    "run",
    "confidence",
    "answers",
    "ECE",
    "95 %",
    "AURC",
    "right of the surest quarter, %",
    "half",
    "three quarters",
    "all",
)


_ROLES = ("role", "first askings", "read", "share", "asked again", "then read", "refused", "cut")


_RULES = ("rule", "chains", "tokens", "right, %", "95 %", "− vote of 5", "95 %", "tokens of its")
_SELECTED = ("withheld below", "of", "answered, %", "right of them, %", "95 %")


def _bank(bank: Bank) -> Sequence[str]:
    rows = [_rule(each) for each in bank.rules]
    of = f", {bank.dataset}" if bank.dataset else ""
    odd = f"; {bank.undecided} more are undecided" if bank.undecided else ""
    head = f"Chains of `{bank.name}`{of}, {bank.problems} problems{odd}, in {ORDERS} orders:"
    withheld = [
        [
            f"{each.level:.1f}",
            f"{each.chains}",
            number(100 * each.answered, 1),
            number(None if each.right is None else 100 * each.right, 1),
            _spread(each.interval),
        ]
        for each in bank.selected
    ]
    below = ["", *table(_SELECTED, withheld)] if withheld else []
    return [head, "", *table(_RULES, rows), *below]


_BESIDE = (
    "run",
    "problems",
    "calls",
    "tokens",
    "right, %",
    "95 %",
    "− vote of 5",
    "95 %",
    "p",
    "tokens of its",
    "− vote of as many",
    "95 %",
    "p",
)


_PRICED = ("run", "problems", "tokens", "− votes", "95 %", "− until some agree", "95 %")


def priced_of(bank: str, runs: Sequence[Priced]) -> list[str]:
    """Runs at their own price."""
    head = (
        f"The same at each run's own price: against votes of the chains of `{bank}`, and against as many until two, "
        "three or four agree, two neighbouring rules mixed so that the tokens are the run's:"
    )
    rows = [
        [
            f"`{each.run}`",
            f"{each.problems}",
            number(each.tokens, 0),
            *(
                cell
                for side in (each.votes, each.agreed)
                for cell in (
                    "–" if side is None else f"{100 * side.gain:+.1f}",
                    _spread(None if side is None else side.interval, sign="+"),
                )
            ),
        ]
        for each in runs
    ]
    return [head, "", *table(_PRICED, rows)]


_ROUTED = ("rule", "calls", "tokens", "right, %", "95 %", "− the run", "95 %", "tokens of its")


def _routed(found: Routed) -> Sequence[str]:
    """A run of two models, and fixed rules on the same problems."""
    head = (
        f"`{found.run}` and fixed rules of two models on {plural(found.problems, 'problem')} of both banks, "
        f"in {ORDERS} orders, a token of the larger at {found.price:g} of the smaller:"
    )
    first, *rest = found.rules
    rows = [[f"`{first.rule}`", *_rule(first)[1:]], *map(_rule, rest)]
    return [head, "", *table(_ROUTED, rows)]


_PAIRS = (
    "run",
    "against",
    "problems",
    "right alone",
    "the other alone",
    "difference",
    "95 %",
    "p",
    "found from",
)


def _pairs(pairs: Sequence[Pair]) -> Sequence[str]:
    """Runs held against each other, problem by problem."""
    head = (
        "Runs on the same problems, with McNemar's exact test, and the difference that four of five "
        "such runs would have found:"
    )
    rows = [
        [
            f"`{each.one}`",
            f"`{each.other}`",
            f"{each.problems}",
            f"{each.only_one}",
            f"{each.only_other}",
            f"{100 * each.difference:+.1f}",
            _spread(each.interval, sign="+"),
            number(each.p, 3),
            number(None if each.least is None else 100 * each.least, 1),
        ]
        for each in pairs
    ]
    return [head, "", *table(_PAIRS, rows)]


_FAMILIES = {
    "votes of so many chains": re.compile(r"vote of \d+"),
    "until some agree": re.compile(r"until \d+ agree.*"),
    "until one leads": re.compile(r"until one leads.*"),
    "until sure": re.compile(r"until sure.*"),
    "while it pays": re.compile(r"while it pays.*"),
    "shared out by lead": re.compile(r".{0,80}shared out by lead"),
}
"""Rules of one kind, which differ in how much they draw: each kind is a line of the plot."""


def plot_of(bank: Bank, runs: Sequence[tuple[Sampled, int]] = ()) -> Plot:
    """The share of right answers over the tokens that each rule took, and each of ``runs``, with its interval."""
    series: dict[str, list[tuple[float, ...]]] = {
        family: sorted(
            (each.tokens, 100 * each.right, *(100 * end for end in each.interval))
            for each in bank.rules
            if named.fullmatch(each.rule) and each.tokens is not None and each.interval is not None
        )
        for family, named in _FAMILIES.items()
    }
    for run, _ in runs:
        if run.tokens is not None and run.interval is not None:
            ends = (100 * end for end in run.interval)
            series[run.rule] = [(run.tokens, 100 * run.right, *ends)]
    of = f"{bank.problems} problems of {bank.dataset or 'all sets'}"
    return Plot(f"Right answers by tokens, {of}", series, "tokens a problem", "right, %")


def _rule(each: Sampled) -> list[str]:
    return [
        each.rule,
        number(each.chains, 2),
        number(each.tokens, 0),
        number(100 * each.right, 1),
        _spread(each.interval),
        "–" if each.gain is None else f"{100 * each.gain:+.1f}",
        _spread(each.gain_interval, sign="+"),
        share(each.price),
    ]


def _spread(interval: Interval | None, scale: float = 100, sign: str = "", places: int = 1) -> str:
    if interval is None:
        return "–"
    joint = " to " if sign else "–"
    return joint.join(f"{scale * end:{sign}.{places}f}" for end in interval)
