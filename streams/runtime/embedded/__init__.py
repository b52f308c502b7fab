"""The embedded runtime: one SQLite file is the log, its topics, offsets and claims.

Theory of operation. ``SqliteLog`` reads, and appends what needs no claim: problems, feedback, commands. A worker, and
each side run (``solve``, fork), appends through a ``Writer`` under a claim on a partition of its own. Whoever claims a
partition later fences off whoever had it. Readers open the file beside them, and SQLite gives each a whole state.

One transaction holds what one turn of the event loop stated: records, messages, and offsets of consumers. So no kill
leaves an answer without its record, or an offset past a problem that was not admitted. What was not committed was not
acknowledged to anybody, and is asked again. A transaction checks the claim first, and writes nothing without it.

Everything beside the log can be made anew of it: tables, snapshots, and the marks among its counters. Each of them
names the record up to which it holds, and whoever finds another record there does not use it.
"""
