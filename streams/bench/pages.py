"""A recipe's report as Markdown, and as one HTML page that needs nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from streams.analysis.plots import curves, plot
from streams.analysis.report import (
    SIMULATED,
    html_table,
    judge_line,
    number,
    of_source,
    page,
    share,
    table,
    with_judge,
)
from streams.bench.report import simulated

CODE = re.compile(r"`([^`]*)`")
HEAD = ("data", "run", "n", "right %", "95 %", "graded %", "wrong", "withheld", "undecided", "not graded",
        "calls", "tokens", "learning", "ECE", "AURC", "F1")  # fmt: skip


def markdown(made: Mapping[str, Any]) -> str:
    """The report as Markdown."""
    lines = [f"# {made['recipe']}: {made['about']}", ""]
    for warning in warnings(made):
        lines += [f"> **{warning}**", ""]
    lines += [f"{made['differs']}", "", *(f"- {line}" for line in provenance(made))]
    for title, head, rows, under in paper_tables(made):
        lines += ["", f"## {title}", "", *table(head, rows), *(["", under] if under else [])]
    lines += ["", "## Measured", "", *table(*measured_table(made))]
    for title, details in sections(made):
        lines += ["", f"### {title}", "", *(f"- {line}" for line in details)]
    return "\n".join(lines) + "\n"


def html(made: Mapping[str, Any]) -> str:
    """The report as one page."""
    parts = [f"<h1>{escape(made['recipe'])}: {escape(made['about'])}</h1>"]
    parts += [f'<p class="warn">{escape(warning)}</p>' for warning in warnings(made)]
    parts += [f"<p>{escape(made['differs'])}</p>", _list(provenance(made))]
    for title, head, rows, under in paper_tables(made):
        parts += [f"<h2>{escape(title)}</h2>", html_table(head, rows), f"<p>{escape(under)}</p>"]
    parts += ["<h2>Measured</h2>", html_table(*measured_table(made)), *figures(made)]
    for title, details in sections(made):
        parts += [f"<h3>{escape(title)}</h3>", _list(details)]
    return page(made["recipe"], parts)


def _list(lines: Sequence[str]) -> str:
    said = (CODE.sub(r"<code>\1</code>", escape(line)) for line in lines)
    return f"<ul>{''.join(f'<li>{line}</li>' for line in said)}</ul>"


# ── What both say ────────────────────────────────────────────────────────────────────────────


def warnings(made: Mapping[str, Any]) -> Iterator[str]:
    """What must be read before any figure."""
    if simulated(made):
        yield SIMULATED
    if made["provenance"]["changed"]:
        less = ", ".join(f"{name} {value}" for name, value in made["provenance"]["changed"].items())
        yield f"Reduced ({less}): this is no reproduction of the paper's figure."
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
    lines += [_data_line(each) for each in said["data"]]
    return lines + [_run_line(name, run) for name, run in made["runs"].items()]


def _data_line(data: Mapping[str, Any]) -> str:
    note = f"; {data['note']}" if data["note"] else ""
    if data["read"] is None:
        return f"data {data['name']} ({data['wanted']}): not read{note}"
    stands = f", where {data['read']} stands in" if data["stands_in"] else ""
    digest = data["sha256"][:16]
    return f"data {data['name']} ({data['wanted']}{stands}): {data['problems']} problems, sha256 {digest}{note}"


def _run_line(name: str, run: Mapping[str, Any]) -> str:
    parts = [run["policy"], *(f"{k}={v}" for k, v in run["settings"].items())]
    parts += [f"{which} ≤ {limit}" for which, limit in run["limits"].items()]
    parts += [f"limit: {run['matched']}"] if "matched" in run else []
    parts += [f"warm start from {run['warm_from']}"] if "warm_from" in run else []
    parts += [f"continues {run['continues']}"] if "continues" in run else []
    parts += [f"per data {run['per_data']}"] if "per_data" in run else []
    parts += [f"{run['passes']} passes"] if run["passes"] > 1 else []
    parts += [run["order"]] if run["order"] != "released" else []
    return f"run {name}: {' '.join(parts)}{'; ' + run['note'] if run['note'] else ''}"


def paper_tables(
    made: Mapping[str, Any],
) -> Iterator[tuple[str, list[str], list[list[str]], str]]:
    """Each of the paper's tables with our figures behind its own, ``paper | ours``, and the calls of its runs."""
    for each in (*made["tables"], *made["ours"]):
        model = f" ({each['model']})" if each["model"] else ""
        head = ["", *(part for name in each["columns"] for part in (f"{name}: paper", "ours"))]
        rows = [
            [row["name"], *(part for cell in row["cells"] for part in (_paper(cell), ours(cell)))]
            for row in each["rows"]
        ]
        title = f"{each['title']}{model}{': ' + each['note'] if each['note'] else ''}"
        yield title, head, rows, _used(each.get("used", {}))


