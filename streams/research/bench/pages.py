"""A recipe's report as Markdown, and as one HTML page that needs nothing else."""

# A report (`bench.report.report`) is plain values; Markdown and HTML say the same of it, in the
# same order: what must be read before any figure, then the tables, then how it was made. No figure
# is computed here, and none is left out for being unknown.

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from streams.research.analysis.layout import bullets, folded, gallery, html_table, page, warning
from streams.research.analysis.plots import Plot, curves, in_page, without
from streams.research.analysis.report import SIMULATED, judge_line, number, of_source, share, table
from streams.research.bench.report import simulated
from streams.research.bench.tables import Shown, measured_table, pairs_table, paper_tables

CODE = re.compile(r"`([^`]*)`")


def markdown(made: Mapping[str, Any]) -> str:
    """The report as Markdown."""
    lines = [f"# {_title(made)}", ""]
    for text in warnings(made):
        lines += [f"> **{text}**", ""]
    lines += [made["differs"], ""] if made["differs"] else []
    lines += [f"- {line}" for line in provenance(made)]
    for each in tables(made):
        under = ["", each.under] if each.under else []
        lines += ["", f"## {each.title}", "", *table(each.head, each.rows), *under]
    for title, details in sections(made):
        lines += ["", f"### {title}", "", *(f"- {line}" for line in details)]
    return "\n".join(lines) + "\n"


def html(made: Mapping[str, Any], *, plots: bool = True) -> str:
    """The report as one page."""
    parts = [f"<h1>{escape(_title(made))}</h1>"]
    parts += [warning(text) for text in warnings(made)]
    parts += [f'<p class="prose">{escape(made["differs"])}</p>'] if made["differs"] else []
    for each in tables(made):
        parts += [f"<h2>{escape(each.title)}</h2>", html_table(each.head, each.rows, each.title)]
        parts += [f'<p class="dim small prose">{escape(each.under)}</p>'] if each.under else []
    parts += [*without(), gallery(in_page(figures(made)))] if plots else []
    details = [folded(title, _list(lines)) for title, lines in sections(made)]
    parts += ["<h2>Details</h2>", *details] if details else []
    parts += ["<h2>How it was made</h2>", _list(provenance(made))]
    return page(made["recipe"], parts, kind="bench")


def _list(lines: Sequence[str]) -> str:
    return bullets([CODE.sub(r"<code>\1</code>", escape(line)) for line in lines])


def tables(made: Mapping[str, Any]) -> Iterator[Shown]:
    """Every table in its order: the paper's, what was measured, and runs beside each other where no paper is."""
    yield from paper_tables(made)
    yield measured_table(made)
    # A paper's own tables say what is to be compared; without one every pair is.
    beside = None if made["paper"] else pairs_table(made)
    if beside is not None:
        yield beside


def _title(made: Mapping[str, Any]) -> str:
    return f"{made['recipe']}: {made['about']}" if made["about"] else made["recipe"]


# ── What both say ────────────────────────────────────────────────────────────────────────────


def warnings(made: Mapping[str, Any]) -> Iterator[str]:
    """What must be read before any figure."""
    if simulated(made):
        yield SIMULATED
    # A reduced run looks like a result, and is none: it says so above everything else.
    if made["provenance"]["changed"]:
        less = ", ".join(f"{name} {value}" for name, value in made["provenance"]["changed"].items())
        what = ": this is no reproduction of the paper's figure" if made["paper"] else ""
        yield f"Reduced ({less}){what}."
    if made["absent"]:
        yield f"Not in this build: {', '.join(made['absent'])}. Their rows are not measured."
    if made["unfinished"]:
        yield f"{made['unfinished']} problems have no answer yet."


