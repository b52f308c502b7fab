"""An analysis as Markdown and as one HTML page that needs nothing else."""

# Both forms are made of the same rows and lines; the page adds plots. An
# analysis (`figures.analysis`) comes as plain values, the same that
# `--json` prints, so that no figure is computed here. Unknown is a dash and
# never 0, and a figure that is not of all problems says of how many it is.

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

from handlers.policies.cot2_meta.trace import ROLES
from streams.research.analysis.layout import bullets, gallery, html_table, page, warning
from streams.research.analysis.plots import Plot, bars, curves, in_page, without
from streams.research.analysis.progress import picture
from streams.research.analysis.rewards import reward_plot

SIMULATED = "Simulated: no model answered. These figures say nothing about any method."
HEAD = ("run", "n", "accuracy", "95 %", "coverage", "wrong", "withheld", "undecided", "not graded", "calls",
        "tokens", "ECE", "AURC")  # fmt: skip
JUDGE_HEAD = ("with a judge", "coverage with it")
"""Columns beside the others, where a judge was asked."""
BAR = r"\|"
"""A bar in a cell, which would end it otherwise."""
LEARNED_HEAD = ("batch", "right", "accuracy", "95 %", "calls", "95 %", "tokens", "95 %", "lessons")


def markdown(made: Mapping[str, Any]) -> str:
    """The report as Markdown."""
    lines = [f"# Analysis of {made['episodes']} episodes", ""]
    if made["simulated"]:
        lines += [f"> **{SIMULATED}**", ""]
    lines += table(*_overview(made["runs"]))
    for scope, steps in made["learning"].items():
        lines += ["", f"## {scope}, batch by batch", "", *table(LEARNED_HEAD, _steps(steps))]
    for name, figures in made["runs"].items():
        lines += ["", f"## {' '.join(name.splitlines())}", "", *_details(figures)]
    return "\n".join(lines) + "\n"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table's lines in Markdown; the first column is of words."""
    # A run is named by its settings, texts of prompts among them: whatever they hold, a figure stays in its column.
    first, *more = (
        f"| {' | '.join(' '.join(cell.replace('|', BAR).splitlines()) for cell in row)} |"
        for row in (head, *rows)
    )
    return [first, f"|{'|'.join(['---', *['---:'] * (len(head) - 1)])}|", *more]


