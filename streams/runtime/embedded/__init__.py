"""The embedded runtime: one SQLite file is the log, its topics, offsets and claims."""
