"""Counts of a log, made through SQL from where the last count ended. All its metrics come from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from streams.runtime.embedded.queries import counts, figures, messages
from streams.telemetry.figures import SPAN, Reader, Spent
from streams.telemetry.lags import lags
from streams.telemetry.metrics import SECONDS, Sample, histogram, plain

MODELS_SHOWN: Final = 20
"""So many models have a label of their own; later ones are counted as ``other``."""


class Counts(Reader):
    """A reader of figures that also counts what only metrics show. Nothing is written."""

    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        self.topics: dict[str, int] = {}
        self.answers: dict[str, int] = {}
        self.latencies: dict[str, dict[int, int]] = {}
        self.seconds: dict[str, float] = {}
        self.answered = 0

    def read(self) -> bool:
        """Take in what is new, up to a span of records. Returns whether there is more."""
        before = self.offset
        more = super().read()
        for topic, new in counts.records_by_topic(self.log, before, self.offset).items():
            self.topics[topic] = self.topics.get(topic, 0) + new.size
        for each in figures.latencies(self.log, before, self.offset, SECONDS):
            self._latency(*each)
        for status, answers, last in figures.answers(self.log, self.answered, SPAN):
            self.answers[status] = self.answers.get(status, 0) + answers
            self.answered = max(self.answered, last)
        return more

    def _latency(self, model: str, bucket: int, count: int, seconds: float) -> None:
        if model not in self.latencies and len(self.latencies) >= MODELS_SHOWN:
            model = "other"
        counts = self.latencies.setdefault(model, {})
        counts[bucket] = counts.get(bucket, 0) + count
        self.seconds[model] = self.seconds.get(model, 0.0) + seconds

    def samples(self) -> Iterator[Sample]:
        """Every metric of the log, as far as it was read."""
        found = self.figures
        yield from plain(
            {
                "metalogue_problems_produced_total": found.problems,
                "metalogue_episodes_admitted_total": found.admitted,
                "metalogue_episodes_closed_total": found.closed,
                "metalogue_episodes_failed_total": found.failed,
                "metalogue_episodes_open": found.admitted - found.closed,
                "metalogue_episodes_parked": found.parked,
                "metalogue_batches_learned_total": found.versions,
                "metalogue_lessons_distilled_total": found.lessons,
                "metalogue_rules": sum(found.rules.values()),
                "metalogue_repeated_completions_total": found.repeated,
                "metalogue_dead_letters_total": messages.count(self.log, "dead-letters"),
                "metalogue_stale_completions_total": self.log.counter("stale"),
                "metalogue_log_bytes": counts.size_bytes(self.log),
            }
        )
        then = found.closings
        outcomes = {"right": then["right"], "not_right": then["wrong"] + then["withheld"]}
        outcomes["unknown"] = then["unknown"]
        yield from labelled("metalogue_batch_members_total", "outcome", outcomes)
        yield from labelled("metalogue_records_total", "topic", self.topics)
        yield from labelled("metalogue_answers_total", "status", self.answers)
        yield from labelled("metalogue_stage_lag", "stage", self.lags())
        yield from self._spent()
        for model, buckets in self.latencies.items():
            name, labels = "metalogue_completion_seconds", (("model", model),)
            yield from histogram(name, buckets, self.seconds[model], labels)

    def lags(self) -> dict[str, int]:
        """How far each stage is behind."""
        return lags(self.log, self.figures, sum(self.answers.values()))

    def _spent(self) -> Iterator[Sample]:
        found = self.figures
        columns = {"episodes": found.solving, "learning": found.learning, "probes": found.probing}
        for name, of in SPENT.items():
            values = {column: of(spent) for column, spent in columns.items()}
            yield from labelled(name, "column", values)


SPENT: Mapping[str, Callable[[Spent], float]] = {
    "metalogue_completions_total": lambda spent: spent.calls,
    "metalogue_tokens_total": lambda spent: spent.tokens,
    "metalogue_cost_total": lambda spent: spent.cost,
    "metalogue_completions_without_usage_total": lambda spent: spent.calls - spent.counted,
    "metalogue_completions_without_price_total": lambda spent: spent.calls - spent.priced,
}


def labelled(name: str, label: str, values: Mapping[str, float]) -> Iterator[Sample]:
    """A sample for each value of one label."""
    for value, count in values.items():
        yield Sample(name, count, ((label, value),))
