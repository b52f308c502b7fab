"""The engine: episodes are prepared, run to their end and learned from, on whatever log keeps them.

Theory of operation. Two loops meet here, and each feeds the other.

The first answers problems. A runtime gives each admitted episode a seat (``pending``) in the ``schedule``. It opens
when the memory version that it needs exists, in the order that ``ready`` keeps. ``running`` then works on it to its
end through the port ``EpisodeStore``, which each runtime implements over its log: ``episode`` (or ``sets``, for
members that are worked on together) gathers what the policy's behaviour depends on, ``streams.core.drive`` runs it.

The second learns. ``learner`` folds all records of the topic ``learning`` into one ``Scope`` for each memory. When
the window of a scope is full it closes a batch, ``learning`` runs the policy's learner over it, and a memory version
follows. The schedule is told, and releases whoever waited for that version. ``resuming`` spares a restarted learner
the reading of the whole log, ``settling`` says what else nobody will ever bring. ``judgements``, ``grades`` and
``references`` turn what people say afterwards into outcomes.

What must never happen: an episode that sees a memory version other than the one that its opening pins; a record
whose content depends on a clock or on who was faster, since ``verify`` has neither; and an error of the set-up that
is recorded as the outcome of a problem. ``policies`` bars the fourth: that a name in a record decides what code runs.

Nothing here knows SQLite or Kafka.
"""
