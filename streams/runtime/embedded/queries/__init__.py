"""What is asked of a log in one SQLite file: all SQL of its readers, and so their one read model.

The command line, the dashboard, telemetry, exports, reports and `verify` call these functions, each of which is named
for what it asks and returns plain values: names, counts, events, or a named tuple whose fields say what they are. No
cursor and no row leaves this package, so that a table or an index changes in one place. The modules are named for what
they are asked about: ``episodes``, ``messages``, ``counts``, ``reviews``, ``claims`` and so on. What one record holds,
and a topic's messages in order, `SqliteLog` itself tells.
"""
