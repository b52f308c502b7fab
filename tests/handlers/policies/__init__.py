"""Tests of handlers/policies."""
