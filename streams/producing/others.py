"""Problems that other clients put on a log, which bear no name of ours."""

from __future__ import annotations

from pydantic import ValidationError

from streams.producing.sources import BadLine
from streams.runtime.embedded.intake import episode_of
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.queries.messages import foreign_problems
from streams.runtime.kafka.admission import problem_on

DEFAULT_POLICY = "cot"
"""What a worker works by that was told nothing else."""


class Others:
    """Records that others put on the log, read from where the last look ended."""

    # Ours are found by their key, which is the episode's name. These have keys of their clients'
    # own choice, so that each has to be read before anybody knows which problem it is.

    def __init__(self, log: SqliteLog) -> None:
        self.log = log
        self.offset = 0
        self.episodes: set[str] = set()
        self.texts: dict[tuple[str, str], str] = {}
        """By domain and problem id."""

    def look(self) -> None:
        """Take in what came since; on Kafka what others sent meanwhile is fetched first."""
        self.log.data_version()
        for offset, value in foreign_problems(self.log, self.offset):
            self.offset = offset
            try:
                problem, _ = problem_on(value)
            except (BadLine, ValidationError, ValueError):
                continue  # The intake refuses it, so no episode will bear its id.
            self.episodes.add(episode_of(problem, DEFAULT_POLICY))
            # The first text of an id is the one that the intake admits.
            self.texts.setdefault((problem.domain, problem.id), problem.problem)
