"""Runtimes: the same topology on one file and on a cluster."""
