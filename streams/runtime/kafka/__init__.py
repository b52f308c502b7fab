"""The same topology on Apache Kafka: Faust assigns partitions, claims on the log decide who may append.

Theory of operation. Each topic has one sort of writer. Producers put ``problems`` and ``feedback``. The owner of a
partition writes ``events`` and ``learning`` there under its claim, and ``answers``, dead letters and ``checkpoints``
with ids that are made of what they say. Everybody reads ``learning``, ``feedback`` and ``checkpoints``; ``events`` of a
partition are read by its owner, and all of it by whoever looks at the log (``imported``).

Which records count is decided by reading alone: a record counts if its claim is the latest before it and its address
is new. So nobody has to be trusted to have stopped. A worker that was frozen may go on appending, and is not heard.

What a broker acknowledged survives kill -9; nothing else is acted on. What was under way is found by the next owner:
open episodes in the journal behind the checkpoint, closings without their answer among what is owed, problems that
were not admitted at the group's committed offset. All of these may be done twice, and count once.
"""
