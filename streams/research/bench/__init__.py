"""Measurements: every figure is read off the event log or off recorded texts."""
