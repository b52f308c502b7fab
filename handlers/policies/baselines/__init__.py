"""Baselines: what the systems are compared with, on the same log, limits and answer parser."""