def _used(each: Mapping[str, Any]) -> str:
    """Calls that runs used of those that they were granted."""
    told = (f"{run} {one['calls']:,.1f} of {one['granted']:,}" for run, one in each.items())
    return f"Calls used in the mean: {'; '.join(told)}." if each else ""


def _paper(cell: Mapping[str, Any]) -> str:
    return "–" if cell["paper"] is None else str(cell["paper"])


def ours(cell: Mapping[str, Any]) -> str:
    """Our figure as papers print theirs, with the half width over seeds; or ``not measured``."""
    found = cell["ours"]
    if found is None:
        return "not measured"
    half = "" if found["half_width"] is None else f" ± {found['half_width']:,.{found['places']}f}"
    return f"{found['value']:,.{found['places']}f}{half}{_spread(found)}{_rests_on(found)}"


def _spread(found: Mapping[str, Any]) -> str:
    """The interval over problems."""
    if found["interval"] is None:
        return ""
    low, high = (f"{bound:,.{found['places']}f}" for bound in found["interval"])
    return f" [{low}, {high}]"


def _rests_on(found: Mapping[str, Any]) -> str:
    """Of how many it is, where of some nobody knows."""
    said = f", {found['known']:,} of {found['known'] + found['unknown']:,}"
    seeds = f", {found['seeds_unknown']} seeds without" if found["seeds_unknown"] else ""
    return (said if found["unknown"] else "") + seeds


