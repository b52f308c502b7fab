"""Diagnostics of runs."""
