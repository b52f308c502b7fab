"""A report's tables for a paper's appendix: CSV for programs, LaTeX for print.

CSV has a line for each cell, its figures as they were computed; what is unknown is an empty field and never 0.
LaTeX prints the page's own text; it needs the package ``booktabs``.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from streams.research.bench.compare import GAINS
from streams.research.bench.tables import Shown, measured_table, pairs_table, shown

CELL_FIELDS = ("table", "model", "row", "column", "paper", "ours", "half_width", "low", "high", "known", "unknown",
               "seeds", "seeds_unknown", "difference", "difference_low", "difference_high", "why")  # fmt: skip
FIGURE_FIELDS = ("data", "run", "metric", "value", "half_width", "low", "high", "known", "unknown", "seeds",
                 "seeds_unknown")  # fmt: skip
PAIR_FIELDS = (
    *("data", "run", "over", "only_run", "only_over", "p", "left_out"),
    *(f"{name}{part}" for name in GAINS for part in ("", "_low", "_high", "_known", "_unknown")),
)


def exports(made: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The name and the text of each file: the paper's tables in its order, ours, and all that was measured."""
    # Numbered and not named: a table's title holds signs that no file name takes.
    for at, each in enumerate((*made["tables"], *made["ours"]), 1):
        yield f"table-{at}.csv", table_csv(each)
        yield f"table-{at}.tex", latex(shown(each))
    yield "measured.csv", measured_csv(made)
    yield "measured.tex", latex(measured_table(made))
    beside = pairs_table(made)
    if beside is not None:
        yield "pairs.csv", pairs_csv(made)
        yield "pairs.tex", latex(beside)


def whole_latex(made: Mapping[str, Any]) -> str:
    """Every table of a report, one after another."""
    return "\n".join(text for name, text in exports(made) if name.endswith(".tex"))


# ── CSV ──────────────────────────────────────────────────────────────────────────────────────


def table_csv(each: Mapping[str, Any]) -> str:
    """A table as one line a cell."""
    lines = [
        [each["title"], each["model"], row["name"], column, cell["paper"],
         *_fields(cell["ours"], FIGURE, RESTS), *_fields(cell.get("difference"), SPAN),
         cell.get("why", "")]
        for row in each["rows"]
        for column, cell in zip(each["columns"], row["cells"], strict=True)
    ]  # fmt: skip
    return _written(CELL_FIELDS, lines)


def measured_csv(made: Mapping[str, Any]) -> str:
    """Every metric of every run on every data set, one line each."""
    lines = [
        [each["data"], each["run"], name, *_fields(found, FIGURE, RESTS)]
        for each in made["measured"]
        for name, found in each["metrics"].items()
    ]
    return _written(FIGURE_FIELDS, lines)


def pairs_csv(made: Mapping[str, Any]) -> str:
    """Each two runs on a data set: gains with their intervals, and McNemar's exact test in both directions."""
    lines = [
        [data, each["run"], each["over"], each["only_run"], each["only_over"], each["p"], each["left_out"],
         *(part for name in GAINS for part in _fields(each[name], SPAN, ("known", "unknown")))]
        for data, found in made["comparisons"].items()
        for each in found["pairs"]
    ]  # fmt: skip
    return _written(PAIR_FIELDS, lines)


FIGURE = ("value", "half_width", "low", "high")
SPAN = ("value", "low", "high")
RESTS = ("known", "unknown", "seeds", "seeds_unknown")


def _fields(found: Mapping[str, Any] | None, *names: Sequence[str]) -> list[Any]:
    """A figure's fields, all of them empty where it is unknown."""
    wanted = [name for some in names for name in some]
    if found is None:
        return [None] * len(wanted)
    low, high = found["interval"] or (None, None)
    ends = {"low": low, "high": high}
    return [ends[name] if name in ends else found[name] for name in wanted]


def _written(head: Sequence[str], lines: Sequence[Sequence[Any]]) -> str:
    # Without this, and with the line's end given, Windows would write two of them after each line.
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(["" if each is None else each for each in line] for line in lines)
    return text.getvalue()


# ── LaTeX ────────────────────────────────────────────────────────────────────────────────────

_SPELT = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    # a bracket that follows the end of a row would be read as the space after it
    "[": "{[}", "]": "{]}", "*": "{*}",
    "–": r"\textendash{}", "—": r"\textemdash{}", "…": r"\dots{}", "`": r"\textasciigrave{}", '"': r"\char34{}",
    **{sign: rf"\ensuremath{{{name}}}" for sign, name in {
        "<": "<", ">": ">", "|": r"\mid", "±": r"\pm", "×": r"\times", "−": "-", "≤": r"\le", "≥": r"\ge", "→": r"\to",
        "↑": r"\uparrow", "↓": r"\downarrow", "⊕": r"\oplus", "²": "^2", "⁰": "^0", "∞": r"\infty", "∆": r"\Delta",
        "Δ": r"\Delta", "α": r"\alpha", "β": r"\beta", "γ": r"\gamma", "ε": r"\varepsilon", "θ": r"\theta",
        "κ": r"\kappa", "λ": r"\lambda", "μ": r"\mu", "ρ": r"\rho", "σ": r"\sigma", "τ": r"\tau", "ψ": r"\psi",
    }.items()},
}  # fmt: skip
_BLANKS = re.compile(r"\s+")
_LIGATURE = re.compile(r"-(?=-)")
"""Two hyphens side by side would be joined to a dash."""


def spelt(text: str) -> str:
    """Plain text as LaTeX prints it, sign for sign."""
    made = "".join(_SPELT.get(sign, sign) for sign in _BLANKS.sub(" ", text))
    return _LIGATURE.sub("-{}", made)


def latex(table: Shown) -> str:
    """A table with its caption."""
    spans = [max(len(parts), 1) for _, parts in table.groups]
    heads = [
        rf"\multicolumn{{{span}}}{{c}}{{{spelt(name)}}}" if span > 1 else spelt(name)
        for (name, _), span in zip(table.groups, spans, strict=True)
    ]
    lines = [
        "% \\usepackage{booktabs}",
        r"\begin{table}",
        rf"\caption{{{spelt(table.title)}}}",
        rf"\begin{{tabular}}{{l{'r' * sum(spans)}}}",
        r"\toprule",
        _row([spelt(table.first), *heads]),
    ]
    if any(parts for _, parts in table.groups):
        below = [spelt(part) for _, parts in table.groups for part in parts or ("",)]
        lines.append(_row(["", *below]))
    lines += [r"\midrule", *(_row([spelt(cell) for cell in row]) for row in table.rows)]
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [rf"\par {spelt(table.under)}"] if table.under else []
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def _row(cells: Sequence[str]) -> str:
    return rf"{' & '.join(cells)} \\"
