"""The dashboard: pages over a log, read through connections that cannot write."""