def measured_table(made: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """What was measured, a row for each data set and run, with the judge's columns where one was asked."""
    rows = [_measured(each) for each in made["measured"]]
    return with_judge(HEAD, rows, [each.get("judge") for each in made["measured"]])


def _measured(each: Mapping[str, Any]) -> list[str]:
    found, said = each["metrics"], each["outcomes"]
    low_high = each["accuracy_interval"]
    return [
        each["data"], each["run"], str(each["episodes"]), _value(found["accuracy"], 1),
        "–" if low_high is None else f"{low_high[0]:.1f}–{low_high[1]:.1f}",
        _value(found["coverage"], 1), str(said["commission"]), str(said["omission"]),
        str(said["undecided"]), str(said["not_graded"]),
        _value(found["calls"], 1), _tokens(found["tokens"]), f"{each['learning']['calls']:,} calls",
        _value(found["ece"], 3), _value(found["aurc"], 3), _value(found["f1"], 3),
    ]  # fmt: skip


def _tokens(found: Mapping[str, Any] | None) -> str:
    """Mean tokens, and of how many problems where not all are known."""
    return _value(found, 0) + ("" if found is None or not found["unknown"] else _rests_on(found))


def _value(found: Mapping[str, Any] | None, places: int) -> str:
    return number(None if found is None else found["value"], places)


# ── Details ──────────────────────────────────────────────────────────────────────────────────


def sections(made: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Comparisons by data set, then each run's calibration, experience and arms."""
    for data, each in made["comparisons"].items():
        yield f"{data}: policies beside each other", list(_compared(each))
    for each in made["measured"]:
        if lines := list(_details(each)):
            yield f"{each['data']}, {each['run']}", lines


def _compared(each: Mapping[str, Any]) -> Iterator[str]:
    for cost in ("calls", "tokens"):
        best = [p for p in each[f"by_{cost}"] if p["best"]]
        told = ", ".join(f"{p['run']} ({_right(p)} at {p[cost]:,.1f})" for p in best)
        yield f"not beaten by {cost}: {told or 'unknown'}"
    for one, others in each["mcnemar"].items():
        told = "; ".join(f"{name} {_odds(other)}" for name, other in others.items())
        yield f"McNemar, {one} against {told}"


def _right(point: Mapping[str, Any]) -> str:
    graded = "" if point["coverage"] == 100 else f" of the {point['coverage']:.1f} % graded"
    return f"{point['accuracy']:.1f} %{graded}"


def _odds(pair: Mapping[str, Any]) -> str:
    left = f" ({pair['left_out']} not graded in both)" if pair["left_out"] else ""
    return f"{pair['wins']}:{pair['losses']} p {pair['p']:.3g}{left}"


def _details(each: Mapping[str, Any]) -> Iterator[str]:
    for name in ("batches", "passes"):
        if each[name] is not None:
            yield f"by {name}: {_told(each[name])}"
    if each["arms"] is not None:
        arms = (f"{a} ×{v['pulls']} mean {v['mean']:.3f}" for a, v in each["arms"]["arms"].items())
        total, lost = each["arms"]["cumulative_reward"][-1], each["arms"]["regret"][-1]
        yield f"arms: {', '.join(arms)}; reward {total:.2f}, regret {lost:.2f}{_unrated(each['arms']['unknown'])}"
    for source, said in each["confidence"].items():
        covered = ", ".join(f"{share(v)} at {k}" for k, v in said["selective_accuracy"].items())
        left = f", {said['left_out']} not graded" if said["left_out"] else ""
        over = f"{said['answers']} answers{left}"
        yield f"confidence ({of_source(source)}, {over}): ECE {said['ece']:.3f}, accuracy by coverage {covered}"
    lost = [_lost(each["metrics"][name], what) for name, what in LOST.items()]
    if any(lost):
        yield f"lost: {'; '.join(filter(None, lost))}"
    if "judge" in each:
        yield judge_line(each["judge"])
    if each["probes"]["episodes"]:
        yield f"probes: {each['probes']['episodes']} with {each['probes']['calls']} calls"


LOST = {"cut_off": "replies cut off by their length", "unread": "replies that a default stands in for",
        "unguided": "guidance that a fallback stands in for"}  # fmt: skip


def _lost(found: Mapping[str, Any] | None, what: str) -> str:
    """A share of what went wrong; nothing where none did."""
    if found is None or not (found["value"] or found["unknown"]):
        return ""
    return f"{what} {found['value']:.1f} % of {found['known']:,}" + (
        f" ({found['unknown']:,} unknown)" if found["unknown"] else ""
    )


def _unrated(count: int) -> str:
    return f" ({count} pulls brought no reward that could be read)" if count else ""


def _told(progress: Mapping[str, Any]) -> str:
    points = " ".join(f"{p['at']}:{number(p['accuracy'], 1)}{_of(p)}" for p in progress["points"])
    return f"{points}; {_trend('accuracy', progress)}{_trend('restarts', progress)}"


def _of(point: Mapping[str, Any]) -> str:
    graded, problems = point["graded"], point["problems"]
    return f" (of {graded}/{problems})" if graded < problems else ""


def _trend(name: str, progress: Mapping[str, Any]) -> str:
    found = progress[name]
    return (
        "" if found is None else f"{name} {found['slope']:+.2f} points a step, p {found['p']:.3g} "
    )


# ── Plots ────────────────────────────────────────────────────────────────────────────────────


def figures(made: Mapping[str, Any]) -> Iterator[str]:
    """Accuracy against calls and tokens, by batch and pass; risk by coverage; rewards and regret."""
    for data, each in made["comparisons"].items():
        for cost in ("calls", "tokens"):
            points = {p["run"]: [[p[cost], p["accuracy"]]] for p in each[f"by_{cost}"]}
            if len(points) > 1:  # one alone is beside nothing
                yield plot(f"{data}: right % by {cost}", points, joined=False)
        mine = [one for one in made["measured"] if one["data"] == data]
        for name in ("batches", "passes"):
            yield plot(f"{data}: right % by {name}", _steps(mine, name, "accuracy"))
            yield plot(f"{data}: RESTART % by {name}", _steps(mine, name, "restarts"))
        yield plot(f"{data}: cumulative reward by round with advice", _rounds(mine))
        yield plot(
            f"{data}: regret by choice",
            {one["run"]: _numbered(one["arms"]["regret"]) for one in mine if one["arms"]},
        )
        for one in mine:
            if one["confidence"]:
                risks = {n: c["risk_coverage"] for n, c in one["confidence"].items()}
                yield curves(f"{data}, {one['run']}: risk by coverage", risks)


def _steps(mine: Sequence[Mapping[str, Any]], name: str, what: str) -> dict[str, list[list[float]]]:
    found = {
        one["run"]: [[p["at"], p[what]] for p in one[name]["points"] if p[what] is not None]
        for one in mine
        if one[name] is not None
    }
    return {run: points for run, points in found.items() if points}


def _rounds(mine: Sequence[Mapping[str, Any]]) -> dict[str, list[list[float]]]:
    return {one["run"]: _numbered(one["rewards"]) for one in mine if one["rewards"]}


def _numbered(values: Sequence[float]) -> list[list[float]]:
    return [[float(at), value] for at, value in enumerate(values, 1)]
