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

# What survives `kill -9`, and how. Answers of models are awaited before anybody acts on them, so a
# resumed episode reads them and asks nothing again. Facts that were made of an answer may be lost
# with the turn of the loop that was killed; the resumed policy makes them anew at the same
# addresses. The locks of files die with their process. They only spare two workers the attempt: it
# is the epoch that decides, for a process that was frozen may wake up and not know that it was
# replaced.
#
# What must never happen. No record is changed or removed, for its place and its bytes are what
# `verify` and the published heads of a log hold on to. On a log with keys nothing of a subject
# reaches SQLite in the clear (`sealing`), for what was once on a page cannot be taken back. No
# reader outside of the runtimes has SQL of its own, so that a table or an index changes in one
# place.
