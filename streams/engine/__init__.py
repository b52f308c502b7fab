"""The engine: episodes are prepared, run to their end and learned from, on whatever log keeps them.

``episode`` and ``sets`` say what an episode's behaviour depends on. ``running`` works on one to its end through
the port ``EpisodeStore``, which each runtime implements over its log. ``learner`` closes windows and makes memory
versions, ``learning`` runs the episodes in between, and ``schedule`` says who works next. Nothing here knows SQLite
or Kafka.
"""