def _steps(steps: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """A scope's batches as rows: how many are right, and what a problem took."""
    rows: list[list[str]] = []
    for each in steps:
        left = each["members"] - each["graded"]
        known = _of(each["members"] - each["tokens_unknown"], each["members"])
        rows.append(
            [
                str(each["batch"]),
                f"{each['right']} of {each['graded']}" + (f" ({left} not graded)" if left else ""),
                share(each["accuracy"]),
                between(each["accuracy_interval"], share),
                number(each["calls"], 1),
                between(each["calls_interval"], lambda bound: number(bound, 1)),
                number(each["tokens"], 0) + known,
                between(each["tokens_interval"], lambda bound: number(bound, 0)),
                f"{each['lessons']:,}",
            ]
        )
    return rows


def between(interval: Sequence[float] | None, said: Callable[[float], str]) -> str:
    """An interval's ends as they are ``said``; a dash where it is unknown."""
    return "–" if interval is None else "–".join(said(bound) for bound in interval)


def _overview(runs: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the first table, with the judge's columns where one was asked."""
    nothing: Mapping[str, Any] = {}
    rows: list[list[str]] = []
    for name, figures in runs.items():
        problems = figures["problems"]
        # Of the source that the first episode names; the details tell of every one.
        stated: Mapping[str, Any] = next(iter(figures["confidence"].values()), nothing)
        rests = f" of {stated['answers']}" if stated.get("left_out") else ""
        rows.append(
            [
                name,
                str(problems),
                share(figures["accuracy"]) + _of(figures["graded"], problems),
                between(figures["accuracy_interval"], share),
                share(figures["coverage"]),
                str(figures["commission"]),
                str(figures["omission"]),
                str(figures["undecided"]),
                str(figures["not_graded"]),
                number(figures["mean_calls"], 1),
                number(figures["mean_tokens"], 0)
                + _of(problems - figures["tokens_unknown"], problems),
                *(number(stated.get(name), 3) + rests for name in ("ece", "aurc")),
            ]
        )
    return with_judge(HEAD, rows, [figures.get("judge") for figures in runs.values()])


def with_judge(
    head: Sequence[str], rows: Sequence[Sequence[str]], judges: Sequence[Mapping[str, Any] | None]
) -> tuple[list[str], list[list[str]]]:
    """A table with accuracy and coverage of each row as a judge's verdicts make them; as it is without any."""
    # A column of dashes would be read as a judge's failure; without a judge there is none.
    if not any(judges):
        return list(head), [list(row) for row in rows]
    said = [
        ("–", "–") if each is None else (share(each["accuracy"]), share(each["coverage"]))
        for each in judges
    ]
    return [*head, *JUDGE_HEAD], [[*row, *more] for row, more in zip(rows, said, strict=True)]


def judge_line(said: Mapping[str, Any]) -> str:
    """What a judge said of what no grader could decide."""
    counts = ", ".join(f"{name} {said[name]}" for name in ("right", "wrong", "unclear"))
    return f"a judge of undecided answers: {counts} ({'; '.join(said['by'])})"


def share(value: float | None) -> str:
    """A share in percent; a dash for what is unknown."""
    return "–" if value is None else f"{100 * value:.1f} %"


def number(value: float | None, places: int) -> str:
    """A number; a dash for what is unknown."""
    return "–" if value is None else f"{value:,.{places}f}"


def _details(figures: Mapping[str, Any]) -> list[str]:
    lines = [f"- policy {figures['policy']}, profile {figures['profile']}"]
    lines += [f"- ended by: {_counts(figures['ended_by'])}"]
    lines += [f"- by a person's verdict: {figures['by_person']}"] if figures["by_person"] else []
    lines += [f"- {judge_line(figures['judge'])}"] if "judge" in figures else []
    # CoT2-Meta's table 5 sorts calls by what they were
    # for; it has no column for another policy's roles.
    own = all(role in ROLES for role in figures["calls_by_role"])
    lines += [f"- calls: {_counts(figures['calls_by_column' if own else 'calls_by_role'])}"]
    problems = figures["problems"]
    points = number(figures["points_per_1k_tokens"], 2)
    price = number(figures["tokens_per_point"], 1)
    lines.append(
        f"- points per 1K tokens {points}{_of(figures['points_per_1k_tokens_of'], problems)}; "
        f"tokens per point over greedy {price}{_of(figures['tokens_per_point_of'], problems)}"
    )
    for source, stated in figures["confidence"].items():
        left = f" ({stated['left_out']} not graded)" if stated["left_out"] else ""
        parts: list[str] = []
        for name in ("ece", "brier", "aurc"):
            interval = stated[f"{name}_interval"]
            spread = "" if interval is None else f" [{interval[0]:.3f}, {interval[1]:.3f}]"
            parts.append(f"{name} {stated[name]:.3f}{spread}")
        # How often the surest answers are right: the quarter of them, the half, and so on.
        chosen = ", ".join(f"{share(v)} at {k}" for k, v in stated["selective_accuracy"].items())
        over = f"{of_source(source)}), {stated['answers']} answers{left}"
        lines.append(f"- confidence ({over}: {'; '.join(parts)}; accuracy by coverage {chosen}")
    if "rewards" in figures:
        rewards = figures["rewards"]
        total = rewards["cumulative_reward"][-1] if rewards["judged"] else None
        lines.append(
            f"- rewards: {rewards['judged']} judged, {rewards['unknown']} unknown, "
            f"mean {number(rewards['mean_reward'], 3)}, in all {number(total, 1)}; "
            f"{rewards['strategies']} strategies used"
        )
    return lines + _tree_details(figures) if "flow" in figures else lines


def _of(known: int, problems: int) -> str:
    return f" of {known}" if 0 < known < problems else ""


def of_source(name: str) -> str:
    """Whose confidence it is: figures of what was claimed bear the source's name alone."""
    return name if ", " in name else f"{name}, claimed"


def _tree_details(figures: Mapping[str, Any]) -> list[str]:
    mended, pruned = figures["repairs"], figures["pruning"]
    audit = (
        f"false-prune rate {share(pruned['false_prune_rate'])} "
        f"of {pruned['shadow_runs']} shadow runs{_unjudged(pruned['shadow_unknown'])}, "
        f"oracle gap {share(pruned['oracle_gap'])} of {pruned['oracle_gap_of']}"
    )
    parsed = ", ".join(f"{name} {share(each)}" for name, each in figures["parse_rates"].items())
    depths = (f"{at}: {_counts(counts)}" for at, counts in figures["actions_by_depth"].items())
    return [
        f"- flow: {_counts(figures['flow'])}",
        f"- actions by depth: {'; '.join(depths)}",
        f"- repair: rescue {share(mended['rescue_rate'])} of {mended['wrong_before']}, "
        f"hurt {share(mended['hurt_rate'])} of {mended['right_before']}, net {mended['net']:+}"
        f"{_unjudged(mended['unknown'])}",
        f"- oracle replies: {parsed or 'none'} of {figures['parsed']}",
        f"- pruned {pruned['pruned']}, of them {pruned['pruned_right']} with a right answer"
        f"{_unjudged(pruned['pruned_unknown'])}; {audit}",
        f"- failures: {_counts(figures['failures'])}",
        f"- utility of an answer: {number(figures['utility'], 3)}{_of(figures['graded'], figures['problems'])}",
    ]


def _unjudged(count: int) -> str:
    return f" ({count} that nobody could judge)" if count else ""


def _counts(counts: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items() if count) or "none"


# ── HTML ─────────────────────────────────────────────────────────────────────────────────────


def html(made: Mapping[str, Any]) -> str:
    """The report as one page, plots included."""
    parts = [f"<h1>Analysis of {made['episodes']} episodes</h1>"]
    if made["simulated"]:
        parts.append(warning(SIMULATED))
    parts += [html_table(*_overview(made["runs"]), "Runs"), *without()]
    for scope, steps in made["learning"].items():
        parts += [
            f"<h2>{escape(scope)}, batch by batch</h2>",
            *in_page([picture(f"{scope}, batch by batch", steps)]),
            html_table(LEARNED_HEAD, _steps(steps), "Batches"),
        ]
    parts.append(gallery(in_page([reward_plot(made["runs"])])))
    for name, figures in made["runs"].items():
        # The lines are Markdown's, whose list sign HTML does not need.
        items = bullets([escape(line[2:]) for line in _details(figures)])
        parts += [f"<h2>{escape(name)}</h2>", gallery(in_page(plots(figures))), items]
    return page("Analysis", parts, kind="analysis")


def plots(figures: Mapping[str, Any]) -> list[Plot]:
    """A run's curves of risk and reliability, its flow, and its actions by depth."""
    stated = figures["confidence"]
    found: list[Plot] = []
    if stated:
        risks = {source: each["risk_coverage"] for source, each in stated.items()}
        found.append(curves("risk by coverage", risks, x="coverage", y="share wrong"))
        reliable = {
            source: [[mean, right] for size, mean, right in each["bins"] if size]
            for source, each in stated.items()
        }
        title = "share right by confidence"
        found.append(
            curves(title, reliable, x="confidence", y="share right", diagonal=True, dots=True)
        )
    if "flow" in figures:
        found.append(bars("flow", figures["flow"]))
        found += [bars(f"depth {at}", c) for at, c in figures["actions_by_depth"].items()]
    return found
