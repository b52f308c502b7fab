"""The topology as data: which stage reads and writes which topic. Both runtimes and the diagrams read it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of the flow, with the topics that it reads and writes, and its purpose."""

    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    about: str


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic, with the key of its records and whether they are kept for ever."""

    name: str
    key: str
    kept: bool
    about: str


# A key decides the partition, and a partition keeps order. So all records of an episode lie
# together, as do all of a scope, whose learner takes them one after another.
TOPICS = (
    Topic("problems", "problem", True, "problems to work on"),
    Topic("events", "episode", True, "admissions, answers of models, facts, closings"),
    Topic(
        "learning", "scope", True, "reflections, grades, batches, lessons, rules, memory versions"
    ),
    Topic("answers", "episode", False, "one answer an episode, for consumers"),
    Topic("feedback", "problem", True, "labels, verdicts and scores from outside"),
    Topic("dead-letters", "source", True, "what was refused, with its original bytes"),
)
CHECKPOINTS = Topic("checkpoints", "partition", False, "where another worker takes over from")
"""On Kafka alone: compacted, and may be emptied at any time."""

# Data and no code: diagrams, the topics that are made on Kafka and the published AsyncAPI
# must tell one story.
STAGES = (
    Stage(
        "produce",
        (),
        ("problems", "feedback", "learning", "dead-letters"),
        "reads a source line by line",
    ),
    Stage(
        "intake",
        ("problems",),
        ("events", "dead-letters"),
        "admits a problem: it now has an episode",
    ),
    Stage("driver", ("events",), ("events",), "runs policies over record and world"),
    Stage("relay", ("events",), ("answers", "learning"), "projects closed episodes"),
    Stage(
        "learner",
        ("learning", "feedback"),
        ("learning",),
        "grades, closes windows, distils, versions memory",
    ),
    Stage("projector", ("learning", "events"), (), "keeps tables for queries"),
    Stage("consume", ("answers",), (), "hands answers on"),
)