def provenance(made: Mapping[str, Any]) -> list[str]:
    """Command, models, seeds, commit, data, settings."""
    said = made["provenance"]
    lines = [
        f"command: `{said['command']}`",
        f"backbones: {said['backbones']}; models that answered: {', '.join(said['models']) or 'none'}",
        f"embedder {said['embedder']}; profile {made['profile']}; seeds {', '.join(map(str, said['seeds']))}",
        f"metalogue {said['version']}, commit {said['commit']}",
    ]
    for data in said["data"]:
        # What stood in is named beside what was wanted: its figures are not the paper's data set's.
        stands = f", where {data['read']} stands in" if data["stands_in"] else ""
        found = "not read"
        if data["read"] is not None:
            found = f"{data['problems']} problems, sha256 {data['sha256'][:16]}"
        note = f"; {data['note']}" if data["note"] else ""
        lines.append(f"data {data['name']} ({data['wanted']}{stands}): {found}{note}")
    return lines + [_run_line(name, run) for name, run in made["runs"].items()]


def _run_line(name: str, run: Mapping[str, Any]) -> str:
    """Everything that makes this run what it is; what is as it always is stays unsaid."""
    parts = [run["policy"], *(f"{k}={v}" for k, v in run["settings"].items())]
    parts += [f"{which} ≤ {limit}" for which, limit in run["limits"].items()]
    parts += [f"limit: {run['matched']}"] if "matched" in run else []
    parts += [f"warm start from {run['warm_from']}"] if "warm_from" in run else []
    parts += [f"continues {run['continues']}"] if "continues" in run else []
    parts += [f"goes on with each episode of {run['beside']}"] if "beside" in run else []
    parts += ["spares in side runs what it pruned"] if "audit" in run else []
    parts += [f"per data {run['per_data']}"] if "per_data" in run else []
    parts += [f"{run['passes']} passes"] if run["passes"] > 1 else []
    parts += [run["order"]] if run["order"] != "released" else []
    return f"run {name}: {' '.join(parts)}{'; ' + run['note'] if run['note'] else ''}"


# ── Details ──────────────────────────────────────────────────────────────────────────────────


