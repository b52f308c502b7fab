"""What each metric of the bench declares, one a line: ``python -m tests.streams.bench.declared``.

A scale, a place behind the point, a bound or a measure that is another's is seen in a diff of ``metrics.txt``.
"""

from __future__ import annotations

from collections.abc import Iterator
from inspect import getclosurevars
from pathlib import Path
from typing import Any

from streams.research.analysis.found import Metric
from streams.research.bench.metrics import METRICS

PAGE = Path(__file__).with_name("metrics.txt")


def measure(value: Any) -> str:
    """A measure by its name, with what it was made of: ``over(acts(action='prune', depth=2))``."""
    name = value.__qualname__.partition(".")[0]
    made_of = [
        measure(part) if callable(part) else f"{of}={part!r}"
        for of, part in sorted(getclosurevars(value).nonlocals.items())
    ]
    return f"{name}({', '.join(made_of)})" if made_of else name


def declared(metric: Metric) -> Iterator[str]:
    """What is said of one metric."""
    yield metric.about
    yield measure(metric.measure)
    yield f"{metric.places} places"
    if metric.scale != 1:
        yield f"times {metric.scale:g}"
    for word, holds in (("share", metric.share), ("bounded", metric.bounded)):
        if holds:
            yield word
    if metric.spread is not None:
        yield measure(metric.spread)


def page() -> str:
    """All metrics, as recipes name them."""
    return "".join(f"{name}: {'; '.join(declared(each))}\n" for name, each in METRICS.items())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
