"""Counts of a log, made through SQL from where the last count ended. All its metrics come from them.

Also how far each stage of the topology is behind what it reads. A stage that nobody runs has no lag.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from streams.runtime.embedded.queries import counts, figures, messages
from streams.runtime.embedded.queries.conditions import UNREADABLE
from streams.runtime.embedded.snapshots import folded_upto
from streams.telemetry.figures import SPAN, Reader, Spent
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
        for model, bucket, count, seconds in figures.latencies(
            self.log, before, self.offset, SECONDS
        ):
            # A model's name comes from its endpoint. Each label is a series that
            # Prometheus keeps for good.
            if model not in self.latencies and len(self.latencies) >= MODELS_SHOWN:
                model = "other"
            buckets = self.latencies.setdefault(model, {})
            buckets[bucket] = buckets.get(bucket, 0) + count
            self.seconds[model] = self.seconds.get(model, 0.0) + seconds
        # Answers are messages and no records, so they are followed by an offset of their own.
        for status, answers, last in figures.answers(self.log, self.answered, SPAN):
            self.answers[status] = self.answers.get(status, 0) + answers
            self.answered = max(self.answered, last)
        return more

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
        # As known when the batch closed: a counter may not fall, as these would when a
        # verdict is changed.
        then = found.closings
        outcomes = {"right": then["right"], "not_right": then["wrong"] + then["withheld"]}
        outcomes["unknown"] = then["unknown"]
        yield from labelled("metalogue_batch_members_total", "outcome", outcomes)
        yield from labelled("metalogue_records_total", "topic", self.topics)
        yield from labelled("metalogue_answers_total", "status", self.answers)
        yield from labelled("metalogue_stage_lag", "stage", self.lags())
        columns = {"episodes": found.solving, "learning": found.learning, "probes": found.probing}
        for name, of in SPENT.items():
            values = {column: of(spent) for column, spent in columns.items()}
            yield from labelled(name, "column", values)
        for model, buckets in self.latencies.items():
            name, labels = "metalogue_completion_seconds", (("model", model),)
            yield from histogram(name, buckets, self.seconds[model], labels)

    def lags(self) -> dict[str, int]:
        """What waits before each stage: problems, episodes, closings, reflections, records, answers."""
        found, log = self.figures, self.log
        # On Kafka the problems lie with the brokers. Of a log that no intake has
        # read, all of them wait.
        unread = (counts.unread_on_kafka(log), counts.unread(log, "problems", "intake"))
        # What was solved at once was never put there.
        unadmitted = max(found.problems - found.admitted, 0)
        intake = next((lag for lag in unread if lag is not None), unadmitted)
        # Those that are parked, ask somebody or were taken out wait for a person or for nobody, and not for a worker.
        left = found.held.keys() | found.asking.keys() | found.taken_out
        folded = folded_upto(log.path)
        given = sum(self.answers.values()) - self.answers.get(UNREADABLE, 0)
        lags = {
            "intake": intake,
            "driver": max(found.admitted - found.closed - len(left), 0),
            "relay": max(found.closed - given, 0),
            "learner": len(found.unlearned),
            "consume": counts.unread(log, "answers", "group/*"),
            "projector": None if folded is None else max(log.end() - folded, 0),
        }
        return {stage: lag for stage, lag in lags.items() if lag is not None}


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