def sections(made: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Comparisons by data set, then each run's calibration, experience and arms."""
    for data, each in made["comparisons"].items():
        lines = [_unbeaten(each, cost) for cost in ("calls", "tokens")]
        # Without a paper the pairs have a table of their own, with the same p-values in it.
        for one, others in each["mcnemar"].items() if made["paper"] else ():
            told: list[str] = []
            for name, test in others.items():
                left = f" ({test['left_out']} not graded in both)" if test["left_out"] else ""
                told.append(f"{name} {test['wins']}:{test['losses']} p {test['p']:.3g}{left}")
            lines.append(f"McNemar, {one} against {'; '.join(told)}")
        yield f"{data}: policies beside each other", lines
    for each in made["measured"]:
        if lines := list(_details(each)):
            yield f"{each['data']}, {each['run']}", lines


def _unbeaten(each: Mapping[str, Any], cost: str) -> str:
    """Who is not beaten at its cost, and of whom that is unknown."""
    told: list[str] = []
    for point in each[f"by_{cost}"]:
        if not point["best"]:
            continue
        share_of = "" if point["coverage"] == 100 else f" of the {point['coverage']:.1f} % graded"
        unknown, problems = point["unknown"], point["problems"]
        paid = f", {problems - unknown} of {problems}" if unknown else ""
        right = f"{point['accuracy']:.1f} %{share_of}"
        told.append(f"{point['run']} ({right} at {point[cost]:,.1f}{paid})")
    # Calls are always counted, tokens are not: a run
    # that lacks them is named, and not taken for beaten.
    away = sorted({p["run"] for p in each["by_calls"]} - {p["run"] for p in each[f"by_{cost}"]})
    left = f"; {cost} unknown of {', '.join(away)}" if away else ""
    return f"not beaten by {cost}: {', '.join(told) or 'unknown'}{left}"


def _details(each: Mapping[str, Any]) -> Iterator[str]:
    for name in ("batches", "passes"):
        if (steps := each[name]) is not None:
            points = " ".join(
                f"{p['at']}:{number(p['accuracy'], 1)}"
                + (f" (of {p['graded']}/{p['problems']})" if p["graded"] < p["problems"] else "")
                for p in steps["points"]
            )
            trends = f"{_trend('accuracy', steps)}{_trend('restarts', steps)}"
            yield f"by {name}: {points}; {trends}"
    if each["memory"] is not None:
        asked, found = each["memory"]["asked"], each["memory"]["found"]
        yield f"memory: asked in {asked} episodes, held something for {found} of them"
    if each["arms"] is not None:
        arms = (f"{a} ×{v['pulls']} mean {v['mean']:.3f}" for a, v in each["arms"]["arms"].items())
        total, lost = each["arms"]["cumulative_reward"][-1], each["arms"]["regret"][-1]
        unknown = each["arms"]["unknown"]
        unrated = f" ({unknown} pulls brought no reward that could be read)" if unknown else ""
        yield f"arms: {', '.join(arms)}; reward {total:.2f}, regret {lost:.2f}{unrated}"
    for source, said in each["confidence"].items():
        covered = ", ".join(f"{share(v)} at {k}" for k, v in said["selective_accuracy"].items())
        left = f", {said['left_out']} not graded" if said["left_out"] else ""
        over = f"{said['answers']} answers{left}"
        yield f"confidence ({of_source(source)}, {over}): ECE {said['ece']:.3f}, accuracy by coverage {covered}"
    yield from _lost(each["metrics"])
    if "judge" in each:
        yield judge_line(each["judge"])
    if each["probes"]["episodes"]:
        yield f"probes: {each['probes']['episodes']} with {each['probes']['calls']} calls"


def _lost(metrics: Mapping[str, Any]) -> Iterator[str]:
    gone: list[str] = []
    for name, what in LOST.items():
        found = metrics[name]
        # Only what went wrong: a list of zeros in every run would be read by nobody.
        if found is not None and (found["value"] or found["unknown"]):
            unknown = f" ({found['unknown']:,} unknown)" if found["unknown"] else ""
            gone.append(f"{what} {found['value']:.1f} % of {found['known']:,}{unknown}")
    if gone:
        yield f"lost: {'; '.join(gone)}"


LOST = {"cut_off": "replies cut off by their length", "unread": "replies that a default stands in for",
        "unguided": "guidance that a fallback stands in for"}  # fmt: skip


def _trend(name: str, progress: Mapping[str, Any]) -> str:
    found = progress[name]
    return (
        "" if found is None else f"{name} {found['slope']:+.2f} points a step, p {found['p']:.3g} "
    )


# ── Plots ────────────────────────────────────────────────────────────────────────────────────


def figures(made: Mapping[str, Any]) -> Iterator[Plot]:
    """Accuracy against calls and tokens, by batch and pass; risk by coverage; rewards and regret."""
    for data, each in made["comparisons"].items():
        mine = [one for one in made["measured"] if one["data"] == data]
        spread = {one["run"]: one["accuracy_interval"] for one in mine}
        for cost in ("calls", "tokens"):
            points = {
                p["run"]: [[p[cost], p["accuracy"], *(spread[p["run"]] or ())]]
                for p in each[f"by_{cost}"]
            }
            if len(points) > 1:  # one alone is beside nothing
                title = f"{data}: right % by {cost}"
                yield Plot(title, points, f"{cost} a problem", "right %", joined=False)
        for name in ("batches", "passes"):
            for what, told in (("accuracy", "right %"), ("restarts", "RESTART %")):
                steps = {
                    one["run"]: [
                        [p["at"], p[what]] for p in one[name]["points"] if p[what] is not None
                    ]
                    for one in mine
                    if one[name] is not None
                }
                lines = {run: points for run, points in steps.items() if points}
                yield Plot(f"{data}: {told} by {name}", lines, name, told)
        rounds, reward = "round with advice", "cumulative reward"
        rewards = {one["run"]: _numbered(one["rewards"]) for one in mine if one["rewards"]}
        yield Plot(f"{data}: {reward} by {rounds}", rewards, rounds, reward, dots=False)
        regrets = {one["run"]: _numbered(one["arms"]["regret"]) for one in mine if one["arms"]}
        yield Plot(f"{data}: regret by choice", regrets, "choice", "regret", dots=False)
        risks = {
            f"{one['run']}, {of_source(source)}": said["risk_coverage"]
            for one in mine
            for source, said in one["confidence"].items()
        }
        yield curves(f"{data}: risk by coverage", risks, x="coverage", y="share wrong")


def _numbered(values: Sequence[float]) -> list[list[float]]:
    return [[float(at), value] for at, value in enumerate(values, 1)]
