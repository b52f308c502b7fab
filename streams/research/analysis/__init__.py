"""Diagnostics of runs, read off the log alone."""
