"""Tests of handlers/answers."""
