"""Tests of handlers/roles."""
