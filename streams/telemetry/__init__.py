"""Telemetry as projections of the log: what was recorded is counted once, however often it is replayed."""
