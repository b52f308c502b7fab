"""Replay: work with a record and no model, namely verify, fork and diff."""
